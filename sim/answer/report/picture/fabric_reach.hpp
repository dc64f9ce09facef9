#pragma once

// How far communication goes in the network: what one GPU sends in a step, by the least part of the
// machine that holds the group that it sends to.
//
//   bytes(place, axis) = sum of the bytes of its collectives and messages that reach so far
//                        / pipeline devices
//
// A collective over the blocks of a tier crosses their uplinks with a part of its bytes alone, so a
// row is how much belongs to groups that reach so far, not the load of a link; that is in
// step/simulate/shared_links, for `cluster.network.detail: flows`.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/answer/report/evaluation.hpp"
#include "sim/answer/report/table.hpp"
#include "sim/step/simulate/operations/operation_timeline.hpp"
#include "sim/step/simulate/shared_links/step_network.hpp"

namespace orrery::report {

// Tensor, context, expert, pipeline, data: the streams of operations that communicate.
inline constexpr std::size_t kFabricTraffic = 5;

[[nodiscard]] constexpr std::string_view traffic_name(std::size_t traffic) {
  return step::kOperationStreamNames[traffic + 1];  // after compute
}

struct FabricPlace {
  std::string name;               // "node or NVLink domain", "rack, 16 nodes", "above them"
  std::int64_t nodes = 1;         // that it holds, at most those of the job
  double oversubscription = 1.0;  // of the uplinks below it, all tiers together
  std::array<Bytes, kFabricTraffic> sent{};
};

// From a node outwards, as far as the job extends; empty without a timeline of operations or with a
// single GPU.
[[nodiscard]] std::vector<FabricPlace> fabric_reach(const Evaluation& evaluation);

// Nodes that a place holds together, from `begin` to before `end`.
struct FabricBlock {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::string name;  // "nodes 1,920 to 2,047"
};

// Of a job of so many nodes; small blocks are taken together, so that there are 512 at most.
[[nodiscard]] std::vector<FabricBlock> fabric_blocks(const FabricPlace& place, std::int64_t nodes);

// "Data communication crosses uplinks of 1:7."; empty where all uplinks that the farthest kinds
// cross are as wide as what is below them.
[[nodiscard]] std::string fabric_sentence(const std::vector<FabricPlace>& places);

// Of a link from `from` to `to`, of which the step has all: the integral of its load / (to - from).
[[nodiscard]] double mean_load(const step::SharedLink& link, SimTime from, SimTime to);

// A row for each place and kind of communication that ends there.
[[nodiscard]] Table fabric_table(const Evaluation& evaluation);

}  // namespace orrery::report
