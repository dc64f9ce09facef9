#pragma once

// How the flows of a step shared links: what it cost, who lost to whom, and on which links.
//
//   lost(f)    = integral over the life of f of (1 - rate / bound) dt
//   culprits   = flows on the bottleneck of f, in proportion to weight x rate; f itself where there
//                is no other: then the link is too narrow for it alone
//   load(link) = bytes over it / (capacity x step time)
//
// symbol | meaning                                                     | unit   | origin
// -------|-------------------------------------------------------------|--------|----------
// bound  | what the flow reaches with links of its own                 | byte/s | cost_model.hpp
// lost   | of all flows of a kind on all pipeline devices: flow seconds,| s     | computed
//        | not seconds of the step, since much of it is hidden          |       |
//
// Rows of the matrix and losses by link add up to the same sum.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/sim_time.hpp"
#include "sim/base/units.hpp"

namespace orrery::step {

// Why bytes cross the network: collectives inside passes, messages of the pipeline, gradients and
// parameters of the replicas.
enum class Traffic : std::uint8_t { passes, messages, data, count_ };

inline constexpr std::size_t kTraffics = static_cast<std::size_t>(Traffic::count_);

inline constexpr std::array<std::string_view, kTraffics> kTrafficNames = {"passes", "pipeline",
                                                                          "data"};

// What flows put on a link from a moment on, as a share of its rate.
struct LinkLoad {
  SimTime from;
  double load = 0.0;
};

// Links that all flows load alike, shown by one of them.
struct SharedLink {
  std::string name;
  std::size_t alike = 1;                  // links that it stands for
  double load = 0.0;                      // mean share of its capacity over the step
  std::array<Seconds, kTraffics> lost{};  // by who lost it
  std::vector<LinkLoad> over_time{};      // with the timeline of the step only

  [[nodiscard]] Seconds total() const { return lost[0] + lost[1] + lost[2]; }
};

struct StepNetwork {
  SimTime sharing;  // what the step takes longer than if no flow met another
  std::int64_t flows = 0;
  std::array<std::array<Seconds, kTraffics + 1>, kTraffics> lost{};  // [victim][culprit], the link
  std::vector<SharedLink> links;  // those that cost something, the dearest first
};

}  // namespace orrery::step
