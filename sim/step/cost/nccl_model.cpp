#include "sim/step/cost/nccl_model.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "sim/base/check.hpp"

namespace orrery::cost {

namespace {

using hardware::GpuArch;
using model::CollectiveKind;

// Caps in GB/s of NVIDIA/nccl v2.28.9, src/graph/tuning.cc, by number of nodes: one, two, more.
// CollNet is left out: it needs switches of the fabric that reduce.
using ByNodes = std::array<double, 3>;

struct ArchCaps {
  ByNodes ll_bandwidth;        // llMaxBw by GPU, used on one node
  ByNodes ring_ll128_channel;  // perChMaxRingLL128
  ByNodes tree_ll128_channel;  // perChMaxTreeLL128
  ByNodes tree_channel;        // perChMaxTree
  ByNodes nvls_tree_channel;   // perChMaxNVLSTree
  double nvls_efficiency;
};

constexpr ArchCaps kVolta = {{39.0, 39.0, 20.4}, {20.0, 20.0, 20.0}, {20.0, 20.0, 20.0},
                             {26.5, 18.5, 10.0}, {26.5, 18.5, 10.0}, 0.0};
constexpr ArchCaps kAmpere = {{87.7, 22.5, 19.0}, {20.0, 20.0, 20.0}, {20.0, 20.0, 20.0},
                              {24.0, 23.6, 17.8}, {24.0, 23.6, 17.8}, 0.0};
constexpr ArchCaps kHopper = {{141.0, 45.0, 35.0}, {36.7, 36.7, 36.7}, {36.7, 36.7, 29.0},
                              {38.7, 41.4, 36.0},  {0.0, 57.7, 45.5},  0.85};
constexpr ArchCaps kBlackwell = {{282.0, 90.0, 70.0}, {73.4, 34.6, 73.4}, {55.6, 31.67, 20.0},
                                 {70.0, 42.8, 24.0},  {0.0, 96.0, 43.8},  0.74};

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

constexpr double kNetOverhead = 1.0;  // us, hosts other than AMD x86
constexpr double kNetOverheadSimpleFactor = 3.0;
constexpr double kRingSimplePlateau = 1.4;  // run-time correction of the ring's latency
constexpr double kRingSimplePlateauBeforeAmpere = 1.9;
constexpr double kRingSimplePlateauBytes = 64.0;  // per channel and rank
constexpr double kNarrowTypePenalty = kKibi;      // 8-bit rings beyond 8 ranks (enqueue.cc)
constexpr std::int64_t kNarrowTypeRingRanks = 8;

bool is_all_reduce(const NcclCall& call) { return call.kind == CollectiveKind::all_reduce; }

bool gathers_or_scatters(const NcclCall& call) {
  return call.kind == CollectiveKind::all_gather || call.kind == CollectiveKind::reduce_scatter;
}

bool is_narrow(const NcclCall& call) {
  return call.dtype == model::Dtype::fp8 || call.dtype == model::Dtype::fp4;
}

// GB/s of the ring's channels: over the links of a node, or over its NICs.
double bus_of(const NcclCall& call) {
  return in_gigabytes_per_second(call.graph.nodes <= 2 ? call.graph.intra : call.graph.inter);
}

double ll_cap(const NcclCall& call) {
  const ByNodes& cap =
      call.node_index == 0 ? caps_of(call.graph.arch).ll_bandwidth : kLlBandwidthAcrossNodes;
  return cap[call.node_index];
}

double no_penalty(const NcclCall& /*call*/) { return 1.0; }

// Ring: every rank passes what it got to the next one.

bool ring_available(const NcclCall& /*call*/) { return true; }

double ring_bandwidth(const NcclCall& call) {
  const ArchCaps& caps = caps_of(call.graph.arch);
  double bus = bus_of(call);
  if (call.protocol == Protocol::ll) {
    bus = std::min(ll_cap(call), 0.5 * bus);
  } else if (call.protocol == Protocol::ll128) {
    bus = std::min(0.92 * bus, call.graph.ring_channels * caps.ring_ll128_channel[call.node_index]);
  }
  return bus * (call.ranks / call.steps);
}

double ring_latency(const NcclCall& call, double base, const NcclHop& hop) {
  if (call.kind == CollectiveKind::broadcast) {  // sameChannels: one pipelined step
    return base + (call.nodes > 1.0 ? hop.inter : hop.intra);
  }
  const double crossings = is_all_reduce(call) ? 2.0 * (call.nodes - 1.0) : call.nodes - 1.0;
  double overhead = call.nodes > 1.0 ? kNetOverhead : 0.0;
  if (call.protocol == Protocol::simple) {
    overhead *= kNetOverheadSimpleFactor;
  }
  const double latency =
      base + ((call.steps - crossings) * std::max(hop.intra, overhead) + crossings * hop.inter);
  const bool plateau =
      is_all_reduce(call) && call.protocol == Protocol::simple && call.graph.nodes > 1 &&
      call.size / (call.graph.ring_channels * call.ranks) >= kRingSimplePlateauBytes;
  if (!plateau) {
    return latency;
  }
  return latency *
         (call.graph.arch == GpuArch::volta ? kRingSimplePlateauBeforeAmpere : kRingSimplePlateau);
}

double ring_penalty(const NcclCall& call) {
  return is_narrow(call) && is_all_reduce(call) && call.graph.ranks > kNarrowTypeRingRanks
             ? kNarrowTypePenalty
             : 1.0;
}

std::string_view ring_reason(Protocol protocol, const NcclGraph& graph) {
  if (protocol == Protocol::simple) {
    return "bandwidth-optimal at this size";
  }
  return graph.nodes == 1 ? "low latency inside a node" : "low latency at this size";
}

// Tree: two binary trees over the nodes, a chain inside each.

double tree_correction(const NcclCall& call) {
  const double units = call.size / 64.0;
  if (units < 1.0) {
    return 1.0;
  }
  const auto step = static_cast<std::size_t>(std::ilogb(units));
  return step < kTreeCorrections ? kTreeCorrection[static_cast<std::size_t>(call.protocol)][step]
                                 : 1.0;
}

double tree_bandwidth(const NcclCall& call) {
  const ArchCaps& caps = caps_of(call.graph.arch);
  double tree =
      std::min(0.92 * bus_of(call), call.graph.ring_channels * caps.tree_channel[call.node_index]);
  if (call.protocol == Protocol::ll) {
    tree = std::min(tree / 3.8, ll_cap(call));
  } else if (call.protocol == Protocol::ll128) {
    tree = std::min(tree * (call.node_index == 0 ? 7.0 / 9.0 : 120.0 / 128.0),
                    call.graph.ring_channels * caps.tree_ll128_channel[call.node_index]);
  }
  return tree * 0.5 * tree_correction(call);
}

double tree_latency(const NcclCall& call, double base, const NcclHop& hop) {
  return base + 2.0 * ((call.ranks_per_node - 1.0) * hop.intra + call.log2_nodes * hop.inter);
}

std::string_view tree_reason(Protocol /*protocol*/, const NcclGraph& /*graph*/) {
  return "few steps beat the ring's bandwidth at this size";
}

// NVLS and NVLSTree: the NVLink switches add. They do not add 8-bit floats.

bool switches_add(const NcclCall& call) {
  return call.graph.nvls && call.graph.nvls_heads >= 2.0 && call.protocol == Protocol::simple &&
         !(is_narrow(call) && is_all_reduce(call));
}

bool nvls_available(const NcclCall& call) {  // across nodes it needs CollNet
  return (is_all_reduce(call) || gathers_or_scatters(call)) && switches_add(call) &&
         (call.graph.nodes == 1 || call.graph.sharp);
}

bool nvls_tree_available(const NcclCall& call) {
  return is_all_reduce(call) && switches_add(call) && call.graph.nodes > 1;
}

// Of one of the heads, GB/s, before the NICs.
double nvls_channel(const NcclCall& call) {
  const double heads = call.graph.nvls_heads;
  const double speed = in_gigabytes_per_second(call.graph.nvls_speed);
  const double channel = speed * caps_of(call.graph.arch).nvls_efficiency * (heads - 1.0) / heads;
  return channel * (is_all_reduce(call) ? 2.0 : (call.ranks_per_node - 1.0) / call.ranks_per_node);
}

double nvls_total(const NcclCall& call, double channel) {
  return call.graph.nvls_heads * channel * (is_all_reduce(call) ? call.ranks / call.steps : 1.0);
}

double nvls_bandwidth(const NcclCall& call) {
  const double channel = nvls_channel(call);
  const double inter = in_gigabytes_per_second(call.graph.inter) / call.graph.nvls_heads;
  return nvls_total(call, call.node_index > 0 ? std::min(channel, inter) : channel);
}

double nvls_tree_bandwidth(const NcclCall& call) {
  const double inter = in_gigabytes_per_second(call.graph.inter) / call.graph.nvls_heads;
  return nvls_total(call, std::min({nvls_channel(call), call.node_index == 1 ? 2.0 * inter : inter,
                                    caps_of(call.graph.arch).nvls_tree_channel[call.node_index]}));
}

double nvls_latency(const NcclCall& call, double /*base*/, const NcclHop& hop) {
  return hop.intra + (call.nodes > 1.0 ? hop.inter : 0.0);
}

double nvls_tree_latency(const NcclCall& call, double /*base*/, const NcclHop& hop) {
  return hop.intra + 2.0 * call.log2_nodes * hop.inter;
}

std::string_view nvls_reason(Protocol /*protocol*/, const NcclGraph& /*graph*/) {
  return "the NVLink switches reduce, each byte crosses a link once";
}

std::string_view nvls_tree_reason(Protocol /*protocol*/, const NcclGraph& /*graph*/) {
  return "the NVLink switches reduce inside a node, a tree joins the nodes";
}

// PAT: parallel aggregated trees, one rank per node.

bool pat_available(const NcclCall& call) {
  return gathers_or_scatters(call) && call.graph.nodes == call.graph.ranks &&
         call.graph.nodes > 1 && call.protocol == Protocol::simple;
}

double pat_bandwidth(const NcclCall& call) { return 0.75 * bus_of(call); }

double pat_latency(const NcclCall& call, double base, const NcclHop& hop) {
  return base + call.log2_nodes * hop.inter / 3.5 + 2.8 * call.ranks;
}

std::string_view pat_reason(Protocol /*protocol*/, const NcclGraph& /*graph*/) {
  return "one rank per node: logarithmic steps";
}

// In NCCL's order: of two that take as long, the first one is chosen. Latencies by protocol LL,
// LL128, Simple; the base of NVLS is the latency of its hop.
constexpr auto kRows = std::to_array<NcclAlgorithm>({
    {.algorithm = Algorithm::ring,
     .name = "ring",
     .in_switches = false,
     .tree = false,
     .discount = 1.0,
     .base_latency = {6.6, 14.0, 8.4},
     .nvlink = {0.6, 1.9, 3.4},
     .pci = {1.0, 2.5, 5.7},
     .net = {2.7, 4.0, 14.0},
     .available = ring_available,
     .bandwidth = ring_bandwidth,
     .latency = ring_latency,
     .penalty = ring_penalty,
     .reason = ring_reason},
    {.algorithm = Algorithm::tree,
     .name = "tree",
     .in_switches = false,
     .tree = true,
     .discount = 0.92,
     .base_latency = {6.8, 14.0, 8.4},
     .nvlink = {0.6, 1.25, 4.0},
     .pci = {1.0, 1.9, 4.0},
     .net = {5.0, 8.5, 14.0},
     .available = is_all_reduce,
     .bandwidth = tree_bandwidth,
     .latency = tree_latency,
     .penalty = no_penalty,
     .reason = tree_reason},
    {.algorithm = Algorithm::nvls,
     .name = "NVLS",
     .in_switches = true,
     .tree = false,
     .discount = 1.0,
     .base_latency = {},
     .nvlink = {0.0, 0.0, 25.0},
     .pci = {},
     .net = {0.0, 0.0, 18.0},
     .available = nvls_available,
     .bandwidth = nvls_bandwidth,
     .latency = nvls_latency,
     .penalty = no_penalty,
     .reason = nvls_reason},
    {.algorithm = Algorithm::nvls_tree,
     .name = "NVLSTree",
     .in_switches = true,
     .tree = true,
     .discount = 1.0,
     .base_latency = {},
     .nvlink = {0.0, 0.0, 25.0},
     .pci = {},
     .net = {0.0, 0.0, 20.9},
     .available = nvls_tree_available,
     .bandwidth = nvls_tree_bandwidth,
     .latency = nvls_tree_latency,
     .penalty = no_penalty,
     .reason = nvls_tree_reason},
    {.algorithm = Algorithm::pat,
     .name = "PAT",
     .in_switches = false,
     .tree = false,
     .discount = 1.0,
     .base_latency = {8.0, 8.0, 8.0},
     .nvlink = {0.0, 0.0, 4.0},
     .pci = {0.0, 0.0, 4.0},
     .net = {0.0, 0.0, 14.0},
     .available = pat_available,
     .bandwidth = pat_bandwidth,
     .latency = pat_latency,
     .penalty = no_penalty,
     .reason = pat_reason},
});

}  // namespace

NcclCall::NcclCall(CollectiveKind asked, Protocol by, Bytes bytes, model::Dtype type,
                   const NcclGraph& on)
    : kind(asked),
      protocol(by),
      dtype(type),
      graph(on),
      size(in_bytes(bytes)),
      ranks(static_cast<double>(on.ranks)),
      nodes(static_cast<double>(on.nodes)),
      ranks_per_node(static_cast<double>(on.ranks_per_node)),
      log2_nodes(static_cast<double>(std::bit_width(static_cast<std::uint64_t>(on.nodes)) - 1)),
      steps(asked == CollectiveKind::all_reduce ? 2.0 * (ranks - 1.0)
            : gathers_or_scatters(*this)        ? ranks - 1.0
                                                : ranks),
      node_index(static_cast<std::size_t>(std::min<std::int64_t>(on.nodes, 3) - 1)) {}

std::span<const NcclAlgorithm> nccl_algorithms() { return kRows; }

const NcclAlgorithm& nccl_algorithm(Algorithm algorithm) {
  const auto* const row = std::ranges::find_if(
      kRows, [algorithm](const auto& known) { return known.algorithm == algorithm; });
  ORRERY_CHECK(row != kRows.end(), "NCCL has no entry for algorithm {}",
               static_cast<int>(algorithm));
  return *row;
}

namespace {

// Channel speeds that the topology search tries inside a node, fastest first (search.cc).
constexpr std::array<double, 9> kSpeedsVolta = {40.0, 30.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0};
constexpr std::array<double, 9> kSpeedsHopper = {60.0, 50.0, 40.0, 30.0, 24.0,
                                                 20.0, 15.0, 12.0, 11.0};
constexpr std::array<double, 9> kSpeedsBlackwell = {90.0, 80.0, 70.0, 60.0, 50.0,
                                                    45.0, 40.0, 30.0, 24.0};

// NCCL's GB/s of one NVLink against the data sheet's 25 GB/s (Volta to Hopper) and 50 GB/s.
constexpr double kLinkShareUpToAmpere = 20.0 / 25.0;
constexpr double kLinkShareHopper = 20.6 / 25.0;
constexpr double kLinkShareBlackwell = 40.1 / 50.0;

}  // namespace

std::string_view to_string(Algorithm algorithm) {
  return algorithm == Algorithm::direct ? "direct" : nccl_algorithm(algorithm).name;
}

std::string_view to_string(Protocol protocol) {
  constexpr std::array<std::string_view, kNcclProtocols> kNames = {"LL", "LL128", "Simple"};
  return kNames[static_cast<std::size_t>(protocol)];
}

std::optional<NcclEstimate> nccl_estimate(CollectiveKind kind, Algorithm algorithm,
                                          Protocol protocol, Bytes bytes, model::Dtype dtype,
                                          const NcclGraph& graph) {
  if (protocol == Protocol::ll128 && !graph.nvlink && graph.ranks_per_node > 1) {
    return std::nullopt;
  }
  const NcclAlgorithm& row = nccl_algorithm(algorithm);
  const NcclCall call(kind, protocol, bytes, dtype, graph);
  if (!row.available(call)) {
    return std::nullopt;
  }
  const double bandwidth = row.bandwidth(call);
  if (bandwidth <= 0.0) {
    return std::nullopt;
  }
  const auto p = static_cast<std::size_t>(protocol);
  const double flushes = protocol == Protocol::simple ? 2.0 : 1.0;
  const NcclAlgorithm& net = graph.ranks_per_node <= 1 ? nccl_algorithm(Algorithm::tree) : row;
  const NcclHop hop = {graph.nvlink ? row.nvlink[p] : row.pci[p],
                       net.net[p] + in_microseconds(graph.inter_latency) * flushes};
  NcclEstimate estimate{algorithm,
                        protocol,
                        microseconds(row.latency(call, row.base_latency[p], hop)),
                        gigabytes_per_second(bandwidth),
                        {}};
  estimate.time = (estimate.latency + bytes / estimate.bandwidth) * row.penalty(call);
  return estimate;
}

namespace {

std::optional<NcclEstimate> best_protocol(CollectiveKind kind, Algorithm algorithm, Bytes bytes,
                                          model::Dtype dtype, const NcclGraph& graph) {
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

NcclEstimate nccl_choice(CollectiveKind kind, Bytes bytes, model::Dtype dtype,
                         const NcclGraph& graph) {
  ORRERY_CHECK(graph.ranks >= 2 && graph.nodes >= 1,
               "a collective needs at least 2 ranks on 1 node, got {} on {}", graph.ranks,
               graph.nodes);
  std::optional<NcclEstimate> best;
  if (graph.forced != Algorithm::automatic) {
    best = best_protocol(kind, graph.forced, bytes, dtype, graph);
  }
  if (best) {
    return *best;
  }
  for (const NcclAlgorithm& row : nccl_algorithms()) {
    const auto entry = best_protocol(kind, row.algorithm, bytes, dtype, graph);
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
