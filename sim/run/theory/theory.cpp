#include "sim/run/theory/theory.hpp"

#include <algorithm>
#include <array>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/poisson.hpp>
#include <boost/math/special_functions/lambert_w.hpp>
#include <cmath>
#include <cstddef>
#include <limits>

#include "sim/base/check.hpp"

namespace orrery::run {

namespace {

// 4,000 resamples of the 240 points of the refit: the logarithm of N spreads by the standard error
// of a, 0.0195, for each unit of ln C beyond 1.7e19 FLOP, the middle of the points (0.20 at 5.8e23,
// 0.35 at 1e27).
constexpr double kExponentError = 0.0195;
constexpr double kMiddleOfPoints = 17.0 * kExa;
constexpr double kQuantile90 = 1.2816;

// Both quantiles round a real-valued root; these step to the least integer with cdf >= q.
template <typename Law>
std::int64_t least_with_cdf(const Law& law, double q, double largest) {
  double k = std::floor(boost::math::quantile(law, q));
  while (k < largest && boost::math::cdf(law, k) < q) {
    k += 1.0;
  }
  while (k > 0.0 && boost::math::cdf(law, k - 1.0) >= q) {
    k -= 1.0;
  }
  return static_cast<std::int64_t>(k);
}

void check_cost(const CheckpointCost& cost) {
  ORRERY_CHECK(cost.mtbf > Seconds{} && cost.checkpoint >= Seconds{},
               "a checkpoint of {} s and an MTBF of {} s have no optimal interval",
               in_seconds(cost.checkpoint), in_seconds(cost.mtbf));
}

Seconds geometric_mean(Seconds a, Seconds b) {
  return seconds(std::sqrt(in_seconds(a) * in_seconds(b)));
}

// How a block of the pattern ends, in units of the MTBF: done with probability `done`, else by a
// failure that needs tier j with probability `escape[j]`; `time` until either.
struct Outcome {
  double done = 0.0;
  double time = 0.0;
  std::vector<double> escape;
};

// A restart from tier i: how long until training goes on, and from which tier (it escalates when a
// failure during it needs a slower one). In units of the MTBF.
struct Restart {
  double time = 0.0;
  std::vector<double> ends;  // by tier
};

std::vector<Restart> restarts_of(const TieredRun& run) {
  const std::size_t count = run.tiers.size();
  std::vector<Restart> restarts(count);
  for (std::size_t i = count; i-- > 0;) {
    const double failed = -std::expm1(-(run.tiers[i].restart / run.mtbf));
    double same = 0.0;  // failures that leave it a restart from tier i
    for (std::size_t k = 0; k <= i; ++k) {
      same += run.tiers[k].share;
    }
    Restart& restart = restarts[i];
    restart.time = failed;
    restart.ends.assign(count, 0.0);
    restart.ends[i] = 1.0 - failed;
    for (std::size_t k = i + 1; k < count; ++k) {
      const double escalates = failed * run.tiers[k].share;
      restart.time += escalates * restarts[k].time;
      for (std::size_t j = k; j < count; ++j) {
        restart.ends[j] += escalates * restarts[k].ends[j];
      }
    }
    const double again = 1.0 - failed * same;
    restart.time /= again;
    for (double& end : restart.ends) {
      end /= again;
    }
  }
  return restarts;
}

// One segment of training and the save after it.
Outcome segment_of(const TieredRun& run, const std::vector<Restart>& restarts, Seconds length) {
  Outcome outcome;
  const double failed = -std::expm1(-(length / run.mtbf));
  outcome.done = 1.0 - failed;
  outcome.time = failed;
  outcome.escape.assign(run.tiers.size(), 0.0);
  for (std::size_t k = 0; k < run.tiers.size(); ++k) {
    const double share = failed * run.tiers[k].share;
    outcome.time += share * restarts[k].time;
    for (std::size_t j = k; j < run.tiers.size(); ++j) {
      outcome.escape[j] += share * restarts[k].ends[j];
    }
  }
  return outcome;
}

// `count - 1` blocks like `each` and one like `last`, one after the other.
Outcome sequence_of(const Outcome& each, const Outcome& last, std::int64_t count) {
  const double many = static_cast<double>(count - 1);
  const double done = std::pow(each.done, many);
  // 1 + q + ... + q^(count - 2)
  const double attempts = each.done < 1.0 ? (1.0 - done) / (1.0 - each.done) : many;
  Outcome outcome;
  outcome.done = done * last.done;
  outcome.time = attempts * each.time + done * last.time;
  outcome.escape.resize(last.escape.size());
  for (std::size_t k = 0; k < last.escape.size(); ++k) {
    outcome.escape[k] = attempts * each.escape[k] + done * last.escape[k];
  }
  return outcome;
}

// Failures of class `tier` repeat the block.
Outcome repeated(Outcome outcome, std::size_t tier) {
  const double rest = 1.0 - outcome.escape[tier];
  outcome.escape[tier] = 0.0;
  outcome.done /= rest;
  outcome.time /= rest;
  for (double& escape : outcome.escape) {
    escape /= rest;
  }
  return outcome;
}

void check_tiers(const TieredRun& run) {
  ORRERY_CHECK(!run.tiers.empty() && run.mtbf > Seconds{} && run.interval > Seconds{},
               "{} tiers with an interval of {} s and an MTBF of {} s have no run time",
               run.tiers.size(), in_seconds(run.interval), in_seconds(run.mtbf));
  std::int64_t before = 1;
  for (const TierCost& tier : run.tiers) {
    ORRERY_CHECK(tier.every >= before && tier.every % before == 0,
                 "a tier saved every {} times is no multiple of one saved every {} times",
                 tier.every, before);
    before = tier.every;
  }
}

// Searches over the steps of the fastest tier and, for the others, how many intervals of the tier
// before them theirs holds. After every change of a multiple the fastest tier is searched anew.
class TierSearch {
 public:
  TierSearch(const TieredRun& run, std::span<const TierChoice> choices, Seconds step,
             std::int64_t most)
      : run_(run), choices_(choices), step_(step), most_(most) {}

