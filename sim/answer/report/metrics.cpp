#include "sim/answer/report/metrics.hpp"

#include <cmath>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::report {

namespace {

using D = Dimension;
using F = Follows;

// In the order of MetricId.
constexpr std::array<MetricInfo, kMetricCount> kRegistry = {{
    {MetricId::step_time, "step_time", "step_time_s", D::time, false, F::step,
     "one optimizer step without failures",
     "end of the last task of the executed step graph (schedule + costs)"},
    {MetricId::tokens_per_second, "tokens_per_second", "tokens_per_second", D::tokens_per_second,
     false, F::speed, "tokens of one step / step_time, whole job",
     "global batch x sequence length / step_time"},
    {MetricId::tokens_per_second_per_gpu, "tokens_per_second_per_gpu", "tokens_per_second_per_gpu",
     D::tokens_per_second, false, F::speed, "tokens_per_second / GPUs of the job",
     "tokens_per_second / GPUs of the job"},
    {MetricId::useful_tokens_per_second, "useful_tokens_per_second", "useful_tokens_per_second",
     D::tokens_per_second, false, F::speed,
     "tokens_per_second without padding, where documents are described",
     "tokens_per_second x share of a sequence that is no padding"},
    {MetricId::model_flops_per_gpu, "model_flops_per_gpu", "model_flops_per_gpu_flop_per_s",
     D::flop_rate, false, F::speed, "model FLOP by the PaLM convention / step_time / GPUs",
     "(6 N + 12 L H Q T) x tokens_per_second / GPUs"},
    {MetricId::mfu, "mfu", "mfu", D::fraction, false, F::speed,
     "PaLM: (6 N + 12 L H Q T) per token over the dense peak of the precision",
     "(6 N + 12 L H Q T) x tokens_per_second / (GPUs x dense peak)"},
    {MetricId::mfu_causal, "mfu_causal", "mfu_causal", D::fraction, false, F::speed,
     "as mfu with half the attention FLOP (causal mask)",
     "(6 N + 6 L H Q T) x tokens_per_second / (GPUs x dense peak)"},
    {MetricId::mfu_6nd, "mfu_6nd", "mfu_6nd", D::fraction, false, F::speed,
     "6 N per token, attention left out", "6 N x tokens_per_second / (GPUs x dense peak)"},
    {MetricId::hfu, "hfu", "hfu", D::fraction, false, F::speed,
     "as mfu with the FLOP that the kernels execute",
     "(6 N + 12 L H Q T, or 6 L H Q T where fused kernels skip a causal mask, + recomputed) x "
     "tokens_per_second / (GPUs x dense peak)"},
    {MetricId::bubble_fraction, "bubble_fraction", "bubble_fraction", D::fraction, false,
     F::nothing,
     "share of GPU time that the schedule leaves idle with equal stages and no communication",
     "bubble of the step ledger / all GPU time of the step"},
    {MetricId::exposed_communication_fraction, "exposed_communication_fraction",
     "exposed_communication_fraction", D::fraction, false, F::nothing,
     "share of GPU time in communication that nothing hides",
     "exposed_* of the step ledger / all GPU time"},
    {MetricId::link_sharing, "link_sharing", "link_sharing_s", D::time, false, F::nothing,
     "extra time of a step because its flows share links (cluster.network.detail: flows)",
     "step with flows that share links - step with links of their own"},
    {MetricId::peak_memory, "peak_memory", "peak_memory_bytes", D::bytes, false, F::nothing,
     "largest peak of one GPU over the pipeline stages",
     "max over stages of states + activations in flight + working + comm. + overhead"},
    {MetricId::memory_headroom, "memory_headroom", "memory_headroom_bytes", D::bytes, false,
     F::nothing, "memory of the GPU minus peak_memory on the worst stage; negative: does not fit",
     "memory of the GPU - peak_memory of the worst stage"},
    {MetricId::host_memory, "host_memory", "host_memory_bytes", D::bytes, false, F::nothing,
     "host memory of one node that offloaded states and activations take",
     "offloaded states and activations of all GPUs of one node"},
    {MetricId::rollout_step_time, "rollout_step_time", "rollout_step_time_s", D::time, false,
     F::nothing,
     "from one update to the next with generation, log probabilities and weight synchronisation",
     "colocated: generation + reward + log probabilities + updates + weight_sync + switching; "
     "ahead: max(generation + reward, the rest) + weight_sync"},
    {MetricId::gpu_seconds_per_answer, "gpu_seconds_per_answer", "gpu_seconds_per_answer", D::count,
     false, F::nothing, "rollout_step_time x GPUs of trainer and generator / answers",
     "rollout_step_time x (GPUs of the trainer + rollout.gpus) / (prompts x samples)"},
    {MetricId::cost_per_thousand_answers, "cost_per_thousand_answers",
     "cost_per_thousand_answers_usd", D::dollars, false, F::nothing,
     "gpu_seconds_per_answer x prices.gpu_hour x 1000",
     "gpu_seconds_per_answer x prices.gpu_hour x 1000, whatever else prices says"},
    {MetricId::budget_compute, "budget_compute", "budget_compute_flop", D::count, false, F::nothing,
     "6 x active parameters x tokens_trained, where training.budget is stated",
     "as stated, else 6 x active parameters x tokens_trained"},
    {MetricId::optimal_parameters, "optimal_parameters", "optimal_parameters", D::count, false,
     F::nothing, "parameters of least loss for budget_compute, by the law of Besiroglu et al. 2024",
     "(alpha A / (beta B))^(1 / (alpha + beta)) x (budget_compute / 6)^(beta / (alpha + beta))"},
    {MetricId::optimal_tokens, "optimal_tokens", "optimal_tokens", D::count, false, F::nothing,
     "tokens to train them on", "budget_compute / (6 x optimal_parameters)"},
    {MetricId::finish_time, "finish_time", "finish_time_s", D::time, true, F::duration,
     "wall time from start to the end of the run", "end of the simulated run, over all trials"},
    {MetricId::finish_date, "finish_date", "finish_date_unix_s", D::date, true, F::duration,
     "training.start + finish_time", "training.start + finish_time"},
    {MetricId::steps_done, "steps_done", "steps_done", D::count, true, F::progress,
     "optimizer steps completed and kept", "steps completed and kept, over all trials"},
    {MetricId::tokens_trained, "tokens_trained", "tokens_trained", D::count, true, F::progress,
     "steps_done x tokens of one step", "steps_done x global batch x sequence length"},
    {MetricId::goodput, "goodput", "goodput", D::fraction, true, F::nothing,
     "productive GPU time / GPU time of the job (spares apart)",
     "productive GPU time / (GPUs of the job x wall time)"},
    {MetricId::ettr, "ettr", "ettr", D::fraction, true, F::nothing,
     "effective training time ratio: productive / (job time - evaluation - planned maintenance)",
     "productive / (GPUs of the job x wall - evaluation - planned maintenance)"},
    {MetricId::cost, "cost", "cost_usd", D::dollars, true, F::duration,
     "billed GPU time x price, spares included when billed",
     "integral of held nodes x price, and energy, storage, egress, operators"},
    {MetricId::cost_per_million_tokens, "cost_per_million_tokens", "cost_per_million_tokens_usd",
     D::dollars, true, F::step, "cost / tokens_trained x 10^6", "cost / tokens_trained x 10^6"},
    {MetricId::gpu_hours, "gpu_hours", "gpu_hours", D::count, true, F::duration,
     "allocated GPU time, spares included",
     "allocated GPUs (spares included) integrated over time"},
    {MetricId::failures, "failures", "failures", D::count, true, F::duration,
     "failures that struck the job", "failures that struck, over all trials"},
    {MetricId::mtbf, "mtbf", "mtbf_s", D::time, false, F::nothing,
     "mean time between failures of the job, from the stated rates",
     "1 / (rates of all causes and preemptions of a job of full size: mean of a day, after "
     "burn-in)"},
    {MetricId::lost_work, "lost_work", "lost_work_s", D::time, true, F::duration,
     "training time thrown away because no checkpoint protected it, per run",
     "training since the last durable checkpoint, summed over failures"},
    {MetricId::waiting, "waiting", "waiting_s", D::time, true, F::duration,
     "time the job stood ready while nodes were missing, per run",
     "waiting_for_capacity of the run ledger / GPUs of the job"},
    {MetricId::checkpoint_interval, "checkpoint_interval", "checkpoint_interval_s", D::time, false,
     F::nothing, "training time between two saves", "steps between saves x step_time"},
    {MetricId::checkpoint_stall, "checkpoint_stall", "checkpoint_stall_s", D::time, false,
     F::nothing, "training blocked by one save",
     "sync: size / write rate; async: size / GPUs / device_to_host"},
    {MetricId::checkpoint_durable, "checkpoint_durable", "checkpoint_durable_s", D::time, false,
     F::nothing, "begin of a save until it protects",
     "sync: the stall; async: stall + size / write rate"},
    {MetricId::energy, "energy", "energy_kwh", D::energy, true, F::duration,
     "GPU board power limit x allocated GPU time; hosts, network and cooling apart",
     "board power limit x allocated GPU-hours"},
    {MetricId::site_energy, "site_energy", "site_energy_kwh", D::energy, true, F::duration,
     "busy and idle power of the nodes over time x PUE (prices.energy)",
     "(busy GPU time x busy + other x idle) / GPUs per node x PUE"},
    {MetricId::carbon, "carbon", "carbon_kg", D::mass, true, F::duration,
     "site_energy x prices.energy.carbon", "site_energy x prices.energy.carbon"},
    {MetricId::idle_cost, "idle_cost", "idle_cost_usd", D::dollars, false, F::duration,
     "mean dollars for idle spares, nodes in repair and reservations that nobody used",
     "spares + repair + reservation of the bill, mean over trials"},
    {MetricId::failure_cost, "failure_cost", "failure_cost_usd", D::dollars, false, F::duration,
     "mean dollars of the GPU time that failures took: lost work, recovery, waiting for nodes",
     "GPU time by cause x mean price of a billed GPU-second"},
    {MetricId::spot_break_even, "spot_break_even", "spot_break_even_usd_per_gpu_hour", D::price,
     false, F::nothing,
     "price of a GPU on spot at which a token costs as much as without spot nodes",
     "s with cost(s) / tokens on spot = cost / tokens without; cost(s) is linear in s"},
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
