#include "sim/cost/nccl_model.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "sim/base/check.hpp"

namespace orrery::cost {

namespace {

using hardware::GpuArch;
using model::CollectiveKind;

// Tables of NVIDIA/nccl v2.28.9, src/graph/tuning.cc. Latencies in microseconds, by protocol LL,
// LL128, Simple; caps in GB/s. CollNet is left out: it needs switches that reduce.
using ByProtocol = std::array<double, kNcclProtocols>;

struct HardwareLatency {
  ByProtocol nvlink;
  ByProtocol pci;
  ByProtocol net;
};

// Rows: ring, tree, nvls, nvls_tree, pat. An NVLS base of 0 is replaced by the hardware latency.
constexpr std::array<ByProtocol, kNcclAlgorithms> kBaseLatency = {{
    {6.6, 14.0, 8.4},
    {6.8, 14.0, 8.4},
    {0.0, 0.0, 0.0},
    {0.0, 0.0, 0.0},
    {8.0, 8.0, 8.0},
}};
constexpr std::array<HardwareLatency, kNcclAlgorithms> kHardwareLatency = {{
    {{0.6, 1.9, 3.4}, {1.0, 2.5, 5.7}, {2.7, 4.0, 14.0}},
    {{0.6, 1.25, 4.0}, {1.0, 1.9, 4.0}, {5.0, 8.5, 14.0}},
    {{0.0, 0.0, 25.0}, {0.0, 0.0, 0.0}, {0.0, 0.0, 18.0}},
    {{0.0, 0.0, 25.0}, {0.0, 0.0, 0.0}, {0.0, 0.0, 20.9}},
    {{0.0, 0.0, 4.0}, {0.0, 0.0, 4.0}, {0.0, 0.0, 14.0}},
}};

// Caps by number of nodes: one, two, more.
using ByNodes = std::array<double, 3>;

struct ArchCaps {
  ByNodes ll_bandwidth;        // llMaxBw by GPU, used on one node
  ByNodes ring_ll128_channel;  // perChMaxRingLL128
  ByNodes tree_ll128_channel;  // perChMaxTreeLL128
  ByNodes tree_channel;        // perChMaxTree
  ByNodes nvls_tree_channel;   // perChMaxNVLSTree
  double nvls_efficiency;
};

constexpr ArchCaps kVolta = {{39.0, 39.0, 20.4},
                             {20.0, 20.0, 20.0},
                             {20.0, 20.0, 20.0},
                             {26.5, 18.5, 10.0},
                             {26.5, 18.5, 10.0},
                             0.0};
constexpr ArchCaps kAmpere = {{87.7, 22.5, 19.0},
                              {20.0, 20.0, 20.0},
                              {20.0, 20.0, 20.0},
                              {24.0, 23.6, 17.8},
                              {24.0, 23.6, 17.8},
                              0.0};
constexpr ArchCaps kHopper = {{141.0, 45.0, 35.0},
                              {36.7, 36.7, 36.7},
                              {36.7, 36.7, 29.0},
                              {38.7, 41.4, 36.0},
                              {0.0, 57.7, 45.5},
                              0.85};
constexpr ArchCaps kBlackwell = {{282.0, 90.0, 70.0},
                                 {73.4, 34.6, 73.4},
                                 {55.6, 31.67, 20.0},
                                 {70.0, 42.8, 24.0},
                                 {0.0, 96.0, 43.8},
                                 0.74};

// Across nodes NCCL takes the LL cap by the host's CPU: the Volta row stands for Intel and others.
constexpr ByNodes kLlBandwidthAcrossNodes = {39.0, 39.0, 20.4};

constexpr const ArchCaps& caps_of(GpuArch arch) {
  switch (arch) {
    case GpuArch::volta:
      return kVolta;
    case GpuArch::ampere:
    case GpuArch::ada:  // compute capability 8.9: NCCL's Ampere row
      return kAmpere;
    case GpuArch::hopper:
    case GpuArch::cdna:  // not NCCL's: RCCL and HCCL print no such tables
    case GpuArch::gaudi:
      return kHopper;
    case GpuArch::blackwell:
      return kBlackwell;
  }
  return kVolta;
}

// treeCorrection[protocol][floor log2(bytes / 64)], for 64 B to 256 MiB.
constexpr std::size_t kTreeCorrections = 23;
constexpr std::array<std::array<double, kTreeCorrections>, kNcclProtocols> kTreeCorrection = {{
    {1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5,
     0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.0, 1.0, 1.0},
    {1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6,
     0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9, 0.9, 1.0, 1.0},
    {0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5,
     0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8, 0.9, 0.9},
}};

// Channel speeds that the topology search tries inside a node, fastest first (search.cc).
constexpr std::array<double, 9> kSpeedsVolta = {40.0, 30.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0};
constexpr std::array<double, 9> kSpeedsHopper = {
    60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 11.0};
constexpr std::array<double, 9> kSpeedsBlackwell = {
    90.0, 80.0, 70.0, 60.0, 50.0, 45.0, 40.0, 30.0, 24.0};

// NCCL's GB/s of one NVLink against the data sheet's 25 GB/s (Volta to Hopper) and 50 GB/s.
constexpr double kLinkShareUpToAmpere = 20.0 / 25.0;
constexpr double kLinkShareHopper = 20.6 / 25.0;
constexpr double kLinkShareBlackwell = 40.1 / 50.0;

constexpr double kNetOverhead = 1.0;  // us, hosts other than AMD x86
constexpr double kNetOverheadSimpleFactor = 3.0;
constexpr double kRingSimplePlateau = 1.4;  // run-time correction of the ring's latency
constexpr double kRingSimplePlateauBeforeAmpere = 1.9;
constexpr double kRingSimplePlateauBytes = 64.0;  // per channel and rank
constexpr double kNarrowTypePenalty = kKibi;      // 8-bit rings beyond 8 ranks (enqueue.cc)
constexpr std::int64_t kNarrowTypeRingRanks = 8;

struct Shape {
  CollectiveKind kind;
  double ranks;
  double nodes;
  double ranks_per_node;
  double log2_nodes;
  std::size_t node_index;  // 0: one node, 1: two, 2: more
};

std::size_t index_of(Algorithm algorithm) {
  return static_cast<std::size_t>(algorithm);
}

std::size_t index_of(Protocol protocol) {
  return static_cast<std::size_t>(protocol);
}

Shape shape_of(CollectiveKind kind, const NcclGraph& graph) {
  const auto nodes = static_cast<std::uint64_t>(graph.nodes);
  return {kind,
          static_cast<double>(graph.ranks),
          static_cast<double>(graph.nodes),
          static_cast<double>(graph.ranks_per_node),
          static_cast<double>(std::bit_width(nodes) - 1),
          static_cast<std::size_t>(std::min<std::int64_t>(graph.nodes, 3) - 1)};
}

double steps_of(const Shape& shape) {
  switch (shape.kind) {
    case CollectiveKind::all_reduce:
      return 2.0 * (shape.ranks - 1.0);
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
      return shape.ranks - 1.0;
    default:
      return shape.ranks;
  }
}

bool available(CollectiveKind kind,
               Algorithm algorithm,
               Protocol protocol,
               model::Dtype dtype,
               const NcclGraph& graph) {
  const bool all_reduce = kind == CollectiveKind::all_reduce;
  const bool gather_or_scatter =
      kind == CollectiveKind::all_gather || kind == CollectiveKind::reduce_scatter;
  const bool narrow = dtype == model::Dtype::fp8 || dtype == model::Dtype::fp4;
  if (protocol == Protocol::ll128 && !graph.nvlink && graph.ranks_per_node > 1) {
    return false;
  }
  switch (algorithm) {
    case Algorithm::ring:
      return true;
    case Algorithm::tree:
      return all_reduce;
    case Algorithm::nvls:  // across nodes it needs CollNet; the switch does not add 8-bit floats
      return (all_reduce || gather_or_scatter) && graph.nvls && (graph.nodes == 1 || graph.sharp) &&
             graph.nvls_heads >= 2.0 && protocol == Protocol::simple && !(narrow && all_reduce);
    case Algorithm::nvls_tree:
      return all_reduce && graph.nvls && graph.nodes > 1 && graph.nvls_heads >= 2.0 &&
             protocol == Protocol::simple && !narrow;
    case Algorithm::pat:
      return gather_or_scatter && graph.nodes == graph.ranks && graph.nodes > 1 &&
             protocol == Protocol::simple;
    case Algorithm::direct:
      return false;
  }
  return false;
}

double ring_bandwidth(Protocol protocol, double bus, const Shape& shape, const NcclGraph& graph) {
  const ArchCaps& caps = caps_of(graph.arch);
  switch (protocol) {
    case Protocol::ll: {
      const ByNodes& cap = shape.node_index == 0 ? caps.ll_bandwidth : kLlBandwidthAcrossNodes;
      return std::min(cap[shape.node_index], 0.5 * bus);
    }
    case Protocol::ll128:
      return std::min(0.92 * bus, graph.ring_channels * caps.ring_ll128_channel[shape.node_index]);
    case Protocol::simple:
      break;
  }
  return bus;
}

double tree_bandwidth(Protocol protocol, double bus, const Shape& shape, const NcclGraph& graph) {
  const ArchCaps& caps = caps_of(graph.arch);
  const double tree =
      std::min(0.92 * bus, graph.ring_channels * caps.tree_channel[shape.node_index]);
  switch (protocol) {
    case Protocol::ll: {
      const ByNodes& cap = shape.node_index == 0 ? caps.ll_bandwidth : kLlBandwidthAcrossNodes;
      return std::min(tree / 3.8, cap[shape.node_index]);
    }
    case Protocol::ll128:
      return std::min(tree * (shape.node_index == 0 ? 7.0 / 9.0 : 120.0 / 128.0),
                      graph.ring_channels * caps.tree_ll128_channel[shape.node_index]);
    case Protocol::simple:
      break;
  }
  return tree;
}

double nvls_bandwidth(Algorithm algorithm, const Shape& shape, const NcclGraph& graph) {
  const ArchCaps& caps = caps_of(graph.arch);
  const bool tree = algorithm == Algorithm::nvls_tree;
  const double heads = graph.nvls_heads;
  const double speed = in_gigabytes_per_second(graph.nvls_speed);
  double channel = speed * caps.nvls_efficiency * (heads - 1.0) / heads;
  channel *= shape.kind == CollectiveKind::all_reduce
                 ? 2.0
                 : (shape.ranks_per_node - 1.0) / shape.ranks_per_node;
  if (shape.node_index > 0) {
    const double inter = in_gigabytes_per_second(graph.inter) / heads;
    channel = std::min({channel,
                        tree && shape.node_index == 1 ? 2.0 * inter : inter,
                        tree ? caps.nvls_tree_channel[shape.node_index] : channel});
  }
  return heads * channel;
}

// Algorithm bandwidth in GB/s: bytes over time at infinite size.
double bandwidth_of(Algorithm algorithm,
                    Protocol protocol,
                    const Shape& shape,
                    const NcclGraph& graph) {
  const double bus = in_gigabytes_per_second(graph.nodes <= 2 ? graph.intra : graph.inter);
  const double to_algorithm = shape.ranks / steps_of(shape);
  switch (algorithm) {
    case Algorithm::ring:
      return ring_bandwidth(protocol, bus, shape, graph) * to_algorithm;
    case Algorithm::tree:
      return tree_bandwidth(protocol, bus, shape, graph) * 0.5;
    case Algorithm::nvls:
    case Algorithm::nvls_tree:
      return nvls_bandwidth(algorithm, shape, graph) *
             (shape.kind == CollectiveKind::all_reduce ? to_algorithm : 1.0);
    case Algorithm::pat:
      return 0.75 * bus;
    case Algorithm::direct:
      break;
  }
  return 0.0;
}

double ring_latency(Protocol protocol, double intra, double inter, const Shape& shape) {
  if (shape.kind == CollectiveKind::broadcast) {
    return shape.nodes > 1.0 ? inter : intra;  // sameChannels: one pipelined step
  }
  const double steps = steps_of(shape);
  const double crossings =
      shape.kind == CollectiveKind::all_reduce ? 2.0 * (shape.nodes - 1.0) : shape.nodes - 1.0;
  double overhead = shape.nodes > 1.0 ? kNetOverhead : 0.0;
  if (protocol == Protocol::simple) {
    overhead *= kNetOverheadSimpleFactor;
  }
  return (steps - crossings) * std::max(intra, overhead) + crossings * inter;
}

// Microseconds.
double latency_of(Algorithm algorithm,
                  Protocol protocol,
                  const Shape& shape,
                  const NcclGraph& graph) {
  const std::size_t a = index_of(algorithm);
  const std::size_t p = index_of(protocol);
  const HardwareLatency& hardware = kHardwareLatency[a];
  const double intra = graph.nvlink ? hardware.nvlink[p] : hardware.pci[p];
  double inter = shape.ranks_per_node <= 1.0 ? kHardwareLatency[index_of(Algorithm::tree)].net[p]
                                             : hardware.net[p];
  const double flushes = protocol == Protocol::simple ? 2.0 : 1.0;
  inter += in_microseconds(graph.inter_latency) * flushes;
  const double base = kBaseLatency[a][p];
  switch (algorithm) {
    case Algorithm::ring:
      return base + ring_latency(protocol, intra, inter, shape);
    case Algorithm::tree:
      return base + 2.0 * ((shape.ranks_per_node - 1.0) * intra + shape.log2_nodes * inter);
    case Algorithm::nvls:
      return intra + (shape.nodes > 1.0 ? inter : 0.0);
    case Algorithm::nvls_tree:
      return intra + 2.0 * shape.log2_nodes * inter;
    case Algorithm::pat:
      return base + shape.log2_nodes * inter / 3.5 + 2.8 * shape.ranks;
    case Algorithm::direct:
      break;
  }
  return 0.0;
}

double tree_correction(Protocol protocol, double size) {
  const double units = size / 64.0;
  if (units < 1.0) {
    return 1.0;
  }
  const auto step = static_cast<std::size_t>(std::ilogb(units));
  return step < kTreeCorrections ? kTreeCorrection[index_of(protocol)][step] : 1.0;
}

}  // namespace

std::string_view to_string(Algorithm algorithm) {
  constexpr std::array<std::string_view, kNcclAlgorithms + 1> kNames = {
      "ring", "tree", "NVLS", "NVLSTree", "PAT", "direct"};
  return kNames[index_of(algorithm)];
}

std::string_view to_string(Protocol protocol) {
  constexpr std::array<std::string_view, kNcclProtocols> kNames = {"LL", "LL128", "Simple"};
  return kNames[index_of(protocol)];
}

std::optional<NcclEstimate> nccl_estimate(CollectiveKind kind,
                                          Algorithm algorithm,
                                          Protocol protocol,
                                          Bytes bytes,
                                          model::Dtype dtype,
                                          const NcclGraph& graph) {
  if (!available(kind, algorithm, protocol, dtype, graph)) {
    return std::nullopt;
  }
  const Shape shape = shape_of(kind, graph);
  double bandwidth = bandwidth_of(algorithm, protocol, shape, graph);
  if (bandwidth <= 0.0) {
    return std::nullopt;
  }
  double latency = latency_of(algorithm, protocol, shape, graph);
  const double size = in_bytes(bytes);
  if (algorithm == Algorithm::tree) {
    bandwidth *= tree_correction(protocol, size);
  }
  if (algorithm == Algorithm::ring && protocol == Protocol::simple && graph.nodes > 1 &&
      kind == CollectiveKind::all_reduce &&
      size / (graph.ring_channels * shape.ranks) >= kRingSimplePlateauBytes) {
    latency *= graph.arch == GpuArch::volta ? kRingSimplePlateauBeforeAmpere : kRingSimplePlateau;
  }
  NcclEstimate estimate{
      algorithm, protocol, microseconds(latency), gigabytes_per_second(bandwidth), {}};
  estimate.time = estimate.latency + bytes / estimate.bandwidth;
  const bool narrow = dtype == model::Dtype::fp8 || dtype == model::Dtype::fp4;
  if (algorithm == Algorithm::ring && narrow && kind == CollectiveKind::all_reduce &&
      graph.ranks > kNarrowTypeRingRanks) {
    estimate.time *= kNarrowTypePenalty;
  }
  return estimate;
}

namespace {

std::optional<NcclEstimate> best_protocol(CollectiveKind kind,
                                          Algorithm algorithm,
                                          Bytes bytes,
                                          model::Dtype dtype,
                                          const NcclGraph& graph) {
  std::optional<NcclEstimate> best;
  for (std::size_t p = 0; p < kNcclProtocols; ++p) {
    const auto entry =
        nccl_estimate(kind, algorithm, static_cast<Protocol>(p), bytes, dtype, graph);
    if (entry && (!best || entry->time < best->time)) {
      best = entry;
    }
  }
  return best;
}

}  // namespace

NcclEstimate nccl_choice(CollectiveKind kind,
                         Bytes bytes,
                         model::Dtype dtype,
                         const NcclGraph& graph) {
  ORRERY_CHECK(graph.ranks >= 2 && graph.nodes >= 1,
               "a collective needs at least 2 ranks on 1 node, got {} on {}",
               graph.ranks,
               graph.nodes);
  std::optional<NcclEstimate> best;
  if (graph.forced) {
    best = best_protocol(kind, *graph.forced, bytes, dtype, graph);
  }
  if (best) {
    return *best;
  }
  for (std::size_t a = 0; a < kNcclAlgorithms; ++a) {
    const auto entry = best_protocol(kind, static_cast<Algorithm>(a), bytes, dtype, graph);
    if (entry && (!best || entry->time < best->time)) {
      best = entry;
    }
  }
  ORRERY_CHECK(best.has_value(), "no algorithm of {} ranks has a bandwidth above 0", graph.ranks);
  return *best;
}

BytesPerSecond nccl_nvls_speed(GpuArch arch, BytesPerSecond link_bandwidth, std::int64_t heads) {
  const bool blackwell = arch == GpuArch::blackwell;
  const bool hopper = arch == GpuArch::hopper;
  const double share =
      blackwell ? kLinkShareBlackwell : (hopper ? kLinkShareHopper : kLinkShareUpToAmpere);
  const double budget =
      in_gigabytes_per_second(link_bandwidth) * share / static_cast<double>(heads);
  const auto& speeds = blackwell ? kSpeedsBlackwell : (hopper ? kSpeedsHopper : kSpeedsVolta);
  for (const double speed : speeds) {
    if (speed <= budget) {
      return gigabytes_per_second(speed);
    }
  }
  return gigabytes_per_second(budget);
}

}  // namespace orrery::cost
