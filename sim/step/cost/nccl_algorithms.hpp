#pragma once

// NCCL's algorithms: which collectives each can do, at what latency and bandwidth, and how its
// bytes cross the boundary of a node.
//
//   time = latency + bytes / bandwidth        of one algorithm and protocol (nccl_model.hpp)
//
// An algorithm is a row of the table in nccl_algorithms.cpp; nothing else knows one by its name.
// Source of tables and formulas: NVIDIA/nccl v2.28.9, src/graph/tuning.cc.

#include <array>
#include <span>
#include <string_view>

#include "sim/step/cost/nccl_model.hpp"

namespace orrery::cost {

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

[[nodiscard]] std::span<const NcclAlgorithm> nccl_algorithms();

// Aborts for `direct`, which NCCL has no entry for.
[[nodiscard]] const NcclAlgorithm& nccl_algorithm(Algorithm algorithm);

}  // namespace orrery::cost
