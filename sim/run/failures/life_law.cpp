#include "sim/run/failures/life_law.hpp"

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <limits>
#include <utility>

namespace orrery::run {

namespace {

constexpr double kSqrt2 = 1.41421356237309504880;

bool is_positive_time(Seconds value) {
  return std::isfinite(in_seconds(value)) && value > Seconds{};
}

// P(Z <= z) of a standard normal.
double normal_probability(double z) {
  return 0.5 * std::erfc(-z / kSqrt2);
}

double log_ratio(Seconds value, Seconds unit) {
  return std::log(value / unit);
}

struct LifeMeanOf {
  Seconds operator()(const ExponentialLife& law) const {
    return law.mean;
  }

  Seconds operator()(const WeibullLife& law) const {
    return law.scale * std::tgamma(1.0 + 1.0 / law.shape);
  }

  Seconds operator()(const LognormalLife& law) const {
    return law.median * std::exp(0.5 * law.sigma * law.sigma);
  }

  Seconds operator()(const EmpiricalLife& law) const {
    Seconds sum;
    for (const Seconds time : law.times) {
      sum += time;
    }
    return sum / static_cast<double>(law.times.size());
  }
};

struct LifeScaledBy {
  double factor;

  LifeLaw operator()(const ExponentialLife& law) const {
    return ExponentialLife{law.mean * factor};
  }

  LifeLaw operator()(const WeibullLife& law) const {
    return WeibullLife{law.shape, law.scale * factor};
  }

  LifeLaw operator()(const LognormalLife& law) const {
    return LognormalLife{law.median * factor, law.sigma};
  }

  LifeLaw operator()(EmpiricalLife law) const {
    for (Seconds& time : law.times) {
      time = time * factor;
    }
    return law;
  }
};

struct LifeProblemOf {
  using Problem = std::optional<std::string>;

  Problem operator()(const ExponentialLife& law) const {
    // An infinite mean: never.
    return check(law.mean > Seconds{}, "the mean life must be positive");
  }

  Problem operator()(const WeibullLife& law) const {
    constexpr double kLeast = 0.05;  // the mean is 2e18 scales there, and grows without bound below
    if (!(law.shape >= kLeast) || !std::isfinite(law.shape)) {
      return "the shape must be at least 0.05";
    }
    return check(is_positive_time(law.scale), "the mean life must be positive");
  }

  Problem operator()(const LognormalLife& law) const {
    if (!(law.sigma > 0.0) || !std::isfinite(law.sigma)) {
      return "sigma must be positive";
    }
    return check(is_positive_time(law.median), "the median must be positive");
  }

  Problem operator()(const EmpiricalLife& law) const {
    return check(
        !law.times.empty() && std::all_of(law.times.begin(), law.times.end(), is_positive_time),
        "the list needs times above 0");
  }

  static Problem check(bool holds, const char* otherwise) {
    return holds ? std::nullopt : Problem(otherwise);
  }
};

// P(X <= x) of a new component.
struct ProbabilityOf {
  Seconds x;

  double operator()(const ExponentialLife& law) const {
    return -std::expm1(-(x / law.mean));
  }

  double operator()(const WeibullLife& law) const {
    return -std::expm1(-std::pow(x / law.scale, law.shape));
  }

  double operator()(const LognormalLife& law) const {
    return x > Seconds{} ? normal_probability(log_ratio(x, law.median) / law.sigma) : 0.0;
  }

  double operator()(const EmpiricalLife& law) const {
    const auto over =
        std::count_if(law.times.begin(), law.times.end(), [&](Seconds t) { return t <= x; });
    return static_cast<double>(over) / static_cast<double>(law.times.size());
  }
};

// P(X > x): accurate where hardly any component is left.
struct SurvivalAt {
  Seconds x;

  double operator()(const ExponentialLife& law) const {
    return std::exp(-(x / law.mean));
  }

  double operator()(const WeibullLife& law) const {
    return std::exp(-std::pow(x / law.scale, law.shape));
  }

  double operator()(const LognormalLife& law) const {
    return x > Seconds{} ? normal_probability(-log_ratio(x, law.median) / law.sigma) : 1.0;
  }

