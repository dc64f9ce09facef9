#include "sim/step/engine/event_queue.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <queue>
#include <tuple>
#include <vector>

#include "sim/base/random.hpp"

namespace orrery::engine {
namespace {

constexpr std::uint32_t kGreatestPayload = (std::uint32_t{1} << 24) - 1;

std::vector<std::uint32_t> drain_payloads(EventQueue& queue) {
  std::vector<std::uint32_t> payloads;
  while (!queue.empty()) {
    payloads.push_back(queue.pop().payload);
  }
  return payloads;
}

// The textbook queue the heap must equal: one struct per event, compared field by field.
class ReferenceQueue {
 public:
  void push(const Event& event) {
    queue_.push({event.time.ns, event.priority, sequence_++, event.payload});
  }

  Event pop() {
    const auto [ns, priority, sequence, payload] = queue_.top();
    queue_.pop();
    return {{ns}, priority, payload};
  }

  [[nodiscard]] bool empty() const { return queue_.empty(); }

  [[nodiscard]] std::size_t size() const { return queue_.size(); }

 private:
  using Entry = std::tuple<std::int64_t, std::uint8_t, std::uint64_t, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
  std::uint64_t sequence_ = 0;
};

// A delay with many exact ties: most draws fall on a few values, some are spread wide.
std::int64_t random_delay(RandomStream& random) {
  const bool wide = random.uniform_int(4) == 0;
  return static_cast<std::int64_t>(random.uniform_int(wide ? 1'000'000'007 : 3));
}

Event random_event(RandomStream& random, SimTime now) {
  return {.time = now + SimTime{random_delay(random)},
          .priority = static_cast<std::uint8_t>(random.uniform_int(16)),
          .payload = static_cast<std::uint32_t>(random.uniform_int(kGreatestPayload + 1))};
}

TEST(EventQueue, PopsInOrderOfTime) {
  EventQueue queue;
  const std::vector<std::int64_t> times = {50, 10, 40, 20, 30, 0, INT64_MAX};
  for (const std::int64_t ns : times) {
    queue.push({ns}, 0, static_cast<std::uint32_t>(ns % 100));
  }
  EXPECT_EQ(queue.size(), 7U);
  EXPECT_EQ(drain_payloads(queue), (std::vector<std::uint32_t>{0, 10, 20, 30, 40, 50, 7}));
  EXPECT_EQ(queue.now(), kForever);
}

TEST(EventQueue, EqualTimesLeaveInOrderOfPriority) {
  EventQueue queue;
  for (std::uint32_t i = 0; i < 16; ++i) {
    queue.push({7}, static_cast<std::uint8_t>(15 - i), 15 - i);
  }
  for (std::uint32_t i = 0; i < 16; ++i) {
    EXPECT_EQ(queue.pop(), (Event{{7}, static_cast<std::uint8_t>(i), i}));
  }
}

TEST(EventQueue, EqualTimesAndPrioritiesLeaveInOrderOfPush) {
  EventQueue queue;
  constexpr std::uint32_t kEvents = 1000;
  for (std::uint32_t i = 0; i < kEvents; ++i) {
    queue.push({7}, 3, kEvents - i);  // payloads descend, so they cannot be what is compared
  }
  for (std::uint32_t i = 0; i < kEvents; ++i) {
    ASSERT_EQ(queue.pop().payload, kEvents - i);
  }
}

TEST(EventQueue, KeepsTheLimitsOfEveryFieldApart) {
  EventQueue queue;
  queue.push(kForever, 15, kGreatestPayload);
  queue.push(kForever, 0, 0);
  queue.push({0}, 15, kGreatestPayload);
  queue.push({0}, 0, kGreatestPayload);
  EXPECT_EQ(queue.top(), (Event{{0}, 0, kGreatestPayload}));
  EXPECT_EQ(queue.pop(), (Event{{0}, 0, kGreatestPayload}));
  EXPECT_EQ(queue.pop(), (Event{{0}, 15, kGreatestPayload}));
  EXPECT_EQ(queue.pop(), (Event{kForever, 0, 0}));
  EXPECT_EQ(queue.pop(), (Event{kForever, 15, kGreatestPayload}));
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueue, EqualsThePriorityQueueOnRandomHistories) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomStream random(seed, 0, Purpose::property_test);
    EventQueue queue;
    ReferenceQueue reference;
    const std::uint64_t growth = 1 + random.uniform_int(9);  // pushes per ten operations
    for (int operation = 0; operation < 2000 || !reference.empty(); ++operation) {
      const bool filling = operation < 2000;
      if (filling && (reference.empty() || random.uniform_int(10) < growth)) {
        const Event event = random_event(random, queue.now());
        queue.push(event.time, event.priority, event.payload);
        reference.push(event);
      } else {
        const Event event = reference.pop();
        ASSERT_EQ(queue.top(), event);
        ASSERT_EQ(queue.pop(), event);
      }
      ASSERT_EQ(queue.size(), reference.size());
    }
  }
}

// Large enough for the path that fetches ahead; fills, holds and drains.
TEST(EventQueue, EqualsThePriorityQueueWithManyPendingEvents) {
  RandomStream random(1, 6, Purpose::property_test);
  EventQueue queue;
  ReferenceQueue reference;
  constexpr int kPending = 50'000;
  for (int i = 0; i < kPending; ++i) {
    const Event event = random_event(random, {});
    queue.push(event.time, event.priority, event.payload);
    reference.push(event);
  }
  for (int i = 0; i < kPending; ++i) {
    const Event event = random_event(random, queue.top().time);
    ASSERT_EQ(queue.replace_top(event.time, event.priority, event.payload), reference.pop());
    reference.push(event);
  }
  while (!reference.empty()) {
    ASSERT_EQ(queue.pop(), reference.pop());
  }
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueue, ReplaceTopEqualsPopThenPush) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomStream random(seed, 1, Purpose::property_test);
    EventQueue replaced;
    EventQueue popped;
    const std::uint64_t pending = 1 + random.uniform_int(200);
    for (std::uint64_t i = 0; i < pending; ++i) {
      const Event event = random_event(random, {});
      replaced.push(event.time, event.priority, event.payload);
      popped.push(event.time, event.priority, event.payload);
    }
    for (int operation = 0; operation < 2000; ++operation) {
      const Event event = random_event(random, popped.top().time);
      const Event expected = popped.pop();
      popped.push(event.time, event.priority, event.payload);
      ASSERT_EQ(replaced.replace_top(event.time, event.priority, event.payload), expected);
    }
    while (!popped.empty()) {
      ASSERT_EQ(replaced.pop(), popped.pop());
    }
    EXPECT_TRUE(replaced.empty());
  }
}

