#include "gui/timeline/chrome_reader.hpp"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "gui/timeline/chrome_events.hpp"
#include "sim/base/error.hpp"
#include "sim/base/format.hpp"

namespace orrery::timeline {

namespace {

using Json = nlohmann::json;

constexpr double kReadingShare = 0.8;  // of the time to load
constexpr std::uint64_t kLookEvery = 4096;

// Events of the text, one after the other. Depth 1 is the object of the trace (or its array), depth
// 2 the array of events, depth 3 an event, depth 4 its arguments.
class EventReader : public nlohmann::json_sax<Json> {
 public:
  EventReader(std::ifstream& file, std::uint64_t size, const ReadOptions& options)
      : file_(file), size_(size), options_(options) {}

  bool null() override {
    return true;
  }

  bool boolean(bool /*value*/) override {
    return true;
  }

  bool number_integer(number_integer_t value) override {
    return number(fmt::format("{}", value), static_cast<double>(value));
  }

  bool number_unsigned(number_unsigned_t value) override {
    return number(fmt::format("{}", value), static_cast<double>(value));
  }

  bool number_float(number_float_t value, const string_t& text) override {
    return number(text, value);
  }

  bool string(string_t& text) override {
    if (in_event()) {
      if (key_ == "ph") {
        event_.phase = text.empty() ? '\0' : text.front();
      } else if (key_ == "ts") {
        event_.time = nanoseconds_of(text);
      } else if (std::string* field = text_field()) {
        *field = text;
      }
    } else if (in_arguments() && key_ == "name") {
      event_.argument_name = text;
    } else if (depth_ == 2 && !array_ && key_ == "scenario") {
      title_ = text;
    }
    return true;
  }

  bool binary(binary_t& /*value*/) override {
    return true;
  }

  bool start_object(std::size_t /*elements*/) override {
    ++depth_;
    if (depth_ == event_depth() && events_) {
      event_.clear();
    } else if (in_arguments_object()) {
      arguments_ = key_ == "args";
    }
    return true;
  }

  bool key(string_t& name) override {
    key_ = name;
    return true;
  }

  bool end_object() override {
    const bool event_ends = depth_ == event_depth() && events_;
    --depth_;
    return !event_ends || take_event();
  }

  bool start_array(std::size_t /*elements*/) override {
    ++depth_;
    if (depth_ == 1) {
      array_ = true;
      events_ = true;
      found_ = true;
    } else if (depth_ == 2 && !array_ && key_ == "traceEvents") {
      events_ = true;
      found_ = true;
    }
    return true;
  }

  bool end_array() override {
    --depth_;
    if (depth_ == 1 && !array_) {
      events_ = false;
    }
    return true;
  }

  bool parse_error(std::size_t position,
                   const std::string& /*token*/,
                   const Json::exception& error) override {
    const std::string what = error.what();
    constexpr std::string_view kStart = "parse error at ";
    const std::size_t at = what.find(kStart);
    const std::string place = at == std::string::npos ? what : what.substr(at + kStart.size());
    if (position > size_ || place.find("unexpected end of input") != std::string::npos) {
      problem_ = fmt::format("the file is cut off: it ends within or after event {}, at byte {}",
                             format_integer(static_cast<std::int64_t>(count_ + 1)),
                             format_integer(static_cast<std::int64_t>(size_)));
    } else {
      problem_ = fmt::format("not valid JSON at {}", place);
    }
    return false;
  }

  [[nodiscard]] bool cancelled() const {
    return cancelled_;
  }

  [[nodiscard]] bool found_events() const {
    return found_;
  }

  [[nodiscard]] const std::string& problem() const {
    return problem_;
  }

  [[nodiscard]] const std::string& title() const {
    return title_;
  }

  TraceEvents& events() {
    return all_;
  }

 private:
  [[nodiscard]] int event_depth() const {
    return array_ ? 2 : 3;
  }

  [[nodiscard]] bool in_event() const {
    return events_ && depth_ == event_depth();
  }

  [[nodiscard]] bool in_arguments_object() const {
    return events_ && depth_ == event_depth() + 1;
  }

  [[nodiscard]] bool in_arguments() const {
    return in_arguments_object() && arguments_;
  }

  std::string* text_field() {
    const std::array<std::pair<std::string_view, std::string*>, 5> fields = {
        {{"name", &event_.name},
         {"cat", &event_.category},
         {"pid", &event_.process},
         {"tid", &event_.thread},
         {"id", &event_.id}}};
    for (const auto& [name, field] : fields) {
      if (key_ == name) {
        return field;
      }
    }
    return nullptr;
  }

