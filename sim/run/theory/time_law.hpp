#pragma once

// Laws of times: of the stages of a recovery, and of the life of a component.
//
//   fixed:       value
//   exponential: S(x) = exp(-x / mean)                 no memory: the age does not matter
//   weibull:     S(x) = exp(-(x / scale)^shape)        mean = scale * Gamma(1 + 1 / shape)
//   lognormal:   S(x) = Phi(-ln(x / median) / sigma)   mean = median * exp(sigma^2 / 2)
//   uniform:     between low and high                  mean = (low + high) / 2
//   empirical:   a time of the list, each as likely    mean = that of the list
//
//   remaining life of a component of age a:             P(X - a <= x | X > a) = 1 - S(a + x) / S(a)
//   remaining life in a fleet long in use (stationary): density S(x) / mean
//
// symbol | meaning                                              | unit | origin
// -------|------------------------------------------------------|------|-------------------
// S      | share of the times, of new components, above x       | 1    | computed
// shape  | below 1 early failures, 1 no memory, above 1 wear    | 1    | scenario
// scale  | time that 63.2 % do not reach                        | s    | scenario
// median | time that half do not reach                          | s    | scenario or preset
// sigma  | standard deviation of the logarithm of the time      | 1    | scenario or preset
//
// Recovery times have heavy tails: a published run with a median of 222 s and a mean of 2,334 s is
// a lognormal with sigma = sqrt(2 ln(mean / median)) = 2.17.
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

#include "sim/base/random.hpp"
#include "sim/base/units.hpp"

namespace orrery::run {

struct FixedLaw {
  Seconds value;
};

struct ExponentialLaw {
  Seconds mean;
};

struct WeibullLaw {
  double shape = 1.0;
  Seconds scale;
};

struct LognormalLaw {
  Seconds median;
  double sigma = 0.0;
};

struct UniformLaw {
  Seconds low;
  Seconds high;
};

struct EmpiricalLaw {
  std::vector<Seconds> values;  // in any order
};

using Duration = std::variant<FixedLaw, ExponentialLaw, LognormalLaw, UniformLaw, EmpiricalLaw>;
using LifeLaw = std::variant<ExponentialLaw, WeibullLaw, LognormalLaw, EmpiricalLaw>;

[[nodiscard]] inline Duration fixed(Seconds value) { return FixedLaw{value}; }

// Of the lognormal law with this mean and median; 0 where the mean is not above the median.
[[nodiscard]] double lognormal_sigma(Seconds mean, Seconds median);

// The lognormal law with this median and mean; 0 < median <= mean.
[[nodiscard]] LognormalLaw lognormal_with_mean(Seconds median, Seconds mean);

[[nodiscard]] WeibullLaw weibull_of_mean(double shape, Seconds mean);
[[nodiscard]] LognormalLaw lognormal_of_mean(Seconds mean, double sigma);

[[nodiscard]] Seconds mean(const Duration& duration);
[[nodiscard]] Seconds mean(const LifeLaw& law);

// The same law with all its times multiplied by `factor` >= 0 (of lives: > 0); its shape stays.
[[nodiscard]] Duration scaled(const Duration& duration, double factor);
[[nodiscard]] LifeLaw scaled(const LifeLaw& law, double factor);

// One draw; a fixed duration takes nothing from the stream.
[[nodiscard]] Seconds sample(const Duration& duration, RandomStream& stream);

// Why the parameters are no law (negative, not finite, high below low; of lives also a mean of
// zero), or nothing.
[[nodiscard]] std::optional<std::string> problem_of(const Duration& duration);
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
  [[nodiscard]] bool is_stationary() const { return age_.kind == AgeKind::stationary; }

  [[nodiscard]] double survival(Seconds x) const;

  [[nodiscard]] Seconds mean() const { return mean_; }

  // The x with probability(x) = u, for u on [0, 1).
  [[nodiscard]] Seconds quantile(double u) const;

 private:
  [[nodiscard]] Seconds stationary_quantile(double u) const;

  LifeLaw law_;
  InitialAge age_;
  Seconds mean_;
};

}  // namespace orrery::run
