#pragma once

// Which share of a wire do NCCL's kernels reach? Published shares, one place for all of them.
//
// symbol             | meaning                                                        | unit |
// origin
// -------------------|----------------------------------------------------------------|------|-------
// kNicShare          | rate of one NIC in a collective / its line rate: 46 of 50 GB/s | 1    | [1]
// kPcieShare         | rate between GPUs over PCIe / the pinned copy rate             | 1    | [2]
// nvls_wire_share    | all-reduce bytes over an NVLink that the switches sum / rate   | 1    | [3]
// direct_wire_share  | all-to-all and messages over NVLink / link rate                | 1    | [4]
// ring_channels      | parallel rings inside a node                                   | -    | [5]
// kNetworkHop        | NIC to NIC latency of a message, Simple protocol               | s    | [5]
//
// [1] NCCL maintainers' rule, nccl-tests issues 119, 130, 212 and 290 (46-48 GB/s per 400G NIC, 24
// per 200G, 12 per 100G). [2] all-to-all over PCIe Gen5 hosts, 45.7 of 55.6 GB/s (nvbandwidth).
// [3] 8 H100 or H200: 275 of 450 GB/s, 8 B200: 483 of 900 GB/s (ml-engineering, Azure). [4] 8 H100
// 342 of 450, B300 and NVL72 615-685 of 900, 8 A100 send/receive 195 of 300. [5] nccl v2.28.9.

#include "sim/base/units.hpp"
#include "sim/hardware/gpu_profile.hpp"

namespace orrery::cost {

inline constexpr double kNicShare = 0.92;
inline constexpr double kPcieShare = 0.82;
inline constexpr Seconds kNetworkHop = microseconds(14.0);

[[nodiscard]] constexpr double nvls_wire_share(hardware::GpuArch arch) {
  return arch == hardware::GpuArch::blackwell ? 0.535 : 0.61;
}

[[nodiscard]] constexpr double direct_wire_share(hardware::GpuArch arch) {
  switch (arch) {
    case hardware::GpuArch::volta:
    case hardware::GpuArch::ampere:
    case hardware::GpuArch::ada:
      return 0.65;
    case hardware::GpuArch::hopper:
    case hardware::GpuArch::blackwell:
      break;
  }
  return 0.75;
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
