#pragma once

// Shares of a link's rate that NCCL's kernels reach on any GPU, and figures of NCCL's own; those of
// a GPU or its architecture are rows of hardware/gpu_profile.cpp.
//
// symbol         | meaning                                                          | unit | source
// ---------------|------------------------------------------------------------------|------|-------
// kNicShare      | rate of one NIC in a collective / its line rate                  | 1    | [1]
// kPcieShare     | rate between GPUs over PCIe / pcie_bandwidth of the profile      | 1    | [2]
// ring_channels  | parallel rings inside a node                                     | -    | [3]
// fabric_latency | one-way latency of a transport beyond that of RDMA verbs         | s    | [4]
//
// [1] NCCL maintainers' rule, nccl-tests issues 119, 130, 212 and 290: 46-48 GB/s per 400G NIC.
// [2] All-to-all over PCIe Gen5 hosts, 45.7 of 48 GB/s. [3] NVIDIA/nccl v2.28.9. [4] Floors of
// two-node all-reduces: 55 us over EFA (smol playbook), 123 us over TCPXO (a3mega log) against
// 43.5 us over RoCE; TCP sockets assumed.

#include "sim/base/units.hpp"
#include "sim/step/hardware/cluster_spec.hpp"
#include "sim/step/hardware/gpu_profile.hpp"

namespace orrery::cost {

inline constexpr double kNicShare = 0.92;
inline constexpr double kPcieShare = 0.95;

[[nodiscard]] constexpr Seconds fabric_latency(hardware::FabricKind fabric) {
  switch (fabric) {
    case hardware::FabricKind::efa:
      return microseconds(15.0);
    case hardware::FabricKind::tcpx:
      return microseconds(40.0);
    case hardware::FabricKind::tcp:
      return microseconds(30.0);
    case hardware::FabricKind::infiniband:
    case hardware::FabricKind::roce:
      break;
  }
  return {};
}

[[nodiscard]] constexpr double ring_channels(hardware::GpuArch arch, bool nvlink) {
  if (!nvlink) {
    return 2.0;
  }
  switch (arch) {
    case hardware::GpuArch::volta:
      return 12.0;
    case hardware::GpuArch::blackwell:
      return 32.0;
    default:
      return 24.0;
  }
}

}  // namespace orrery::cost
