#pragma once

// Checks a gradient against its function by central differences in double precision:
//
//   df/dx_i ~ (f(x + h e_i) - f(x - h e_i)) / (2 h)     error ~ h^2 f''' + eps f / h
//
// With h = 1e-5 and functions of size 1 both are below 1e-9.

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "sim/base/random.hpp"

namespace orrery::kernels::reference {

inline std::vector<double> random_values(std::size_t count, RandomStream& random) {
  std::vector<double> values(count);
  for (double& value : values) {
    value = random.normal();
  }
  return values;
}

inline double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

inline void expect_gradient(std::vector<double> x, std::span<const double> gradient,
                            const std::function<double(std::span<const double>)>& function) {
  constexpr double kStep = 1e-5;
  constexpr double kTolerance = 1e-7;
  ASSERT_EQ(x.size(), gradient.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double at = x[i];
    x[i] = at + kStep;
    const double above = function(x);
    x[i] = at - kStep;
    const double below = function(x);
    x[i] = at;
    EXPECT_NEAR((above - below) / (2.0 * kStep), gradient[i], kTolerance) << "component " << i;
  }
}

}  // namespace orrery::kernels::reference
