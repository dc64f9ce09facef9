#pragma once

// The points that a sweep visits: axes and a way to combine them.
//
// mode   | points
// -------|----------------------------------------------------------------------------------------
// grid   | every combination, the last axis fastest: n_1 n_2 ... n_k
// zip    | the i-th value of every axis together: all axes have as many values
// random | n points of a Latin hypercube: every axis is cut into n strata of equal weight, each of
//        | which is met once; lists are drawn from evenly, open ranges inside their stratum
//
// Random points depend on the seed alone.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/answer/sweep/axis.hpp"
#include "sim/base/diagnostics.hpp"

namespace orrery::sweep {

enum class Mode { grid, zip, random };

struct Combination {
  Mode mode = Mode::grid;
  std::int64_t random_points = 0;
  std::uint64_t seed = 1;
};

// One value per axis, in the order of the axes.
using Point = std::vector<std::string>;

// Nothing after an error. Without axes there is one point: the scenario as it is.
[[nodiscard]] std::optional<std::vector<Point>> make_points(const std::vector<Axis>& axes,
                                                            const Combination& combination,
                                                            Diagnostics& diagnostics);

}  // namespace orrery::sweep
