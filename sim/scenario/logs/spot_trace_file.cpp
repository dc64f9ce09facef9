#include "sim/scenario/logs/spot_trace_file.hpp"

#include <fmt/core.h>

#include "sim/scenario/table/limits.hpp"
#include "sim/yaml/document.hpp"
#include "sim/yaml/reader.hpp"

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
    yaml::report(diagnostics,
                 data.where,
                 "data",
                 data.items.empty() && data.kind == yaml::Value::Kind::sequence ? "has no samples"
                                                                                : "is no list",
                 "[16, 16, 12, 16]");
    return {};
  }
  samples.reserve(data.items.size());
  for (std::size_t i = 0; i < data.items.size(); ++i) {
    const auto nodes = yaml::read_value<kind::Count>(data.items[i],
                                                     fmt::format("data[{}]", i),
                                                     diagnostics,
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
    yaml::report(diagnostics,
                 metadata == nullptr ? root.where : metadata->where,
                 "metadata.gap_seconds",
                 "is missing",
                 "seconds between two samples");
    return std::nullopt;
  }
  const auto value = yaml::read_value<kind::Number>(
      *gap, "metadata.gap_seconds", diagnostics, {.min = kNano, .max = longest});
  return value ? std::optional(seconds(*value)) : std::nullopt;
}

std::optional<run::SpotTrace> read_samples(std::string_view text,
                                           const std::string& file,
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
    diagnostics.warning(prices->where,
                        "prices",
                        "are not read: they are those of an instance",
                        "prices.spot_gpu_hour of the scenario");
  }
  return trace_of_samples(*gap, samples);
}

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

std::optional<run::SpotTrace> read_spot_trace_text(std::string_view text,
                                                   const std::string& file,
                                                   const SourceLocation& where,
                                                   std::string_view key,
                                                   Diagnostics& diagnostics) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{') {
    return read_samples(text, file, diagnostics);
  }
  run::SpotTraceProblem problem;
  std::optional<run::SpotTrace> trace = run::read_spot_trace(text, problem);
  if (!trace) {
    yaml::report(diagnostics,
                 where,
                 key,
                 problem.line == 0 ? fmt::format("{}: {}", file, problem.message)
                                   : fmt::format("{}:{}: {}", file, problem.line, problem.message),
                 problem.allowed);
  }
  return trace;
}

}  // namespace orrery::scenario
