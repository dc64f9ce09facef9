#include "sim/answer/report/metrics.hpp"

#include <cmath>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/base/text/format.hpp"
#include "sim/base/units.hpp"

namespace orrery::report {

namespace {

constexpr std::array<MetricInfo, kMetricCount> kRegistry = {{
    {MetricId::step_time, "step_time", "step_time_s", Dimension::time, false, Follows::step,
     "one optimizer step without failures"},
    {MetricId::tokens_per_second, "tokens_per_second", "tokens_per_second",
     Dimension::tokens_per_second, false, Follows::speed,
     "tokens of one step / step_time, whole job"},
    {MetricId::tokens_per_second_per_gpu, "tokens_per_second_per_gpu", "tokens_per_second_per_gpu",
     Dimension::tokens_per_second, false, Follows::speed, "tokens_per_second / GPUs of the job"},
    {MetricId::useful_tokens_per_second, "useful_tokens_per_second", "useful_tokens_per_second",
     Dimension::tokens_per_second, false, Follows::speed,
     "tokens_per_second without padding, where documents are described"},
    {MetricId::model_flops_per_gpu, "model_flops_per_gpu", "model_flops_per_gpu_flop_per_s",
     Dimension::flop_rate, false, Follows::speed,
     "model FLOP by the PaLM convention / step_time / GPUs"},
    {MetricId::mfu, "mfu", "mfu", Dimension::fraction, false, Follows::speed,
     "PaLM: (6 N + 12 L H Q T) per token over the dense peak of the precision"},
    {MetricId::mfu_causal, "mfu_causal", "mfu_causal", Dimension::fraction, false, Follows::speed,
     "as mfu with half the attention FLOP (causal mask)"},
    {MetricId::mfu_6nd, "mfu_6nd", "mfu_6nd", Dimension::fraction, false, Follows::speed,
     "6 N per token, attention left out"},
    {MetricId::hfu, "hfu", "hfu", Dimension::fraction, false, Follows::speed,
     "as mfu with the FLOP that the kernels execute"},
    {MetricId::bubble_fraction, "bubble_fraction", "bubble_fraction", Dimension::fraction, false,
     Follows::nothing,
     "share of GPU time that the schedule leaves idle with equal stages and no communication"},
    {MetricId::exposed_communication_fraction, "exposed_communication_fraction",
     "exposed_communication_fraction", Dimension::fraction, false, Follows::nothing,
     "share of GPU time in communication that nothing hides"},
    {MetricId::link_sharing, "link_sharing", "link_sharing_s", Dimension::time, false,
     Follows::nothing,
     "extra time of a step because its flows share links (cluster.network.detail: flows)"},
    {MetricId::peak_memory, "peak_memory", "peak_memory_bytes", Dimension::bytes, false,
     Follows::nothing, "largest peak of one GPU over the pipeline stages"},
    {MetricId::memory_headroom, "memory_headroom", "memory_headroom_bytes", Dimension::bytes, false,
     Follows::nothing,
     "memory of the GPU minus peak_memory on the worst stage; negative: does not fit"},
    {MetricId::host_memory, "host_memory", "host_memory_bytes", Dimension::bytes, false,
     Follows::nothing, "host memory of one node that offloaded states and activations take"},
    {MetricId::rollout_step_time, "rollout_step_time", "rollout_step_time_s", Dimension::time,
     false, Follows::nothing,
     "from one update to the next with generation, log probabilities and weight synchronisation"},
    {MetricId::gpu_seconds_per_answer, "gpu_seconds_per_answer", "gpu_seconds_per_answer",
     Dimension::count, false, Follows::nothing,
     "rollout_step_time x GPUs of trainer and generator / answers"},
    {MetricId::cost_per_thousand_answers, "cost_per_thousand_answers",
     "cost_per_thousand_answers_usd", Dimension::dollars, false, Follows::nothing,
     "gpu_seconds_per_answer x prices.gpu_hour x 1000"},
    {MetricId::budget_compute, "budget_compute", "budget_compute_flop", Dimension::count, false,
     Follows::nothing, "6 x active parameters x tokens_trained, where training.budget is stated"},
    {MetricId::optimal_parameters, "optimal_parameters", "optimal_parameters", Dimension::count,
     false, Follows::nothing,
     "parameters of least loss for budget_compute, by the law of Besiroglu et al. 2024"},
    {MetricId::optimal_tokens, "optimal_tokens", "optimal_tokens", Dimension::count, false,
     Follows::nothing, "tokens to train them on"},
    {MetricId::finish_time, "finish_time", "finish_time_s", Dimension::time, true,
     Follows::duration, "wall time from start to the end of the run"},
    {MetricId::finish_date, "finish_date", "finish_date_unix_s", Dimension::date, true,
     Follows::duration, "training.start + finish_time"},
    {MetricId::steps_done, "steps_done", "steps_done", Dimension::count, true, Follows::progress,
     "optimizer steps completed and kept"},
    {MetricId::tokens_trained, "tokens_trained", "tokens_trained", Dimension::count, true,
     Follows::progress, "steps_done x tokens of one step"},
    {MetricId::goodput, "goodput", "goodput", Dimension::fraction, true, Follows::nothing,
     "productive GPU time / GPU time of the job (spares apart)"},
    {MetricId::ettr, "ettr", "ettr", Dimension::fraction, true, Follows::nothing,
     "effective training time ratio: productive / (job time - evaluation - planned maintenance)"},
    {MetricId::cost, "cost", "cost_usd", Dimension::dollars, true, Follows::duration,
     "billed GPU time x price, spares included when billed"},
    {MetricId::cost_per_million_tokens, "cost_per_million_tokens", "cost_per_million_tokens_usd",
     Dimension::dollars, true, Follows::step, "cost / tokens_trained x 10^6"},
    {MetricId::gpu_hours, "gpu_hours", "gpu_hours", Dimension::count, true, Follows::duration,
     "allocated GPU time, spares included"},
    {MetricId::failures, "failures", "failures", Dimension::count, true, Follows::duration,
     "failures that struck the job"},
    {MetricId::mtbf, "mtbf", "mtbf_s", Dimension::time, false, Follows::nothing,
     "mean time between failures of the job, from the stated rates"},
    {MetricId::lost_work, "lost_work", "lost_work_s", Dimension::time, true, Follows::duration,
     "training time thrown away because no checkpoint protected it, per run"},
    {MetricId::waiting, "waiting", "waiting_s", Dimension::time, true, Follows::duration,
     "time the job stood ready while nodes were missing, per run"},
    {MetricId::checkpoint_interval, "checkpoint_interval", "checkpoint_interval_s", Dimension::time,
     false, Follows::nothing, "training time between two saves"},
    {MetricId::checkpoint_stall, "checkpoint_stall", "checkpoint_stall_s", Dimension::time, false,
     Follows::nothing, "training blocked by one save"},
    {MetricId::checkpoint_durable, "checkpoint_durable", "checkpoint_durable_s", Dimension::time,
     false, Follows::nothing, "begin of a save until it protects"},
    {MetricId::energy, "energy", "energy_kwh", Dimension::energy, true, Follows::duration,
     "GPU board power limit x allocated GPU time; hosts, network and cooling apart"},
    {MetricId::site_energy, "site_energy", "site_energy_kwh", Dimension::energy, true,
     Follows::duration, "busy and idle power of the nodes over time x PUE (prices.energy)"},
    {MetricId::carbon, "carbon", "carbon_kg", Dimension::mass, true, Follows::duration,
     "site_energy x prices.energy.carbon"},
    {MetricId::idle_cost, "idle_cost", "idle_cost_usd", Dimension::dollars, false,
     Follows::duration,
     "mean dollars for idle spares, nodes in repair and reservations that nobody used"},
    {MetricId::failure_cost, "failure_cost", "failure_cost_usd", Dimension::dollars, false,
     Follows::duration,
     "mean dollars of the GPU time that failures took: lost work, recovery, waiting for nodes"},
    {MetricId::spot_break_even, "spot_break_even", "spot_break_even_usd_per_gpu_hour",
     Dimension::price, false, Follows::nothing,
     "price of a GPU on spot at which a token costs as much as without spot nodes"},
}};

}  // namespace

std::span<const MetricInfo> metric_registry() { return kRegistry; }

const MetricInfo& info(MetricId id) {
  const MetricInfo& found = kRegistry[static_cast<std::size_t>(id)];
  ORRERY_CHECK(found.id == id, "the metric registry is not in the order of MetricId");
  return found;
}

const MetricInfo* find_metric(std::string_view name) {
  for (const MetricInfo& metric : kRegistry) {
    if (metric.name == name || metric.json_key == name) {
      return &metric;
    }
  }
  return nullptr;
}

void MetricSet::set(MetricValue value) {
  values_[static_cast<std::size_t>(value.id)] = std::move(value);
}

const MetricValue* MetricSet::find(MetricId id) const {
  const auto& slot = values_[static_cast<std::size_t>(id)];
  return slot ? &*slot : nullptr;
}

std::string format_value(Dimension dimension, double value) {
  switch (dimension) {
    case Dimension::time:
      return format_time(seconds(value));
    case Dimension::bytes:
      return format_bytes_binary(bytes(value));
    case Dimension::dollars:
      return format_money(dollars(value));
    case Dimension::fraction:
      return format_percent(value);
    case Dimension::count:
      return format_count(value);
    case Dimension::tokens_per_second:
      return format_count(value) + " tokens/s";
    case Dimension::flop_rate:
      return format_flop_rate(flop_per_second(value));
    case Dimension::date:
      return format_date_time(static_cast<std::int64_t>(std::llround(value)));
    case Dimension::energy:
      return format_count(value) + " kWh";
    case Dimension::mass:
      return format_count(value) + " kg";
    case Dimension::price:
      return format_money(dollars(value)) + "/h";
  }
  return {};
}

}  // namespace orrery::report
