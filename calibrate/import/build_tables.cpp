#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
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
  const auto* found = std::ranges::find(order, name);
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
  const Kind chosen = *std::ranges::min_element(kinds, preferred);
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
    if (std::ranges::find(imported.files, file) == imported.files.end()) {
      imported.files.push_back(file);
    }
    add_facts(sample.log->facts, imported.facts);
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

void add_facts(const std::vector<Fact>& facts, std::vector<Fact>& all) {
  for (const Fact& fact : facts) {
    const bool known = std::ranges::any_of(all, [&fact](const Fact& other) {
      return other.name == fact.name && other.why == fact.why && other.value == fact.value;
    });
    if (!known) {
      all.push_back(fact);
    }
  }
}

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

namespace {

constexpr double kTolerance = 0.01;
constexpr double kNoise = 1.15;           // a time above that of the next size by more than this
constexpr std::int64_t kGrowthStep = 16;  // sizes between which the time must grow
constexpr std::int64_t kMovedBytes = std::int64_t{1} << 26U;  // and from which on
constexpr int kMostErrors = 5;                                // of one log

double rate_of(std::int64_t size, const PrintedNumber& time) {
  const BytesPerSecond rate = bytes(static_cast<double>(size)) / microseconds(time.value);
  return in_gigabytes_per_second(rate);
}

class RowChecker {
 public:
  RowChecker(const ResolvedLog& resolved, bool in_place, Diagnostics& diagnostics)
      : log_(*resolved.log),
        operation_(resolved.table.operation),
        ranks_(resolved.table.ranks),
        in_place_(in_place),
        diagnostics_(diagnostics) {}

  bool check() {
    if (log_.rows.empty()) {
      error(log_.where, "", "the test printed no result");
      return false;
    }
    if (log_.cpu_time) {
      error(log_.where, "", "has the times of the CPU, not of the collective", "run it with -C 0");
    }
    if (log_.out_of_bounds.value_or(0) > 0) {
      error(log_.where, "",
            fmt::format("{} values were out of bounds: the data did not arrive",
                        *log_.out_of_bounds));
    }
    for (const LogRow& row : log_.rows) {
      check_row(row);
    }
    if (errors_ > kMostErrors) {
      diagnostics_.error(log_.where, "", fmt::format("and {} more", errors_ - kMostErrors));
    }
    if (errors_ == 0) {
      check_growth();
    }
    if (errors_ == 0) {
      warn_of_settings();
    }
    return errors_ == 0;
  }

 private:
  void error(const SourceLocation& where, std::string_view key, std::string_view message,
             std::string_view allowed = {}) {
    if (++errors_ <= kMostErrors) {
      diagnostics_.error(where, key, message, allowed);
    }
  }

  void check_row(const LogRow& row) {
    if (row.size <= 0) {
      ++without_size_;
      return;
    }
    const LogTiming* timing = used_timing(row, in_place_);
    if (timing == nullptr) {
      ++without_place_;
      return;
    }
    for (const auto& place : {row.out_of_place, row.in_place}) {
      if (place && place->wrong.value_or(0.0) > 0.0) {
        error(row.where, row.place,
              fmt::format("{:g} values were wrong at {}", *place->wrong, exact_size(row.size)));
        return;
      }
    }
    check_figures(row, *timing);
  }

  void check_figures(const LogRow& row, const LogTiming& timing) {
    if (timing.time.value <= 0.0) {
      error(row.where, row.place, fmt::format("a time of {:g} us", timing.time.value));
      return;
    }
    const double rate = rate_of(row.size, timing.time);
    const double rate_slack =
        rate * (kTolerance + timing.time.half_step / timing.time.value) + timing.algbw.half_step;
    if (std::abs(timing.algbw.value - rate) > rate_slack) {
      error(row.where, row.place,
            fmt::format("algbw is {:g} GB/s, but {} in {:g} us are {:.4g} GB/s", timing.algbw.value,
                        exact_size(row.size), timing.time.value, rate));
      return;
    }
    const double factor = cost::bus_factor(operation_, ranks_);
    const double bus = timing.algbw.value * factor;
    const double bus_slack =
        bus * kTolerance + timing.algbw.half_step * factor + timing.busbw.half_step;
    if (std::abs(timing.busbw.value - bus) > bus_slack) {
      error(row.where, row.place,
            fmt::format("busbw is {:g} GB/s, but algbw {:g} x {:.4g} of {} on {} ranks is {:.4g}",
                        timing.busbw.value, timing.algbw.value, factor, operation_name(operation_),
                        ranks_, bus),
            hint());
    }
  }

