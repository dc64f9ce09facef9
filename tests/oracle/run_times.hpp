#pragma once

// Expected duration of a run in closed form. Oracles of the simulation and of the intervals that it
// chooses; the product itself needs none of them.
//
//   Daly, first order   tau = sqrt(2 C M) - C
//   synchronous         Tw = M e^(R/M) (e^((tau + C)/M) - 1) Ts / tau                       (Daly)
//   asynchronous        Tw = M e^(R/M) e^((tau + d)/M) (1 - e^(-(tau + C)/M)) Ts / tau
//   just in time        Tw = synchronous; tau = one step, C = 0, R = restart + save after failure
//   tiers, first order  waste = sum over tiers of C_i / T_i + p_i (T_i / 2 + R_i) / M
//
// symbol    | meaning                                                          | unit | origin
// ----------|------------------------------------------------------------------|------|-----------
// M         | mean time between failures, exponential                          | s    | failures
// C, d      | training blocked by a save; from its begin until it is durable   | s    | checkpoint
// R, R_i    | restart; from tier i                                             | s    | recovery
// tau, T_i  | training time between two saves; of tier i                       | s    | checkpoint
// p_i       | share of failures whose fastest usable copy is that of tier i    | 1    | checkpoint
// Ts, Tw    | useful time wanted, wall time expected                           | s    | training
//
// Asynchronous: from a restart tau + d must pass without a failure until the first save protects;
// from there every further save protects tau + C later, and a failure in between throws the job
// back to the last of them: E per save = (1 - e^(-(tau+C)/M)) (M + E[restart]) e^((tau+d)/M). With
// d = C it is Daly's. d/dtau = 0 gives the same optimum as for a synchronous save of stall C.
//
// Sources: Daly, FGCS 22(3) 2006; first-order multi-level waste: Moody et al., SC 2010 (as the
// model of SCR); derivations above and in docs/failures.md, checked by simulation.

#include <boost/math/special_functions/binomial.hpp>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/run/theory/theory.hpp"

namespace orrery::run {

inline Seconds daly_first_order_interval(const CheckpointCost& cost) {
  return young_interval(cost) - cost.checkpoint;
}

struct DalyRun {
  Seconds useful;      // Ts
  Seconds interval;    // tau > 0
  Seconds checkpoint;  // C
  Seconds restart;     // R
  Seconds mtbf;        // M
};

inline Seconds daly_run_time(const DalyRun& run) {
  return run.mtbf * std::exp(run.restart / run.mtbf) *
         std::expm1((run.interval + run.checkpoint) / run.mtbf) * (run.useful / run.interval);
}

struct AsyncRun {
  Seconds useful;    // Ts
  Seconds interval;  // tau > 0
  Seconds stall;     // C
  Seconds durable;   // d, at least C, at most tau + C
  Seconds restart;   // R
  Seconds mtbf;      // M
};

inline Seconds async_run_time(const AsyncRun& run) {
  const double lost = std::exp((run.restart + run.interval + run.durable) / run.mtbf);
  return run.mtbf * (lost * -std::expm1(-((run.interval + run.stall) / run.mtbf))) *
         (run.useful / run.interval);
}

struct JustInTimeRun {
  Seconds useful;
  Seconds step;     // a failure loses the step it strikes
  Seconds restart;  // the save of the survivors and the recovery
  Seconds mtbf;
};

inline Seconds just_in_time_run_time(const JustInTimeRun& run) {
  return daly_run_time({run.useful, run.step, {}, run.restart, run.mtbf});
}

// `intervals` by tier.
inline double first_order_tiered_waste(std::span<const TierCost> tiers,
                                       std::span<const Seconds> intervals, Seconds mtbf) {
  double waste = 0.0;
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    waste += tiers[i].stall / intervals[i] +
             tiers[i].share * (0.5 * intervals[i] + tiers[i].restart) / mtbf;
  }
  return waste;
}

struct TwoLevelInput {
  Seconds near_checkpoint;        // C1: fast level
  Seconds far_checkpoint;         // C2: slow level
  Seconds mtbf;                   // M
  double near_recoverable = 0.0;  // p: share of failures that level 1 survives, 0 < p < 1
};

struct TwoLevelOptimum {
  Seconds near_interval;  // sqrt(2 C1 M / p)
  Seconds far_interval;   // sqrt(2 C2 M / (1 - p))
  double waste = 0.0;     // C1/T1 + C2/T2 + p T1 / 2M + (1 - p) T2 / 2M, first order
};

inline TwoLevelOptimum two_level_optimum(const TwoLevelInput& input) {
  const double p = input.near_recoverable;
  const auto best = [](Seconds save, Seconds mtbf) { return young_interval({save, mtbf}); };
  TwoLevelOptimum result;
  result.near_interval = best(input.near_checkpoint, input.mtbf / p);
  result.far_interval = best(input.far_checkpoint, input.mtbf / (1.0 - p));
  result.waste = input.near_checkpoint / result.near_interval +
                 input.far_checkpoint / result.far_interval +
                 0.5 * (p * result.near_interval + (1.0 - p) * result.far_interval) / input.mtbf;
  return result;
}

// Probability that no replica group of `group` machines is lost whole when `lost` of `machines`
// machines fail at once: [x^lost] ((1+x)^group - x^group)^(machines/group) / binomial(machines,
// lost). `group` divides `machines`.
inline double replica_survival(std::int64_t machines, std::int64_t group, std::int64_t lost) {
  const auto choose = [](std::int64_t n, std::int64_t k) {
    return boost::math::binomial_coefficient<double>(static_cast<unsigned>(n),
                                                     static_cast<unsigned>(k));
  };
  const auto terms = static_cast<std::size_t>(lost) + 1;
  std::vector<double> ways(terms, 0.0);  // [k]: losses of k machines that leave every group alive
  ways[0] = 1.0;
  for (std::int64_t g = 0; g < machines / group; ++g) {
    std::vector<double> next(terms, 0.0);
    for (std::size_t k = 0; k < terms; ++k) {
      for (std::int64_t i = 0; i < group && i <= static_cast<std::int64_t>(k); ++i) {
        next[k] += ways[k - static_cast<std::size_t>(i)] * choose(group, i);
      }
    }
    ways = std::move(next);
  }
  return ways.back() / choose(machines, lost);
}

// ByteCheckpoint's ETTR (NSDI 2025, appendix C): one failure in every interval. Below 1/2 by
// construction and no ETTR of a cluster.
inline double one_failure_per_interval_ettr(Seconds interval, Seconds save, Seconds load) {
  return 0.5 * interval / (save + load + interval);
}

// One failure in every time M; `lost` is the share of the replicas that are missing while degraded.
// Below 0 when a failure costs more than the time between two.
inline double effective_time(Seconds mtbf, Seconds stall, Seconds degraded, double lost) {
  return (mtbf - stall - degraded * lost) / mtbf;
}

// The first of n new Weibull lives to end, n >= 1, k > 0: mean * n^(-1/k). What a simulator finds
// that redraws all ages at every restart; the superposition of n renewed parts is mean / n for any
// shape (renewal theorem).
inline Seconds fresh_minimum_mean(double n, Seconds mean, double shape) {
  return mean * std::pow(n, -1.0 / shape);
}

}  // namespace orrery::run
