#include "sim/run/monte_carlo.hpp"

#include <algorithm>
#include <cstddef>
#include <mutex>

#include "sim/base/parallel.hpp"
#include "sim/run/run_simulator.hpp"

namespace orrery::run {

namespace {

// Enough trials per chunk to hide the hand-out, few enough to use all cores and to stop soon.
constexpr std::int64_t kTrialsPerChunk = 16;

MonteCarloResult reduce(const RunPlan& plan, const std::vector<RunResult>& results) {
  MonteCarloResult sum;
  sum.trials = static_cast<std::int64_t>(results.size());
  std::vector<std::int64_t> by_cause(plan.causes.size(), 0);
  sum.gpu_time_by_cause.assign(plan.causes.size(), 0);
  for (const RunResult& result : results) {
    sum.finished += result.finished() ? 1 : 0;
    if (!result.finished() && !sum.gave_up) {
      sum.gave_up = result.stop;
    }
    sum.ledger_sum += result.ledger;
    for (std::size_t i = 0; i < by_cause.size(); ++i) {
      by_cause[i] += result.failures_by_cause[i];
      sum.gpu_time_by_cause[i] += result.gpu_time_by_cause[i];
    }
    sum.bill_sum += result.bill;
  }
  for (const std::int64_t count : by_cause) {
    sum.failures_by_cause.push_back(static_cast<double>(count) / static_cast<double>(sum.trials));
  }
  const auto spread = [&](auto&& value_of) {
    std::vector<double> values(results.size());
    std::transform(results.begin(), results.end(), values.begin(), value_of);
    return Distribution(std::move(values));
  };
  const auto count = [](std::int64_t value) { return static_cast<double>(value); };
  sum.wall = spread([](const RunResult& r) { return in_seconds(to_seconds(r.wall)); });
  sum.steps = spread([&](const RunResult& r) { return count(r.steps_done); });
  sum.tokens = spread([](const RunResult& r) { return in_tokens(r.tokens); });
  sum.held = spread([](const RunResult& r) { return in_seconds(r.held); });
  sum.cost = spread([](const RunResult& r) { return in_dollars(r.bill.total()); });
  sum.energy = spread(
      [](const RunResult& r) { return r.bill.busy_kilowatt_hours + r.bill.idle_kilowatt_hours; });
  sum.carbon = spread([](const RunResult& r) { return r.bill.carbon_kilograms; });
  std::vector<double> per_token;
  for (const RunResult& result : results) {
    if (result.tokens > Tokens{}) {
      per_token.push_back(in_dollars(result.bill.total()) / in_tokens(result.tokens));
    }
  }
  if (!per_token.empty()) {
    sum.cost_per_token = Distribution(std::move(per_token));
  }
  sum.goodput = spread([](const RunResult& r) { return r.goodput; });
  sum.ettr = spread([](const RunResult& r) { return r.ettr; });
  sum.failures = spread([&](const RunResult& r) { return count(r.failures); });
  sum.checkpoints = spread([&](const RunResult& r) { return count(r.checkpoints); });
  sum.lost_work = spread(
      [](const RunResult& r) { return in_seconds(r.ledger.gpu_time(RunCategory::lost_work)); });
  sum.waiting = spread([](const RunResult& r) {
    return in_seconds(r.ledger.gpu_time(RunCategory::waiting_for_capacity));
  });
  sum.nodes_in_repair = spread([&](const RunResult& r) { return count(r.nodes_in_repair); });
  sum.restarts = spread([&](const RunResult& r) { return count(r.restarts); });
  for (const RunResult& r : results) {
    sum.happened.failed_restarts += r.failed_restarts;
    sum.happened.unreadable_checkpoints += r.unreadable_checkpoints;
    sum.happened.resizes += r.resizes;
    sum.happened.preemptions += r.preemptions;
    sum.happened.slowdowns += r.slowdowns;
    sum.happened.evictions += r.evictions;
    sum.happened.corruptions += r.corruptions;
    sum.happened.spikes += r.spikes;
  }
  return sum;
}

}  // namespace

std::optional<MonteCarloResult> simulate(const RunPlan& plan, const MonteCarloOptions& options) {
  const std::int64_t trials = plan.simulation.trials;
  std::vector<RunResult> results(static_cast<std::size_t>(trials));
  std::mutex progress_mutex;
  std::int64_t done = 0;
  const auto run_chunk = [&](std::int64_t begin, std::int64_t end) {
    RunSimulator simulator(plan);
    for (std::int64_t trial = begin; trial < end && !options.stop.stop_requested(); ++trial) {
      results[static_cast<std::size_t>(trial)] =
          simulator.run({.trial = static_cast<std::uint32_t>(trial),
                         .event_by_event = options.event_by_event,
                         .stop = options.stop});
    }
    if (options.progress) {
      const std::lock_guard lock(progress_mutex);
      done += end - begin;
      options.progress(done, trials);
    }
  };
  const bool complete =
      parallel_for(trials,
                   {.threads = options.threads, .grain = kTrialsPerChunk, .stop = options.stop},
                   run_chunk);
  if (!complete || options.stop.stop_requested()) {
    return std::nullopt;
  }
  return reduce(plan, results);
}

}  // namespace orrery::run
