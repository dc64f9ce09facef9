#pragma once

// Kinds of pipeline schedules, their properties, and the modes in which their messages travel.
//
// P2pMode          | when a message from one device to another counts as delivered
// -----------------|-----------------------------------------------------------------------------
// none             | at once: textbook schedules
// latency          | t after its producer ended; devices never busy (prefetched receive)
// link             | as latency, but a directed pair of devices carries one message at a time
// occupying        | the sender copies for t right after producing; the receiver is free
// rendezvous       | one blocking transfer after another; both sides are blocked while it lasts
// rendezvous_fused | as rendezvous, but the steady state of 1F1B groups a send with the next
//                  | receive (Megatron-LM, non-interleaved)
//
// Source of the modes: Megatron-LM megatron/core/pipeline_parallel (schedules.py and
// p2p_communication.py, revision d98e8a64), described in docs/schedules.md.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/step/layout/layout_rules.hpp"

namespace orrery::schedule {

enum class ScheduleKind : std::uint8_t {
  none,
  gpipe,
  one_f_one_b,
  interleaved,
  looped_bfs,
  zb_h1,
  zb_h2,
  zb_v,
  dualpipe,
  dualpipev,
  interleaved_combined,
  eager_1f1b,
  pipedream,
  pipedream_2bw
};

// Chunks per device that a schedule runs.
enum class Chunks : std::uint8_t { one, two, two_or_more, any };

// What is to be known of a schedule beside its lists.
struct ScheduleTraits {
  std::string_view name;  // as scenarios write it
  std::string_view summary;
  Chunks chunks = Chunks::one;
  layout::StagePlacement placement = layout::StagePlacement::loop;
  bool fills = false;     // the first task of device d is behind chunk 0 of the devices before it
  bool drains = false;    // the last one is ahead of them
  bool combines = false;  // runs a forward and a backward as one step, to hide all-to-all
  bool stale = false;     // no flush: the next step begins with older weights
  bool fuses = false;     // F and B of one chunk in turn, or no steady state: rendezvous_fused
};

// By ScheduleKind.
inline constexpr auto kScheduleTraits = std::to_array<ScheduleTraits>({
    {.name = "none",
     .summary = "one device, micro-batch after micro-batch",
     .fills = true,
     .drains = true,
     .fuses = true},
    {.name = "gpipe",
     .summary = "all forwards, then all backwards",
     .fills = true,
     .drains = true,
     .fuses = true},
    {.name = "1f1b",
     .summary =
         "one forward, one backward in turn after a short warm-up (PipeDream-flush, Megatron-LM)",
     .fills = true,
     .drains = true,
     .fuses = true},
    {.name = "interleaved",
     .summary = "1F1B over several chunks per device, depth first (Megatron-LM)",
     .chunks = Chunks::two_or_more,
     .fills = true,
     .drains = true},
    {.name = "looped_bfs",
     .summary = "all micro-batches through one chunk after the other, breadth first",
     .chunks = Chunks::any,
     .fills = true,
     .drains = true},
    {.name = "zb-h1",
     .summary = "1F1B with split backward, weight gradients fill the drain; memory of 1F1B",
     .fills = true},
    {.name = "zb-h2",
     .summary = "as zb-h1 with twice the warm-up: less bubble, twice the memory",
     .fills = true},
    {.name = "zb-v",
     .summary = "split backward over two chunks per device that turn at the last device",
     .chunks = Chunks::two,
     .placement = layout::StagePlacement::vee,
     .fills = true},
    {.name = "dualpipe",
     .summary =
         "two pipelines in opposite directions, forward and backward overlapped (DeepSeek-V3)",
     .chunks = Chunks::two,
     .placement = layout::StagePlacement::bidirectional,
     .combines = true},
    {.name = "dualpipev",
     .summary = "DualPipe folded onto half the devices: two chunks that turn at the last device",
     .chunks = Chunks::two,
     .placement = layout::StagePlacement::vee,
     .combines = true},
    {.name = "interleaved_combined",
     .summary =
         "interleaved with forward and backward merged to hide expert all-to-all (Megatron-LM)",
     .chunks = Chunks::two_or_more,
     .fills = true,
     .drains = true,
     .combines = true},
    {.name = "eager_1f1b",
     .summary = "1F1B with twice the warm-up, which hides the latency of messages",
     .fills = true,
     .drains = true,
     .fuses = true},
    {.name = "pipedream",
     .summary =
         "1F1B without a flush: no bubble, a version of the weights per micro-batch in flight",
     .stale = true},
    {.name = "pipedream-2bw",
     .summary = "1F1B without a flush: no bubble, two versions of the weights, one step old",
     .stale = true},
});

inline constexpr std::size_t kScheduleKinds = kScheduleTraits.size();

[[nodiscard]] constexpr const ScheduleTraits& traits_of(ScheduleKind kind) {
  return kScheduleTraits[static_cast<std::size_t>(kind)];
}

inline constexpr std::array<std::string_view, kScheduleKinds> kScheduleNames = [] {
  std::array<std::string_view, kScheduleKinds> names;
  for (std::size_t i = 0; i < kScheduleKinds; ++i) {
    names[i] = kScheduleTraits[i].name;
  }
  return names;
}();

[[nodiscard]] constexpr std::string_view to_string(ScheduleKind kind) {
  return traits_of(kind).name;
}

// Versions of its weights that a device keeps. Of n micro-batches in flight the oldest began before
// (n - 1) / m updates, rounded up (PipeDream: m = 1); PipeDream-2BW keeps two everywhere.
[[nodiscard]] constexpr std::int64_t weight_versions(ScheduleKind kind, std::int64_t in_flight,
                                                     std::int64_t micro_batches) {
  if (kind == ScheduleKind::pipedream) {
    return 1 + (in_flight - 1 + micro_batches - 1) / micro_batches;
  }
  return kind == ScheduleKind::pipedream_2bw ? 2 : 1;
}

// Combined steps need no second chunk where there is no pipeline.
[[nodiscard]] constexpr bool runs_chunks(ScheduleKind kind, std::int64_t chunks,
                                         std::int64_t devices) {
  const ScheduleTraits& traits = traits_of(kind);
  switch (traits.chunks) {
    case Chunks::one:
      return chunks == 1;
    case Chunks::two:
      return chunks == 2;
    case Chunks::two_or_more:
      return chunks >= 2 || (traits.combines && devices == 1);
    case Chunks::any:
      break;
  }
  return true;
}

enum class P2pMode : std::uint8_t { none, latency, link, occupying, rendezvous, rendezvous_fused };

inline constexpr std::array<std::string_view, 6> kP2pModeNames = {
    "none", "latency", "link", "occupying", "rendezvous", "rendezvous_fused"};

[[nodiscard]] constexpr std::string_view to_string(P2pMode mode) {
  return kP2pModeNames[static_cast<std::size_t>(mode)];
}

[[nodiscard]] constexpr bool p2p_mode_applies(P2pMode mode, ScheduleKind kind) {
  return mode != P2pMode::rendezvous_fused || traits_of(kind).fuses;
}

// In which order a flush runs its backwards: as the forwards, or the last first.
enum class BackwardOrder : std::uint8_t { fifo, lifo };

}  // namespace orrery::schedule
