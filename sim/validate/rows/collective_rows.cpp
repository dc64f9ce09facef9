// Rows of collective-measurements/1: nccl-tests logs and tables against the collective model.
//
// No row is predicted from itself. The main figure of a row uses the shipped tables of measured
// collectives without the point of the same log, operation, ranks, nodes, width and size. Beside
// it, as secondary quantities:
//
//   every third point held out   of each table with at least five points, in ascending size, the
//                                second, fifth, eighth ... leave all tables at once and are
//                                predicted from the rest
//   other sources only           all tables of the row's source leave; shown for rows to which a
//                                table of another source is still near (same kind of fabric)

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sim/step/cost/collective.hpp"
#include "sim/step/cost/cost.hpp"
#include "sim/step/cost/transfer.hpp"
#include "sim/step/hardware/cluster_spec.hpp"
#include "sim/step/hardware/collective_tables.hpp"
#include "sim/step/hardware/gpu_profile.hpp"
#include "sim/step/hardware/software_profile.hpp"
#include "sim/step/layout/placement.hpp"
#include "sim/validate/data_sets.hpp"
#include "sim/validate/rows/data_row.hpp"

namespace orrery::validate {

namespace {

// What does a row of collective-measurements/1 ask? Its collective, ranks, wires and measured time.
//
// Used of a row: op, size_bytes, dtype, ranks, nodes and the words of gpu, intra, nic and algo that
// the tables below list. A row without a time is timed from its bus bandwidth;
// a peak without a size is that of a large message, a time without a size that of the smallest. A
// GPU, an operation or a network without a table entry is taken as the nearest one, with a note.

struct CollectiveQuestion {
  model::CollectiveKind kind = model::CollectiveKind::all_reduce;
  model::Dtype dtype = model::Dtype::fp32;
  Bytes size = {};
  Seconds measured = {};
  hardware::GpuProfile gpu;
  hardware::ClusterSpec cluster = {};  // rig: the row's log; no tables
  layout::GroupPlacement group = {};
  std::vector<std::string> notes = {};
};

using hardware::FabricKind;
using model::CollectiveKind;

struct NicWords {
  std::string_view words;
  double gigabits;
  std::int64_t nics;
  FabricKind fabric;
};

// Most specific first.
constexpr std::array<NicWords, 16> kNetworks = {
    {{"TCPXO", 200.0, 8, FabricKind::tcpx},
     {"8x2x400G", 400.0, 16, FabricKind::roce},
     {"16 EFA", 400.0, 16, FabricKind::efa},
     {"32x100G EFA", 100.0, 32, FabricKind::efa},
     {"8x400G EFA", 400.0, 8, FabricKind::efa},
     {"4x100G EFA", 100.0, 4, FabricKind::efa},
     {"EFA, p5en", 400.0, 8, FabricKind::efa},
     {"4x or 8x400G", 400.0, 4, FabricKind::roce},
     {"8x400G", 400.0, 8, FabricKind::roce},
     {"between racks", 400.0, 4, FabricKind::infiniband},
     {"RDMA NICs", 800.0, 4, FabricKind::roce},
     {"400G-class", 400.0, 8, FabricKind::roce},
     {"200G", 200.0, 1, FabricKind::roce},
     {"loopback TCP", 20.0, 1, FabricKind::tcp},
     {"RoCE", 400.0, 8, FabricKind::roce},
     {"EFA", 400.0, 8, FabricKind::efa}}};
constexpr NicWords kOtherNetwork = {"", 400.0, 8, FabricKind::infiniband};

// In the tables of collectives: any GPU whose peers are reached over PCIe or the network alone, and
// that has no profile.
constexpr std::string_view kPcieTable = "pcie";

constexpr std::int64_t kRack = 72;  // GPUs of one NVL72 domain

struct OperationWords {
  std::string_view name;
  CollectiveKind kind;
  bool exact;
};

constexpr std::array<OperationWords, 9> kOperations = {
    {{"all_reduce", CollectiveKind::all_reduce, true},
     {"all_gather", CollectiveKind::all_gather, true},
     {"reduce_scatter", CollectiveKind::reduce_scatter, true},
     {"alltoall", CollectiveKind::all_to_all, true},
     {"broadcast", CollectiveKind::broadcast, true},
     {"sendrecv", CollectiveKind::send_receive, true},
     {"reduce", CollectiveKind::broadcast, false},
     {"gather", CollectiveKind::all_to_all, false},
     {"scatter", CollectiveKind::all_to_all, false}}};

const OperationWords* operation_of(const std::string& op) {
  const auto found = std::ranges::find(kOperations, op, &OperationWords::name);
  return found == kOperations.end() ? nullptr : &*found;
}

bool is_pcie(const DataRow& row) {
  return row.mentions("intra", "PCIe") || row.text("intra") == "none";
}

layout::GroupPlacement placement_of(const DataRow& row, std::int64_t ranks, std::int64_t nodes) {
  layout::GroupPlacement group{.ranks = ranks,
                               .nodes = nodes,
                               .ranks_per_node = ranks / nodes,
                               .domains = nodes,
                               .ranks_per_domain = ranks / nodes,
                               .sharing_node = 1,
                               .tier = 0};
  if (row.mentions("intra", "NVL72") || row.mentions("intra", "one rack")) {
    group.domains = (ranks + kRack - 1) / kRack;
    group.ranks_per_domain = ranks / group.domains;
  } else if (is_pcie(row)) {
    group.domains = ranks;
    group.ranks_per_domain = 1;
  }
  return group;
}

hardware::ClusterSpec cluster_of(const DataRow& row, const layout::GroupPlacement& group) {
  const auto found = std::ranges::find_if(
      kNetworks, [&row](const NicWords& entry) { return row.mentions("nic", entry.words); });
  const NicWords& words = found == kNetworks.end() ? kOtherNetwork : *found;
  hardware::ClusterSpec cluster;
  cluster.nodes = group.nodes;
  cluster.gpus_per_node = std::max<std::int64_t>(group.ranks_per_node, 1);
  cluster.network.nic_rate = gigabits_per_second(words.gigabits);
  cluster.network.nics_per_node = words.nics;
  cluster.network.fabric = words.fabric;
  cluster.network.rig = row.text("log");
  cluster.network.sharp = row.mentions("nic", "SHARP");
  if (row.mentions("algo", "NVLSTree") && group.nodes > 2) {
    cluster.network.algorithm = hardware::CollectiveAlgorithm::nvls_tree;
  }
  return cluster;
}

bool set_size_and_time(const DataRow& row, CollectiveQuestion& question) {
  constexpr double kLargeGib = 8.0;
  constexpr double kSmallest = 8.0;
  const auto size = row.number("size_bytes");
  auto time = row.number("time_us");
  if (!time) {
    time = row.number("time_us_derived");
  }
  if (time) {
    question.size = bytes(size.value_or(kSmallest));
    question.measured = microseconds(*time);
    return true;
  }
  question.size = size ? bytes(*size) : gibibytes(kLargeGib);
  auto bus = row.number("busbw_GBs");
  if (const auto range = row.numbers("busbw_GBs_range"); range.size() == 2) {
    bus = 0.5 * (range[0] + range[1]);
  }
  if (!bus || !(*bus > 0.0)) {
    return false;
  }
  const double factor = cost::bus_factor(question.kind, question.group.ranks);
  question.measured = question.size * factor / gigabytes_per_second(*bus);
  return true;
}

// Rings forced, or no in-switch reductions between hosts that share no NVLink.
bool without_nvls(const DataRow& row) {
  return row.mentions("algo", "NVLS off") || row.text("algo").starts_with("Ring") ||
         row.mentions("intra", "inside 4-GPU host only");
}

// The row's GPU, called as the tables of collectives call it.
std::optional<hardware::GpuProfile> gpu_profile(const DataRow& row, const DataSet& data,
                                                std::vector<std::string>& notes) {
  const std::string name = row.text("gpu");
  const hardware::GpuProfile* found = data.profiles.gpu_named(name, data.diagnostics);
  const bool known = found != nullptr;
  if (!known) {
    found = data.profiles.gpu(std::string(kUnknownGpu), data.diagnostics);
    notes.push_back(fmt::format("links of {} for `{}`", kUnknownGpu, name));
  }
  if (found == nullptr) {
    return std::nullopt;
  }
  hardware::GpuProfile gpu = *found;
  if (!known || row.mentions("intra", "PCIe")) {
    gpu.name = kPcieTable;
  }
  if (is_pcie(row)) {
    gpu.nvlink.reset();
  } else if (without_nvls(row) && gpu.nvlink) {
    gpu.nvlink->nvls = false;
  }
  return gpu;
}

model::Dtype dtype_of(const DataRow& row) {
  const std::string dtype = row.text("dtype");
  if (dtype == "half" || dtype == "bfloat16") {
    return model::Dtype::bf16;
  }
  return dtype.starts_with("f8") || dtype == "int8" ? model::Dtype::fp8 : model::Dtype::fp32;
}

// The question, or why there is none.
std::variant<CollectiveQuestion, std::string> collective_question(const DataRow& row,
                                                                  const DataSet& data) {
  const OperationWords* operation = operation_of(row.text("op"));
  const auto ranks = row.integer("ranks");
  const auto nodes = row.integer("nodes");
  if (operation == nullptr) {
    return fmt::format("`{}` is not modelled", row.text("op"));
  }
  if (!ranks || !nodes || *nodes < 1 || *ranks < 2 || *ranks < *nodes) {
    return std::string("ranks or nodes are missing");
  }
  std::vector<std::string> notes;
  if (!operation->exact) {
    notes.push_back(fmt::format("`{}` taken as another operation of its bytes", operation->name));
  }
  auto gpu = gpu_profile(row, data, notes);
  if (!gpu) {
    return fmt::format("no GPU profile for `{}`", row.text("gpu"));
  }
  CollectiveQuestion question{.kind = operation->kind, .gpu = *std::move(gpu)};
  question.dtype = dtype_of(row);
  question.group = placement_of(row, *ranks, *nodes);
  question.cluster = cluster_of(row, question.group);
  question.notes = std::move(notes);
  if (!set_size_and_time(row, question)) {
    return std::string("neither a time nor a bandwidth is stated");
  }
  return question;
}

// The predicted time with the tables of the question's cluster.
cost::Cost answer(const CollectiveQuestion& question) {
  const hardware::SoftwareProfile stack = hardware::neutral_stack();
  if (question.kind == CollectiveKind::send_receive) {
    const bool inside = question.group.nodes == 1;
    const layout::HopPlacement hop{.same_domain = inside,
                                   .same_node = inside,
                                   .sharing_node = question.group.ranks_per_node,
                                   .nodes = question.group.nodes,
                                   .tier = 0};
    return cost::transfer_cost(question.size, hop, question.gpu, stack, question.cluster);
  }
  const bool gather = question.kind == CollectiveKind::all_gather;
  const Bytes in =
      gather ? question.size / static_cast<double>(question.group.ranks) : question.size;
  return cost::collective_cost(question.kind, in, question.size, question.dtype, question.group,
                               question.gpu, stack, question.cluster);
}

using hardware::CollectivePoint;
using hardware::CollectiveTable;
using hardware::CollectiveTables;
using hardware::SharedCollectiveTables;

constexpr std::size_t kSweepPoints = 5;
constexpr std::size_t kThird = 3;
constexpr double kLargeMebibytes = 64.0;
constexpr double kSameSize = 1e-3;
constexpr double kSameKind = 1.5;  // distance up to which a table is one of the same kind

bool same_size(Bytes a, Bytes b) { return std::abs(a / b - 1.0) < kSameSize; }

bool measures(const CollectiveTable& table, const CollectiveQuestion& question) {
  const bool narrow = question.dtype == model::Dtype::fp8;
  return table.rig == question.cluster.network.rig && table.operation == question.kind &&
         table.ranks == question.group.ranks && table.nodes == question.group.nodes &&
         table.narrow == narrow;
}

// A table without the points that `drop` names; nothing when none is left.
template <typename Drop>
void add_without(const CollectiveTable& table, const Drop& drop, CollectiveTables& rest) {
  CollectiveTable kept = table;
  std::size_t at = 0;
  std::erase_if(kept.points, [&](const CollectivePoint& point) { return drop(point, at++); });
  if (!kept.points.empty()) {
    hardware::finish_table(kept);
    rest.tables.push_back(std::move(kept));
  }
}

SharedCollectiveTables without_own_point(const CollectiveTables& all,
                                         const CollectiveQuestion& question) {
  CollectiveTables rest;
  for (const CollectiveTable& table : all.tables) {
    const bool own = measures(table, question);
    add_without(
        table,
        [&](const CollectivePoint& point, std::size_t) {
          return own && same_size(point.size, question.size);
        },
        rest);
  }
  return std::make_shared<const CollectiveTables>(std::move(rest));
}

bool is_third(const CollectiveTable& table, std::size_t at) {
  return table.points.size() >= kSweepPoints && at % kThird == 1;
}

SharedCollectiveTables without_every_third(const CollectiveTables& all) {
  CollectiveTables rest;
  for (const CollectiveTable& table : all.tables) {
    add_without(
        table, [&](const CollectivePoint&, std::size_t at) { return is_third(table, at); }, rest);
  }
  return std::make_shared<const CollectiveTables>(std::move(rest));
}

// Whether the row is one of the points that without_every_third() leaves out.
bool is_held_out(const CollectiveTables& all, const CollectiveQuestion& question) {
  for (const CollectiveTable& table : all.tables) {
    for (std::size_t i = 0; measures(table, question) && i < table.points.size(); ++i) {
      if (is_third(table, i) && same_size(table.points[i].size, question.size)) {
        return true;
      }
    }
  }
  return false;
}

SharedCollectiveTables without_source(const CollectiveTables& all, std::string source) {
  std::ranges::replace(source, '"', '\'');
  CollectiveTables rest;
  for (const CollectiveTable& table : all.tables) {
    if (!table.source.citation.starts_with(source)) {
      rest.tables.push_back(table);
    }
  }
  return std::make_shared<const CollectiveTables>(std::move(rest));
}

// Distance of the nearest table, or nothing when none says anything about the question.
bool has_near_table(const CollectiveQuestion& question) {
  const cost::CollectiveTime time =
      cost::collective_time(question.kind, question.size, question.size, question.dtype,
                            question.group, question.gpu, question.cluster);
  return time.table != nullptr && time.table_distance <= kSameKind;
}

// Why a measurement is no evidence for a healthy fabric and NCCL's own choice.
std::string doubt_about(const DataRow& row) {
  if (row.flag("degraded").value_or(false)) {
    return "the data set calls the rig degraded";
  }
  if (row.mentions("algo", "forced") && row.mentions("algo", "NVLSTree")) {
    return "an algorithm is forced that NCCL would not choose";
  }
  return row.text("dtype") == "int8" ? "8-bit integers fall back to another algorithm" : "";
}

void predict(const CollectiveQuestion& question, ValidationRow& row) {
  const cost::Cost cost = answer(question);
  row.predicted = in_seconds(cost.time);
  row.measured = in_seconds(question.measured);
  row.trust = trust_of(cost);
}

// The row once more, in the groups of a secondary quantity.
void add_secondary(const ValidationRow& row, const CollectiveQuestion& question,
                   const std::string& quantity, std::vector<ValidationRow>& rows) {
  ValidationRow copy = row;
  copy.quantity = quantity;
  copy.secondary = true;
  predict(question, copy);
  copy.group = "all sizes";
  rows.push_back(copy);
  if (question.size >= mebibytes(kLargeMebibytes)) {
    copy.group = "from 64 MiB";
    rows.push_back(std::move(copy));
  }
}

}  // namespace

std::vector<ValidationRow> collective_rows(const DataSet& data) {
  std::vector<ValidationRow> rows;
  const SharedCollectiveTables& all = data.profiles.collectives(data.diagnostics);
  const SharedCollectiveTables two_thirds = all ? without_every_third(*all) : nullptr;
  for (const DataRow& entry : data_rows(data.document, "rows")) {
    ValidationRow row{
        .id = entry.text("id"), .group = entry.text("log"), .quantity = "time", .unit = "s"};
    row.suspicious = doubt_about(entry);
    auto asked = collective_question(entry, data);
    if (const auto* reason = std::get_if<std::string>(&asked)) {
      row.skipped = *reason;
      rows.push_back(std::move(row));
      continue;
    }
    auto& question = std::get<CollectiveQuestion>(asked);
    row.notes = question.notes;
    if (!all) {
      predict(question, row);
      rows.push_back(std::move(row));
      continue;
    }
    question.cluster.network.tables = without_own_point(*all, question);
    predict(question, row);
    rows.push_back(row);
    add_secondary(row, question, "time (own point left out)", rows);
    if (is_held_out(*all, question)) {
      question.cluster.network.tables = two_thirds;
      add_secondary(row, question, "time (every third point held out)", rows);
    }
    question.cluster.network.tables = without_source(*all, entry.text("source"));
    if (has_near_table(question)) {
      add_secondary(row, question, "time (other sources only)", rows);
    }
  }
  return rows;
}

}  // namespace orrery::validate