  std::vector<std::int64_t> best() {
    Pattern pattern;
    double below = 1.0;
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      const double steps =
          choices_[i].steps > 0 ? static_cast<double>(choices_[i].steps) : first_order(i);
      pattern.times.push_back(rounded(steps / below));
      below *= static_cast<double>(pattern.times.back());
    }
    pattern.waste = waste_of(pattern.times);
    settle(pattern);
    for (bool better = true; better;) {
      better = false;
      for (std::size_t i = 1; i < choices_.size(); ++i) {
        better = (choices_[i].steps == 0 && descend(i, pattern)) || better;
      }
    }
    return steps_of(pattern.times);
  }

 private:
  struct Pattern {
    std::vector<std::int64_t> times;  // [0]: steps; then multiples of the tier before
    double waste = 0.0;
  };

  static constexpr std::array<double, 6> kFactors = {2.0, 0.5, 1.2, 1.0 / 1.2, 1.02, 1.0 / 1.02};

  static std::int64_t rounded(double value) {
    constexpr double kLargest = kPeta;  // doubles hold such whole numbers exactly
    return std::max<std::int64_t>(1, std::llround(std::min(value, kLargest)));
  }

  double first_order(std::size_t tier) const {
    const TierCost& cost = run_.tiers[tier];
    return cost.share > 0.0
               ? std::sqrt(2.0 * (cost.stall / step_) * (run_.mtbf / step_) / cost.share)
               : static_cast<double>(most_);
  }

  // Within the bounds of the free tiers, fixed ones as near as their multiple allows.
  std::vector<std::int64_t> steps_of(const std::vector<std::int64_t>& times) const {
    std::vector<std::int64_t> steps;
    std::int64_t below = 1;
    for (std::size_t i = 0; i < times.size(); ++i) {
      std::int64_t multiple = times[i];
      if (choices_[i].steps > 0) {
        multiple = std::max<std::int64_t>(1, (choices_[i].steps + below / 2) / below);
      } else {
        multiple = std::min(multiple, std::max<std::int64_t>(1, most_ / below));
        multiple = std::max(multiple, (choices_[i].least + below - 1) / below);
      }
      below *= multiple;
      steps.push_back(below);
    }
    return steps;
  }

  double waste_of(const std::vector<std::int64_t>& times) const {
    const std::vector<std::int64_t> steps = steps_of(times);
    TieredRun run = run_;
    run.interval = static_cast<double>(steps.front()) * step_;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      run.tiers[i].every = steps[i] / steps.front();
    }
    return tiered_waste(run);
  }

  // By `factor`, by one at least.
  static std::int64_t moved(std::int64_t value, double factor) {
    const std::int64_t next = rounded(factor * static_cast<double>(value));
    return next != value ? next : std::max<std::int64_t>(1, value + (factor > 1.0 ? 1 : -1));
  }

  static bool is_better(double waste, double than) {
    constexpr double kNoise = 1e-13;
    return waste < than - kNoise;
  }

  // The best steps of the fastest tier for the multiples of the others.
  void settle(Pattern& pattern) const {
    if (choices_.front().steps > 0) {
      return;
    }
    for (bool better = true; better;) {
      better = false;
      for (const double factor : kFactors) {
        std::vector<std::int64_t> trial = pattern.times;
        trial.front() = moved(trial.front(), factor);
        const double waste = waste_of(trial);
        if (is_better(waste, pattern.waste)) {
          pattern = {std::move(trial), waste};
          better = true;
        }
      }
    }
  }

