#pragma once

// Shares of a link's rate that NCCL's kernels reach: the published figures, all in one place.
//
// symbol            | meaning                                                       | unit | source
// ------------------|---------------------------------------------------------------|------|-------
// kNicShare         | rate of one NIC in a collective / its line rate               | 1    | [1]
// kPcieShare        | rate between GPUs over PCIe / pcie_bandwidth of the profile   | 1    | [2]
// nvls_wire_share   | all-reduce bytes over an NVLink that the switches sum / rate  | 1    | [3]
// direct_wire_share | all-to-all and messages over NVLink / link rate               | 1    | [4]
// ring_wire_share   | plateau of a ring / links x speed of NCCL's topology search   | 1    | [5]
// ring_channels     | parallel rings inside a node                                  | -    | [6]
// kNetworkHop       | NIC to NIC latency of a message, Simple protocol              | s    | [6]
// fabric_latency    | one-way latency of a transport beyond that of RDMA verbs      | s    | [7]
//
// [1] NCCL maintainers' rule, nccl-tests issues 119, 130, 212 and 290: 46-48 GB/s per 400G NIC.
// [2] All-to-all over PCIe Gen5 hosts, 45.7 of 48 GB/s. [3] 8 H100 or H200: 275 of 450 GB/s, 8
// B200: 483 of 900 GB/s (ml-engineering, Azure). [4] 8 H100 342 of 450, B300 and NVL72 615-685 of
// 900, 8 A100 send/receive 195 of 300; MI300X 46.6 of 64 GB/s a pair (TransferBench, AMD), Gaudi 3
// 509 of 525 GB/s (HCCL demo of its documentation). [5] 8 H200 361-367 of 370.8 GB/s, 8 A100 231.6
// of 240, 8 B200 673-682 of 721.8 (ml-engineering, Azure); Volta as Ampere; of a mesh the profile
// states the plateau itself. [6] NVIDIA/nccl v2.28.9.
// [7] Floors of two-node all-reduces: 55 us over EFA (smol playbook), 123 us over TCPXO (a3mega
// log) against 43.5 us over RoCE; TCP sockets assumed.

#include "sim/base/units.hpp"
#include "sim/hardware/cluster_spec.hpp"
#include "sim/hardware/gpu_profile.hpp"

namespace orrery::cost {

inline constexpr double kNicShare = 0.92;
inline constexpr double kPcieShare = 0.95;
inline constexpr Seconds kCall = microseconds(14.0);  // launch and hand-over of one NCCL call
inline constexpr Seconds kNetworkHop = microseconds(14.0);

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

[[nodiscard]] constexpr double nvls_wire_share(hardware::GpuArch arch) {
  return arch == hardware::GpuArch::blackwell ? 0.535 : 0.61;
}

[[nodiscard]] constexpr double direct_wire_share(hardware::GpuArch arch) {
  switch (arch) {
    case hardware::GpuArch::volta:
    case hardware::GpuArch::ampere:
    case hardware::GpuArch::ada:
      return 0.65;
    case hardware::GpuArch::cdna:
      return 0.73;
    case hardware::GpuArch::gaudi:
      return 0.97;
    case hardware::GpuArch::hopper:
    case hardware::GpuArch::blackwell:
      break;
  }
  return 0.75;
}

[[nodiscard]] constexpr double ring_wire_share(hardware::GpuArch arch) {
  switch (arch) {
    case hardware::GpuArch::hopper:
      return 0.985;
    case hardware::GpuArch::blackwell:
      return 0.94;
    case hardware::GpuArch::cdna:
    case hardware::GpuArch::gaudi:
      return 1.0;
    default:
      return 0.965;
  }
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
