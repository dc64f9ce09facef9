#include "sim/answer/sweep/sweep.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "sim/base/random.hpp"
#include "sim/base/text/format.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/base/yaml/flow_text.hpp"
#include "sim/base/yaml/reader.hpp"

namespace orrery::sweep {

namespace {

using yaml::Value;
namespace kind = yaml::kind;

constexpr std::array<yaml::Choice<Mode>, 3> kModes = {
    {{"grid", Mode::grid}, {"zip", Mode::zip}, {"random", Mode::random}}};

std::optional<Axis> read_axis(const yaml::Entry& entry, Diagnostics& diagnostics) {
  const Value& value = entry.value;
  if (value.kind == Value::Kind::scalar) {
    return parse_axis(entry.key, value.text, value.where, diagnostics);
  }
  std::vector<std::string> values;
  for (const Value& item : value.items) {
    values.push_back(yaml::flow_text(item));
  }
  if (value.kind != Value::Kind::sequence) {
    diagnostics.error(value.where, entry.key, "has no list of values",
                      "[V1, V2], or from:to:steps");
    return std::nullopt;
  }
  return axis_of(entry.key, std::move(values), value.where, diagnostics);
}

void read_vary(const Value& vary, SweepFile& file, Diagnostics& diagnostics) {
  if (vary.kind != Value::Kind::mapping) {
    diagnostics.error(vary.where, "vary", "is no mapping of keys to values",
                      "such as {capacity.spares: [0, 8, 16]}");
    return;
  }
  for (const yaml::Entry& entry : vary.entries) {
    if (auto axis = read_axis(entry, diagnostics)) {
      file.axes.push_back(*std::move(axis));
    }
  }
}

void read_combination(yaml::MappingReader& reader, SweepFile& file) {
  file.combination.mode = reader.optional_choice<Mode>("combine", kModes).value_or(Mode::grid);
  const auto points =
      reader.optional<kind::Count>("points", yaml::between<std::int64_t>(1, kMostPoints));
  const bool random = file.combination.mode == Mode::random;
  if (random != reader.has("points")) {
    reader.error("points",
                 random ? "is missing: how many random points?" : "is for `combine: random` only",
                 random ? "such as 200" : "");
  }
  file.combination.random_points = points.value_or(0);
}

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

bool is_sweep_file(std::string_view text) {
  if (text.find(kSweepFormat) == std::string_view::npos) {
    return false;
  }
  Diagnostics ignored;
  const auto root = yaml::parse(text, {}, {}, ignored);
  if (!root) {
    return false;
  }
  for (const yaml::Entry& entry : root->entries) {
    if (entry.key == "format") {
      return yaml::is_word(entry.value, kSweepFormat);
    }
  }
  return false;
}

std::optional<SweepFile> read_sweep_file(std::string_view text, const std::string& file_name,
                                         Diagnostics& diagnostics) {
  const auto root = yaml::parse(text, file_name, {}, diagnostics);
  if (!root) {
    return std::nullopt;
  }
  SweepFile file;
  yaml::MappingReader reader(*root, diagnostics);
  reader.allow("format");
  if (const auto scenario = reader.require_text("scenario", "`llama3-405b-16k.yaml`")) {
    file.scenario = std::filesystem::path(file_name).parent_path() / *scenario;
  }
  if (const Value* vary = reader.take_required("vary", "a mapping", "{capacity.spares: [0, 8]}")) {
    read_vary(*vary, file, diagnostics);
  }
  read_combination(reader, file);
  file.trials = reader.optional<kind::Count>("trials", yaml::between<std::int64_t>(1, 1'000'000));
  if (const auto seed = reader.optional<kind::Count>("seed", yaml::at_least<std::int64_t>(0))) {
    file.seed = static_cast<std::uint64_t>(*seed);
  }
  const SourceLocation where = reader.where("metrics");
  if (const auto metrics = reader.optional_text_list("metrics")) {
    if (auto columns = parse_columns(*metrics, where, diagnostics)) {
      file.columns = *std::move(columns);
    }
  }
  reader.finish();
  return diagnostics.has_errors() ? std::nullopt : std::optional(std::move(file));
}

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
  changes.insert(changes.end(), kept.begin(), kept.end());
  return changes;
}

void keep(std::string_view key, Sweep& sweep) {
  Diagnostics told_elsewhere;
  const auto scenario = sweep.base.with({}, told_elsewhere);
  const bool varies = std::any_of(sweep.axes.begin(), sweep.axes.end(),
                                  [key](const Axis& axis) { return axis.key.path == key; });
  const auto value = scenario && !varies && scenario->locations.contains(key)
                         ? scenario::value_of(*scenario, key)
                         : std::nullopt;
  if (value) {
    sweep.kept.push_back({std::string(key), *value, scenario->where(key)});
  }
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
