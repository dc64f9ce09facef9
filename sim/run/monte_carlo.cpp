#include "sim/run/monte_carlo.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <mutex>
#include <vector>

#include "sim/base/parallel.hpp"
#include "sim/run/trial/run_simulator.hpp"
#include "sim/run/trial_spread.hpp"

namespace orrery::run {

namespace {

// What is kept of every trial.
struct Quantity {
  Distribution MonteCarloResult::*spread;
  double (*value_of)(const RunResult& result);
};

double count(std::int64_t value) {
  return static_cast<double>(value);
}

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

// What the trials of a chunk add up to.
struct Sums {
  std::int64_t finished = 0;
  std::optional<StopReason> gave_up;  // of the first that did
  RunLedger ledger;
  Bill bill;
  RunCounts happened;
  std::vector<std::int64_t> failures_by_cause;
  std::vector<Int128> gpu_time_by_cause;

  explicit Sums(std::size_t causes) : failures_by_cause(causes, 0), gpu_time_by_cause(causes, 0) {}

  void add(const RunResult& result) {
    finished += result.finished() ? 1 : 0;
    if (!result.finished() && !gave_up) {
      gave_up = result.stop;
    }
    ledger += result.ledger;
    bill += result.bill;
    for (std::size_t i = 0; i < failures_by_cause.size(); ++i) {
      failures_by_cause[i] += result.failures_by_cause[i];
      gpu_time_by_cause[i] += result.gpu_time_by_cause[i];
    }
    happened += {.failed_restarts = result.failed_restarts,
                 .unreadable_checkpoints = result.unreadable_checkpoints,
                 .resizes = result.resizes,
                 .preemptions = result.preemptions,
                 .slowdowns = result.slowdowns,
                 .evictions = result.evictions,
                 .corruptions = result.corruptions,
                 .spikes = result.spikes};
  }
};

// What chunks add up to; those whose order matters are joined by it.
class Total {
 public:
  Total(std::size_t causes, std::int64_t chunks)
      : sums_(causes), bills_(static_cast<std::size_t>(chunks)), first_(chunks) {}

  void add(std::int64_t chunk, const Sums& sums) {
    bills_[static_cast<std::size_t>(chunk)] = sums.bill;
    sums_.finished += sums.finished;
    if (sums.gave_up && chunk < first_) {
      sums_.gave_up = sums.gave_up;
      first_ = chunk;
    }
    sums_.ledger += sums.ledger;
    for (std::size_t i = 0; i < sums_.failures_by_cause.size(); ++i) {
      sums_.failures_by_cause[i] += sums.failures_by_cause[i];
      sums_.gpu_time_by_cause[i] += sums.gpu_time_by_cause[i];
    }
    sums_.happened += sums.happened;
  }

  void write(MonteCarloResult& result) const {
    result.finished = sums_.finished;
    result.gave_up = sums_.gave_up;
    result.ledger_sum = sums_.ledger;
    for (const Bill& bill : bills_) {
      result.bill_sum += bill;
    }
    result.happened = sums_.happened;
    for (const std::int64_t failures : sums_.failures_by_cause) {
      result.failures_by_cause.push_back(count(failures) / count(result.trials));
    }
    result.gpu_time_by_cause = sums_.gpu_time_by_cause;
  }

 private:
  Sums sums_;
  std::vector<Bill> bills_;  // by chunk
  std::int64_t first_;       // chunk in which a trial gave up
};

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
  TrialSpread spread(result.trials, kQuantities.size());
  Total total(plan.causes.size(), spread.chunks());
  std::mutex mutex;
  std::int64_t done = 0;
  const auto run_chunk = [&](std::int64_t chunk) {
    RunSimulator simulator(plan);
    Sums sums(plan.causes.size());
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
      sums.add(one);
      for (const Quantity& quantity : kQuantities) {
        values.push_back(quantity.value_of(one));
      }
    }
    spread.put(chunk, values);
    const std::lock_guard lock(mutex);
    total.add(chunk, sums);
    done += end - begin;
    if (options.progress) {
      options.progress(done, result.trials);
    }
  };
  const bool complete = parallel_for(spread.chunks(),
                                     {.threads = options.threads, .stop = options.stop},
                                     [&](std::int64_t begin, std::int64_t end) {
                                       for (std::int64_t i = begin; i < end; ++i) {
                                         run_chunk(i);
                                       }
                                     });
  if (!complete || options.stop.stop_requested()) {
    return std::nullopt;
  }
  total.write(result);
  for (std::size_t i = 0; i < kQuantities.size(); ++i) {
    if (std::optional<Distribution> of_all = spread.distribution(i)) {
      result.*kQuantities[i].spread = *std::move(of_all);
    }
  }
  return result;
}

}  // namespace orrery::run