  bool descend(std::size_t tier, Pattern& pattern) const {
    bool better = false;
    for (const double factor : kFactors) {
      Pattern trial = pattern;
      trial.times[tier] = moved(trial.times[tier], factor);
      trial.waste = waste_of(trial.times);
      settle(trial);
      if (is_better(trial.waste, pattern.waste)) {
        pattern = std::move(trial);
        better = true;
      }
    }
    return better;
  }

  const TieredRun& run_;
  std::span<const TierChoice> choices_;
  Seconds step_;
  std::int64_t most_;
};

// The product of two polynomials, cut off behind the degree of the first.
std::vector<double> product(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> result(a.size(), 0.0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size() && i + j < a.size(); ++j) {
      result[i + j] += a[i] * b[j];
    }
  }
  return result;
}

}  // namespace

Tokens tokens_for(Flop compute, double parameters) {
  return tokens(std::floor(in_flop(compute) / (kFlopOfTraining * parameters)));
}

LawOptimum optimum(const ScalingLaw& law, Flop compute) {
  const double product = in_flop(compute) / kFlopOfTraining;
  const double sum = law.alpha + law.beta;
  const double scale = std::pow(law.alpha * law.a_term / (law.beta * law.b_term), 1.0 / sum);
  const double parameters = scale * std::pow(product, law.beta / sum);
  return {parameters, product / parameters};
}

OptimumSpread optimum_spread(Flop compute) {
  const double middle = optimum(kScalingLaws.front(), compute).parameters;
  const double distance = std::abs(std::log(in_flop(compute) / kMiddleOfPoints));
  const double factor = std::exp(kQuantile90 * kExponentError * distance);
  return {middle / factor, middle * factor};
}

Seconds young_interval(const CheckpointCost& cost) {
  check_cost(cost);
  return geometric_mean(2.0 * cost.checkpoint, cost.mtbf);
}

Seconds daly_higher_order_interval(const CheckpointCost& cost) {
  const double half_ratio = cost.checkpoint / (2.0 * cost.mtbf);
  if (half_ratio >= 1.0) {
    return cost.mtbf;
  }
  return young_interval(cost) * (1.0 + std::sqrt(half_ratio) / 3.0 + half_ratio / 9.0) -
         cost.checkpoint;
}

Seconds optimal_interval(const CheckpointCost& cost) {
  check_cost(cost);
  const double c = cost.checkpoint / cost.mtbf;
  if (c == 0.0) {
    return {};
  }
  // u = tau / M solves -ln(1 - u) - u = c. Near the branch point of W0 (small c) its argument has
  // lost the digits that matter, so the series gives the start there; two Newton steps restore
  // them.
  constexpr double kSeriesBelow = 1e-4;
  double u = c < kSeriesBelow ? std::sqrt(2.0 * c) - 2.0 * c / 3.0
                              : 1.0 + boost::math::lambert_w0(-std::exp(-c - 1.0));
  constexpr int kNewtonSteps = 2;
  constexpr double kLargestSafe = 0.999;  // above, W0 itself is exact to the last digit
  for (int i = 0; i < kNewtonSteps && u < kLargestSafe; ++i) {
    u -= (-std::log1p(-u) - u - c) * (1.0 - u) / u;
  }
  return u * cost.mtbf;
}

double first_order_waste(const CheckpointCost& cost, Seconds interval, Seconds restart) {
  check_cost(cost);
  return cost.checkpoint / interval + (0.5 * interval + restart) / cost.mtbf;
}

double expected_ettr(const EttrInput& input) {
  const double lost = input.nodes * (input.node_rate * (input.restart + 0.5 * input.interval));
  return (1.0 - lost) / (1.0 + input.write / input.interval);
}

Seconds job_mtbf(double nodes, PerSecond node_rate, PerSecond job_rate) {
  return 1.0 / (nodes * node_rate + job_rate);
}

std::int64_t poisson_quantile(double mean, double q) {
  ORRERY_CHECK(mean >= 0.0 && q > 0.0 && q < 1.0, "no Poisson quantile at mean {}, q {}", mean, q);
  if (mean == 0.0) {
    return 0;
  }
  if (mean > kGiga) {  // counts beyond what doubles step through: normal to nine digits
    const double z = boost::math::quantile(boost::math::normal_distribution<double>(), q);
    return static_cast<std::int64_t>(std::min(std::ceil(mean + z * std::sqrt(mean)), 0x1.0p62));
  }
  return least_with_cdf(boost::math::poisson_distribution<double>(mean), q, HUGE_VAL);
}

