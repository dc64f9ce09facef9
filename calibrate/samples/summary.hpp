#pragma once

// Robust statistics of repeated timings: the time of a kernel and its uncertainty.
//
//   error = (x(n/2 + sqrt(n)/2) - x(n/2 - sqrt(n)/2)) / (2 median)
//
// symbol  | meaning                                                     | unit | origin
// --------|-------------------------------------------------------------|------|---------
// n       | samples                                                     | 1    | measured
// x(r)    | order statistic at rank r, linear between ranks             | any  | measured
// error   | relative standard error of the median: the rank of the      | 1    | computed
//         | median among n samples has standard deviation sqrt(n)/2,    |      |
//         | whatever the distribution                                   |      |
//
// Source: order-statistic intervals of a median: B. Arnold, N. Balakrishnan, H. Nagaraja, A First
// Course in Order Statistics, section 7.

#include <cstddef>
#include <span>

namespace orrery::calibrate {

struct Summary {
  std::size_t count = 0;
  double median = 0.0;
  double p10 = 0.0;
  double p90 = 0.0;
  double least = 0.0;
  double error = 0.0;  // relative standard error of the median
};

// Of at least one sample, in the unit of the samples; quantiles are linear between ranks.
[[nodiscard]] Summary summarise(std::span<const double> samples);

}  // namespace orrery::calibrate
