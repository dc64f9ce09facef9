#pragma once

// A writer for the list of one device, with the counters that the definitions of schedules use: the
// next forward, backward and weight gradient of every chunk.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "sim/step/schedule/schedule.hpp"

namespace orrery::schedule {

class ListWriter {
 public:
  explicit ListWriter(int chunks) : counters_(static_cast<std::size_t>(chunks)) {}

  void forward(int chunk) { add(OpKind::forward, chunk, at(chunk).forward++); }

  void backward(int chunk) { add(OpKind::backward, chunk, at(chunk).backward++); }

  // The input part only; its weight part is owed.
  void backward_input(int chunk) {
    owed_.push_back({OpKind::backward_weight, false, small(chunk), at(chunk).backward});
    add(OpKind::backward_input, chunk, at(chunk).backward++);
  }

  // The oldest weight gradient that is owed, of any chunk. At least one must be.
  void backward_weight();

  // The oldest weight gradient that is owed by this chunk. At least one must be.
  void backward_weight(int chunk);

  // One step: the next forward of one chunk together with the next full backward of another.
  void overlapped(int forward_chunk, int backward_chunk) {
    forward(forward_chunk);
    list_.back().with_next = true;
    backward(backward_chunk);
  }

  [[nodiscard]] int forwards(int chunk) { return at(chunk).forward; }

  // Weight gradients that are owed, of all chunks and of one.
  [[nodiscard]] std::size_t owed() const { return owed_.size(); }

  [[nodiscard]] std::size_t owed(int chunk) const;

  [[nodiscard]] std::vector<PipelineOp> take() { return std::move(list_); }

 private:
  struct Counters {
    std::int32_t forward = 0;
    std::int32_t backward = 0;
  };

  [[nodiscard]] static std::int16_t small(int chunk) { return static_cast<std::int16_t>(chunk); }

  [[nodiscard]] Counters& at(int chunk) { return counters_[static_cast<std::size_t>(chunk)]; }

  void add(OpKind kind, int chunk, std::int32_t micro_batch) {
    list_.push_back({kind, false, small(chunk), micro_batch});
  }

  std::vector<PipelineOp> list_;
  std::vector<Counters> counters_;
  std::vector<PipelineOp> owed_;  // oldest first
};

// Chunk and micro-batch of the k-th forward or backward of a device.
struct Pass {
  int chunk = 0;
  int micro_batch = 0;
};

// The frame of 1F1B: `warm_up` forwards, then one forward and one backward in turn (as one
// overlapped step each if `overlapped`), then the remaining backwards; `passes` of each.
[[nodiscard]] std::vector<PipelineOp> alternate(int passes, int warm_up, bool overlapped,
                                                const std::function<Pass(int)>& forward,
                                                const std::function<Pass(int)>& backward);

}  // namespace orrery::schedule
