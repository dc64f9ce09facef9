#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

#include "calibrate/import/import_report.hpp"
#include "sim/base/quantile.hpp"
#include "sim/base/text/format.hpp"
#include "sim/step/cost/collective.hpp"

namespace orrery::calibration_import {

namespace {

using hardware::CollectivePoint;
using hardware::CollectiveTable;
using model::CollectiveKind;

constexpr Bytes kLarge = mebibytes(64.0);
constexpr double kTooFast = 1.5;

// Types in the order in which training uses them.
constexpr std::array<std::string_view, 3> kTypeOrder = {"bfloat16", "half", "float"};
constexpr std::array<std::string_view, 3> kRedopOrder = {"none", "sum", "avg"};

template <std::size_t N>
std::size_t rank_in(const std::array<std::string_view, N>& order, std::string_view name) {
  const auto* found = std::find(order.begin(), order.end(), name);
  return static_cast<std::size_t>(found - order.begin());
}

struct Sample {
  const ResolvedLog* log;
  const LogRow* row;
};

bool is_narrow(const Sample& sample) {
  return sample.log->table.operation == CollectiveKind::all_reduce &&
         type_size(sample.row->type) == 1;
}

// What tables are told apart by.
std::string key_of(const Sample& sample) {
  const CollectiveTable& table = sample.log->table;
  return fmt::format("{} {:06} {:06} {:06} {} {} {} {} {:g} {} {} {}",
                     static_cast<int>(table.operation), table.nodes, table.ranks,
                     table.nvlink_domain, table.gpu, table.nvls, table.sharp,
                     static_cast<int>(table.fabric), in_gigabits_per_second(table.nic_rate),
                     table.nics_per_node, static_cast<int>(table.algorithm), is_narrow(sample));
}

using Kind = std::pair<std::string, std::string>;  // type and redop

bool preferred(const Kind& a, const Kind& b) {
  const auto order = [](const Kind& kind) {
    return std::make_tuple(rank_in(kTypeOrder, kind.first), rank_in(kRedopOrder, kind.second),
                           kind);
  };
  return order(a) < order(b);
}

void add_facts(const std::vector<Fact>& facts, ImportedTable& imported) {
  for (const Fact& fact : facts) {
    const bool known =
        std::any_of(imported.facts.begin(), imported.facts.end(), [&fact](const Fact& other) {
          return other.name == fact.name && other.why == fact.why && other.value == fact.value;
        });
    if (!known) {
      imported.facts.push_back(fact);
    }
  }
}

std::string citation_of(const Sample& first, const ImportedTable& imported, bool in_place) {
  const CollectiveLog& log = *first.log->log;
  std::string text = "nccl-tests";
  text += log.tool_version.empty() ? "" : " " + log.tool_version;
  for (const std::string& file : imported.files) {
    text += fmt::format("{} {}", text.ends_with(".") ? "," : "", base_name(file));
  }
  text += fmt::format(", {}", imported.type);
  text += in_place ? ", in place" : ", out of place";
  text += log.nccl_version.empty() ? "" : fmt::format(", NCCL {}", log.nccl_version);
  return text;
}

ImportedTable table_of(const std::vector<Sample>& samples, bool in_place,
                       Diagnostics& diagnostics) {
  std::set<Kind> kinds;
  for (const Sample& sample : samples) {
    kinds.insert({sample.row->type, sample.row->redop});
  }
  const Kind chosen = *std::min_element(kinds.begin(), kinds.end(), preferred);
  ImportedTable imported{.table = samples.front().log->table,
                         .facts = {},
                         .files = {},
                         .type = chosen.first,
                         .redop = chosen.second,
                         .plateau = {}};
  std::map<std::int64_t, std::vector<double>> times;
  const Sample* first = nullptr;
  std::size_t left_out = 0;
  for (const Sample& sample : samples) {
    if (Kind{sample.row->type, sample.row->redop} != chosen) {
      ++left_out;
      continue;
    }
    first = first == nullptr ? &sample : first;
    times[sample.row->size].push_back(used_timing(*sample.row, in_place)->time.value);
    const std::string& file = sample.log->log->where.file;
    if (std::find(imported.files.begin(), imported.files.end(), file) == imported.files.end()) {
      imported.files.push_back(file);
    }
    add_facts(sample.log->facts, imported);
  }
  if (left_out > 0) {
    diagnostics.warning(samples.front().log->log->where, "",
                        fmt::format("rows of other types or reductions than {} {}: {} left out",
                                    chosen.first, chosen.second, left_out));
  }
  for (const auto& [size, values] : times) {
    imported.table.points.push_back(
        {bytes(static_cast<double>(size)), microseconds(median_of(values))});
  }
  imported.table.narrow = is_narrow(samples.front());
  imported.table.source = {SourceKind::measured, citation_of(*first, imported, in_place)};
  hardware::finish_table(imported.table);
  return imported;
}

BytesPerSecond bus_bandwidth(const CollectiveTable& table, const CollectivePoint& point) {
  return point.size / point.time * cost::bus_factor(table.operation, table.ranks);
}

// The same group on healthy wires, as a scenario without this log would have it.
cost::CollectiveTime expected_time(const CollectiveTable& table, Bytes size,
                                   const hardware::GpuProfile& gpu,
                                   const hardware::ClusterSpec& cluster) {
  const auto ranks = static_cast<double>(table.ranks);
  const bool gathers = table.operation == CollectiveKind::all_gather;
  const bool exchanges = table.operation == CollectiveKind::all_to_all;
  const layout::GroupPlacement group{
      .ranks = table.ranks,
      .nodes = table.nodes,
      .ranks_per_node = table.ranks / table.nodes,
      .domains = table.domains(),
      .ranks_per_domain = std::max<std::int64_t>(table.ranks / table.domains(), 1),
      .sharing_node = 1,
      .tier = 0};
  return cost::collective_time(
      table.operation, gathers ? size / ranks : size, exchanges ? size * ranks : size,
      table.narrow ? model::Dtype::fp8 : model::Dtype::bf16, group, gpu, cluster);
}

hardware::ClusterSpec cluster_of(const CollectiveTable& table,
                                 const hardware::SharedCollectiveTables& shipped) {
  hardware::ClusterSpec cluster;
  cluster.gpu = table.gpu;
  cluster.nodes = table.nodes;
  cluster.gpus_per_node = table.ranks / table.nodes;
  cluster.network.nvlink_domain = table.nvlink_domain;
  cluster.network.nic_rate = table.nic_rate;
  cluster.network.nics_per_node = table.nics_per_node;
  cluster.network.fabric = table.fabric;
  cluster.network.algorithm = table.algorithm;
  cluster.network.sharp = table.sharp;
  cluster.network.tables = shipped;
  return cluster;
}

void find_plateau(ImportedTable& imported, const hardware::GpuProfile& gpu,
                  const hardware::SharedCollectiveTables& shipped) {
  const CollectiveTable& table = imported.table;
  Plateau& plateau = imported.plateau;
  plateau.judged = table.points.back().size >= kLarge;
  for (const CollectivePoint& point : table.points) {
    const BytesPerSecond rate = bus_bandwidth(table, point);
    if ((point.size >= kLarge || !plateau.judged) && rate > plateau.measured) {
      plateau.measured = rate;
      plateau.size = point.size;
    }
  }
  const hardware::ClusterSpec cluster = cluster_of(table, shipped);
  const cost::CollectiveTime expected = expected_time(table, plateau.size, gpu, cluster);
  plateau.expected = bus_bandwidth(table, {plateau.size, expected.total()});
  plateau.against = expected.table == nullptr ? std::string() : expected.table->rig;
}

void judge(ImportedTable& imported, const SourceLocation& where, Diagnostics& diagnostics) {
  const Plateau& plateau = imported.plateau;
  const std::string what = fmt::format(
      "{} on {} ranks: busbw {} at {}, expected {}{}", operation_name(imported.table.operation),
      imported.table.ranks, format_bandwidth(plateau.measured), format_bytes_binary(plateau.size),
      format_bandwidth(plateau.expected),
      plateau.against.empty() ? "" : " (" + plateau.against + ")");
  if (!plateau.judged) {
    diagnostics.warning(
        where, "",
        fmt::format("{} on {} ranks: no size from 64 MiB on, so the fabric is not "
                    "judged and large messages are extrapolated",
                    operation_name(imported.table.operation), imported.table.ranks));
    return;
  }
  const double ratio = plateau.measured / plateau.expected;
  if (ratio < kDegradedBelow) {
    imported.table.degraded = true;
    diagnostics.warning(where, "",
                        fmt::format("{}: the fabric is degraded; the table is marked so", what));
  } else if (ratio > kTooFast) {
    diagnostics.warning(where, "", fmt::format("{}: faster than its wires should be", what),
                        "check the GPU, --nic-rate, --nics and --nvlink-domain");
  }
}

bool one_class(const std::vector<ResolvedLog>& logs, Diagnostics& diagnostics) {
  const CollectiveTable& first = logs.front().table;
  for (const ResolvedLog& log : logs) {
    if (log.table.arch != first.arch || log.table.nvlink != first.nvlink) {
      diagnostics.error(log.log->where, "",
                        fmt::format("{} and {} have different links", log.table.gpu, first.gpu),
                        "one file of tables for each class of GPUs");
      return false;
    }
  }
  return true;
}

}  // namespace

std::vector<ImportedTable> build_tables(const std::vector<ResolvedLog>& logs, bool in_place,
                                        const hardware::SharedCollectiveTables& shipped,
                                        Diagnostics& diagnostics) {
  std::vector<ImportedTable> tables;
  if (logs.empty() || !one_class(logs, diagnostics)) {
    return tables;
  }
  std::map<std::string, std::vector<Sample>> groups;
  for (const ResolvedLog& log : logs) {
    for (const LogRow& row : log.log->rows) {
      if (row.size > 0 && used_timing(row, in_place) != nullptr) {
        const Sample sample{&log, &row};
        groups[key_of(sample)].push_back(sample);
      }
    }
  }
  for (const auto& [key, samples] : groups) {
    ImportedTable imported = table_of(samples, in_place, diagnostics);
    const ResolvedLog& log = *samples.front().log;
    find_plateau(imported, *log.gpu, shipped);
    judge(imported, log.log->where, diagnostics);
    tables.push_back(std::move(imported));
  }
  return tables;
}

}  // namespace orrery::calibration_import
