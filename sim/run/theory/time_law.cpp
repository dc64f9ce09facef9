#include "sim/run/theory/time_law.hpp"

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "sim/base/check.hpp"

namespace orrery::run {

namespace {

bool is_time(Seconds value) { return std::isfinite(in_seconds(value)) && value >= Seconds{}; }

bool is_positive_time(Seconds value) { return is_time(value) && value > Seconds{}; }

// P(Z <= z) of a standard normal.
double normal_probability(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

double log_ratio(Seconds value, Seconds unit) { return std::log(value / unit); }

struct MeanOf {
  Seconds operator()(const FixedLaw& law) const { return law.value; }

  Seconds operator()(const ExponentialLaw& law) const { return law.mean; }

  Seconds operator()(const WeibullLaw& law) const {
    return law.scale * std::tgamma(1.0 + 1.0 / law.shape);
  }

  Seconds operator()(const LognormalLaw& law) const {
    return law.median * std::exp(0.5 * law.sigma * law.sigma);
  }

  Seconds operator()(const UniformLaw& law) const { return 0.5 * (law.low + law.high); }

  Seconds operator()(const EmpiricalLaw& law) const {
    Seconds sum;
    for (const Seconds value : law.values) {
      sum += value;
    }
    return law.values.empty() ? sum : sum / static_cast<double>(law.values.size());
  }
};

// Multiplies the times of a law.
struct Scale {
  double factor;

  void operator()(FixedLaw& law) const { law.value *= factor; }

  void operator()(ExponentialLaw& law) const { law.mean *= factor; }

  void operator()(WeibullLaw& law) const { law.scale *= factor; }

  void operator()(LognormalLaw& law) const { law.median *= factor; }

  void operator()(UniformLaw& law) const {
    law.low *= factor;
    law.high *= factor;
  }

  void operator()(EmpiricalLaw& law) const {
    for (Seconds& value : law.values) {
      value *= factor;
    }
  }
};

template <typename Law>
Law scaled_by(Law law, double factor) {
  std::visit(Scale{factor}, law);
  return law;
}

struct Draw {
  RandomStream& stream;

  Seconds operator()(const FixedLaw& law) const { return law.value; }

  Seconds operator()(const ExponentialLaw& law) const { return stream.exponential(law.mean); }

  Seconds operator()(const LognormalLaw& law) const {
    return stream.lognormal(law.median, law.sigma);
  }

  Seconds operator()(const UniformLaw& law) const {
    return law.low + (law.high - law.low) * stream.uniform01();
  }

  Seconds operator()(const EmpiricalLaw& law) const {
    const double count = static_cast<double>(law.values.size());
    return law.values[static_cast<std::size_t>(stream.uniform01() * count)];
  }
};

using Problem = std::optional<std::string>;

Problem problem_unless(bool holds, const char* otherwise) {
  return holds ? std::nullopt : Problem(otherwise);
}

struct DurationProblemOf {
  Problem operator()(const FixedLaw& law) const {
    return problem_unless(is_time(law.value), "the duration must not be negative");
  }

  Problem operator()(const ExponentialLaw& law) const {
    return problem_unless(is_time(law.mean), "the mean must not be negative");
  }

  Problem operator()(const LognormalLaw& law) const {
    if (!is_time(law.median)) {
      return "the median must not be negative";
    }
    return problem_unless(std::isfinite(law.sigma) && law.sigma >= 0.0,
                          "sigma must not be negative");
  }

  Problem operator()(const UniformLaw& law) const {
    if (!is_time(law.low) || !is_time(law.high)) {
      return "the bounds must not be negative";
    }
    return problem_unless(law.low <= law.high, "the lower bound lies above the upper bound");
  }

  Problem operator()(const EmpiricalLaw& law) const {
    if (law.values.empty()) {
      return "the list of values is empty";
    }
    return problem_unless(std::ranges::all_of(law.values, is_time),
                          "the values must not be negative");
  }
};

struct LifeProblemOf {
  Problem operator()(const ExponentialLaw& law) const {
    // An infinite mean: never.
    return problem_unless(law.mean > Seconds{}, "the mean life must be positive");
  }

  Problem operator()(const WeibullLaw& law) const {
    constexpr double kLeast = 0.05;  // the mean is 2e18 scales there, and grows without bound below
    if (!(law.shape >= kLeast) || !std::isfinite(law.shape)) {
      return "the shape must be at least 0.05";
    }
    return problem_unless(is_positive_time(law.scale), "the mean life must be positive");
  }

  Problem operator()(const LognormalLaw& law) const {
    if (!(law.sigma > 0.0) || !std::isfinite(law.sigma)) {
      return "sigma must be positive";
    }
    return problem_unless(is_positive_time(law.median), "the median must be positive");
  }

  Problem operator()(const EmpiricalLaw& law) const {
    return problem_unless(!law.values.empty() && std::ranges::all_of(law.values, is_positive_time),
                          "the list needs times above 0");
  }
};

// P(X <= x) of a new component.
struct ProbabilityOf {
  Seconds x;

  double operator()(const ExponentialLaw& law) const { return -std::expm1(-(x / law.mean)); }

  double operator()(const WeibullLaw& law) const {
    return -std::expm1(-std::pow(x / law.scale, law.shape));
  }

  double operator()(const LognormalLaw& law) const {
    return x > Seconds{} ? normal_probability(log_ratio(x, law.median) / law.sigma) : 0.0;
  }

  double operator()(const EmpiricalLaw& law) const {
    const auto over = std::ranges::count_if(law.values, [&](Seconds t) { return t <= x; });
    return static_cast<double>(over) / static_cast<double>(law.values.size());
  }
};

// P(X > x): accurate where hardly any component is left.
struct SurvivalAt {
  Seconds x;

  double operator()(const ExponentialLaw& law) const { return std::exp(-(x / law.mean)); }

  double operator()(const WeibullLaw& law) const {
    return std::exp(-std::pow(x / law.scale, law.shape));
  }

  double operator()(const LognormalLaw& law) const {
    return x > Seconds{} ? normal_probability(-log_ratio(x, law.median) / law.sigma) : 1.0;
  }

  double operator()(const EmpiricalLaw& law) const { return 1.0 - ProbabilityOf{x}(law); }
};

// The integral of S / mean from 0 to x: the remaining life in a fleet long in use.
struct StationaryProbability {
  Seconds x;

  double operator()(const ExponentialLaw& law) const { return ProbabilityOf{x}(law); }

  double operator()(const WeibullLaw& law) const {
    return boost::math::gamma_p(1.0 / law.shape, std::pow(x / law.scale, law.shape));
  }

  // Lives that end before x, weighted by their length, and x of each longer one.
  double operator()(const LognormalLaw& law) const {
    if (x <= Seconds{}) {
      return 0.0;
    }
    const double z = log_ratio(x, law.median) / law.sigma;
    return normal_probability(z - law.sigma) + x / MeanOf{}(law)*normal_probability(-z);
  }

  double operator()(const EmpiricalLaw& law) const {
    Seconds inside;
    for (const Seconds time : law.values) {
      inside += std::min(time, x);
    }
    return inside / static_cast<double>(law.values.size()) / MeanOf{}(law);
  }
};

// Index of the share u among those from `first` to `end`.
std::size_t position(double u, std::size_t first, std::size_t end) {
  const double steps = std::floor(u * static_cast<double>(end - first));
  return std::min(end - 1, first + static_cast<std::size_t>(steps));
}

// The life that a share `below` of new components does not reach; `above` = 1 - below, each exact
// where the other has lost its digits.
struct LifeAt {
  double below;
  double above;

  Seconds operator()(const ExponentialLaw& law) const { return law.mean * -log_above(); }

  Seconds operator()(const WeibullLaw& law) const {
    return law.scale * std::pow(-log_above(), 1.0 / law.shape);
  }

  Seconds operator()(const LognormalLaw& law) const {
    const double z = below < above ? -std::numbers::sqrt2 * boost::math::erfc_inv(2.0 * below)
                                   : std::numbers::sqrt2 * boost::math::erfc_inv(2.0 * above);
    return law.median * std::exp(law.sigma * z);
  }

  // RemainingLife keeps its list in order.
  Seconds operator()(const EmpiricalLaw& law) const {
    return law.values[position(below, 0, law.values.size())];
  }

  [[nodiscard]] double log_above() const {
    return below < above ? std::log1p(-below) : std::log(above);
  }
};

}  // namespace

double lognormal_sigma(Seconds mean, Seconds median) {
  return mean > median ? std::sqrt(2.0 * std::log(mean / median)) : 0.0;
}

LognormalLaw lognormal_with_mean(Seconds median, Seconds mean) {
  ORRERY_CHECK(median > Seconds{} && mean >= median,
               "no lognormal law has the median {} s and the mean {} s", in_seconds(median),
               in_seconds(mean));
  return {median, lognormal_sigma(mean, median)};
}

WeibullLaw weibull_of_mean(double shape, Seconds mean) {
  return {shape, mean / std::tgamma(1.0 + 1.0 / shape)};
}

LognormalLaw lognormal_of_mean(Seconds mean, double sigma) {
  return {mean * std::exp(-0.5 * sigma * sigma), sigma};
}

Seconds mean(const Duration& duration) { return std::visit(MeanOf{}, duration); }

Seconds mean(const LifeLaw& law) { return std::visit(MeanOf{}, law); }

Duration scaled(const Duration& duration, double factor) { return scaled_by(duration, factor); }

LifeLaw scaled(const LifeLaw& law, double factor) { return scaled_by(law, factor); }

Seconds sample(const Duration& duration, RandomStream& stream) {
  return std::visit(Draw{stream}, duration);
}

std::optional<std::string> problem_of(const Duration& duration) {
  return std::visit(DurationProblemOf{}, duration);
}

std::optional<std::string> problem_of(const LifeLaw& law) {
  return std::visit(LifeProblemOf{}, law);
}

std::optional<std::string> problem_of(const LifeLaw& law, const InitialAge& age) {
  if (age.kind != AgeKind::given) {
    return std::nullopt;
  }
  if (!(age.age >= Seconds{}) || !std::isfinite(in_seconds(age.age))) {
    return "the age must not be negative";
  }
  if (!(std::visit(SurvivalAt{age.age}, law) > 0.0)) {
    return "no component reaches the stated age";
  }
  return std::nullopt;
}

RemainingLife::RemainingLife(LifeLaw law, InitialAge age)
    : law_(std::move(law)), age_(age), mean_(run::mean(law_)) {
  if (auto* list = std::get_if<EmpiricalLaw>(&law_)) {
    std::ranges::sort(list->values);
  }
  if (age_.kind == AgeKind::fresh || std::holds_alternative<ExponentialLaw>(law_)) {
    age_ = {AgeKind::given, Seconds{}};  // an exponential life does not remember its age
  }
}

double RemainingLife::survival(Seconds x) const { return std::visit(SurvivalAt{x}, law_); }

double RemainingLife::probability(Seconds x) const {
  if (age_.kind == AgeKind::stationary) {
    return std::visit(StationaryProbability{x}, law_);
  }
  if (age_.age == Seconds{}) {
    return std::visit(ProbabilityOf{x}, law_);
  }
  if (const auto* weibull = std::get_if<WeibullLaw>(&law_)) {
    const double before = std::pow(age_.age / weibull->scale, weibull->shape);
    const double after = std::pow((age_.age + x) / weibull->scale, weibull->shape);
    return -std::expm1(before - after);
  }
  return 1.0 - std::visit(SurvivalAt{age_.age + x}, law_) / std::visit(SurvivalAt{age_.age}, law_);
}

Seconds RemainingLife::quantile(double u) const {
  if (age_.kind == AgeKind::stationary) {
    return stationary_quantile(u);
  }
  if (age_.age == Seconds{}) {
    return std::visit(LifeAt{u, 1.0 - u}, law_);
  }
  if (const auto* weibull = std::get_if<WeibullLaw>(&law_)) {
    const double before = std::pow(age_.age / weibull->scale, weibull->shape);
    const double after = before - std::log1p(-u);
    return std::max(Seconds{}, weibull->scale * std::pow(after, 1.0 / weibull->shape) - age_.age);
  }
  if (const auto* list = std::get_if<EmpiricalLaw>(&law_)) {
    const auto older = std::upper_bound(list->values.begin(), list->values.end(), age_.age);
    const auto first = static_cast<std::size_t>(older - list->values.begin());
    return list->values[position(u, first, list->values.size())] - age_.age;
  }
  const double above = std::visit(SurvivalAt{age_.age}, law_) * (1.0 - u);
  return std::max(Seconds{}, std::visit(LifeAt{1.0 - above, above}, law_) - age_.age);
}

Seconds RemainingLife::stationary_quantile(double u) const {
  if (const auto* weibull = std::get_if<WeibullLaw>(&law_)) {
    const double amount = boost::math::gamma_p_inv(1.0 / weibull->shape, u);
    return weibull->scale * std::pow(amount, 1.0 / weibull->shape);
  }
  // Both others by halving an interval that holds the answer: monotone, 60 halvings are exact.
  Seconds high = mean_;
  while (probability(high) <= u && in_seconds(high) < std::numeric_limits<double>::max() / 4.0) {
    high = 2.0 * high;
  }
  Seconds low;
  constexpr int kHalvings = 60;
  for (int i = 0; i < kHalvings; ++i) {
    const Seconds middle = 0.5 * (low + high);
    (probability(middle) <= u ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

}  // namespace orrery::run
