#pragma once

// A deterministic priority queue of pending simulation events.
//
//   key = time * 2^65 + priority * 2^61 + sequence * 2^24 + payload
//                                                             (one unsigned 128-bit word)
//
// symbol   | meaning                                               | unit | origin
// ---------|-------------------------------------------------------|------|-----------------------
// time     | when the event happens, 63 bits, >= time last popped  | ns   | caller
// priority | order among events of equal time, 0 first, 4 bits     | -    | caller
// sequence | number of the push since clear(): FIFO at ties, 37 b  | -    | computed
// payload  | what the event is, opaque to the queue, 24 bits       | -    | caller
//
// Events leave in the order (time, priority, sequence), a total order: no two runs can differ. What
// a priority means is the client's business; the client documents its own enumeration (for example:
// failure before completion at the same nanosecond).
//
// Structure: a 4-ary implicit heap. Time, tie-break and payload are compared as one word, and the
// four children of a node share one 64-byte cache line, so a level of the heap costs one line; the
// least child is selected without branches, and the lines of a large heap are fetched ahead.
// Slots behind the last event hold the greatest key: a node with fewer than four children needs no
// special case. Events cannot be cancelled; keep a generation number and ignore the stale event.
//
// Complexity: push O(log4 n) worst and O(1) mean, pop and replace_top O(log4 n), 16 bytes per event
// (up to 32 after a growth). No allocation unless the queue grows beyond its largest size so far.
// Limits: 2^37 - 1 pushes between two clear(), 2^24 payloads, 16 priorities; each is checked.
//
// Example:
//   EventQueue queue;
//   queue.push(SimTime{5}, kFailure, node);
//   while (!queue.empty()) {
//     const Event event = queue.pop();
//   }

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/base/sim_time.hpp"

namespace orrery::engine {

struct Event {
  SimTime time;
  std::uint8_t priority = 0;
  std::uint32_t payload = 0;

  friend constexpr bool operator==(const Event& a, const Event& b) = default;
};

namespace detail {

__extension__ using EventKey = unsigned __int128;

inline constexpr unsigned kPayloadBits = 24;
inline constexpr unsigned kSequenceBits = 37;
inline constexpr unsigned kPriorityBits = 4;
inline constexpr unsigned kWordBits = 64;
inline constexpr EventKey kNoEventKey = ~EventKey{0};

// Explains which limit an event breaks and aborts; called only when one does.
[[noreturn]] void reject_event(const Event& event, std::uint64_t sequence, SimTime last_popped);

// Allocates at a multiple of a cache line, so that four siblings never straddle two lines.
template <typename T>
struct CacheLineAllocator {
  using value_type = T;  // NOLINT(readability-identifier-naming): allocators must have it
  static constexpr std::align_val_t kAlignment{64};

  CacheLineAllocator() = default;

  template <typename U>
  explicit CacheLineAllocator(const CacheLineAllocator<U>& /*other*/) {}

  [[nodiscard]] T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), kAlignment));
  }

  void deallocate(T* pointer, std::size_t /*count*/) { ::operator delete(pointer, kAlignment); }

  friend bool operator==(const CacheLineAllocator& /*a*/, const CacheLineAllocator& /*b*/) {
    return true;
  }
};

}  // namespace detail

class EventQueue {
 public:
  EventQueue() : slots_(kSmallestCapacity, detail::kNoEventKey) {}

  // Adds an event. Aborts when it lies before the last popped event or breaks a limit above.
  void push(SimTime time, std::uint8_t priority, std::uint32_t payload) {
    const Key key = make_key(time, priority, payload, last_popped_);
    if (end_ == slots_.size()) [[unlikely]] {
      grow(2 * slots_.size());
    }
    sift_up(end_++, key);
  }

