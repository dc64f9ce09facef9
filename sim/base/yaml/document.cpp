#include "sim/base/yaml/document.hpp"

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
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "sim/base/files/file.hpp"
#include "sim/base/yaml/text_check.hpp"
#include "sim/base/yaml/tree_builder.hpp"

namespace orrery::yaml {

namespace {

// Runs the YAML parser library over a text and feeds a TreeBuilder. The only door to that library:
// no other file of the program sees it. Internal to yaml/.

// Hands the text to the scanner in blocks and ends it early when much input passes without a
// finished value. The scanner keeps every token of an open bracket in memory, some 200 bytes per
// byte of input, so an unclosed bracket would otherwise cost gigabytes.
//
// A document end mark is appended: the scanner takes the end of the file for the end of an open
// quote and would swallow all keys after it without a word, but it refuses a mark inside quotes.
class GuardedText : public std::streambuf {
 public:
  GuardedText(std::string_view text, std::size_t max_pending)
      : text_(text), max_pending_(max_pending) {
    text_ += text.empty() || text.ends_with('\n') ? "" : "\n";
    text_ += "...\n";
    last_event_ = text_.data();
    setg(text_.data(), text_.data(), text_.data());
  }

  void note_event() { last_event_ = gptr(); }

  [[nodiscard]] bool stalled() const { return stalled_; }

 private:
  int_type underflow() override {
    constexpr std::ptrdiff_t kBlock = 4096;
    char* const end = text_.data() + text_.size();
    if (gptr() == end) {
      return traits_type::eof();
    }
    if (static_cast<std::size_t>(gptr() - last_event_) > max_pending_) {
      stalled_ = true;
      return traits_type::eof();
    }
    setg(eback(), gptr(), gptr() + std::min(kBlock, end - gptr()));
    return traits_type::to_int_type(*gptr());
  }

  std::string text_;
  std::size_t max_pending_;
  char* last_event_;
  bool stalled_ = false;
};

Mark to_mark(const YAML::Mark& mark) { return {mark.line, mark.column}; }

// Thrown at the first event after the text was cut short: what follows is made up.
struct TextCutShort {};

// The library's "?" means no tag; "!" marks a quoted scalar.
std::string_view visible_tag(const std::string& tag) {
  return tag == "?" ? std::string_view() : std::string_view(tag);
}

class Adapter : public YAML::EventHandler {
 public:
  Adapter(GuardedText& source, TreeBuilder& builder) : source_(source), builder_(builder) {}

  [[nodiscard]] Mark last_mark() const { return last_; }

