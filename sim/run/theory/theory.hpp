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

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

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
[[nodiscard]] double first_order_waste(const CheckpointCost& cost, Seconds interval,
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

// The expected time of a run with checkpoints in several tiers: the closed form that chooses the
// intervals.
//
//   tiers          T(i, k) = D(i, k) / (1 - r(i, k)),  see below
//
// symbol    | meaning                                                          | unit | origin
// ----------|------------------------------------------------------------------|------|-----------
// M         | mean time between failures, exponential                          | s    | failures
// C_i       | training blocked by a save of tier i                             | s    | checkpoint
// R_i       | restart from tier i                                              | s    | recovery
// tau       | training time between two saves                                  | s    | checkpoint
// p_i       | share of failures whose fastest usable copy is that of tier i    | 1    | checkpoint
// T(i, k)   | expected time from a save of tier i to the next one, which is of | s    | computed
//           | tier k >= i                                                      |      |
// D, r      | expected time of one attempt; probability that it is repeated    | s, 1 | computed
//
// Tiers: saves of tier i happen every n_i-th time, n_0 = 1, each n_i divides the next; a save to
// tier i writes the faster ones too. An attempt at a block between two saves of tier i runs its
// n_i / n_(i-1) smaller blocks one after the other; a failure of class i (probability p_i) repeats
// the block, one of a slower class repeats the larger block around it. Failures strike training,
// saves and restarts; one during a restart that needs a slower tier makes it a restart from there.
// Exact for exponential failures and synchronous saves; a save is charged after the last segment.
//
// Sources: Young 1974; Daly, FGCS 22(3) 2006; derivation above and in docs/failures.md, checked by
// simulation.

struct TierCost {
  std::int64_t every = 1;  // saves between two of this tier; 1 for the fastest, divides the next
  Seconds stall;           // of a save whose slowest tier is this one
  double share = 0.0;      // of failures that come back from this tier
  Seconds restart;         // after them, load included
};

struct TieredRun {
  Seconds useful;               // Ts
  Seconds interval;             // tau: training time between two saves of any tier, > 0
  std::vector<TierCost> tiers;  // fastest first; the shares add up to 1
  Seconds mtbf;                 // M
};

// Infinite when a share of failures comes back from no tier (the shares do not add up to 1).
[[nodiscard]] Seconds tiered_run_time(const TieredRun& run);

// Tw / Ts - 1.
[[nodiscard]] double tiered_waste(const TieredRun& run);

// What one level of a pattern of saves may choose: fixed steps, or free with a lower bound.
struct TierChoice {
  std::int64_t steps = 0;  // 0: free
  std::int64_t least = 1;  // of a free one
};

// Steps between two saves of each tier that waste the least, each a multiple of the one before; a
// fixed tier keeps its steps, rounded to a multiple. Starts from sqrt(2 C_i M / p_i) and descends
// over whole numbers; `tiers[i].every` is not read. A free tier that no failure needs is saved as
// seldom as the next one, the last one as seldom as `most` steps.
[[nodiscard]] std::vector<std::int64_t> best_tier_steps(const TieredRun& run,
                                                        std::span<const TierChoice> choices,
                                                        Seconds step, std::int64_t most);

// [k]: probability that no group of `group` of `machines` machines is lost whole when k of them
// fail at random, k = 0 .. most; ends before when the probability has become 0. Machines that do
// not fill a group are kept by another one and count as survivors.
[[nodiscard]] std::vector<double> replica_survivals(std::int64_t machines, std::int64_t group,
                                                    std::int64_t most);

// How large a model a budget of compute should train, and on how many tokens, by fitted laws.
//
//   C = 6 N D
//   L(N, D) = E + A / N^alpha + B / D^beta
//   N = G (C / 6)^a,  D = (C / 6) / N,  a = beta / (alpha + beta)
//   G = (alpha A / (beta B))^(1 / (alpha + beta))
//
// symbol | meaning                                                    | unit   | origin
// -------|------------------------------------------------------------|--------|--------------
// C      | compute of the model, forward and backward                 | FLOP   | scenario
// N, D   | parameters and tokens of the least loss for C              | -, tok | computed
// A ... E | constants of the fit                                      | -      | published
//
// A law speaks of the loss of dense models on their authors' data after one pass. Models that are
// to be served are trained on ten to a hundred times as many tokens as it says.
//
// Sources: Hoffmann et al. 2022 (arXiv 2203.15556), approach 3 as printed; Besiroglu et al. 2024
// (arXiv 2404.10102), which fits the same points again.

// FLOP of a parameter and token, forward and backward.
inline constexpr double kFlopOfTraining = 6.0;

struct ScalingLaw {
  std::string_view name;
  double a_term = 0.0;  // A
  double b_term = 0.0;  // B
  double alpha = 0.0;
  double beta = 0.0;
};

inline constexpr std::array<ScalingLaw, 2> kScalingLaws = {
    {{"Besiroglu 2024", 482.01, 2085.43, 0.3478, 0.3658},
     {"Hoffmann 2022", 406.4, 410.7, 0.34, 0.28}}};

struct LawOptimum {
  double parameters = 0.0;
  double tokens = 0.0;
};

// 6 N D: training of so many parameters on so many tokens.
[[nodiscard]] constexpr Flop six_nd(double parameters, Tokens tokens) {
  return flop(kFlopOfTraining * parameters * in_tokens(tokens));
}

// Of a model with so many active parameters: C / (6 N), whole ones.
[[nodiscard]] Tokens tokens_for(Flop compute, double parameters);

[[nodiscard]] LawOptimum optimum(const ScalingLaw& law, Flop compute);

// 80 % of the refit's optima lie between, in parameters.
struct OptimumSpread {
  double low = 0.0;
  double high = 0.0;
};

[[nodiscard]] OptimumSpread optimum_spread(Flop compute);

// What a stated budget comes to for the model of the scenario.
struct BudgetAnswer {
  Flop compute;             // 6 N D of the tokens that are trained
  double parameters = 0.0;  // active ones: N
  double tokens = 0.0;      // D
};

}  // namespace orrery::run