  // Removes and returns the first event. Aborts on an empty queue.
  Event pop() {
    ORRERY_CHECK(!empty(), "pop() of an event queue without events");
    const Event event = unpack(slots_[kRoot]);
    last_popped_ = event.time;
    --end_;
    const Key last = slots_[end_];
    slots_[end_] = detail::kNoEventKey;
    if (end_ != kRoot) {
      sift_down(last);
    }
    return event;
  }

  // The first event, left in place. Aborts on an empty queue.
  [[nodiscard]] Event top() const {
    ORRERY_CHECK(!empty(), "top() of an event queue without events");
    return unpack(slots_[kRoot]);
  }

  // Same as pop() followed by push(), in one pass through the heap; returns the popped event.
  Event replace_top(SimTime time, std::uint8_t priority, std::uint32_t payload) {
    ORRERY_CHECK(!empty(), "replace_top() of an event queue without events");
    const Event event = unpack(slots_[kRoot]);
    const Key key = make_key(time, priority, payload, event.time);
    last_popped_ = event.time;
    sift_down(key);
    return event;
  }

  [[nodiscard]] bool empty() const { return end_ == kRoot; }

  [[nodiscard]] std::size_t size() const { return end_ - kRoot; }

  // Time of the last popped event, 0 before the first: nothing can be scheduled earlier.
  [[nodiscard]] SimTime now() const { return last_popped_; }

  // Forgets all events and starts again at time 0 and sequence 0; keeps the memory.
  void clear() {
    for (std::size_t slot = kRoot; slot < end_; ++slot) {
      slots_[slot] = detail::kNoEventKey;
    }
    end_ = kRoot;
    next_sequence_ = 0;
    last_popped_ = SimTime{};
  }

  // Makes room for `count` pending events.
  void reserve(std::size_t count) {
    const std::size_t groups = (count + kRoot + kArity - 1) / kArity;
    if (groups * kArity > slots_.size()) {
      grow(groups * kArity);
    }
  }

 private:
  using Key = detail::EventKey;

  // The root lies in slot 3; the children of slot i are the aligned group 4 i - 8 ... 4 i - 5, the
  // parent of slot i is i / 4 + 2. The number of slots stays a multiple of four.
  static constexpr std::size_t kArity = 4;
  static constexpr std::size_t kRoot = kArity - 1;
  static constexpr std::size_t kSmallestCapacity = 4 * kArity;
  static constexpr std::size_t kPrefetchFrom = std::size_t{1} << 15;  // 512 KiB of events

  Key make_key(SimTime time, std::uint8_t priority, std::uint32_t payload, SimTime earliest) {
    const std::uint64_t sequence = next_sequence_++;
    const std::uint64_t beyond = (std::uint64_t{priority} >> detail::kPriorityBits) |
                                 (std::uint64_t{payload} >> detail::kPayloadBits) |
                                 (next_sequence_ >> detail::kSequenceBits);
    if (time < earliest || beyond != 0) [[unlikely]] {
      detail::reject_event({time, priority, payload}, sequence, earliest);
    }
    constexpr unsigned kPriorityShift = detail::kSequenceBits + detail::kPayloadBits;
    constexpr unsigned kPriorityBitsInHigh =
        kPriorityShift + detail::kPriorityBits - detail::kWordBits;
    const auto ns = static_cast<std::uint64_t>(time.ns);
    const std::uint64_t high =
        (ns << kPriorityBitsInHigh) | (std::uint64_t{priority} >> (detail::kPriorityBits - 1));
    const std::uint64_t low =
        (std::uint64_t{priority} << kPriorityShift) | (sequence << detail::kPayloadBits) | payload;
    return (Key{high} << detail::kWordBits) | low;
  }

  static Event unpack(Key key) {
    constexpr unsigned kPriorityShift = detail::kSequenceBits + detail::kPayloadBits;
    constexpr unsigned kTimeShift = kPriorityShift + detail::kPriorityBits;
    constexpr unsigned kPriorityMask = (1U << detail::kPriorityBits) - 1;
    constexpr unsigned kPayloadMask = (1U << detail::kPayloadBits) - 1;
    return {.time = {static_cast<std::int64_t>(key >> kTimeShift)},
            .priority = static_cast<std::uint8_t>(static_cast<unsigned>(key >> kPriorityShift) &
                                                  kPriorityMask),
            .payload = static_cast<std::uint32_t>(key) & kPayloadMask};
  }

