#pragma once

// The duration of one stage of a recovery, fixed or drawn from a law.
//
//   fixed:       value
//   exponential: mean * -ln(1 - u)
//   lognormal:   median * exp(sigma * z), whose mean is median * exp(sigma^2 / 2)
//   uniform:     low + (high - low) * u
//   empirical:   one of the listed values, each as likely
//
// symbol | meaning                                   | unit | origin
// -------|-------------------------------------------|------|---------------------------
// u      | uniform draw on [0, 1)                    | 1    | RandomStream of the stage
// z      | standard normal draw                      | 1    | RandomStream of the stage
// median | value that half of the durations exceed   | s    | scenario or preset
// sigma  | standard deviation of the logarithm       | 1    | scenario or preset
//
// Recovery times have heavy tails: a published run with a median of 222 s and a mean of 2,334 s is
// a lognormal with sigma = sqrt(2 ln(mean / median)) = 2.17.

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/base/units.hpp"

namespace orrery::run {

struct FixedDuration {
  Seconds value;
};

struct ExponentialDuration {
  Seconds mean;
};

struct LognormalDuration {
  Seconds median;
  double sigma = 0.0;
};

struct UniformDuration {
  Seconds low;
  Seconds high;
};

struct EmpiricalDuration {
  std::vector<Seconds> values;
};

using Duration = std::variant<FixedDuration,
                              ExponentialDuration,
                              LognormalDuration,
                              UniformDuration,
                              EmpiricalDuration>;

[[nodiscard]] inline Duration fixed(Seconds value) {
  return FixedDuration{value};
}

// The lognormal law with this median and mean; 0 < median <= mean.
[[nodiscard]] LognormalDuration lognormal_with_mean(Seconds median, Seconds mean);

[[nodiscard]] Seconds mean(const Duration& duration);

// The same law with all its times multiplied by `factor` >= 0; its shape stays.
[[nodiscard]] Duration scaled(const Duration& duration, double factor);

// One draw; a fixed duration takes nothing from the stream.
[[nodiscard]] Seconds sample(const Duration& duration, RandomStream& stream);

// Why the parameters are no law (negative, not finite, high below low), or nothing.
[[nodiscard]] std::optional<std::string> problem_of(const Duration& duration);

}  // namespace orrery::run
