#pragma once

// Time of one point-to-point message, or of a copy between GPU and host:
//
//   message = call + latency + bytes / (rate * stack efficiency)
//   over NVLink:      rate = link rate * direct_share
//   over PCIe:        rate = pcie_bandwidth * 0.95
//   over the network: rate = min(NICs beside the GPU, NICs of the node / senders) * nic_rate
//                     * share / oversubscription of the tiers crossed
//   host copy         = bytes / host_bandwidth
//
// symbol  | meaning                                                       | unit   | origin
// --------|---------------------------------------------------------------|--------|-----------
// call    | call_time: launch of the kernel on both sides                 | s      | GPU
// latency | node_message inside a node; network_message, network_hop and | s      | GPU
//         | tier latencies across                                         |        |
// senders | ranks of one node that send at the same time                  | ranks  | placement
// share   | message_share of a NIC's line rate, of one message stream     | 1      | GPU
//
// Published: send/receive on 8-GPU H100 hosts with 50 GB/s per GPU 42-43 GB/s and 40-53 us between
// nodes (EFA); NCCL's Simple base and network latencies are 8.4 and 14 us. A pipeline's hop is one
// such message per micro-batch. Assumption: all senders of a node leave through the tiers crossed.
// Source: collective_measurements.yaml (smol playbook rows), nccl v2.28.9 tuning.cc.

#include "sim/step/cost/cost.hpp"
#include "sim/step/hardware/cluster_spec.hpp"
#include "sim/step/hardware/gpu_profile.hpp"
#include "sim/step/hardware/software_profile.hpp"
#include "sim/step/layout/placement.hpp"

namespace orrery::cost {

struct TransferTime {
  Seconds latency;  // call included
  Seconds transfer;
  BytesPerSecond bandwidth;
  bool crosses_nodes = false;
};

[[nodiscard]] TransferTime transfer_time(Bytes bytes, const layout::HopPlacement& hop,
                                         const hardware::GpuProfile& gpu,
                                         const hardware::ClusterSpec& cluster);

// The same with the stack's efficiency and overhead, booked by source.
[[nodiscard]] Cost transfer_cost(Bytes bytes, const layout::HopPlacement& hop,
                                 const hardware::GpuProfile& gpu,
                                 const hardware::SoftwareProfile& software,
                                 const hardware::ClusterSpec& cluster);

}  // namespace orrery::cost
