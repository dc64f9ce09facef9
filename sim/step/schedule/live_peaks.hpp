#pragma once

// Candidate moments of peak memory on a device: those of its list that no other moment exceeds.
//
// A moment exceeds another when it holds as many of every chunk, the gradients of every chunk, and
// runs a backward of the same chunk (or the other is a forward, which needs less). Whatever the
// chunks weigh, the peak is at one of the moments listed here.
//
// Megatron-Core merges a forward with a backward layer by layer (interleaved_combined): each layer
// of the one frees its activations as a layer of the other makes its own, so that the two together
// hold one micro-batch and one layer. Source: TransformerModelChunkSchedulePlan.run in
// megatron/core/models/common/model_chunk_schedule_plan.py, NVIDIA/Megatron-LM 01cf4fb55.
//
// In the steady state the moments repeat: as_few_micro_batches gives a request with as few
// micro-batches as show them all.

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/step/schedule/schedule.hpp"

namespace orrery::schedule {

struct LiveMoment {
  std::vector<std::int32_t> live;     // micro-batches in flight, by chunk of the device
  std::optional<std::int16_t> chunk;  // that runs backward then; absent: a forward
  std::vector<bool> gradients;        // by chunk: between its first backward and last release
  // Whose forward is merged with that backward: one layer of it is there beside `live`.
  std::optional<std::int16_t> ahead = {};

  friend bool operator==(const LiveMoment&, const LiveMoment&) = default;
};

struct LivePeaks {
  std::vector<std::vector<LiveMoment>> devices;
  std::vector<bool> covered;  // by device: the one before has a moment above each of its own
};

[[nodiscard]] LivePeaks live_peaks(const Schedule& schedule);

[[nodiscard]] ScheduleRequest as_few_micro_batches(const ScheduleRequest& request);

}  // namespace orrery::schedule