  [[nodiscard]] std::string hint() const {
    const auto other = ranks_by_figures(log_, operation_);
    return other && *other != ranks_ ? fmt::format("its figures fit {} ranks", *other)
                                     : std::string();
  }

  // Rows in order of size, as far as they can be used.
  [[nodiscard]] std::vector<const LogRow*> ascending() const {
    std::vector<const LogRow*> rows;
    for (const LogRow& row : log_.rows) {
      if (row.size > 0 && used_timing(row, in_place_) != nullptr) {
        rows.push_back(&row);
      }
    }
    std::ranges::stable_sort(rows,
                             [](const LogRow* a, const LogRow* b) { return a->size < b->size; });
    return rows;
  }

  void check_growth() {
    const std::vector<const LogRow*> rows = ascending();
    if (rows.empty()) {
      error(log_.where, "", in_place_ ? "no row has a time in place" : "no row has a size above 0");
      return;
    }
    const LogRow& last = *rows.back();
    const LogTiming& slowest = *used_timing(last, in_place_);
    for (const LogRow* row : rows) {
      const LogTiming& timing = *used_timing(*row, in_place_);
      if (last.size >= kMovedBytes && row->size <= last.size / kGrowthStep &&
          timing.time.value >= slowest.time.value && row->type == last.type) {
        error(last.where, last.place,
              fmt::format("the time does not grow with the size: {:g} us for {}, {:g} us for {}",
                          timing.time.value, exact_size(row->size), slowest.time.value,
                          exact_size(last.size)));
        return;
      }
    }
    for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
      warn_of_noise(*rows[i], *rows[i + 1]);
    }
  }

  void warn_of_noise(const LogRow& row, const LogRow& next) {
    const double time = used_timing(row, in_place_)->time.value;
    const double later = used_timing(next, in_place_)->time.value;
    constexpr double kShort = 100.0;  // us; below, protocols change and clocks jitter
    if (row.size < next.size && row.type == next.type && time > kNoise * later && time > kShort) {
      diagnostics_.warning(row.where, row.place,
                           fmt::format("{:g} us for {} are more than {:g} us for {}: a noisy "
                                       "point, kept as measured",
                                       time, exact_size(row.size), later, exact_size(next.size)));
    }
  }

  void warn_of_settings() {
    if (without_size_ > 0) {
      warn(fmt::format("{} without a size: left out", rows_text(without_size_)));
    }
    if (without_place_ > 0) {
      warn(fmt::format("{} without a time {}: left out", rows_text(without_place_),
                       in_place_ ? "in place" : "out of place"));
    }
    if (log_.average == '0' || log_.average == '2') {
      warn(fmt::format("-a {}: times of {}, not the mean over the ranks", *log_.average,
                       log_.average == '0' ? "rank 0" : "the fastest rank"));
    }
    if (log_.aggregated.value_or(1) > 1) {
      warn(fmt::format("{} operations in one launch: small sizes look faster than they are alone",
                       *log_.aggregated));
    }
    std::set<std::int64_t> groups;
    for (const LogRank& rank : log_.ranks) {
      groups.insert(rank.group);
    }
    if (groups.size() > 1) {
      warn(
          fmt::format("{} groups ran at once: the times hold their sharing of the network, which "
                      "a scenario adds once more",
                      groups.size()));
    }
  }

  static std::string rows_text(int count) {
    return count == 1 ? "1 row" : fmt::format("{} rows", count);
  }

  void warn(const std::string& text) { diagnostics_.warning(log_.where, "", text); }

  const CollectiveLog& log_;
  model::CollectiveKind operation_;
  std::int64_t ranks_;
  bool in_place_;
  Diagnostics& diagnostics_;
  int errors_ = 0;
  int without_size_ = 0;
  int without_place_ = 0;
};

}  // namespace

const LogTiming* used_timing(const LogRow& row, bool in_place) {
  const auto& place = in_place ? row.in_place : row.out_of_place;
  return place ? &*place : nullptr;
}

bool check_rows(const ResolvedLog& resolved, bool in_place, Diagnostics& diagnostics) {
  return RowChecker(resolved, in_place, diagnostics).check();
}

}  // namespace orrery::calibration_import