  bool number(const std::string& text, double value) {
    if (in_event()) {
      if (key_ == "ts") {
        event_.time = nanoseconds_of(text);
      } else if (key_ == "dur") {
        event_.duration = nanoseconds_of(text);
      } else if (std::string* field = text_field()) {
        *field = text;
      }
    } else if (in_arguments()) {
      if (key_ == "sort_index") {
        event_.argument_order = static_cast<std::int64_t>(value);
      }
      if (event_.phase == 'C' || event_.phase == 0) {
        event_.numbers.emplace_back(key_, value);
      }
    }
    return true;
  }

  bool take_event() {
    ++count_;
    all_.add(event_);
    if (all_.slices() > options_.most_slices) {
      problem_ = fmt::format("the trace holds more than {} slices",
                             format_integer(static_cast<std::int64_t>(options_.most_slices)));
      return false;
    }
    if (count_ % kLookEvery == 0) {
      if (options_.stop.stop_requested()) {
        cancelled_ = true;
        return false;
      }
      if (options_.progress) {
        const auto done = static_cast<double>(std::max<std::streamoff>(file_.tellg(), 0));
        options_.progress(kReadingShare * done / static_cast<double>(size_));
      }
    }
    return true;
  }

  std::ifstream& file_;
  std::uint64_t size_;
  const ReadOptions& options_;
  TraceEvents all_;
  TraceEvent event_;
  std::string key_;
  std::string title_;
  std::string problem_;
  std::uint64_t count_ = 0;
  int depth_ = 0;
  bool array_ = false;   // the file is the array of events itself
  bool events_ = false;  // inside the array of events
  bool found_ = false;
  bool arguments_ = false;  // the innermost object of the event is `args`
  bool cancelled_ = false;
};

std::ifstream open(const std::filesystem::path& path, std::uint64_t& size) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    throw Error(ErrorKind::io, fmt::format("{} is a directory, not a trace", path.string()));
  }
  size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file) {
    throw Error(ErrorKind::io, fmt::format("cannot open {}", path.string()));
  }
  return file;
}

// What is wrong before a byte is parsed; empty: nothing.
std::string first_look(std::ifstream& file, std::uint64_t size, const ReadOptions& options) {
  if (size == 0) {
    return "the file is empty";
  }
  if (size > options.most_bytes) {
    return fmt::format("the file has {}, more than the {} that are read",
                       format_bytes(bytes(static_cast<double>(size))),
                       format_bytes(bytes(static_cast<double>(options.most_bytes))));
  }
  constexpr int kGzip1 = 0x1f;
  constexpr int kGzip2 = 0x8b;
  const int first = file.get();
  const int second = file.get();
  file.clear();
  file.seekg(0);
  if (first == kGzip1 && second == kGzip2) {
    return "the file is compressed with gzip: unpack it first (gunzip)";
  }
  return {};
}

}  // namespace

ReadResult read_chrome_trace(const std::filesystem::path& path, const ReadOptions& options) {
  std::uint64_t size = 0;
  std::ifstream file = open(path, size);
  ReadResult result;
  const std::string name = path.filename().string();
  const auto fail = [&result, &name](std::string_view why) {
    result.problem = fmt::format("{}: {}", name, why);
    return result;
  };
  if (const std::string why = first_look(file, size, options); !why.empty()) {
    return fail(why);
  }
  EventReader reader(file, size, options);
  const bool read = Json::sax_parse(file, &reader);
  if (reader.cancelled()) {
    result.cancelled = true;
    return result;
  }
  if (!read) {
    return fail(reader.problem());
  }
  if (!reader.found_events()) {
    return fail("not a trace: it has no array `traceEvents`");
  }
  if (reader.events().slices() == 0) {
    return fail("the trace holds no slices");
  }
  result.title = reader.title().empty() ? name : reader.title();
  StoreBuilder& builder = reader.events().finish();
  const Progress rest = options.progress ? Progress([&options](double share) {
    options.progress(kReadingShare + (1.0 - kReadingShare) * share);
  })
                                         : Progress();
  result.store = builder.build(options.stop, rest);
  result.cancelled = result.store == nullptr;
  result.notes = reader.events().notes();
  return result;
}

Levels levels_of(const ReadResult& trace) {
  Levels levels;
  if (trace.store) {
    levels.push_back({trace.title, "trace", trace.store, {}, "a recorded trace"});
  }
  return levels;
}

}  // namespace orrery::timeline
