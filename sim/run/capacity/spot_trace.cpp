#include "sim/run/capacity/spot_trace.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <vector>

#include "sim/base/text/text.hpp"

namespace orrery::run {

namespace {

constexpr std::int64_t kMostNodes = 1'000'000;
constexpr double kMostSeconds = 2.0 * kGiga;  // 63 years, below the longest simulated time
constexpr std::size_t kMostRows = 10'000'000;
constexpr double kMostDollars = kGiga;

std::optional<double> number(std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

// Goes through the lines of the text; collects rows and the first problem.
class Reader {
 public:
  explicit Reader(SpotTraceProblem& problem) : problem_(problem) {}

  bool read(std::string_view text) {
    std::int64_t line = 0;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      ++line;
      const std::string_view content = trimmed(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      if (!content.empty() && content.front() != '#' && !read_line(line, content)) {
        return false;
      }
    }
    if (columns_ == 0) {
      return fail(0, "is empty", "a header `time,available` and at least two rows");
    }
    if (times_.size() < 2) {
      return fail(0,
                  fmt::format("has {} rows after its header", times_.size()),
                  "at least two: the last one ends the trace");
    }
    return true;
  }

  // Rows of equal neighbours are one; the last row gives the length.
  [[nodiscard]] SpotTrace trace() const {
    SpotTrace trace;
    for (std::size_t i = 0; i + 1 < times_.size(); ++i) {
      const SpotRow row{to_sim_time(seconds(times_[i])), available_[i], prices_[i]};
      if (trace.rows.empty() || trace.rows.back().available != row.available ||
          trace.rows.back().price != row.price) {
        trace.rows.push_back(row);
      }
    }
    trace.length = to_sim_time(seconds(times_.back()));
    return trace;
  }

 private:
  bool fail(std::int64_t line, std::string message, std::string allowed) {
    problem_ = {line, std::move(message), std::move(allowed)};
    return false;
  }

  bool read_line(std::int64_t line, std::string_view content) {
    std::array<std::string_view, 3> fields;
    std::size_t count = 0;
    std::string_view rest = content;
    for (bool more = true; more; ++count) {
      const std::size_t comma = rest.find(',');
      more = comma != std::string_view::npos;
      if (count == fields.size()) {
        return fail(line, "has more than three fields", "time,available,price");
      }
      fields[count] = trimmed(rest.substr(0, comma));
      rest.remove_prefix(more ? comma + 1 : rest.size());
    }
    if (columns_ == 0) {
      return read_header(line, std::span(fields).first(count));
    }
    if (count != columns_) {
      return fail(
          line, fmt::format("has {} fields", count), fmt::format("{}, as in the header", columns_));
    }
    return read_row(line, fields);
  }

  bool read_header(std::int64_t line, std::span<const std::string_view> fields) {
    const bool known = fields.size() >= 2 && fields[0] == "time" && fields[1] == "available" &&
                       (fields.size() == 2 || fields[2] == "price");
    if (!known) {
      return fail(line,
                  "the first line is no header of a trace",  // unquoted: the file may be a secret
                  "time,available or time,available,price");
    }
    columns_ = fields.size();
    return true;
  }

  bool read_row(std::int64_t line, const std::array<std::string_view, 3>& fields) {
    const std::optional<double> time = number(fields[0]);
    if (!time || *time < 0.0 || *time > kMostSeconds) {
      return fail(
          line, fmt::format("`{}` is no time", fields[0]), "seconds from 0 to 2,000,000,000");
    }
    if (times_.empty() && *time != 0.0) {
      return fail(line, fmt::format("the trace begins at {} s", fields[0]), "0");
    }
    if (!times_.empty() && to_sim_time(seconds(*time)) <= to_sim_time(seconds(times_.back()))) {
      return fail(line,
                  fmt::format("time {} does not come after the row before", fields[0]),
                  "ascending times, at least a nanosecond apart");
    }
    const std::optional<double> nodes = number(fields[1]);
    if (!nodes || *nodes < 0.0 || *nodes > static_cast<double>(kMostNodes) ||
        *nodes != std::floor(*nodes)) {
      return fail(line,
                  fmt::format("`{}` is no number of nodes", fields[1]),
                  fmt::format("a whole number from 0 to {}", kMostNodes));
    }
    std::optional<DollarsPerSecond> price;
    if (columns_ == fields.size()) {
      const std::optional<double> value = number(fields[2]);
      if (!value || *value < 0.0 || *value > kMostDollars) {
        return fail(line,
                    fmt::format("`{}` is no price", fields[2]),
                    "dollars per GPU-hour, 0 to 1,000,000,000");
      }
      price = dollars_per_hour(*value);
    }
    if (times_.size() == kMostRows) {
      return fail(line, "the trace is too long", fmt::format("at most {} rows", kMostRows));
    }
    times_.push_back(*time);
    available_.push_back(static_cast<std::int64_t>(*nodes));
    prices_.push_back(price);
    return true;
  }

  SpotTraceProblem& problem_;
  std::size_t columns_ = 0;
  std::vector<double> times_;
  std::vector<std::int64_t> available_;
  std::vector<std::optional<DollarsPerSecond>> prices_;
};

}  // namespace

std::optional<SpotTrace> read_spot_trace(std::string_view text, SpotTraceProblem& problem) {
  Reader reader(problem);
  if (!reader.read(text)) {
    return std::nullopt;
  }
  return reader.trace();
}

}  // namespace orrery::run
