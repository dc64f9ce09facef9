#include "sim/validate/rows/collective_question.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "sim/cost/collective.hpp"
#include "sim/cost/transfer.hpp"
#include "sim/hardware/neutral_stack.hpp"

namespace orrery::validate {

namespace {

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
  const auto found = std::find_if(kOperations.begin(),
                                  kOperations.end(),
                                  [&op](const OperationWords& entry) { return entry.name == op; });
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
  const auto found =
      std::find_if(kNetworks.begin(), kNetworks.end(), [&row](const NicWords& entry) {
        return row.mentions("nic", entry.words);
      });
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
std::optional<hardware::GpuProfile> gpu_profile(const DataRow& row,
                                                const DataSet& data,
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

}  // namespace

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
  return cost::collective_cost(question.kind,
                               in,
                               question.size,
                               question.dtype,
                               question.group,
                               question.gpu,
                               stack,
                               question.cluster);
}

}  // namespace orrery::validate