std::int64_t binomial_quantile(std::int64_t n, double p, double q) {
  ORRERY_CHECK(n >= 0 && p >= 0.0 && p <= 1.0 && q > 0.0 && q < 1.0,
               "no binomial quantile at n {}, p {}, q {}", n, p, q);
  const double trials = static_cast<double>(n);
  return least_with_cdf(boost::math::binomial_distribution<double>(trials, p), q, trials);
}

RepairLoad nodes_in_repair(PerSecond failures_taking_a_node, Seconds mean_repair) {
  constexpr double kNinetyNine = 0.99;
  RepairLoad load;
  load.mean = failures_taking_a_node * mean_repair;
  load.p99 = poisson_quantile(load.mean, kNinetyNine);
  return load;
}

Seconds tiered_run_time(const TieredRun& run) {
  check_tiers(run);
  double shares = 0.0;
  for (const TierCost& tier : run.tiers) {
    shares += tier.share;
  }
  constexpr double kRounding = 1e-9;
  if (std::abs(shares - 1.0) > kRounding) {
    return seconds(std::numeric_limits<double>::infinity());
  }
  const std::size_t count = run.tiers.size();
  const std::vector<Restart> restarts = restarts_of(run);
  // [k]: the block that ends with a save of tier k.
  std::vector<Outcome> blocks;
  for (const TierCost& tier : run.tiers) {
    blocks.push_back(repeated(segment_of(run, restarts, run.interval + tier.stall), 0));
  }
  for (std::size_t i = 1; i < count; ++i) {
    const std::int64_t inside = run.tiers[i].every / run.tiers[i - 1].every;
    std::vector<Outcome> larger = blocks;
    for (std::size_t k = i; k < count; ++k) {
      larger[k] = repeated(sequence_of(blocks[i - 1], blocks[k], inside), i);
    }
    blocks = std::move(larger);
  }
  const double saves = static_cast<double>(run.tiers.back().every);
  return run.mtbf * (blocks.back().time / blocks.back().done) *
         (run.useful / (saves * run.interval));
}

double tiered_waste(const TieredRun& run) { return tiered_run_time(run) / run.useful - 1.0; }

std::vector<std::int64_t> best_tier_steps(const TieredRun& run, std::span<const TierChoice> choices,
                                          Seconds step, std::int64_t most) {
  ORRERY_CHECK(run.tiers.size() == choices.size() && !choices.empty() && step > Seconds{},
               "{} tiers with {} choices have no best interval", run.tiers.size(), choices.size());
  return TierSearch(run, choices, step, most).best();
}

// The generating polynomial of the losses that leave a group alive is (1 + x)^m - x^m; that of all
// groups its power. With x = y / machines no coefficient leaves the range of a double.
std::vector<double> replica_survivals(std::int64_t machines, std::int64_t group,
                                      std::int64_t most) {
  ORRERY_CHECK(machines >= 1 && group >= 1 && most >= 0, "{} machines cannot form groups of {}",
               machines, group);
  group = std::min(group, machines);
  const double scale = static_cast<double>(machines);
  const std::int64_t last = std::min(machines, most);
  std::vector<double> base(static_cast<std::size_t>(last) + 1, 0.0);
  double ways = 1.0;
  for (std::int64_t i = 0; i < group && i <= last; ++i) {
    base[static_cast<std::size_t>(i)] = ways;
    ways *= static_cast<double>(group - i) / (static_cast<double>(i + 1) * scale);
  }
  std::vector<double> power(base.size(), 0.0);
  power.front() = 1.0;
  for (std::int64_t left = machines / group; left > 0; left /= 2) {
    if (left % 2 == 1) {
      power = product(power, base);
    }
    base = product(base, base);
  }
  // The copies of the machines left over lie in some other group: (1 + x)^rest more ways.
  const std::int64_t rest = machines - machines / group * group;
  std::vector<double> beside(power.size(), 0.0);
  ways = 1.0;
  for (std::int64_t i = 0; i <= std::min(rest, last); ++i) {
    beside[static_cast<std::size_t>(i)] = ways;
    ways *= static_cast<double>(rest - i) / (static_cast<double>(i + 1) * scale);
  }
  power = product(power, beside);
  std::vector<double> survival;
  double all = 1.0;  // binomial(machines, k) / machines^k
  for (std::int64_t k = 0; k <= last; ++k) {
    const double alive = std::min(1.0, power[static_cast<std::size_t>(k)] / all);
    survival.push_back(alive);
    constexpr double kHopeless = 1e-12;
    if (alive < kHopeless) {
      survival.back() = 0.0;
      break;
    }
    all *= static_cast<double>(machines - k) / (static_cast<double>(k + 1) * scale);
  }
  return survival;
}

}  // namespace orrery::run