TEST(EventQueue, ClearStartsAgainAtTimeAndSequenceZero) {
  EventQueue queue;
  queue.reserve(100);
  for (std::uint32_t i = 0; i < 100; ++i) {
    queue.push({1000 - static_cast<std::int64_t>(i)}, 1, i);
  }
  EXPECT_EQ(queue.pop().payload, 99U);
  queue.clear();
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.size(), 0U);
  EXPECT_EQ(queue.now(), SimTime{});
  queue.push({5}, 0, 1);
  queue.push({5}, 0, 2);
  queue.push({4}, 0, 3);
  EXPECT_EQ(drain_payloads(queue), (std::vector<std::uint32_t>{3, 1, 2}));
}

TEST(EventQueue, EventsAtTheTimeLastPoppedAreStillAllowed) {
  EventQueue queue;
  queue.push({10}, 2, 1);
  EXPECT_EQ(queue.pop().payload, 1U);
  queue.push({10}, 0, 2);  // an earlier priority at the same time is not the past
  EXPECT_EQ(queue.replace_top({10}, 0, 3).payload, 2U);
  EXPECT_EQ(queue.pop().payload, 3U);
}

TEST(EventQueueDeathTest, SchedulingInThePastNamesTheEvent) {
  EventQueue queue;
  queue.push({100}, 0, 1);
  queue.pop();
  EXPECT_DEATH(queue.push({99}, 4, 17),
               "event \\(time 99 ns, priority 4, payload 17\\) is scheduled before the last popped "
               "event at 100 ns");
  queue.push({200}, 0, 1);
  EXPECT_DEATH(queue.replace_top({199}, 4, 18), "time 199 ns.*popped event at 200 ns");
}

TEST(EventQueueDeathTest, NegativeTimesAndFieldsTooWideAreRejected) {
  EventQueue queue;
  EXPECT_DEATH(queue.push({-1}, 0, 0), "time -1 ns");
  EXPECT_DEATH(queue.push({0}, 16, 0), "priority 16.*exceeds 16 priorities");
  EXPECT_DEATH(queue.push({0}, 0, kGreatestPayload + 1), "exceeds .* 16777216 payloads");
}

TEST(EventQueueDeathTest, AnEmptyQueueHasNoFirstEvent) {
  EventQueue queue;
  EXPECT_DEATH(queue.pop(), "pop\\(\\) of an event queue without events");
  EXPECT_DEATH(static_cast<void>(queue.top()), "top\\(\\) of an event queue without events");
  EXPECT_DEATH(queue.replace_top({0}, 0, 0), "replace_top\\(\\) of an event queue without events");
}

}  // namespace
}  // namespace orrery::engine
