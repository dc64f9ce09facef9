#pragma once

// Quantiles of a sample by linear interpolation between order statistics.
//
//   x(r) = x[k] + (r - k) (x[k + 1] - x[k]),  k = floor r,  0 <= r <= n - 1
//   quantile(q) = x((n - 1) q),  median = quantile(1/2)                          ("type 7")
//
// symbol | meaning                                  | unit          | origin
// -------|------------------------------------------|---------------|--------
// x[k]   | values in rising order, k from 0         | of the values | given
// n      | number of values                         | 1             | given
// r      | rank; one outside is the nearest inside  | 1             | given
// q      | share of the values below, 0 to 1        | 1             | given
//
// Source: R. Hyndman, Y. Fan, Sample Quantiles in Statistical Packages, The American Statistician
// 50 (1996), definition 7.

#include <span>
#include <vector>

namespace orrery {

// Each of at least one value; `sorted` is in rising order.
[[nodiscard]] double value_at_rank(std::span<const double> sorted, double rank);
[[nodiscard]] double quantile_of_sorted(std::span<const double> sorted, double q);

// Of at least one value, in any order.
[[nodiscard]] double median_of(std::vector<double> values);

}  // namespace orrery