  double operator()(const EmpiricalLife& law) const {
    return 1.0 - ProbabilityOf{x}(law);
  }
};

// The integral of S / mean from 0 to x: the remaining life in a fleet long in use.
struct StationaryProbability {
  Seconds x;

  double operator()(const ExponentialLife& law) const {
    return ProbabilityOf{x}(law);
  }

  double operator()(const WeibullLife& law) const {
    return boost::math::gamma_p(1.0 / law.shape, std::pow(x / law.scale, law.shape));
  }

  // Lives that end before x, weighted by their length, and x of each longer one.
  double operator()(const LognormalLife& law) const {
    if (x <= Seconds{}) {
      return 0.0;
    }
    const double z = log_ratio(x, law.median) / law.sigma;
    return normal_probability(z - law.sigma) + x / LifeMeanOf{}(law)*normal_probability(-z);
  }

  double operator()(const EmpiricalLife& law) const {
    Seconds inside;
    for (const Seconds time : law.times) {
      inside += std::min(time, x);
    }
    return inside / static_cast<double>(law.times.size()) / LifeMeanOf{}(law);
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

  Seconds operator()(const ExponentialLife& law) const {
    return law.mean * -log_above();
  }

  Seconds operator()(const WeibullLife& law) const {
    return law.scale * std::pow(-log_above(), 1.0 / law.shape);
  }

  Seconds operator()(const LognormalLife& law) const {
    const double z = below < above ? -kSqrt2 * boost::math::erfc_inv(2.0 * below)
                                   : kSqrt2 * boost::math::erfc_inv(2.0 * above);
    return law.median * std::exp(law.sigma * z);
  }

  // RemainingLife keeps its list in order.
  Seconds operator()(const EmpiricalLife& law) const {
    return law.times[position(below, 0, law.times.size())];
  }

  [[nodiscard]] double log_above() const {
    return below < above ? std::log1p(-below) : std::log(above);
  }
};

}  // namespace

WeibullLife weibull_of_mean(double shape, Seconds mean) {
  return {shape, mean / std::tgamma(1.0 + 1.0 / shape)};
}

LognormalLife lognormal_of_mean(Seconds mean, double sigma) {
  return {mean * std::exp(-0.5 * sigma * sigma), sigma};
}

Seconds mean(const LifeLaw& law) {
  return std::visit(LifeMeanOf{}, law);
}

LifeLaw scaled(const LifeLaw& law, double factor) {
  return std::visit(LifeScaledBy{factor}, law);
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
  if (auto* list = std::get_if<EmpiricalLife>(&law_)) {
    std::sort(list->times.begin(), list->times.end());
  }
  if (age_.kind == AgeKind::fresh || std::holds_alternative<ExponentialLife>(law_)) {
    age_ = {AgeKind::given, Seconds{}};  // an exponential life does not remember its age
  }
}

double RemainingLife::survival(Seconds x) const {
  return std::visit(SurvivalAt{x}, law_);
}

double RemainingLife::probability(Seconds x) const {
  if (age_.kind == AgeKind::stationary) {
    return std::visit(StationaryProbability{x}, law_);
  }
  if (age_.age == Seconds{}) {
    return std::visit(ProbabilityOf{x}, law_);
  }
  if (const auto* weibull = std::get_if<WeibullLife>(&law_)) {
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
  if (const auto* weibull = std::get_if<WeibullLife>(&law_)) {
    const double before = std::pow(age_.age / weibull->scale, weibull->shape);
    const double after = before - std::log1p(-u);
    return std::max(Seconds{}, weibull->scale * std::pow(after, 1.0 / weibull->shape) - age_.age);
  }
  if (const auto* list = std::get_if<EmpiricalLife>(&law_)) {
    const auto older = std::upper_bound(list->times.begin(), list->times.end(), age_.age);
    const auto first = static_cast<std::size_t>(older - list->times.begin());
    return list->times[position(u, first, list->times.size())] - age_.age;
  }
  const double above = std::visit(SurvivalAt{age_.age}, law_) * (1.0 - u);
  return std::max(Seconds{}, std::visit(LifeAt{1.0 - above, above}, law_) - age_.age);
}

Seconds RemainingLife::stationary_quantile(double u) const {
  if (const auto* weibull = std::get_if<WeibullLife>(&law_)) {
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
