#pragma once

// NCCL's own tuning model, as of version 2.28.9: which algorithm and protocol it chooses for a
// collective, and the time it expects.
//
//   time(algorithm, protocol) = latency + bytes / bandwidth; the smallest available one wins
//
// symbol         | meaning                                                    | unit   | origin
// ---------------|------------------------------------------------------------|--------|---------
// ranks          | members of the communicator (n)                            | ranks  | placement
// nodes          | NVLink domains or hosts, NCCL's "node" (N)                 | nodes  | placement
// ranks_per_node | n / N                                                      | ranks  | placement
// ring_channels  | parallel rings that the topology search finds (C)          | -      | computed
// intra          | C * bwIntra of the ring: what one node's links carry       | byte/s | profile
// inter          | C * bwInter of the ring: what one node's NICs carry        | byte/s | cluster
// nvls_heads     | channels of the NVLink-SHARP graph                         | -      | computed
// nvls_speed     | speed of one of them, from NCCL's list of speeds           | byte/s | computed
// inter_latency  | one-way latency of the fabric beyond the NIC's own         | s      | cluster
// bytes          | NCCL's nBytes: the larger of send and receive buffer       | byte   | caller
//
// Assumptions: one collective per group call (latCount = 1); no SHARP in the fabric (CollNet off);
// balanced or split trees; default environment. NCCL chooses by this table; what the choice then
// really takes: collective.hpp. Source: NVIDIA/nccl v2.28.9, src/graph/tuning.cc,
// src/graph/search.cc, src/graph/topo.h, src/enqueue.cc. Complexity: 15 closed forms per call.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/base/units.hpp"
#include "sim/step/hardware/cluster_spec.hpp"
#include "sim/step/hardware/gpu_profile.hpp"
#include "sim/step/model/op.hpp"

namespace orrery::cost {

using Algorithm = hardware::CollectiveAlgorithm;
enum class Protocol { ll, ll128, simple };

inline constexpr std::size_t kNcclProtocols = 3;

[[nodiscard]] std::string_view to_string(Algorithm algorithm);
[[nodiscard]] std::string_view to_string(Protocol protocol);

struct NcclGraph {
  std::int64_t ranks = 1;
  std::int64_t nodes = 1;
  std::int64_t ranks_per_node = 1;
  hardware::GpuArch arch = hardware::GpuArch::hopper;
  bool nvlink = true;  // ranks of one node reach one another over NVLink, else over PCIe
  bool nvls = false;   // the switches can reduce (NVLink SHARP)
  bool sharp = false;  // so can those of the fabric: NVLS works across nodes
  double ring_channels = 0.0;
  BytesPerSecond intra;
  BytesPerSecond inter;
  double nvls_heads = 0.0;
  BytesPerSecond nvls_speed;
  Seconds inter_latency;
  Algorithm forced =
      Algorithm::automatic;  // NCCL_ALGO; no effect where it cannot do the collective
};

struct NcclEstimate {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  Seconds latency;
  BytesPerSecond bandwidth;  // algorithm bandwidth: bytes / time at infinite size
  Seconds time;
};

// The best entry of the table. `ranks` >= 2; all_to_all and send_receive have no entry in it.
[[nodiscard]] NcclEstimate nccl_choice(model::CollectiveKind kind, Bytes bytes, model::Dtype dtype,
                                       const NcclGraph& graph);

// One entry of the table, or nothing when NCCL rules the pair out.
[[nodiscard]] std::optional<NcclEstimate> nccl_estimate(model::CollectiveKind kind,
                                                        Algorithm algorithm, Protocol protocol,
                                                        Bytes bytes, model::Dtype dtype,
                                                        const NcclGraph& graph);

// The NVLink-SHARP channel speed that NCCL's search finds: the fastest of its list that `heads`
// channels can all have on one GPU's links.
[[nodiscard]] BytesPerSecond nccl_nvls_speed(hardware::GpuArch arch, BytesPerSecond link_bandwidth,
                                             std::int64_t heads);

}  // namespace orrery::cost
