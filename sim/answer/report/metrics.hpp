#pragma once

// The registry of metrics: the numbers that the program reports, with their names and units.
//
// A number that appears in the terminal, in JSON, in CSV or in an expectation comes from here. The
// registry gives each metric its name, dimension, JSON key (unit in the key), one-line meaning and
// the convention it follows.
//
// Quantiles and their intervals are those of run/distribution.hpp.
//
// symbol   | meaning                                                      | unit | origin
// ---------|--------------------------------------------------------------|------|---------
// value    | point value: the step model's answer, or the mean of trials  | base units | computed
// p10..p90 | quantiles over Monte-Carlo trials, absent when deterministic | base units | computed
// ci95     | 95 % confidence interval of the median                       | base units | computed

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/run/distribution.hpp"

namespace orrery::report {

enum class Dimension {
  time,  // seconds
  bytes,
  dollars,
  fraction,
  count,  // plain numbers: failures, steps, tokens, GPU-hours
  tokens_per_second,
  flop_rate,  // FLOP/s
  date,       // seconds since 1970-01-01T00:00Z
  energy,     // kilowatt-hours
  mass,       // kilograms
  price,      // dollars per hour
};

// How a metric moves with the step time, to first order: goodput hardly does (failures and saves
// come by time, not by step), so a run takes as much longer as its step.
//
// follows  | moves as                                                | such as
// ---------|---------------------------------------------------------|------------------------
// nothing  | it stays                                                | goodput, memory
// step     | the step time                                           | cost per million tokens
// speed    | 1 / the step time                                       | MFU, tokens per second
// duration | the step time where the work is set, not in a window    | finish, cost, failures
// progress | 1 / the step time in a window, not where the work is set | tokens trained
enum class Follows { nothing, step, speed, duration, progress };

enum class MetricId {
  step_time,
  tokens_per_second,
  tokens_per_second_per_gpu,
  useful_tokens_per_second,
  model_flops_per_gpu,
  mfu,
  mfu_causal,
  mfu_6nd,
  hfu,
  bubble_fraction,
  exposed_communication_fraction,
  link_sharing,
  peak_memory,
  memory_headroom,
  host_memory,
  rollout_step_time,
  gpu_seconds_per_answer,
  cost_per_thousand_answers,
  budget_compute,
  optimal_parameters,
  optimal_tokens,
  finish_time,
  finish_date,
  steps_done,
  tokens_trained,
  goodput,
  ettr,
  cost,
  cost_per_million_tokens,
  gpu_hours,
  failures,
  mtbf,
  lost_work,
  waiting,
  checkpoint_interval,
  checkpoint_stall,
  checkpoint_durable,
  energy,
  site_energy,
  carbon,
  idle_cost,
  failure_cost,
  spot_break_even,
  count_
};

inline constexpr std::size_t kMetricCount = static_cast<std::size_t>(MetricId::count_);

struct MetricInfo {
  MetricId id;
  std::string_view name;      // "step_time"
  std::string_view json_key;  // "step_time_s"
  Dimension dimension;
  bool stochastic;  // varies over trials: an expectation needs a quantile or mean
  Follows follows;
  std::string_view meaning;  // one line, with the convention
  std::string_view formula;  // what the value is computed from, in one line
};

[[nodiscard]] std::span<const MetricInfo> metric_registry();
[[nodiscard]] const MetricInfo& info(MetricId id);
// By its name, with or without the unit that its JSON key has.
[[nodiscard]] const MetricInfo* find_metric(std::string_view name);

// A metric's value in base units (seconds, bytes, dollars, fraction), with its distribution over
// trials when it varies; `value` is then the mean.
struct MetricValue {
  MetricId id = MetricId::step_time;
  double value = 0.0;
  std::optional<run::Distribution> trials;
};

class MetricSet {
 public:
  void set(MetricValue value);
  // nullptr when the scenario does not produce it (no run, no price, ...).
  [[nodiscard]] const MetricValue* find(MetricId id) const;

 private:
  std::array<std::optional<MetricValue>, kMetricCount> values_;
};

// Text in the metric's natural unit for people: "6.21 s", "41.3 %", "$41.2M", "2024-05-25 03:10".
[[nodiscard]] std::string format_value(Dimension dimension, double value);

}  // namespace orrery::report
