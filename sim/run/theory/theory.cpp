#include "sim/run/theory/theory.hpp"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/poisson.hpp>
#include <boost/math/special_functions/lambert_w.hpp>
#include <cmath>

#include "sim/base/check.hpp"

namespace orrery::run {

namespace {

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
               in_seconds(cost.checkpoint),
               in_seconds(cost.mtbf));
}

Seconds geometric_mean(Seconds a, Seconds b) {
  return seconds(std::sqrt(in_seconds(a) * in_seconds(b)));
}

}  // namespace

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
               "no binomial quantile at n {}, p {}, q {}",
               n,
               p,
               q);
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

}  // namespace orrery::run
