#include "sim/run/monte_carlo.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "sim/base/parallel.hpp"
#include "sim/run/distribution.hpp"
#include "sim/run/trial/run_simulator.hpp"

namespace orrery::run {

namespace {

// What is kept of every trial.
struct Quantity {
  Distribution MonteCarloResult::*spread;
  double (*value_of)(const RunResult& result);
};

double count(std::int64_t value) { return static_cast<double>(value); }

double gpu_time(const RunResult& result, RunCategory category) {
  return in_seconds(result.ledger.gpu_time(category));
}

// A run that trained nothing has no cost per token.
double cost_per_token(const RunResult& result) {
  return result.tokens > Tokens{} ? in_dollars(result.bill.total()) / in_tokens(result.tokens)
                                  : TrialSpread::kNone;
}

using R = RunResult;
using M = MonteCarloResult;

constexpr std::array kQuantities = std::to_array<Quantity>(
    {{&M::wall, [](const R& r) { return in_seconds(to_seconds(r.wall)); }},
     {&M::steps, [](const R& r) { return count(r.steps_done); }},
     {&M::tokens, [](const R& r) { return in_tokens(r.tokens); }},
     {&M::held, [](const R& r) { return in_seconds(r.held); }},
     {&M::cost, [](const R& r) { return in_dollars(r.bill.total()); }},
     {&M::energy,
      [](const R& r) { return r.bill.busy_kilowatt_hours + r.bill.idle_kilowatt_hours; }},
     {&M::carbon, [](const R& r) { return r.bill.carbon_kilograms; }},
     {&M::cost_per_token, cost_per_token},
     {&M::goodput, [](const R& r) { return r.goodput; }},
     {&M::ettr, [](const R& r) { return r.ettr; }},
     {&M::failures, [](const R& r) { return count(r.failures); }},
     {&M::checkpoints, [](const R& r) { return count(r.checkpoints); }},
     {&M::lost_work, [](const R& r) { return gpu_time(r, RunCategory::lost_work); }},
     {&M::waiting, [](const R& r) { return gpu_time(r, RunCategory::waiting_for_capacity); }},
     {&M::nodes_in_repair, [](const R& r) { return count(r.nodes_in_repair); }},
     {&M::restarts, [](const R& r) { return count(r.restarts); }}});

// What trials add up to.
struct Sums {
  std::int64_t finished = 0;
  std::optional<StopReason> gave_up;  // of the first that did
  RunLedger ledger;
  Bill bill;
  RunCounts happened;
  std::vector<std::int64_t> failures_by_cause;
  std::vector<Int128> gpu_time_by_cause;

  void add(const Sums& later) {
    finished += later.finished;
    if (!gave_up) {
      gave_up = later.gave_up;
    }
    ledger += later.ledger;
    bill += later.bill;
    happened += later.happened;
    failures_by_cause.resize(later.failures_by_cause.size());
    gpu_time_by_cause.resize(later.gpu_time_by_cause.size());
    for (std::size_t i = 0; i < failures_by_cause.size(); ++i) {
      failures_by_cause[i] += later.failures_by_cause[i];
      gpu_time_by_cause[i] += later.gpu_time_by_cause[i];
    }
  }
};

Sums sums_of(const RunResult& result) {
  return {.finished = result.finished() ? 1 : 0,
          .gave_up = result.finished() ? std::nullopt : std::optional(result.stop),
          .ledger = result.ledger,
          .bill = result.bill,
          .happened = result,
          .failures_by_cause = result.failures_by_cause,
          .gpu_time_by_cause = result.gpu_time_by_cause};
}

TrialTotals totals_of(const RunResult& result) {
  return {.wall = in_seconds(to_seconds(result.wall)),
          .tokens = in_tokens(result.tokens),
          .cost = in_dollars(result.bill.total()),
          .finished = result.finished()};
}

}  // namespace

RunCounts& RunCounts::operator+=(const RunCounts& other) {
  failed_restarts += other.failed_restarts;
  unreadable_checkpoints += other.unreadable_checkpoints;
  resizes += other.resizes;
  preemptions += other.preemptions;
  slowdowns += other.slowdowns;
  evictions += other.evictions;
  corruptions += other.corruptions;
  spikes += other.spikes;
  return *this;
}

std::optional<MonteCarloResult> simulate(const RunPlan& plan, const MonteCarloOptions& options) {
  MonteCarloResult result;
  result.trials = plan.simulation.trials;
  result.first.resize(static_cast<std::size_t>(std::min(result.trials, kComparedTrials)));
  TrialSpread spread(result.trials, kQuantities.size());
  std::vector<Sums> by_chunk(static_cast<std::size_t>(spread.chunks()));  // added up in order
  std::mutex mutex;
  std::int64_t done = 0;
  const auto run_chunk = [&](std::int64_t chunk) {
    RunSimulator simulator(plan);
    Sums& sums = by_chunk[static_cast<std::size_t>(chunk)];
    const std::int64_t begin = chunk * spread.chunk_size();
    const std::int64_t end = std::min(begin + spread.chunk_size(), result.trials);
    std::vector<double> values;
    values.reserve(static_cast<std::size_t>(end - begin) * kQuantities.size());
    for (std::int64_t trial = begin; trial < end; ++trial) {
      const RunResult one = simulator.run({.trial = static_cast<std::uint32_t>(trial),
                                           .event_by_event = options.event_by_event,
                                           .stop = options.stop});
      if (options.stop.stop_requested()) {
        return;
      }
      sums.add(sums_of(one));
      if (trial < kComparedTrials) {
        result.first[static_cast<std::size_t>(trial)] = totals_of(one);
      }
      for (const Quantity& quantity : kQuantities) {
        values.push_back(quantity.value_of(one));
      }
    }
    spread.put(chunk, values);
    const std::lock_guard lock(mutex);
    done += end - begin;
    if (options.progress) {
      options.progress(done, result.trials);
    }
  };
  const bool complete =
      parallel_for(spread.chunks(), {.threads = options.threads, .stop = options.stop},
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t i = begin; i < end; ++i) {
                       run_chunk(i);
                     }
                   });
  if (!complete || options.stop.stop_requested()) {
    return std::nullopt;
  }
  Sums total;
  for (const Sums& chunk : by_chunk) {
    total.add(chunk);
  }
  result.finished = total.finished;
  result.gave_up = total.gave_up;
  result.ledger_sum = total.ledger;
  result.bill_sum = total.bill;
  result.happened = total.happened;
  result.gpu_time_by_cause = std::move(total.gpu_time_by_cause);
  for (const std::int64_t failures : total.failures_by_cause) {
    result.failures_by_cause.push_back(count(failures) / count(result.trials));
  }
  for (std::size_t i = 0; i < kQuantities.size(); ++i) {
    if (std::optional<Distribution> of_all = spread.distribution(i)) {
      result.*kQuantities[i].spread = *std::move(of_all);
    }
  }
  return result;
}

}  // namespace orrery::run
