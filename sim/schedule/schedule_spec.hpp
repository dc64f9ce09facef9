#pragma once

// Which pipeline schedule runs, and how do its messages travel? The names of the choices.
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
  eager_1f1b
};

inline constexpr std::size_t kScheduleKinds = 12;

// By ScheduleKind, as scenarios write them.
inline constexpr std::array<std::string_view, kScheduleKinds> kScheduleNames = {
    "none",
    "gpipe",
    "1f1b",
    "interleaved",
    "looped_bfs",
    "zb-h1",
    "zb-h2",
    "zb-v",
    "dualpipe",
    "dualpipev",
    "interleaved_combined",
    "eager_1f1b"};

[[nodiscard]] constexpr std::string_view to_string(ScheduleKind kind) {
  return kScheduleNames[static_cast<std::size_t>(kind)];
}

// Whether it runs a forward and a backward as one step, to hide all-to-all behind compute.
[[nodiscard]] constexpr bool has_combined_steps(ScheduleKind kind) {
  return kind == ScheduleKind::dualpipe || kind == ScheduleKind::dualpipev ||
         kind == ScheduleKind::interleaved_combined;
}

enum class P2pMode : std::uint8_t { none, latency, link, occupying, rendezvous, rendezvous_fused };

inline constexpr std::array<std::string_view, 6> kP2pModeNames = {
    "none", "latency", "link", "occupying", "rendezvous", "rendezvous_fused"};

[[nodiscard]] constexpr std::string_view to_string(P2pMode mode) {
  return kP2pModeNames[static_cast<std::size_t>(mode)];
}

// rendezvous_fused is defined for schedules whose steady state alternates F and B of one chunk, and
// trivially for those without a steady state.
[[nodiscard]] constexpr bool p2p_mode_applies(P2pMode mode, ScheduleKind kind) {
  return mode != P2pMode::rendezvous_fused || kind == ScheduleKind::none ||
         kind == ScheduleKind::gpipe || kind == ScheduleKind::one_f_one_b ||
         kind == ScheduleKind::eager_1f1b;
}

// In which order a flush runs its backwards: as the forwards, or the last first.
enum class BackwardOrder : std::uint8_t { fifo, lifo };

}  // namespace orrery::schedule
