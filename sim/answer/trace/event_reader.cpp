#include "sim/answer/trace/event_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <istream>
#include <nlohmann/json.hpp>

#include "sim/answer/trace/trace_file.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::trace {

namespace {

constexpr std::int64_t kNanosecondsPerMicrosecond = 1000;
constexpr std::int64_t kLongest = std::int64_t{1} << 61U;

bool is_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// "12.34e5" and the like: rounded once.
std::optional<std::int64_t> by_floating_point(std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  value *= static_cast<double>(kNanosecondsPerMicrosecond);
  if (error != std::errc() || end != text.data() + text.size() ||
      !(std::abs(value) < static_cast<double>(kLongest))) {
    return std::nullopt;
  }
  return std::llround(value);
}

using Json = nlohmann::json;

constexpr std::uint64_t kLookEvery = 4096;
constexpr std::size_t kMostNumbers = 4096;  // of one counter

// Events of the text, one after the other. Depth 1 is the object of the trace (or its array), depth
// 2 the array of events, depth 3 an event, depth 4 its arguments.
class EventParser : public nlohmann::json_sax<Json> {
 public:
  EventParser(const TraceFile& file, const ReadLimits& limits, const TakeEvent& take)
      : file_(file), limits_(limits), take_(take) {}

  bool null() override { return true; }

  bool boolean(bool /*value*/) override { return true; }

  bool number_integer(number_integer_t value) override {
    return number(value, fmt::format_int(value).str(), static_cast<double>(value));
  }

  bool number_unsigned(number_unsigned_t value) override {
    return number(static_cast<std::int64_t>(value), fmt::format_int(value).str(),
                  static_cast<double>(value));
  }

  bool number_float(number_float_t value, const string_t& text) override {
    return number(std::nullopt, text, value);
  }

  bool string(string_t& text) override {
    if (in_event()) {
      if (key_ == "ph") {
        event_.phase = text.empty() ? '\0' : text.front();
      } else if (key_ == "ts") {
        event_.time = nanoseconds_of(text);
      } else if (std::string* field = text_field()) {
        *field = std::move(text);
      }
    } else if (in_arguments()) {
      if (std::string* field = argument_field()) {
        *field = std::move(text);
      }
    } else if (in_operands(0)) {
      if (operands_ == "Input type") {
        event_.operands.types.push_back(std::move(text));
      } else if (operands_ == "Concrete Inputs") {
        event_.operands.values.push_back(std::move(text));
      }
    } else if (in_device() && key_ == "name") {
      reading_.facts.gpu.name = std::move(text);
    } else if (depth_ == 2 && !array_ && key_ == "scenario") {
      reading_.facts.title = std::move(text);
    }
    return true;
  }

  bool binary(binary_t& /*value*/) override { return true; }

  bool start_object(std::size_t /*elements*/) override {
    ++depth_;
    if (depth_ == 3 && !events_ && section_ == "deviceProperties") {
      ++devices_;
    }
    if (depth_ == event_depth() && events_) {
      event_.clear();
    } else if (in_arguments_object()) {
      arguments_ = key_ == "args";
    }
    return true;
  }

  bool key(string_t& name) override {
    if (depth_ == 1 && !array_) {
      section_ = name;
    }
    key_ = std::move(name);
    return true;
  }

  bool end_object() override {
    const bool event_ends = depth_ == event_depth() && events_;
    --depth_;
    return !event_ends || take_event();
  }

  bool start_array(std::size_t /*elements*/) override {
    if (in_arguments()) {
      operands_ = key_;
    } else if (in_operands(0)) {
      if (auto* lists = operand_lists()) {
        lists->emplace_back();
      }
    }
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
    if (in_arguments()) {
      operands_.clear();
    }
    if (depth_ == 1 && !array_) {
      events_ = false;
    }
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const Json::exception& error) override {
    const std::string what = error.what();
    constexpr std::string_view kStart = "parse error at ";
    const std::size_t at = what.find(kStart);
    const std::string place = at == std::string::npos ? what : what.substr(at + kStart.size());
    const bool at_end = position > file_.text() ||
                        place.find("unexpected end of input") != std::string::npos ||
                        !file_.problem().empty();
    if (at_end) {
      reading_.problem =
          fmt::format("the file is cut off: it ends within or after event {}, at byte {}",
                      format_integer(static_cast<std::int64_t>(reading_.events + 1)),
                      format_integer(static_cast<std::int64_t>(file_.text())));
    } else {
      reading_.problem = fmt::format("not valid JSON at {}", place);
    }
    return false;
  }

