#include "sim/yaml/yaml_events.hpp"

#include <fmt/core.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <istream>
#include <streambuf>
#include <string>

namespace orrery::yaml {

namespace {

// Hands the text to the scanner in blocks and ends it early when much input passes without a
// finished value. The scanner keeps every token of an open bracket in memory, some 200 bytes per
// byte of input, so an unclosed bracket would otherwise cost gigabytes.
class GuardedText : public std::streambuf {
 public:
  GuardedText(std::string_view text, std::size_t max_pending) : max_pending_(max_pending) {
    // A get area is never written to; the base class only lacks a const interface.
    char* begin = const_cast<char*>(text.data());
    end_ = begin + text.size();
    last_event_ = begin;
    setg(begin, begin, begin);
  }

  void note_event() {
    last_event_ = gptr();
  }

  [[nodiscard]] bool stalled() const {
    return stalled_;
  }

 private:
  int_type underflow() override {
    constexpr std::ptrdiff_t kBlock = 4096;
    if (gptr() == end_) {
      return traits_type::eof();
    }
    if (static_cast<std::size_t>(gptr() - last_event_) > max_pending_) {
      stalled_ = true;
      return traits_type::eof();
    }
    setg(eback(), gptr(), gptr() + std::min(kBlock, end_ - gptr()));
    return traits_type::to_int_type(*gptr());
  }

  std::size_t max_pending_;
  char* end_;
  char* last_event_;
  bool stalled_ = false;
};

Mark to_mark(const YAML::Mark& mark) {
  return {mark.line, mark.column};
}

// The library's "?" means no tag; "!" marks a quoted scalar.
std::string_view visible_tag(const std::string& tag) {
  return tag == "?" ? std::string_view() : std::string_view(tag);
}

class Adapter : public YAML::EventHandler {
 public:
  Adapter(GuardedText& source, TreeBuilder& builder) : source_(source), builder_(builder) {}

  [[nodiscard]] Mark last_mark() const {
    return last_;
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    builder_.begin_document(note(mark));
  }

  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    builder_.null(note(mark), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    builder_.alias(note(mark), anchor);
  }

  void OnScalar(const YAML::Mark& mark,
                const std::string& tag,
                YAML::anchor_t anchor,
                const std::string& value) override {
    const bool quoted = tag == "!";
    builder_.scalar(
        note(mark), quoted ? std::string_view() : visible_tag(tag), quoted, anchor, value);
  }

  void OnSequenceStart(const YAML::Mark& mark,
                       const std::string& tag,
                       YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    builder_.begin_sequence(note(mark), visible_tag(tag), anchor);
  }

  void OnSequenceEnd() override {
    builder_.end_sequence();
  }

  void OnMapStart(const YAML::Mark& mark,
                  const std::string& tag,
                  YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    builder_.begin_mapping(note(mark), visible_tag(tag), anchor);
  }

  void OnMapEnd() override {
    builder_.end_mapping();
  }

 private:
  Mark note(const YAML::Mark& mark) {
    source_.note_event();
    last_ = to_mark(mark);
    return last_;
  }

  GuardedText& source_;
  TreeBuilder& builder_;
  Mark last_;
};

struct Explanation {
  const char* library_message;
  const char* message;
  const char* allowed;
};

// The library's messages in the words of a user who has never read a grammar.
constexpr std::array kExplanations = {
    Explanation{YAML::ErrorMsg::END_OF_SEQ_FLOW,
                "the list opened by `[` is not closed, or a comma is missing",
                "[a, b]"},
    Explanation{YAML::ErrorMsg::END_OF_MAP_FLOW,
                "the mapping opened by `{` is not closed, or a comma is missing",
                "{a: 1, b: 2}"},
    Explanation{YAML::ErrorMsg::END_OF_MAP,
                "this does not continue the mapping above",
                "`key: value` with the same indentation as the other keys"},
    Explanation{YAML::ErrorMsg::END_OF_SEQ,
                "this does not continue the list above",
                "`- item` with the same indentation as the other items"},
    Explanation{YAML::ErrorMsg::MAP_VALUE,
                "a `:` where no key can be",
                "one `key: value` per line, no deeper than its neighbours; quotes around text "
                "that holds `: `"},
    Explanation{YAML::ErrorMsg::MAP_KEY, "a key where none can be", "a line of its own"},
    Explanation{
        YAML::ErrorMsg::BLOCK_ENTRY, "a `-` where no list item can be", "a line of its own"},
    Explanation{YAML::ErrorMsg::TAB_IN_INDENTATION, "a tab in the indentation", "spaces"},
    Explanation{YAML::ErrorMsg::EOF_IN_SCALAR,
                "a quote is not closed before the end of the file",
                "\"...\""},
    Explanation{YAML::ErrorMsg::DOC_IN_SCALAR,
                "a document mark (--- or ...) inside quotes",
                "close the quote before it"},
    Explanation{YAML::ErrorMsg::FLOW_END, "a closing bracket without its opening one", ""},
    Explanation{YAML::ErrorMsg::UNKNOWN_TOKEN,
                "a character that no value can begin with",
                "quotes around the text"},
    Explanation{YAML::ErrorMsg::UNKNOWN_ANCHOR,
                "an alias of an anchor that is not defined above",
                "quotes around text that begins with `*`"},
    Explanation{YAML::ErrorMsg::BAD_FILE, "nested too deeply", ""},
};

// Problem of a syntax error; the builder is not asked to stop, reading has ended anyway.
void explain(const YAML::Exception& error, Mark last, TreeBuilder& builder) {
  const Mark mark = error.mark.is_null() ? last : to_mark(error.mark);
  for (const Explanation& entry : kExplanations) {
    if (error.msg == entry.library_message) {
      builder.problem(builder.locate(mark), {}, entry.message, entry.allowed);
      return;
    }
  }
  builder.problem(builder.locate(mark), {}, error.msg);
}

// Runs the parser to the end of the text; StopReading passes through.
bool read_all(std::string_view text, const Limits& limits, TreeBuilder& builder) {
  GuardedText source(text, limits.max_pending_bytes);
  Adapter adapter(source, builder);
  try {
    std::istream stream(&source);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(adapter)) {
    }
  } catch (const YAML::Exception& error) {
    if (!source.stalled()) {
      explain(error, adapter.last_mark(), builder);
      return false;
    }
  }
  if (source.stalled()) {
    builder.problem(builder.locate(adapter.last_mark()),
                    {},
                    fmt::format("the value after this one does not end within {} bytes",
                                limits.max_pending_bytes),
                    "close the bracket or quote, or split the value");
  }
  return !source.stalled();
}

}  // namespace

bool feed_events(std::string_view text, const Limits& limits, TreeBuilder& builder) {
  try {
    return read_all(text, limits, builder);
  } catch (const StopReading&) {
    return false;
  }
}

}  // namespace orrery::yaml
