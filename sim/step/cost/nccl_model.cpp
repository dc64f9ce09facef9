#include "sim/step/cost/nccl_model.hpp"

#include <array>

#include "sim/base/check.hpp"
#include "sim/step/cost/nccl_algorithms.hpp"

namespace orrery::cost {

namespace {

using hardware::GpuArch;
using model::CollectiveKind;

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
