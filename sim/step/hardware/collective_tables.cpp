#include "sim/step/hardware/collective_tables.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/base/yaml/reader.hpp"
#include "sim/step/hardware/profile_document.hpp"

namespace orrery::hardware {

namespace {

double log_size(const CollectivePoint& point) { return std::log(in_bytes(point.size)); }

double line_at(const CollectiveTable& table, double size) {
  return in_seconds(table.alpha) + table.beta * size;
}

double log_residual(const CollectiveTable& table, std::size_t at) {
  const CollectivePoint& point = table.points[at];
  return std::log(in_seconds(point.time) / line_at(table, in_bytes(point.size)));
}

struct Interval {
  double width;
  double slope;
};

Interval interval(const CollectiveTable& table, std::size_t at) {
  const double width = log_size(table.points[at + 1]) - log_size(table.points[at]);
  return {width, (log_residual(table, at + 1) - log_residual(table, at)) / width};
}

// Slope of the interpolant at a point: the weighted harmonic mean of both sides, 0 at an extremum.
double slope_at(const CollectiveTable& table, std::size_t at) {
  const std::size_t last = table.points.size() - 1;
  if (at == 0 || at == last) {
    return interval(table, at == 0 ? 0 : last - 1).slope;
  }
  const Interval left = interval(table, at - 1);
  const Interval right = interval(table, at);
  if (left.slope * right.slope <= 0.0) {
    return 0.0;
  }
  const double w1 = 2.0 * right.width + left.width;
  const double w2 = right.width + 2.0 * left.width;
  return (w1 + w2) / (w1 / left.slope + w2 / right.slope);
}

}  // namespace

std::int64_t CollectiveTable::domains() const {
  return std::max<std::int64_t>((ranks + nvlink_domain - 1) / nvlink_domain, 1);
}

void finish_table(CollectiveTable& table) {
  ORRERY_CHECK(!table.points.empty(), "the table of {} has no points", table.rig);
  std::ranges::sort(table.points, {}, &CollectivePoint::size);
  const auto fastest = std::ranges::min_element(table.points, {}, &CollectivePoint::time);
  table.alpha = fastest->time;
  const CollectivePoint& last = table.points.back();
  table.beta = in_seconds(last.time - table.alpha) / in_bytes(last.size);
}

Seconds table_time(const CollectiveTable& table, Bytes size) {
  const std::vector<CollectivePoint>& points = table.points;
  if (size <= points.front().size) {
    return points.front().time;
  }
  if (size >= points.back().size) {
    return points.back().time;
  }
  const auto above = std::ranges::upper_bound(points, size, {}, &CollectivePoint::size);
  const auto at = static_cast<std::size_t>(above - points.begin()) - 1;
  const double width = interval(table, at).width;
  const double t = (std::log(in_bytes(size)) - log_size(points[at])) / width;
  const double u = 1.0 - t;
  const double residual = (1.0 + 2.0 * t) * u * u * log_residual(table, at) +
                          t * t * (3.0 - 2.0 * t) * log_residual(table, at + 1) +
                          t * u * width * (u * slope_at(table, at) - t * slope_at(table, at + 1));
  return seconds(line_at(table, in_bytes(size)) * std::exp(residual));
}

namespace {

using yaml::above;
using yaml::at_least;
using yaml::Choice;
using yaml::MappingReader;
using yaml::Value;
namespace kind = yaml::kind;

constexpr std::array<Choice<bool>, 1> kCollectiveFormats = {{{kCollectivesFormat, true}}};
constexpr std::array<Choice<model::CollectiveKind>, 6> kOperations = {
    {{"all_reduce", model::CollectiveKind::all_reduce},
     {"all_gather", model::CollectiveKind::all_gather},
     {"reduce_scatter", model::CollectiveKind::reduce_scatter},
     {"all_to_all", model::CollectiveKind::all_to_all},
     {"broadcast", model::CollectiveKind::broadcast},
     {"send_receive", model::CollectiveKind::send_receive}}};
constexpr std::array<Choice<SourceKind>, 2> kTableSources = {
    {{"published", SourceKind::published}, {"measured", SourceKind::measured}}};

template <typename E, std::size_t N>
constexpr std::array<Choice<E>, N> choices_of(const std::array<NamedValue<E>, N>& names) {
  std::array<Choice<E>, N> choices{};
  for (std::size_t i = 0; i < N; ++i) {
    choices[i] = {names[i].name, names[i].value};
  }
  return choices;
}

constexpr auto kFabrics = choices_of(kFabricNames);
constexpr auto kAlgorithms = choices_of(kForcedAlgorithms);

// What all tables of a file share.
struct FileHead {
  GpuArch arch = GpuArch::hopper;
  BytesPerSecond nvlink;
  std::string as_of;
};

std::optional<CollectivePoint> read_point(const Value& item, const std::string& path,
                                          Diagnostics& diagnostics) {
  if (item.kind != Value::Kind::sequence || item.items.size() != 2) {
    yaml::report(diagnostics, item.where, path, "needs a size and a time", "such as [1MiB, 36us]");
    return std::nullopt;
  }
  const auto size = yaml::read_value<kind::Size>(item.items[0], path, diagnostics, above(Bytes()));
  const auto time =
      yaml::read_value<kind::Time>(item.items[1], path, diagnostics, above(Seconds()));
  if (!size || !time) {
    return std::nullopt;
  }
  return CollectivePoint{*size, *time};
}

std::vector<CollectivePoint> read_points(MappingReader& table) {
  std::vector<CollectivePoint> points;
  const std::vector<Value>* items = table.optional_sequence("points");
  if (items == nullptr || items->empty()) {
    table.error("points", "a table needs at least one point", "such as [[1MiB, 36us]]");
    return points;
  }
  for (const Value& item : *items) {
    const auto point = read_point(item, table.path_of("points"), table.diagnostics());
    if (point && !points.empty() && point->size <= points.back().size) {
      yaml::report(table.diagnostics(), item.where, table.path_of("points"),
                   "is not larger than the size before it", "sizes in ascending order");
    } else if (point) {
      points.push_back(*point);
    }
  }
  return points;
}

void read_network(MappingReader& reader, CollectiveTable& table) {
  const auto fabric = reader.optional_choice("fabric", kFabrics);
  const auto rate = reader.optional<kind::Bandwidth>("nic_rate", above(BytesPerSecond()));
  const auto nics = reader.optional<kind::Count>("nics_per_node", at_least<std::int64_t>(1));
  table.fabric = fabric.value_or(table.fabric);
  table.nic_rate = rate.value_or(BytesPerSecond());
  table.nics_per_node = nics.value_or(0);
  if (table.domains() > 1 && table.nodes > 1 && (!rate || !nics)) {
    reader.error("nodes", "groups over several hosts need nic_rate and nics_per_node");
  }
}

void check_ranks(MappingReader& reader, const CollectiveTable& table) {
  if (table.ranks < table.nodes || table.ranks % table.nodes != 0) {
    reader.error("ranks", "do not spread evenly over the nodes", "a multiple of nodes");
  }
}

std::optional<CollectiveTable> read_table(MappingReader& reader, const FileHead& head) {
  const std::int64_t one = 1;
  CollectiveTable table;
  auto rig = reader.require_text("rig", "`east`");
  auto gpu = reader.require_text("gpu", "`h100-sxm-80gb`");
  const auto operation = reader.require_choice("operation", kOperations);
  const auto ranks = reader.require<kind::Count>("ranks", at_least<std::int64_t>(2));
  const auto nodes = reader.require<kind::Count>("nodes", at_least(one));
  const auto domain = reader.require<kind::Count>("nvlink_domain", at_least(one));
  const auto source = reader.require_choice("source", kTableSources);
  auto citation = reader.require_text("citation", "`nccl-tests issue 290`");
  table.narrow = reader.optional<kind::Boolean>("narrow").value_or(false);
  table.nvls = reader.optional<kind::Boolean>("nvls").value_or(false);
  table.sharp = reader.optional<kind::Boolean>("sharp").value_or(false);
  table.degraded = reader.optional<kind::Boolean>("degraded").value_or(false);
  table.algorithm =
      reader.optional_choice("algorithm", kAlgorithms).value_or(CollectiveAlgorithm::automatic);
  table.points = read_points(reader);
  if (ranks && nodes && domain) {
    table.ranks = *ranks;
    table.nodes = *nodes;
    table.nvlink_domain = *domain;
    check_ranks(reader, table);
    read_network(reader, table);
  }
  reader.finish();
  if (!rig || !gpu || !operation || !source || !citation || table.points.empty()) {
    return std::nullopt;
  }
  table.rig = std::move(*rig);
  table.gpu = std::move(*gpu);
  table.arch = head.arch;
  table.nvlink = head.nvlink;
  table.as_of = head.as_of;
  table.operation = *operation;
  table.source = {*source, std::move(*citation)};
  finish_table(table);
  return table;
}

CollectiveTables read_tables(MappingReader& root) {
  CollectiveTables tables;
  FileHead head;
  head.arch = root.require_choice("arch", architecture_choices()).value_or(head.arch);
  head.nvlink =
      root.optional<kind::Bandwidth>("nvlink", above(BytesPerSecond())).value_or(BytesPerSecond());
  const auto as_of = root.require<kind::Date>("as_of");
  head.as_of = as_of ? kind::Date::format(*as_of) : std::string();
  std::vector<MappingReader> items = root.optional_mappings("tables");
  if (items.empty()) {
    root.error("tables", "the file holds no table");
  }
  for (MappingReader& item : items) {
    if (auto table = read_table(item, head)) {
      tables.tables.push_back(std::move(*table));
    }
  }
  root.finish();
  return tables;
}

}  // namespace

std::optional<CollectiveTables> read_collective_document(const Value& root,
                                                         Diagnostics& diagnostics) {
  Diagnostics problems;
  MappingReader reader(root, problems);
  std::optional<CollectiveTables> tables;
  if (reader.require_choice("format", kCollectiveFormats)) {
    tables = read_tables(reader);
  }
  diagnostics.add(problems);
  return problems.has_errors() ? std::nullopt : std::move(tables);
}

}  // namespace orrery::hardware
