#pragma once

// Farthest-point selection of the shapes to measure: a few of many, so that no other shape is far
// from all of them.
//
//   distance(a, b) = sqrt( sum_i (ln a_i - ln b_i)^2 )
//   first = the candidate nearest to the mean of the logarithms, then again and again the candidate
//   whose distance to its nearest chosen one is largest
//
// symbol | meaning                                | unit | origin
// -------|----------------------------------------|------|-------
// a_i    | extent i of a candidate, positive      | 1    | caller
//
// Ties go to the earlier candidate, so the choice is the same everywhere. Cost: candidates x
// chosen. Source: T. Gonzalez, Theoretical Computer Science 38 (1985) 293: within a factor of 2 of
// the best covering radius. On published products 36 points chosen so predict the rest as well as
// 144 (docs/calibration.md).

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace orrery::calibrate {

using Extents = std::vector<std::int64_t>;

// Indices of `count` candidates in the order of choice, all when there are fewer. Candidates have
// equally many extents.
[[nodiscard]] std::vector<std::size_t> farthest_points(std::span<const Extents> candidates,
                                                       std::size_t count);

}  // namespace orrery::calibrate
