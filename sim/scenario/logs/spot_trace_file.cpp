#include "sim/scenario/logs/spot_trace_file.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include "sim/base/text/text.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/base/yaml/reader.hpp"
#include "sim/scenario/table/key.hpp"

namespace orrery::scenario {

namespace {

namespace kind = yaml::kind;

constexpr std::size_t kMostSamples = 10'000'000;

const yaml::Value* entry_of(const yaml::Value& mapping, std::string_view key) {
  for (const yaml::Entry& entry : mapping.entries) {
    if (entry.key == key) {
      return &entry.value;
    }
  }
  return nullptr;
}

// The samples of `data`, up to the first that is no number of nodes.
std::vector<std::int64_t> samples_in(const yaml::Value& data, Diagnostics& diagnostics) {
  std::vector<std::int64_t> samples;
  if (data.kind != yaml::Value::Kind::sequence || data.items.empty()) {
    yaml::report(diagnostics, data.where, "data",
                 data.items.empty() && data.kind == yaml::Value::Kind::sequence ? "has no samples"
                                                                                : "is no list",
                 "[16, 16, 12, 16]");
    return {};
  }
  samples.reserve(data.items.size());
  for (std::size_t i = 0; i < data.items.size(); ++i) {
    const auto nodes =
        yaml::read_value<kind::Count>(data.items[i], fmt::format("data[{}]", i), diagnostics,
                                      yaml::between<std::int64_t>(0, kMostNodes));
    if (!nodes) {
      return {};
    }
    samples.push_back(*nodes);
  }
  return samples;
}

// The distance of the samples.
std::optional<Seconds> gap_in(const yaml::Value& root, Diagnostics& diagnostics) {
  const double longest = in_seconds(days(1.0));
  const yaml::Value* metadata = entry_of(root, "metadata");
  const yaml::Value* gap = metadata == nullptr ? nullptr : entry_of(*metadata, "gap_seconds");
  if (gap == nullptr) {
    yaml::report(diagnostics, metadata == nullptr ? root.where : metadata->where,
                 "metadata.gap_seconds", "is missing", "seconds between two samples");
    return std::nullopt;
  }
  const auto value = yaml::read_value<kind::Number>(*gap, "metadata.gap_seconds", diagnostics,
                                                    {.min = kNano, .max = longest});
  return value ? std::optional(seconds(*value)) : std::nullopt;
}

std::optional<run::SpotTrace> read_samples(std::string_view text, const std::string& file,
                                           Diagnostics& diagnostics) {
  const auto root = yaml::parse(
      text, file, {.max_bytes = text.size(), .max_nodes = 2 * kMostSamples}, diagnostics);
  if (!root) {
    return std::nullopt;
  }
  const std::optional<Seconds> gap = gap_in(*root, diagnostics);
  const yaml::Value* data = entry_of(*root, "data");
  if (data == nullptr) {
    yaml::report(diagnostics, root->where, "data", "is missing", "nodes, one sample per gap");
    return std::nullopt;
  }
  const std::vector<std::int64_t> samples = samples_in(*data, diagnostics);
  if (!gap || samples.empty()) {
    return std::nullopt;
  }
  if (const yaml::Value* prices = entry_of(*root, "prices"); prices != nullptr) {
    diagnostics.warning(prices->where, "prices", "are not read: they are those of an instance",
                        "prices.spot_gpu_hour of the scenario");
  }
  return trace_of_samples(*gap, samples);
}

constexpr double kMostSeconds = 2.0 * kGiga;  // 63 years, below the longest simulated time
constexpr std::size_t kMostRows = 10'000'000;
constexpr double kMostDollars = kGiga;

std::optional<double> field_number(std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

// The rows of a trace in CSV; reports the first problem, under the key that names the file.
class RowReader {
 public:
  RowReader(const std::string& file, const SourceLocation& where, std::string_view key,
            Diagnostics& diagnostics)
      : file_(file), where_(where), key_(key), diagnostics_(diagnostics) {}

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
      return fail(0, fmt::format("has {} rows after its header", times_.size()),
                  "at least two: the last one ends the trace");
    }
    return true;
  }

  // Rows of equal neighbours are one; the last row gives the length.
  [[nodiscard]] run::SpotTrace trace() const {
    run::SpotTrace trace;
    for (std::size_t i = 0; i + 1 < times_.size(); ++i) {
      const run::SpotRow row{to_sim_time(seconds(times_[i])), available_[i], prices_[i]};
      if (trace.rows.empty() || trace.rows.back().available != row.available ||
          trace.rows.back().price != row.price) {
        trace.rows.push_back(row);
      }
    }
    trace.length = to_sim_time(seconds(times_.back()));
    return trace;
  }

 private:
  bool fail(std::int64_t line, std::string_view message, std::string_view allowed) {
    const std::string at = line == 0 ? file_ : fmt::format("{}:{}", file_, line);
    yaml::report(diagnostics_, where_, key_, fmt::format("{}: {}", at, message), allowed);
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
      return fail(line, fmt::format("has {} fields", count),
                  fmt::format("{}, as in the header", columns_));
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
    const std::optional<double> time = field_number(fields[0]);
    if (!time || *time < 0.0 || *time > kMostSeconds) {
      return fail(line, fmt::format("`{}` is no time", fields[0]),
                  "seconds from 0 to 2,000,000,000");
    }
    if (times_.empty() && *time != 0.0) {
      return fail(line, fmt::format("the trace begins at {} s", fields[0]), "0");
    }
    if (!times_.empty() && to_sim_time(seconds(*time)) <= to_sim_time(seconds(times_.back()))) {
      return fail(line, fmt::format("time {} does not come after the row before", fields[0]),
                  "ascending times, at least a nanosecond apart");
    }
    const std::optional<double> nodes = field_number(fields[1]);
    if (!nodes || *nodes < 0.0 || *nodes > static_cast<double>(kMostNodes) ||
        *nodes != std::floor(*nodes)) {
      return fail(line, fmt::format("`{}` is no number of nodes", fields[1]),
                  fmt::format("a whole number from 0 to {}", kMostNodes));
    }
    std::optional<DollarsPerSecond> price;
    if (columns_ == fields.size()) {
      const std::optional<double> value = field_number(fields[2]);
      if (!value || *value < 0.0 || *value > kMostDollars) {
        return fail(line, fmt::format("`{}` is no price", fields[2]),
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

  const std::string& file_;
  const SourceLocation& where_;
  std::string_view key_;
  Diagnostics& diagnostics_;
  std::size_t columns_ = 0;
  std::vector<double> times_;
  std::vector<std::int64_t> available_;
  std::vector<std::optional<DollarsPerSecond>> prices_;
};

}  // namespace

run::SpotTrace trace_of_samples(Seconds gap, const std::vector<std::int64_t>& available) {
  const auto at = [gap](std::size_t sample) {
    return to_sim_time(gap * static_cast<double>(sample));
  };
  run::SpotTrace trace;
  for (std::size_t i = 0; i < available.size(); ++i) {
    if (trace.rows.empty() || trace.rows.back().available != available[i]) {
      trace.rows.push_back({at(i), available[i], std::nullopt});
    }
  }
  trace.length = at(available.size());
  return trace;
}

std::optional<run::SpotTrace> read_spot_trace_text(std::string_view text, const std::string& file,
                                                   const SourceLocation& where,
                                                   std::string_view key, Diagnostics& diagnostics) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{') {
    return read_samples(text, file, diagnostics);
  }
  RowReader reader(file, where, key, diagnostics);
  return reader.read(text) ? std::optional(reader.trace()) : std::nullopt;
}

}  // namespace orrery::scenario
