#pragma once

// Laws of the life of a component: of the time between two of its failures.
//
//   exponential: S(x) = exp(-x / mean)                 no memory: the age does not matter
//   weibull:     S(x) = exp(-(x / scale)^shape)        mean = scale * Gamma(1 + 1 / shape)
//   lognormal:   S(x) = Phi(-ln(x / median) / sigma)   mean = median * exp(sigma^2 / 2)
//   empirical:   a time of the list, each as likely    mean = that of the list
//
//   remaining life of a component of age a:            P(X - a <= x | X > a) = 1 - S(a + x) / S(a)
//   remaining life in a fleet long in use (stationary): density S(x) / mean
//
// symbol | meaning                                              | unit | origin
// -------|------------------------------------------------------|------|---------
// S      | share of new components that live longer than x      | 1    | computed
// shape  | below 1 early failures, 1 no memory, above 1 wear    | 1    | scenario
// scale  | life that 63.2 % do not reach                        | s    | scenario
// median | life that half do not reach                          | s    | scenario
// sigma  | standard deviation of the logarithm of the life      | 1    | scenario
//
// A component that fails is renewed: repaired or replaced, its age starts again at 0. Whatever the
// law, a fleet of n components fails every mean / n in the long run (elementary renewal theorem);
// n new ones fail at first more often (shape < 1) or less often (shape > 1). Starting all ages
// again at every failure of any component is a mistake: its mean time between failures would be
// mean * n^(-1/shape).

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/base/units.hpp"

namespace orrery::run {

struct ExponentialLife {
  Seconds mean;
};

struct WeibullLife {
  double shape = 1.0;
  Seconds scale;
};

struct LognormalLife {
  Seconds median;
  double sigma = 0.0;
};

struct EmpiricalLife {
  std::vector<Seconds> times;  // in any order, above 0
};

using LifeLaw = std::variant<ExponentialLife, WeibullLife, LognormalLife, EmpiricalLife>;

[[nodiscard]] WeibullLife weibull_of_mean(double shape, Seconds mean);
[[nodiscard]] LognormalLife lognormal_of_mean(Seconds mean, double sigma);

[[nodiscard]] Seconds mean(const LifeLaw& law);

// The same law with all its times multiplied by `factor` > 0.
[[nodiscard]] LifeLaw scaled(const LifeLaw& law, double factor);

// Why the parameters are no law (a mean of zero, no time above 0), or nothing.
[[nodiscard]] std::optional<std::string> problem_of(const LifeLaw& law);

// Age of all components at the start of the run.
enum class AgeKind {
  stationary,  // each at a random point of its life, as in a fleet long in use
  fresh,       // all new
  given        // all of the same age
};

struct InitialAge {
  AgeKind kind = AgeKind::stationary;
  Seconds age;  // when given

  friend bool operator==(const InitialAge&, const InitialAge&) = default;
};

// Why no component can have this age under this law (no time of the list is longer), or nothing.
[[nodiscard]] std::optional<std::string> problem_of(const LifeLaw& law, const InitialAge& age);

// From a moment at which the age is known until the failure.
class RemainingLife {
 public:
  RemainingLife(LifeLaw law, InitialAge age);

  // Probability that it is over within x >= 0.
  [[nodiscard]] double probability(Seconds x) const;

  // Whether it is that of a component at a random point of its life; survival() and mean() of a new
  // one then describe it: its density is survival(x) / mean().
  [[nodiscard]] bool is_stationary() const {
    return age_.kind == AgeKind::stationary;
  }

  [[nodiscard]] double survival(Seconds x) const;

  [[nodiscard]] Seconds mean() const {
    return mean_;
  }

  // The x with probability(x) = u, for u on [0, 1).
  [[nodiscard]] Seconds quantile(double u) const;

 private:
  [[nodiscard]] Seconds stationary_quantile(double u) const;

  LifeLaw law_;
  InitialAge age_;
  Seconds mean_;
};

}  // namespace orrery::run