  void sift_up(std::size_t slot, Key key) {
    Key* const slots = slots_.data();
    while (slot != kRoot) {
      const std::size_t parent = slot / kArity + 2;
      if (slots[parent] < key) {
        break;
      }
      slots[slot] = slots[parent];
      slot = parent;
    }
    slots[slot] = key;
  }

  struct Candidate {
    Key key = 0;
    std::size_t slot = 0;
  };

  // A selection by arithmetic: compilers turn part of `second ? b : a` into a branch.
  static Candidate lesser(Candidate a, Candidate b) {
    const auto second = static_cast<std::uint64_t>(b.key < a.key);
    const std::uint64_t mask = 0 - second;
    const auto low = [](Key key) { return static_cast<std::uint64_t>(key); };
    const auto high = [](Key key) { return static_cast<std::uint64_t>(key >> detail::kWordBits); };
    const std::uint64_t least_low = low(a.key) ^ ((low(a.key) ^ low(b.key)) & mask);
    const std::uint64_t least_high = high(a.key) ^ ((high(a.key) ^ high(b.key)) & mask);
    return {(Key{least_high} << detail::kWordBits) | least_low,
            a.slot + ((b.slot - a.slot) & mask)};
  }

  // Without branches, whose outcome would be random.
  static Candidate least_sibling(const Key* slots, std::size_t first) {
    return lesser(lesser({slots[first], first}, {slots[first + 1], first + 1}),
                  lesser({slots[first + 2], first + 2}, {slots[first + 3], first + 3}));
  }

  // Lets `key` sink from the root, whose event has already been read.
  void sift_down(Key key) {
    if (end_ <= kArity + kArity) {
      sift_down_to_children(key);
    } else if (end_ <= kPrefetchFrom) {
      sift_down_from_root<false>(key);
    } else {
      sift_down_from_root<true>(key);
    }
  }

  // A handful of pending timers expire in a pattern that branches predict, and a predicted branch
  // does not wait for the compares as a selection does.
  void sift_down_to_children(Key key) {
    Key* const slots = slots_.data();
    std::size_t least = kRoot;
    Key least_key = key;
    for (std::size_t child = kArity; child < end_; ++child) {
      if (slots[child] < least_key) {
        least_key = slots[child];
        least = child;
      }
    }
    slots[kRoot] = least_key;
    if (least != kRoot) {
      slots[least] = key;
    }
  }

  // The loop branch is mostly taken: a new event is seldom among the next. In a heap that does not
  // fit the cache, all grandchildren are fetched while the least child is still being found.
  template <bool kPrefetch>
  [[gnu::noinline]] void sift_down_from_root(Key key) {
    Key* const slots = slots_.data();
    std::size_t slot = kRoot;
    for (std::size_t child = kArity; child < end_; child = kArity * slot - 2 * kArity) {
      if constexpr (kPrefetch) {
        const Key* const grandchildren = slots + std::min(kArity * child - 2 * kArity, end_);
        for (std::size_t group = 0; group < kArity; ++group) {
          __builtin_prefetch(grandchildren + group * kArity);
        }
      }
      const Candidate least = least_sibling(slots, child);
      if (key < least.key) {
        break;
      }
      slots[slot] = least.key;
      slot = least.slot;
    }
    slots[slot] = key;
  }

  void grow(std::size_t slots) { slots_.resize(slots, detail::kNoEventKey); }

  std::vector<Key, detail::CacheLineAllocator<Key>> slots_;
  std::size_t end_ = kRoot;  // one past the last slot in use
  std::uint64_t next_sequence_ = 0;
  SimTime last_popped_;
};

}  // namespace orrery::engine