  [[nodiscard]] bool found_events() const { return found_; }

  [[nodiscard]] EventReading& reading() { return reading_; }

 private:
  [[nodiscard]] int event_depth() const { return array_ ? 2 : 3; }

  [[nodiscard]] bool in_event() const { return events_ && depth_ == event_depth(); }

  [[nodiscard]] bool in_arguments_object() const { return events_ && depth_ == event_depth() + 1; }

  [[nodiscard]] bool in_arguments() const { return in_arguments_object() && arguments_; }

  // Inside of an array of the arguments, or of arrays in it.
  [[nodiscard]] bool in_operands(int level) const {
    return events_ && !operands_.empty() && depth_ == event_depth() + 2 + level;
  }

  std::vector<std::vector<std::int64_t>>* operand_lists() {
    return operands_ == "Input Dims"      ? &event_.operands.sizes
           : operands_ == "Input Strides" ? &event_.operands.strides
                                          : nullptr;
  }

  [[nodiscard]] bool in_device() const {
    return depth_ == 3 && !events_ && devices_ == 1 && section_ == "deviceProperties";
  }

  std::int64_t* device_number() {
    TracedGpu& gpu = reading_.facts.gpu;
    return field_of(std::array<std::pair<std::string_view, std::int64_t*>, 4>{
        {{"computeMajor", &gpu.major},
         {"computeMinor", &gpu.minor},
         {"numSms", &gpu.multiprocessors},
         {"totalGlobalMem", &gpu.memory}}});
  }

  template <std::size_t N, typename T>
  T* field_of(const std::array<std::pair<std::string_view, T*>, N>& fields) const {
    for (const auto& [name, field] : fields) {
      if (key_ == name) {
        return field;
      }
    }
    return nullptr;
  }

  std::string* text_field() {
    return field_of(
        std::array<std::pair<std::string_view, std::string*>, 5>{{{"name", &event_.name},
                                                                  {"cat", &event_.category},
                                                                  {"pid", &event_.process},
                                                                  {"tid", &event_.thread},
                                                                  {"id", &event_.id}}});
  }

  std::string* argument_field() {
    return field_of(std::array<std::pair<std::string_view, std::string*>, 6>{
        {{"name", &event_.argument_name},
         {"labels", &event_.argument_name},
         {"Collective name", &event_.collective},
         {"Process Group Name", &event_.group},
         {"Process Group Description", &event_.group_description},
         {"Process Group Ranks", &event_.group_ranks}}});
  }

  std::optional<std::int64_t>* argument_number() {
    return field_of(std::array<std::pair<std::string_view, std::optional<std::int64_t>*>, 6>{
        {{"sort_index", &event_.argument_order},
         {"correlation", &event_.correlation},
         {"device", &event_.device},
         {"stream", &event_.stream},
         {"External id", &event_.external_id},
         {"Group size", &event_.group_size}}});
  }

  bool number(std::optional<std::int64_t> integer, const std::string& text, double value) {
    if (in_event()) {
      if (key_ == "ts") {
        event_.time = nanoseconds_of(text);
      } else if (key_ == "dur") {
        event_.duration = nanoseconds_of(text);
      } else if (std::string* field = text_field()) {
        *field = text;
      }
    } else if (in_arguments()) {
      std::optional<std::int64_t>* field = argument_number();
      if (field != nullptr && integer) {
        *field = integer;
      }
      const bool counter = event_.phase == 'C' || event_.phase == 0;
      if (counter && event_.numbers.size() < kMostNumbers) {
        event_.numbers.emplace_back(key_, value);
      }
    } else if (in_operands(1)) {
      if (auto* lists = operand_lists(); lists != nullptr && integer) {
        lists->back().push_back(*integer);
      }
    } else if (in_device()) {
      if (std::int64_t* field = device_number(); field != nullptr && integer) {
        *field = *integer;
      }
    } else if (depth_ == 2 && section_ == "distributedInfo" && integer) {
      if (key_ == "rank") {
        reading_.facts.rank = integer;
      } else if (key_ == "world_size") {
        reading_.facts.world_size = integer;
      }
    }
    return true;
  }

