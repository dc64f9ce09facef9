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

#include <cmath>
#include <span>

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

}  // namespace orrery::run
