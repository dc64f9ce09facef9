#pragma once

// NCCL's own tuning model, as of version 2.28.9: which algorithm and protocol it chooses for a
// collective, and the time it expects.
//
//   time(algorithm, protocol) = latency + bytes / bandwidth; the smallest available one wins
//
// Assumptions: one collective per group call (latCount = 1); no SHARP in the fabric (CollNet off);
// balanced or split trees; default environment. NCCL chooses by this table; what the choice then
// really takes: collective.hpp. Source: NVIDIA/nccl v2.28.9, src/graph/tuning.cc,
// src/graph/search.cc, src/graph/topo.h, src/enqueue.cc. Complexity: 15 closed forms per call.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
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
  std::int64_t ranks = 1;           // n
  std::int64_t nodes = 1;           // N: NVLink domains or hosts
  std::int64_t ranks_per_node = 1;  // n / N
  hardware::GpuArch arch = hardware::GpuArch::hopper;
  bool nvlink = true;          // ranks of one node reach one another over NVLink, else over PCIe
  bool nvls = false;           // the switches can reduce (NVLink SHARP)
  bool sharp = false;          // so can those of the fabric: NVLS works across nodes
  double ring_channels = 0.0;  // C: parallel rings that the topology search finds
  BytesPerSecond intra;        // C * bwIntra: what one node's links carry
  BytesPerSecond inter;        // C * bwInter: what one node's NICs carry
  double nvls_heads = 0.0;     // channels of the NVLink-SHARP graph
  BytesPerSecond nvls_speed;   // of one of them, from NCCL's list
  Seconds inter_latency;       // one way, of the fabric beyond the NIC's own
  Algorithm forced =
      Algorithm::automatic;  // NCCL_ALGO; no effect where it cannot do the collective
};

// One collective by one protocol, with the numbers that the formulas use.
struct NcclCall {
  NcclCall(model::CollectiveKind asked, Protocol by, Bytes bytes, model::Dtype type,
           const NcclGraph& on);

  model::CollectiveKind kind;
  Protocol protocol;
  model::Dtype dtype;
  const NcclGraph& graph;
  double size;  // bytes
  double ranks;
  double nodes;
  double ranks_per_node;
  double log2_nodes;       // rounded down
  double steps;            // of a ring: 2 (n - 1) for an all-reduce, n - 1 for its halves, else n
  std::size_t node_index;  // 0: one node, 1: two, 2: more
};

// One hop, us.
struct NcclHop {
  double intra = 0.0;  // inside a node
  double inter = 0.0;  // between nodes
};

struct NcclAlgorithm {
  using ByProtocol = std::array<double, kNcclProtocols>;

  Algorithm algorithm;
  std::string_view name;    // as NCCL prints it, and NCCL_ALGO takes it
  bool in_switches;         // the NVLink switches reduce
  bool tree;                // binary trees join the nodes
  double discount;          // in NCCL's bandwidth of protocol Simple, not seen in logs
  ByProtocol base_latency;  // us
  ByProtocol nvlink;        // latency of a hop, us
  ByProtocol pci;
  ByProtocol net;
  bool (*available)(const NcclCall& call);
  double (*bandwidth)(const NcclCall& call);                                 // GB/s, 0: none
  double (*latency)(const NcclCall& call, double base, const NcclHop& hop);  // us
  double (*penalty)(const NcclCall& call);  // factor on the time that NCCL reckons with
  std::string_view (*reason)(Protocol protocol, const NcclGraph& graph);
};

// An algorithm is a row of this table; nothing else knows one by its name.
[[nodiscard]] std::span<const NcclAlgorithm> nccl_algorithms();

// Aborts for `direct`, which NCCL has no entry for.
[[nodiscard]] const NcclAlgorithm& nccl_algorithm(Algorithm algorithm);

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
