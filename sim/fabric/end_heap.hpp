#pragma once

// A priority queue of the ends of flows, with one entry per flow whose time can be changed.
//
// A 4-ary implicit heap ordered by (time, flow), with the place of every flow beside it. Engine's
// EventQueue cannot move an entry, and nearly every solve moves some.
//
// Complexity: set and erase O(log4 n), top O(1).

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/base/sim_time.hpp"
#include "sim/fabric/flow.hpp"

namespace orrery::fabric {

class EndHeap {
 public:
  struct End {
    SimTime time;
    FlowId flow;

    friend constexpr auto operator<=>(const End& a, const End& b) = default;
  };

  [[nodiscard]] bool empty() const {
    return ends_.empty();
  }

  [[nodiscard]] const End& top() const {
    return ends_.front();
  }

  void set(FlowId flow, SimTime time) {
    if (places_.size() <= flow.index()) {
      places_.resize(flow.index() + 1, kAbsent);
    }
    std::size_t place = places_[flow.index()];
    if (place == kAbsent) {
      place = ends_.size();
      ends_.emplace_back();
    }
    move(place, {time, flow});
  }

  void erase(FlowId flow) {
    if (places_.size() <= flow.index() || places_[flow.index()] == kAbsent) {
      return;
    }
    const std::size_t place = places_[flow.index()];
    places_[flow.index()] = kAbsent;
    const End last = ends_.back();
    ends_.pop_back();
    if (place < ends_.size()) {
      move(place, last);
    }
  }

 private:
  static constexpr std::size_t kArity = 4;
  static constexpr std::uint32_t kAbsent = UINT32_MAX;

  void put(std::size_t place, const End& end) {
    ends_[place] = end;
    places_[end.flow.index()] = static_cast<std::uint32_t>(place);
  }

  // Writes `end` where it belongs, given that only `place` is free.
  void move(std::size_t place, const End& end) {
    while (place > 0 && end < ends_[(place - 1) / kArity]) {
      put(place, ends_[(place - 1) / kArity]);
      place = (place - 1) / kArity;
    }
    for (std::size_t child = kArity * place + 1; child < ends_.size(); child = kArity * place + 1) {
      std::size_t least = child;
      for (std::size_t i = child + 1; i < child + kArity && i < ends_.size(); ++i) {
        least = ends_[i] < ends_[least] ? i : least;
      }
      if (!(ends_[least] < end)) {
        break;
      }
      put(place, ends_[least]);
      place = least;
    }
    put(place, end);
  }

  std::vector<End> ends_;
  std::vector<std::uint32_t> places_;
};

}  // namespace orrery::fabric