  void OnDocumentStart(const YAML::Mark& mark) override { builder_.begin_document(note(mark)); }

  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    builder_.null(note(mark), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    builder_.alias(note(mark), anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const bool quoted = tag == "!";
    builder_.scalar(note(mark), quoted ? std::string_view() : visible_tag(tag), quoted, anchor,
                    value);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    builder_.begin_sequence(note(mark), visible_tag(tag), anchor);
  }

  void OnSequenceEnd() override { builder_.end_sequence(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    builder_.begin_mapping(note(mark), visible_tag(tag), anchor);
  }

  void OnMapEnd() override { builder_.end_mapping(); }

 private:
  Mark note(const YAML::Mark& mark) {
    if (source_.stalled()) {
      throw TextCutShort{};
    }
    source_.note_event();
    last_ = to_mark(mark);
    return last_;
  }

  GuardedText& source_;
  TreeBuilder& builder_;
  Mark last_;
};

// Where a syntax error is best shown: where the library stopped, or at the last value it finished.
enum class Place { error, last_value };

struct Explanation {
  const char* library_message;
  Place place;
  const char* message;
  const char* allowed;
};

// The library's messages in the words of a user who has never read a grammar.
const std::array kExplanations = {
    Explanation{YAML::ErrorMsg::END_OF_SEQ_FLOW, Place::last_value,
                "a comma or the closing `]` is missing after this", "[a, b]"},
    Explanation{YAML::ErrorMsg::END_OF_MAP_FLOW, Place::last_value,
                "a comma or the closing `}` is missing after this", "{a: 1, b: 2}"},
    Explanation{YAML::ErrorMsg::END_OF_MAP, Place::error,
                "this does not continue the mapping above",
                "`key: value` with the same indentation as the other keys"},
    Explanation{YAML::ErrorMsg::END_OF_SEQ, Place::error, "this does not continue the list above",
                "`- item` with the same indentation as the other items"},
    Explanation{YAML::ErrorMsg::MAP_VALUE, Place::error, "a `:` where no key can be",
                "one `key: value` per line, no deeper than its neighbours; quotes around text "
                "that holds `: `"},
    Explanation{YAML::ErrorMsg::MAP_KEY, Place::error, "a key where none can be",
                "a line of its own"},
    Explanation{YAML::ErrorMsg::BLOCK_ENTRY, Place::error, "a `-` where no list item can be",
                "a line of its own"},
    Explanation{YAML::ErrorMsg::TAB_IN_INDENTATION, Place::error, "a tab in the indentation",
                "spaces"},
    Explanation{YAML::ErrorMsg::EOF_IN_SCALAR, Place::last_value,
                "a quote opened after this is not closed", "\"...\" or '...'"},
    Explanation{YAML::ErrorMsg::DOC_IN_SCALAR, Place::last_value,
                "a quote opened after this is not closed", "\"...\" or '...'"},
    Explanation{YAML::ErrorMsg::FLOW_END, Place::error, "a closing bracket without its opening one",
                "quotes around text that begins with one"},
    Explanation{YAML::ErrorMsg::UNKNOWN_TOKEN, Place::error,
                "a character that no value can begin with", "quotes around the text"},
    Explanation{YAML::ErrorMsg::UNKNOWN_ANCHOR, Place::error,
                "an alias of an anchor that is not defined above",
                "quotes around text that begins with `*`"},
    Explanation{YAML::ErrorMsg::INVALID_ESCAPE, Place::error,
                "an unknown escape inside double quotes",
                "\\n \\t \\\" \\\\ and the like; single quotes take everything as it stands"},
    Explanation{YAML::ErrorMsg::INVALID_UNICODE, Place::error,
                "an escape that is no Unicode character", "\\u00e9"},
    Explanation{YAML::ErrorMsg::YAML_VERSION, Place::error, "an unreadable %YAML version",
                "%YAML 1.2"},
    Explanation{YAML::ErrorMsg::YAML_MAJOR_VERSION, Place::error, "a %YAML version that is too new",
                "%YAML 1.2"},
    Explanation{YAML::ErrorMsg::BAD_FILE, Place::error, "nested too deeply", "fewer levels"},
};

// Problem of a syntax error; the builder is not asked to stop, reading has ended anyway.
void explain(const YAML::Exception& error, Mark last, TreeBuilder& builder) {
  const Mark mark = error.mark.is_null() ? last : to_mark(error.mark);
  if (builder.is_indented_by_tab(mark)) {  // the library trips over it later and blames the colon
    builder.problem(builder.locate({mark.line, 0}), {}, "a tab in the indentation", "spaces");
    return;
  }
  for (const Explanation& entry : kExplanations) {
    if (error.msg.starts_with(entry.library_message)) {  // some append what they found
      const Mark shown = entry.place == Place::last_value ? last : mark;
      builder.problem(builder.locate(shown), {}, entry.message, entry.allowed);
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
  } catch (const TextCutShort&) {
    // reported below
  } catch (const YAML::Exception& error) {
    if (!source.stalled()) {
      explain(error, adapter.last_mark(), builder);
      return false;
    }
  }
  if (source.stalled()) {
    builder.problem(builder.locate(adapter.last_mark()), {},
                    fmt::format("the value after this one does not end within {} bytes",
                                limits.max_pending_bytes),
                    "close the bracket or quote, or split the value");
  }
  return !source.stalled();
}

// Syntax errors become one diagnostic of the builder. `text` must be clean (text_check.hpp) and
// without byte order mark. Returns false after an error.
bool feed_events(std::string_view text, const Limits& limits, TreeBuilder& builder) {
  try {
    return read_all(text, limits, builder);
  } catch (const StopReading&) {
    return false;
  }
}

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Duplicate keys are found when their mapping ends; readers expect the order of the file.
void add_in_file_order(const Diagnostics& found, Diagnostics& diagnostics) {
  std::vector<Diagnostic> sorted = found.all();
  std::ranges::stable_sort(sorted, [](const Diagnostic& a, const Diagnostic& b) {
    return std::tie(a.where.line, a.where.column) < std::tie(b.where.line, b.where.column);
  });
  for (Diagnostic& diagnostic : sorted) {
    diagnostics.add(std::move(diagnostic));
  }
}

void report_size(const std::string& file, const Limits& limits, Diagnostics& diagnostics) {
  diagnostics.error({file, 0, 0}, {}, "the file is too large",
                    fmt::format("at most {} bytes", limits.max_bytes));
}

std::optional<Value> parse_as(bool foreign, std::string_view text, std::string file_name,
                              const Limits& limits, Diagnostics& diagnostics) {
  if (text.size() > limits.max_bytes) {
    report_size(file_name, limits, diagnostics);
    return std::nullopt;
  }
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  const LineIndex lines(text);
  if (!check_text(text, file_name, lines, diagnostics)) {
    return std::nullopt;
  }
  Diagnostics found;
  TreeBuilder builder(text, file_name, lines, limits, foreign, found);
  const bool complete = feed_events(text, limits, builder);
  std::optional<Value> root = builder.take_root();
  if (complete && (!root || root->kind == Value::Kind::null)) {
    found.error({file_name, 1, 1}, {}, "the document is empty", "a mapping of keys to values");
  }
  add_in_file_order(found, diagnostics);
  if (found.has_errors()) {
    return std::nullopt;
  }
  return root;
}

}  // namespace

std::optional<Value> parse(std::string_view text, std::string file_name, const Limits& limits,
                           Diagnostics& diagnostics) {
  return parse_as(false, text, std::move(file_name), limits, diagnostics);
}

std::optional<Value> parse_foreign(std::string_view text, std::string file_name,
                                   const Limits& limits, Diagnostics& diagnostics) {
  return parse_as(true, text, std::move(file_name), limits, diagnostics);
}

std::optional<Value> parse_file(const std::filesystem::path& path, const Limits& limits,
                                Diagnostics& diagnostics, std::string shown_name) {
  std::string name = shown_name.empty() ? path.string() : std::move(shown_name);
  std::error_code unknown_size;
  const auto size = std::filesystem::file_size(path, unknown_size);
  if (!unknown_size && size > limits.max_bytes) {
    report_size(name, limits, diagnostics);
    return std::nullopt;
  }
  const std::string text = read_file(path, limits.max_bytes);
  return parse(text, std::move(name), limits, diagnostics);
}

std::string_view describe(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::null:
      return "empty";
    case Value::Kind::scalar:
      return "a text";
    case Value::Kind::sequence:
      return "a list";
    case Value::Kind::mapping:
      return "a mapping";
  }
  return "empty";
}

std::string display(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  std::string shown = "`";
  std::size_t characters = 0;
  while (!text.empty() && characters < kLongest) {
    const std::size_t length = utf8_length(text);
    const std::uint32_t character = length == 0 ? 0 : code_point(text, length);
    if (length <= 1 && !is_visible(character)) {
      shown += fmt::format("\\x{:02X}", static_cast<unsigned char>(text.front()));
      text.remove_prefix(1);
    } else if (!is_visible(character)) {
      shown += fmt::format("\\u{{{:04X}}}", character);
      text.remove_prefix(length);
    } else {
      shown += text.substr(0, length);
      text.remove_prefix(length);
    }
    ++characters;
  }
  shown += text.empty() ? "`" : "...`";
  return shown;
}

}  // namespace orrery::yaml
