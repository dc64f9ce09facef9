// Rows of collective-measurements/1: nccl-tests logs and tables against the collective model.
//
// Used of a row: op, size_bytes, dtype, ranks, nodes and the words of gpu, intra, nic and algo that
// the tables below list. A row without a time is timed from its bus bandwidth; a peak without a
// size is that of a large message, a time without a size that of the smallest.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "sim/cost/collective.hpp"
#include "sim/cost/cost_model.hpp"
#include "sim/cost/transfer.hpp"
#include "sim/hardware/neutral_stack.hpp"
#include "sim/validate/data_row.hpp"
#include "sim/validate/data_sets.hpp"
#include "sim/validate/run_tables.hpp"

namespace orrery::validate {

namespace {

using model::CollectiveKind;

struct NicWords {
  std::string_view words;
  double gigabits;
  std::int64_t nics;
  double latency_us;  // beyond RDMA on one switch
};

// Most specific first. EFA and TCPX are no RDMA verbs: their extra latency per crossing is that of
// small messages in the same logs.
constexpr std::array<NicWords, 13> kNetworks = {{{"TCPXO", 200.0, 8, 40.0},
                                                 {"8x2x400G", 400.0, 16, 0.0},
                                                 {"16 EFA", 400.0, 16, 15.0},
                                                 {"32x100G EFA", 100.0, 32, 15.0},
                                                 {"8x400G EFA", 400.0, 8, 15.0},
                                                 {"4x100G EFA", 100.0, 4, 15.0},
                                                 {"EFA, p5en", 400.0, 8, 15.0},
                                                 {"4x or 8x400G", 400.0, 4, 0.0},
                                                 {"8x400G", 400.0, 8, 0.0},
                                                 {"between racks", 400.0, 4, 0.0},
                                                 {"RDMA NICs", 800.0, 4, 0.0},
                                                 {"200G", 200.0, 1, 0.0},
                                                 {"", 400.0, 8, 0.0}}};

constexpr std::int64_t kRack = 72;  // GPUs of one NVL72 domain

struct Question {
  CollectiveKind kind = CollectiveKind::all_reduce;
  model::Dtype dtype = model::Dtype::fp32;
  Bytes size = {};
  Seconds measured = {};
  hardware::GpuProfile gpu;
  hardware::ClusterSpec cluster = {};
  layout::GroupPlacement group = {};
};

std::optional<CollectiveKind> kind_of(const std::string& op) {
  constexpr std::array<std::pair<std::string_view, CollectiveKind>, 6> kOps = {
      {{"all_reduce", CollectiveKind::all_reduce},
       {"all_gather", CollectiveKind::all_gather},
       {"reduce_scatter", CollectiveKind::reduce_scatter},
       {"alltoall", CollectiveKind::all_to_all},
       {"broadcast", CollectiveKind::broadcast},
       {"sendrecv", CollectiveKind::send_receive}}};
  const auto found = std::find_if(
      kOps.begin(), kOps.end(), [&op](const auto& entry) { return entry.first == op; });
  return found == kOps.end() ? std::nullopt : std::optional(found->second);
}

bool is_pcie(const DataRow& row) {
  return row.mentions("intra", "PCIe");
}

// B300 and GB300 have the NVLink of the generation before; a PCIe host is asked for its PCIe alone.
std::string profile_name(const DataRow& row) {
  if (is_pcie(row)) {
    return "h100-sxm-80gb";
  }
  const std::string gpu = row.text("gpu");
  for (const auto& [words, name] : {std::pair("GB300", "gb200"), std::pair("B300", "b200-sxm")}) {
    if (gpu.find(words) != std::string::npos) {
      return name;
    }
  }
  return std::string(gpu_profile_of(gpu).value_or(""));
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
  const auto words =
      std::find_if(kNetworks.begin(), kNetworks.end(), [&row](const NicWords& entry) {
        return row.mentions("nic", entry.words) || entry.words.empty();
      });
  hardware::ClusterSpec cluster;
  cluster.nodes = group.nodes;
  cluster.gpus_per_node = std::max<std::int64_t>(group.ranks_per_node, 1);
  cluster.network.nic_rate = gigabits_per_second(words->gigabits);
  cluster.network.nics_per_node = words->nics;
  if (cluster.nodes > 1) {
    cluster.network.tiers = {{"leaf", cluster.nodes, 1.0, microseconds(words->latency_us)}};
  }
  return cluster;
}

bool set_size_and_time(const DataRow& row, Question& question) {
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
  return row.mentions("algo", "NVLS off") || row.text("algo") == "Ring" ||
         row.mentions("intra", "inside 4-GPU host only");
}

std::variant<Question, std::string> question_of(const DataRow& row, const DataSet& data) {
  const auto kind = kind_of(row.text("op"));
  const std::string dtype = row.text("dtype");
  const auto ranks = row.integer("ranks");
  const auto nodes = row.integer("nodes");
  if (!kind) {
    return fmt::format("`{}` is not modelled", row.text("op"));
  }
  if (!ranks || !nodes || *nodes < 1 || *ranks < 2 || *ranks < *nodes) {
    return std::string("ranks or nodes are missing");
  }
  const std::string name = profile_name(row);
  const hardware::GpuProfile* gpu = data.profiles.gpu(name, data.diagnostics);
  if (gpu == nullptr) {
    return fmt::format("no GPU profile for `{}`", row.text("gpu"));
  }
  Question question{.kind = *kind, .gpu = *gpu};
  question.group = placement_of(row, *ranks, *nodes);
  question.cluster = cluster_of(row, question.group);
  if (is_pcie(row)) {
    question.gpu.nvlink.reset();
  }
  if (without_nvls(row) && question.gpu.nvlink) {
    question.gpu.nvlink->nvls = false;
  }
  if (dtype == "half" || dtype == "bfloat16") {
    question.dtype = model::Dtype::bf16;
  } else if (dtype.starts_with("f8") || dtype == "int8") {
    question.dtype = model::Dtype::fp8;
  }
  if (!set_size_and_time(row, question)) {
    return std::string("neither a time nor a bandwidth is stated");
  }
  return question;
}

cost::Cost cost_of(const Question& question) {
  const hardware::SoftwareProfile stack = hardware::neutral_stack();
  if (question.kind == CollectiveKind::send_receive) {
    const bool inside = question.group.nodes == 1;
    const layout::HopPlacement hop{.same_domain = inside,
                                   .same_node = inside,
                                   .sharing_node = question.group.ranks_per_node,
                                   .tier = 0};
    return cost::transfer_cost(question.size, hop, question.gpu, stack, question.cluster);
  }
  const bool gather = question.kind == CollectiveKind::all_gather;
  const Bytes in =
      gather ? question.size / static_cast<double>(question.group.ranks) : question.size;
  return cost::collective_cost(question.kind,
                               in,
                               question.size,
                               question.dtype,
                               question.group,
                               question.gpu,
                               stack,
                               question.cluster);
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

}  // namespace

std::vector<ValidationRow> collective_rows(const DataSet& data) {
  std::vector<ValidationRow> rows;
  for (const DataRow& entry : data_rows(data.document, "rows")) {
    ValidationRow row{
        .id = entry.text("id"), .group = entry.text("log"), .quantity = "time", .unit = "s"};
    row.suspicious = doubt_about(entry);
    const auto question = question_of(entry, data);
    if (const auto* reason = std::get_if<std::string>(&question)) {
      row.skipped = *reason;
    } else {
      const cost::Cost cost = cost_of(std::get<Question>(question));
      row.predicted = in_seconds(cost.time);
      row.measured = in_seconds(std::get<Question>(question).measured);
      row.trust = trust_of(cost);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace orrery::validate
