#pragma once

// A 64-bit hash over the popped events, to check that two runs processed the same ones in order.
//
//   h_0 = 0,  h_{i+1} = mix(mix(h_i + time_i) + priority_i * 2^32 + payload_i + 2^63)
//
// mix is the finaliser of SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number
// Generators", OOPSLA 2014), a bijection of 64-bit words: a single changed event always changes the
// value, a change of order does so but for one case in 2^64. Print it after a run and keep it in a
// test: it catches any reordering at the cost of a few nanoseconds per event.

#include <cstdint>

#include "sim/step/engine/event_queue.hpp"

namespace orrery::engine {

class EventFingerprint {
 public:
  void add(const Event& event) {
    constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;
    constexpr unsigned kPriorityShift = 32;
    value_ = mix(value_ + static_cast<std::uint64_t>(event.time.ns));
    value_ =
        mix(value_ + kPresent + (std::uint64_t{event.priority} << kPriorityShift) + event.payload);
  }

  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  static constexpr std::uint64_t mix(std::uint64_t word) {
    word = (word ^ (word >> 30U)) * 0xbf58476d1ce4e5b9U;
    word = (word ^ (word >> 27U)) * 0x94d049bb133111ebU;
    return word ^ (word >> 31U);
  }

  std::uint64_t value_ = 0;
};

}  // namespace orrery::engine
