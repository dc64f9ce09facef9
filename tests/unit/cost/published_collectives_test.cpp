// Compares predicted collectives with published nccl-tests logs. Every usable row, nothing fitted
// per row: GPU, ranks, nodes and the words of the `nic` and `intra` columns are the only inputs of
// a prediction.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

#include "sim/step/cost/collective.hpp"
#include "sim/step/cost/transfer.hpp"
#include "tests/unit/cost/cost_fixture.hpp"
#include "tests/unit/cost/published_rows.hpp"

namespace orrery::cost {
namespace {

using model::CollectiveKind;

struct Words {
  std::string_view word;
  double gigabits;
  std::int64_t nics;
  double latency_us;  // beyond RDMA on one switch
};

// The published words for networks, most specific first. EFA and TCPX are no RDMA verbs: their
// extra latency per crossing is that of small messages in the same logs.
constexpr std::array<Words, 13> kNetworks = {{{"TCPXO", 200.0, 8, 40.0},
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

const Words& network_of(const testing::Row& row) {
  for (const Words& words : kNetworks) {
    if (row.contains("nic", words.word)) {
      return words;
    }
  }
  return kNetworks.back();
}

struct Case {
  CollectiveKind kind = CollectiveKind::all_reduce;
  model::Dtype dtype = model::Dtype::fp32;
  Bytes size;
  Seconds measured;
  hardware::GpuProfile gpu;
  hardware::ClusterSpec cluster;
  layout::GroupPlacement group;
};

std::optional<CollectiveKind> kind_of(const std::string& op) {
  if (op == "all_reduce") {
    return CollectiveKind::all_reduce;
  }
  if (op == "all_gather") {
    return CollectiveKind::all_gather;
  }
  if (op == "reduce_scatter") {
    return CollectiveKind::reduce_scatter;
  }
  if (op == "alltoall") {
    return CollectiveKind::all_to_all;
  }
  return op == "sendrecv" ? std::optional(CollectiveKind::send_receive) : std::nullopt;
}

// Profile by the words of the `gpu` column; nothing for GPUs without one.
std::optional<std::string> profile_of_machine(const testing::Row& row) {
  if (row.contains("gpu", "GB200") || row.contains("gpu", "GB300")) {
    return "gb200";
  }
  if (row.contains("gpu", "B200") || row.contains("gpu", "B300")) {
    return "b200-sxm";
  }
  if (row.contains("gpu", "H200")) {
    return "h200-sxm";
  }
  if (row.contains("gpu", "H100") || row.contains("gpu", "6000D")) {
    return "h100-sxm-80gb";  // the PCIe card: its PCIe link, NVLink taken away below
  }
  return row.contains("gpu", "A100") ? std::optional<std::string>("a100-sxm-80gb") : std::nullopt;
}

layout::GroupPlacement placement_of(const testing::Row& row) {
  const auto ranks = static_cast<std::int64_t>(*row.number("ranks"));
  const auto nodes = static_cast<std::int64_t>(*row.number("nodes"));
  layout::GroupPlacement group = testing::group(ranks, nodes);
  if (row.contains("intra", "NVL72") || row.contains("intra", "one rack")) {
    group.domains = (ranks + 71) / 72;
    group.ranks_per_domain = ranks / group.domains;
  } else if (row.contains("intra", "PCIe")) {
    group.domains = ranks;
    group.ranks_per_domain = 1;
  }
  return group;
}

// A peak without a size is that of a large message.
bool set_size_and_time(const testing::Row& row, Case& c) {
  const auto size = row.number("size_bytes");
  auto time = row.number("time_us");
  if (!time) {
    time = row.number("time_us_derived");
  }
  c.size = size ? bytes(*size) : gibibytes(8.0);
  if (time) {
    if (!size) {
      c.size = bytes(8.0);  // a minimum latency
    }
    c.measured = microseconds(*time);
    return true;
  }
  auto bus = row.number("busbw_GBs");
  if (const auto range = row.list.find("busbw_GBs_range"); range != row.list.end()) {
    bus = 0.5 * (std::stod(range->second[0]) + std::stod(range->second[1]));
  }
  if (!bus) {
    return false;
  }
  const double factor = bus_factor(c.kind, c.group.ranks);
  c.measured = c.size * factor / gigabytes_per_second(*bus);
  return true;
}

std::optional<Case> case_of(const testing::Row& row) {
  const auto kind = kind_of(row.get("op"));
  const auto profile = profile_of_machine(row);
  const std::string dtype = row.get("dtype");
  const bool forced_away = row.contains("algo", "NVLSTree forced");  // not the default there
  if (!kind || !profile || row.get("degraded") == "true" || forced_away || dtype == "int8") {
    return std::nullopt;
  }
  const Words& words = network_of(row);
  Case c{*kind, model::Dtype::fp32, {}, {}, testing::gpu_profile(*profile), {}, {}};
  c.group = placement_of(row);
  const std::int64_t gpus_per_node = std::max<std::int64_t>(c.group.ranks_per_node, 1);
  c.cluster = testing::cluster({.nodes = c.group.nodes,
                                .gpus_per_node = gpus_per_node,
                                .nic_gigabits = words.gigabits,
                                .nics_per_node = words.nics,
                                .latency = microseconds(words.latency_us)});
  if (row.contains("intra", "PCIe")) {
    c.gpu.nvlink.reset();
  }
  const bool ring = row.contains("algo", "NVLS off") || row.get("algo") == "Ring" ||
                    row.contains("intra", "inside 4-GPU host only");
  if (ring && c.gpu.nvlink) {
    c.gpu.nvlink->nvls = false;
  }
  if (dtype == "half" || dtype == "bfloat16") {
    c.dtype = model::Dtype::bf16;
  } else if (dtype.rfind("f8", 0) == 0) {
    c.dtype = model::Dtype::fp8;
  }
  return set_size_and_time(row, c) ? std::optional(std::move(c)) : std::nullopt;
}

Seconds predict(const Case& c) {
  if (c.kind == CollectiveKind::send_receive) {
    const layout::HopPlacement hop{.same_domain = c.group.nodes == 1,
                                   .same_node = c.group.nodes == 1,
                                   .sharing_node = c.group.ranks_per_node,
                                   .tier = 0};
    const TransferTime time = transfer_time(c.size, hop, c.gpu, c.cluster);
    return time.latency + time.transfer;
  }
  const bool gather = c.kind == CollectiveKind::all_gather;
  const Bytes in = gather ? c.size / static_cast<double>(c.group.ranks) : c.size;
  return collective_time(c.kind, in, c.size, c.dtype, c.group, c.gpu, c.cluster).total();
}

TEST(PublishedCollectives, ErrorsStayWithinWhatTheModelReaches) {
  testing::ErrorTable large;
  testing::ErrorTable sweep;
  std::size_t skipped = 0;
  for (const testing::Row& row : testing::published_rows("collective_measurements.yaml", "rows")) {
    const auto c = case_of(row);
    if (!c) {
      ++skipped;
      continue;
    }
    const double predicted = in_seconds(predict(*c));
    const double measured = in_seconds(c->measured);
    sweep.add(row.get("log"), predicted, measured);
    if (c->size >= mebibytes(64.0)) {
      large.add(row.get("log"), predicted, measured);
    }
    if (std::getenv("ORRERY_PRINT_ROWS") != nullptr) {
      const auto t =
          collective_time(c->kind, c->size, c->size, c->dtype, c->group, c->gpu, c->cluster);
      std::cout << row.get("log") << ' ' << in_mebibytes(c->size) << " MiB measured "
                << in_microseconds(c->measured) << " predicted " << in_microseconds(predict(*c))
                << " us " << 100.0 * (predicted / measured - 1.0) << " % " << to_string(t.algorithm)
                << ' ' << to_string(t.protocol) << ' ' << t.limit << '\n';
    }
  }
  std::cout << "from 64 MiB, " << skipped << " rows skipped\n" << large.text();
  std::cout << "all sizes\n" << sweep.text();
  EXPECT_EQ(large.overall().n, 167U);
  EXPECT_EQ(sweep.overall().n, 243U);
  EXPECT_LE(large.overall().mape, 0.085);
  EXPECT_LE(large.overall().median, 0.025);
  EXPECT_LE(std::abs(large.overall().bias), 0.05);
  EXPECT_LE(large.mape_of_groups(), 0.07);
  EXPECT_LE(sweep.overall().mape, 0.14);
  EXPECT_LE(sweep.overall().median, 0.06);
  // Hosts with NVSwitch, and pairs of them over RDMA, without a vendor's tuner.
  for (const char* log :
       {"azure_nd_a100_v4_1n_ar", "azure_nd_h100_v5_1n_ar", "azure_nd_h200_v5_1n_ar",
        "stas_h200_1n_ar", "h100_1n_ar_i290", "h100_2n_ar_i294", "nebius_2n_ar", "oci_b300_16r_ar",
        "pcie_16r_2n_roce_a2a"}) {
    EXPECT_GE(large.of(log).n, 1U) << log;
    EXPECT_LE(large.of(log).mape, 0.03) << log;
  }
  EXPECT_LE(large.of("h200_2n_roce400_ar").mape, 0.06);
}

}  // namespace
}  // namespace orrery::cost
