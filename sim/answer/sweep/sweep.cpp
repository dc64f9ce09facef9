#include "sim/answer/sweep/sweep.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "sim/base/random.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::sweep {

namespace {

// Keys twice, and open ranges where nothing says how many values they have.
bool check_axes(const std::vector<Axis>& axes, Mode mode, Diagnostics& diagnostics) {
  bool valid = true;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto same = [&axes, i](const Axis& other) { return other.key.path == axes[i].key.path; };
    if (std::any_of(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(i), same)) {
      diagnostics.error(axes[i].where, axes[i].key.path, "is varied twice", "one list of values");
      valid = false;
    }
    if (mode != Mode::random && axes[i].values.empty()) {
      diagnostics.error(axes[i].where, axes[i].key.path,
                        "the range does not say how many values it has",
                        "from:to:steps, or random points (--random N)");
      valid = false;
    }
  }
  return valid;
}

std::optional<std::vector<Point>> grid(const std::vector<Axis>& axes, Diagnostics& diagnostics) {
  double count = 1.0;
  for (const Axis& axis : axes) {
    count *= static_cast<double>(axis.values.size());
  }
  if (count > static_cast<double>(kMostPoints)) {
    diagnostics.error(
        axes.front().where, {}, fmt::format("the grid has {:.3g} points", count),
        fmt::format("at most {}; --random N takes a sample", format_integer(kMostPoints)));
    return std::nullopt;
  }
  std::vector<Point> points = {{}};
  for (const Axis& axis : axes) {
    std::vector<Point> longer;
    longer.reserve(points.size() * axis.values.size());
    for (const Point& point : points) {
      for (const std::string& value : axis.values) {
        longer.push_back(point);
        longer.back().push_back(value);
      }
    }
    points = std::move(longer);
  }
  return points;
}

std::optional<std::vector<Point>> zip(const std::vector<Axis>& axes, Diagnostics& diagnostics) {
  for (const Axis& axis : axes) {
    if (axis.values.size() != axes.front().values.size()) {
      diagnostics.error(axis.where, axis.key.path,
                        fmt::format("has {} values where {} has {}", axis.values.size(),
                                    axes.front().key.path, axes.front().values.size()),
                        "as many for every key with --zip");
      return std::nullopt;
    }
  }
  std::vector<Point> points(axes.empty() ? 1 : axes.front().values.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (const Axis& axis : axes) {
      points[i].push_back(axis.values[i]);
    }
  }
  return points;
}

std::string value_at(const Axis& axis, double share) {
  if (axis.range) {
    return axis.range->at(share);
  }
  const auto count = static_cast<double>(axis.values.size());
  return axis.values[static_cast<std::size_t>(share * count)];
}

std::vector<Point> latin_hypercube(const std::vector<Axis>& axes, const Combination& combination) {
  const auto n = static_cast<std::size_t>(combination.random_points);
  std::vector<Point> points(n);
  for (std::size_t j = 0; j < axes.size(); ++j) {
    RandomStream stream(combination.seed, 0, Purpose::sweep_point, static_cast<std::uint32_t>(j));
    std::vector<std::size_t> strata(n);
    std::iota(strata.begin(), strata.end(), std::size_t{0});
    for (std::size_t i = n; i > 1; --i) {
      std::swap(strata[i - 1], strata[stream.uniform_int(i)]);
    }
    for (std::size_t i = 0; i < n; ++i) {
      const double share =
          (static_cast<double>(strata[i]) + stream.uniform01()) / static_cast<double>(n);
      points[i].push_back(value_at(axes[j], share));
    }
  }
  return points;
}

}  // namespace

std::optional<std::vector<Point>> make_points(const std::vector<Axis>& axes,
                                              const Combination& combination,
                                              Diagnostics& diagnostics) {
  if (!check_axes(axes, combination.mode, diagnostics)) {
    return std::nullopt;
  }
  switch (combination.mode) {
    case Mode::grid:
      return grid(axes, diagnostics);
    case Mode::zip:
      return zip(axes, diagnostics);
    case Mode::random:
      return latin_hypercube(axes, combination);
  }
  return std::nullopt;
}

std::vector<scenario::KeyValue> Sweep::changes(std::size_t point) const {
  if (!listed.empty()) {
    return listed[point];
  }
  std::vector<scenario::KeyValue> changes;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    changes.push_back({axes[i].key.path, points[point][i], axes[i].where});
  }
  return changes;
}

void check_values(const Sweep& sweep, Diagnostics& diagnostics) {
  for (const Axis& axis : sweep.axes) {
    std::vector<std::string> values = axis.values;
    if (axis.range) {
      values = {axis.range->at(0.0), axis.range->at(1.0)};
    }
    for (std::string& value : values) {
      const scenario::KeyValue change{axis.key.path, std::move(value), axis.where};
      sweep.base.check(change, diagnostics);
    }
  }
}

bool is_run_section(std::string_view section) {
  constexpr std::array<std::string_view, 10> kSections = {
      "name",     "training", "evaluation", "failures",   "checkpoint",
      "recovery", "capacity", "prices",     "simulation", "expect"};
  return std::ranges::find(kSections, section) != kSections.end();
}

}  // namespace orrery::sweep