  bool take_event() {
    ++reading_.events;
    if (!take_(event_)) {
      reading_.refused = true;
      return false;
    }
    if (reading_.events % kLookEvery == 0) {
      if (limits_.stop.stop_requested()) {
        reading_.cancelled = true;
        return false;
      }
      if (limits_.progress) {
        limits_.progress(static_cast<double>(file_.consumed()) / static_cast<double>(file_.size()));
      }
    }
    return true;
  }

  const TraceFile& file_;
  const ReadLimits& limits_;
  const TakeEvent& take_;
  EventReading reading_;
  TraceEvent event_;
  std::string key_;
  std::string section_;   // key of the outermost object
  std::string operands_;  // the array of the arguments that is read
  int devices_ = 0;
  int depth_ = 0;
  bool array_ = false;   // the file is the array of events itself
  bool events_ = false;  // inside the array of events
  bool found_ = false;
  bool arguments_ = false;  // the innermost object of the event is `args`
};

}  // namespace

std::optional<std::int64_t> nanoseconds_of(std::string_view microseconds) {
  const bool negative = microseconds.starts_with('-');
  const std::string_view digits = microseconds.substr(negative ? 1 : 0);
  const std::size_t point = digits.find('.');
  const std::string_view whole = digits.substr(0, point);
  const std::string_view rest = point == std::string_view::npos ? "" : digits.substr(point + 1);
  constexpr std::size_t kDecimals = 3;
  if (!is_digits(whole) || (!rest.empty() && !is_digits(rest)) || rest.size() > kDecimals) {
    return by_floating_point(microseconds);
  }
  std::int64_t us = 0;
  const auto parsed = std::from_chars(whole.data(), whole.data() + whole.size(), us);
  if (parsed.ec != std::errc() || us > kLongest / kNanosecondsPerMicrosecond) {
    return std::nullopt;
  }
  std::int64_t ns = 0;
  for (std::size_t i = 0; i < kDecimals; ++i) {
    constexpr std::int64_t kTen = 10;
    ns = kTen * ns + (i < rest.size() ? rest[i] - '0' : 0);
  }
  const std::int64_t sum = us * kNanosecondsPerMicrosecond + ns;
  return negative ? -sum : sum;
}

void TraceEvent::clear() {
  phase = 0;
  for (std::string* text : {&name, &category, &process, &thread, &id, &argument_name, &collective,
                            &group, &group_description, &group_ranks}) {
    text->clear();
  }
  for (std::optional<std::int64_t>* number : {&time, &duration, &argument_order, &correlation,
                                              &device, &stream, &group_size, &external_id}) {
    number->reset();
  }
  numbers.clear();
  operands = {};
}

EventReading read_events(const std::filesystem::path& path, const ReadLimits& limits,
                         const TakeEvent& take) {
  TraceFile file(path, limits.most_bytes, limits.stop);
  EventParser parser(file, limits, take);
  bool read = false;
  if (file.problem().empty()) {
    std::istream stream(&file);
    read = Json::sax_parse(stream, &parser);
  }
  EventReading& reading = parser.reading();
  if (file.stopped()) {
    reading.cancelled = true;
    reading.problem.clear();  // the text that is missing
  }
  if (!file.problem().empty() && !reading.cancelled && !reading.refused) {
    reading.problem = file.problem();
  } else if (read && !parser.found_events()) {
    reading.problem = "not a trace: it has no array `traceEvents`";
  }
  return reading;
}

bool is_trace_file(const std::filesystem::path& path) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40U;
  constexpr std::size_t kLooked = 1U << 16U;
  TraceFile file(path, kMost);
  std::string text(kLooked, '\0');
  std::istream stream(&file);
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  const std::size_t first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first == std::string::npos || (text[first] != '{' && text[first] != '[')) {
    return false;
  }
  const bool named = text.find("\"traceEvents\"") != std::string::npos ||
                     text.find("\"schemaVersion\"") != std::string::npos;
  return named || (text[first] == '[' && text.find("\"ph\"") != std::string::npos);
}

}  // namespace orrery::trace
