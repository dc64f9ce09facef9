#pragma once

// Theory of checkpoints, run time and spares: closed forms, used for the automatic interval, the
// report and as oracles of the simulation.
//
//   Young             tau = sqrt(2 C M)
//   Daly, higher      tau = sqrt(2CM) [1 + sqrt(C / 2M) / 3 + (C / 2M) / 9] - C for C < 2M, else M
//   exact optimum     tau = M (1 + W0(-exp(-C / M - 1)))
//   Daly's run time   Tw  = M e^(R / M) (e^((tau + C) / M) - 1) Ts / tau
//   Meta's ETTR       (1 - N r (u0 + dt / 2)) / (1 + w / dt)
//
// symbol | meaning                                                   | unit | origin
// -------|-----------------------------------------------------------|------|--------------------
// M      | mean time between failures of the job                     | s    | failures
// C, w   | training blocked by one checkpoint                        | s    | checkpoint
// R, u0  | restart after a failure                                   | s    | recovery
// tau,dt | training time between two checkpoints                     | s    | checkpoint
// Ts, Tw | useful time wanted, wall time expected                    | s    | training, computed
// N, r   | nodes, failures of one node per second                    | -,1/s| failures
//
// Run time: a segment of length s = tau + C that must pass without a failure, and after each
// failure a restart of length R that must pass likewise: E[segment] = (e^(s/M) - 1)(M + E[restart])
// with E[restart] = M (e^(R/M) - 1). It is exact for exponential failures that can strike training,
// checkpoint and restart, and it charges a checkpoint after the last segment too. The optimum
// follows from d/dtau = 0: e^((tau + C)/M) (1 - tau / M) = 1, independent of R. Sources: Young,
// CACM 17(9) 1974; Daly, FGCS 22(3) 2006; Meta RSC, HPCA 2025, arXiv 2410.21680.

#include <cstdint>

#include "sim/base/units.hpp"

namespace orrery::run {

struct CheckpointCost {
  Seconds checkpoint;  // C >= 0
  Seconds mtbf;        // M > 0
};

[[nodiscard]] Seconds young_interval(const CheckpointCost& cost);
[[nodiscard]] Seconds daly_higher_order_interval(const CheckpointCost& cost);

// Exact minimum of Daly's run time; 0 for C = 0. Accurate to a few ulp for any C / M.
[[nodiscard]] Seconds optimal_interval(const CheckpointCost& cost);

// First order of the waste per unit of useful time: C / tau + (tau / 2 + R) / M.
[[nodiscard]] double first_order_waste(const CheckpointCost& cost,
                                       Seconds interval,
                                       Seconds restart = {});

struct EttrInput {
  double nodes = 0.0;
  PerSecond node_rate;
  Seconds restart;   // u0
  Seconds interval;  // dt
  Seconds write;     // w, blocking
};

// Linear in the failure rate: below 0 where failures are too frequent for it.
[[nodiscard]] double expected_ettr(const EttrInput& input);

// MTBF of a job of `nodes` nodes: 1 / (nodes * node_rate + job_rate).
[[nodiscard]] Seconds job_mtbf(double nodes, PerSecond node_rate, PerSecond job_rate = {});

// Least k with P(X <= k) >= q for a Poisson variable.
[[nodiscard]] std::int64_t poisson_quantile(double mean, double q);

// Least k with P(X <= k) >= q for X ~ Binomial(n, p): a standby pool that suffices with probability
// q.
[[nodiscard]] std::int64_t binomial_quantile(std::int64_t n, double p, double q);

struct RepairLoad {
  double mean = 0.0;     // nodes in repair: failures per second * mean repair time
  std::int64_t p99 = 0;  // spares that suffice 99 % of the time
};

// Nodes in repair while the job always runs at full size: Poisson, whatever the law of the repair
// time (M/G/infinity).
[[nodiscard]] RepairLoad nodes_in_repair(PerSecond failures_taking_a_node, Seconds mean_repair);

}  // namespace orrery::run
