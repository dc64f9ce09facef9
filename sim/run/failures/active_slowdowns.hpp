#pragma once

// The slowdowns in progress, of which the worst decides how much slower the job is than planned.
//
// symbol | meaning                                                       | unit | origin
// -------|---------------------------------------------------------------|------|--------------
// factor | of the step time                                              | 1    | drawn
// index  | into FailurePlan::slowdowns                                   | -    | plan
// id     | names a slowdown from its begin to its end, then another one  | -    | slot
//
// A slow node holds the whole job up, so of several at a time the worst one counts. A heap of which
// ended ones are dropped when they come to its top, or are the most of it: O(log n) amortised per
// begin and end of n in progress, so that a million nodes with thousands of slow ones are no reason
// to wait.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/base/check.hpp"

namespace orrery::run {

class ActiveSlowdowns {
 public:
  void clear() {
    slots_.clear();
    free_.clear();
    heap_.clear();
  }

  // The id of a slowdown that begins.
  std::uint32_t begin(double factor, std::int32_t index) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(slots_.size()));
      slots_.emplace_back();
    }
    const std::uint32_t id = free_.back();
    free_.pop_back();
    Slot& slot = slots_[id];
    slot.index = index;
    slot.active = true;
    drop_ended();
    heap_.push_back({factor, id, slot.use});
    std::push_heap(heap_.begin(), heap_.end(), milder);
    return id;
  }

  void end(std::uint32_t id) {
    Slot& slot = slot_of(id);
    slot.active = false;
    ++slot.use;
    free_.push_back(id);
  }

  [[nodiscard]] std::int32_t index_of(std::uint32_t id) {
    return slot_of(id).index;
  }

  // The largest factor in progress, at least 1.
  [[nodiscard]] double worst() {
    while (!heap_.empty() && has_ended(heap_.front())) {
      std::pop_heap(heap_.begin(), heap_.end(), milder);
      heap_.pop_back();
    }
    return heap_.empty() ? 1.0 : std::max(1.0, heap_.front().factor);
  }

 private:
  struct Slot {
    std::int32_t index = 0;
    std::uint32_t use = 0;  // slowdowns that had this id before
    bool active = false;
  };

  struct Entry {
    double factor = 1.0;
    std::uint32_t id = 0;
    std::uint32_t use = 0;
  };

  static bool milder(const Entry& a, const Entry& b) {
    return a.factor < b.factor;
  }

  [[nodiscard]] bool has_ended(const Entry& entry) const {
    return slots_[entry.id].use != entry.use;
  }

  void drop_ended() {
    constexpr std::size_t kFew = 64;
    if (heap_.size() > kFew + 2 * (slots_.size() - free_.size())) {
      std::erase_if(heap_, [this](const Entry& entry) { return has_ended(entry); });
      std::make_heap(heap_.begin(), heap_.end(), milder);
    }
  }

  Slot& slot_of(std::uint32_t id) {
    ORRERY_CHECK(id < slots_.size() && slots_[id].active, "no slowdown {} is in progress", id);
    return slots_[id];
  }

  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::vector<Entry> heap_;  // the worst first; those that have ended go when they come first
};

}  // namespace orrery::run
