// The executed step graphs of one chunk per device against closed forms, swept over sizes and
// costs. Symbols: tests/oracle/schedule_costs.hpp.
//
// A pipeline of p equal stages takes (m + p - 1)(F + B): m micro-batches on the last device plus
// p - 1 stages each way before and after it has work.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "sim/base/random.hpp"
#include "tests/oracle/schedule_costs.hpp"

namespace orrery::schedule {
namespace {

// Runs the whole grid of p and m and compares makespans where `applies`.
template <typename Applies, typename Expected>
int sweep(ScheduleKind kind, P2pMode mode, int least_p, Applies applies, Expected expected) {
  int checked = 0;
  for (int p = least_p; p <= 9; ++p) {
    for (const int m : {1, 2, 3, 4, 5, 7, 8, 12, 16, 19}) {
      const ScheduleRequest request{.kind = kind, .devices = p, .micro_batches = m};
      for (const Costs& costs : cost_grid(mode != P2pMode::none)) {
        if (!applies(p, m, costs)) {
          continue;
        }
        EXPECT_EQ(makespan(request, mode, costs), expected(p, m, costs)) << where(request, costs);
        ++checked;
      }
    }
  }
  return checked;
}

const auto always = [](Int, Int, const Costs&) { return true; };

// Without a flush every device runs all the time: m (F + B), however long messages take.
TEST(PipeDream, HasNoBubble) {
  const auto expected = [](Int, Int m, const Costs& c) { return m * (c.forward + c.backward); };
  const auto enough = [](Int p, Int m, const Costs&) { return m >= p; };
  for (const P2pMode mode : {P2pMode::none, P2pMode::latency, P2pMode::link}) {
    EXPECT_GT(sweep(ScheduleKind::pipedream, mode, 2, always, expected), 400);
    EXPECT_GT(sweep(ScheduleKind::pipedream_2bw, mode, 2, enough, expected), 200);
  }
}

// PipeDream: as many versions as micro-batches in flight when each is an update; with m >= p an
// update apart, as 2BW.
TEST(PipeDream, KeepsAVersionForEveryUpdateInFlight) {
  for (int p = 2; p <= 9; ++p) {
    for (int d = 0; d < p; ++d) {
      EXPECT_EQ(weight_versions(ScheduleKind::pipedream, p - d, 1), p - d);
      EXPECT_EQ(weight_versions(ScheduleKind::pipedream, p - d, p), d == p - 1 ? 1 : 2);
      EXPECT_EQ(weight_versions(ScheduleKind::pipedream_2bw, p - d, p), 2);
      EXPECT_EQ(weight_versions(ScheduleKind::one_f_one_b, p - d, p), 1);
    }
  }
}

// All forwards, then all backwards: both waves cross p - 1 hops once.
TEST(GPipe, TakesOneFillAndOneDrainWithAnyLatency) {
  const auto expected = [](Int p, Int m, const Costs& c) {
    return (m + p - 1) * (c.forward + c.backward) + 2 * (p - 1) * c.message;
  };
  EXPECT_GT(sweep(ScheduleKind::gpipe, P2pMode::none, 1, always, expected), 500);
  EXPECT_GT(sweep(ScheduleKind::gpipe, P2pMode::latency, 1, always, expected), 3000);
}

TEST(GPipe, TakesTheSameInBothBackwardOrders) {
  for (int p = 1; p <= 8; ++p) {
    for (int m = 1; m <= 12; ++m) {
      for (const Costs& costs : cost_grid(true)) {
        ScheduleRequest request{.kind = ScheduleKind::gpipe, .devices = p, .micro_batches = m};
        const Int fifo = makespan(request, P2pMode::latency, costs);
        request.backward_order = BackwardOrder::lifo;
        EXPECT_EQ(makespan(request, P2pMode::latency, costs), fifo) << where(request, costs);
      }
    }
  }
}

// Idle is the same on every device: each is busy m (F + B).
TEST(GPipe, IsIdleEquallyOnEveryDevice) {
  const Schedule schedule =
      generated({.kind = ScheduleKind::gpipe, .devices = 6, .micro_batches = 9});
  const TickRun run = must_run(schedule, P2pMode::latency, equal_costs(schedule, 2, 5, 0, 3));
  EXPECT_EQ(run.idle, Ticks(6, 5 * 7 + 2 * 5 * 3));
}

// The slowest stage of each wave is passed m - 1 times more; they may be different stages.
TEST(GPipe, WithUnevenStagesTakesTheSlowestOfEachWave) {
  constexpr std::uint64_t kSeed = 20261121;
  RandomStream random(kSeed, 0, Purpose::property_test);
  for (int round = 0; round < 4000; ++round) {
    const int p = 1 + static_cast<int>(random.uniform_int(7));
    const int m = 1 + static_cast<int>(random.uniform_int(12));
    const Schedule schedule =
        generated({.kind = ScheduleKind::gpipe, .devices = p, .micro_batches = m});
    TickCosts costs;
    for (int stage = 0; stage < p; ++stage) {
      costs.forward.push_back(1 + static_cast<Int>(random.uniform_int(9)));
      costs.backward.push_back(1 + static_cast<Int>(random.uniform_int(9)));
    }
    const auto& f = costs.forward;
    const auto& b = costs.backward;
    const Int expected =
        std::accumulate(f.begin(), f.end(), Int{0}) + std::accumulate(b.begin(), b.end(), Int{0}) +
        (m - 1) * (*std::max_element(f.begin(), f.end()) + *std::max_element(b.begin(), b.end()));
    EXPECT_EQ(must_run(schedule, P2pMode::none, costs).makespan, expected)
        << "seed " << kSeed << " round " << round;
  }
}

// A link is one more stage between two: it slows a wave when t exceeds the stage.
TEST(GPipe, OverLinksTakesTheSlowerOfStageAndLink) {
  const int checked =
      sweep(ScheduleKind::gpipe, P2pMode::link, 2, always, [](Int p, Int m, const Costs& c) {
        return p * (c.forward + c.backward) + 2 * (p - 1) * c.message +
               (m - 1) * (std::max(c.forward, c.message) + std::max(c.backward, c.message));
      });
  EXPECT_GT(checked, 2500);
}

TEST(OneFOneB, TakesOneFillAndOneDrainAtAnySize) {
  const auto expected = [](Int p, Int m, const Costs& c) {
    return (m + p - 1) * (c.forward + c.backward);
  };
  EXPECT_GT(sweep(ScheduleKind::one_f_one_b, P2pMode::none, 1, always, expected), 500);
}

// The bubble of the textbooks, idle / total = (p - 1)/(m + p - 1): 3/7 and 7/39.
TEST(OneFOneB, HasTheTextbookBubble) {
  for (const auto& [p, m, numerator, denominator] :
       std::vector<std::array<Int, 4>>{{4, 4, 3, 7}, {8, 32, 7, 39}}) {
    const Schedule schedule = generated({.kind = ScheduleKind::one_f_one_b,
                                         .devices = static_cast<int>(p),
                                         .micro_batches = static_cast<int>(m)});
    const TickRun run = must_run(schedule, P2pMode::none, equal_costs(schedule, 1, 2, 0));
    for (const Int idle : run.idle) {
      EXPECT_EQ(idle * denominator, run.makespan * numerator);
    }
  }
}

// With p micro-batches in flight the loop down and back waits for 2(p-1) messages every p
// micro-batches: latency is never amortised.
TEST(OneFOneB, PaysLatencyInEveryRoundTrip) {
  const auto expected = [](Int p, Int m, const Costs& c) {
    return (m + p - 1) * (c.forward + c.backward) +
           2 * c.message * ((p - 1) + (m - 1) - ceil_divide(m - 1, p));
  };
  EXPECT_GT(sweep(ScheduleKind::one_f_one_b, P2pMode::latency, 1, always, expected), 3000);
  const auto fits_link = [](Int, Int, const Costs& c) {
    return c.message <= std::min(c.forward, c.backward);
  };
  EXPECT_GT(sweep(ScheduleKind::one_f_one_b, P2pMode::link, 1, fits_link, expected), 1000);
}

Int fused_messages(Int p, Int m) {
  return m == 1 ? 2 * (p - 1) : p == 2 ? m + 1 : 2 * m + 2 * p - 5;
}

TEST(OneFOneB, BlockedByFusedTransfersPaysTwoMessagesAPeriod) {
  const auto expected = [](Int p, Int m, const Costs& c) {
    return (m + p - 1) * (c.forward + c.backward) + fused_messages(p, m) * c.message;
  };
  const auto short_message = [](Int, Int, const Costs& c) {
    return c.message <= std::min(c.forward, c.backward);
  };
  EXPECT_GT(sweep(ScheduleKind::one_f_one_b, P2pMode::rendezvous_fused, 2, short_message, expected),
            1000);
  const auto hides = [](Int, Int, const Costs& c) {
    return 2 * c.message <= c.forward + c.backward || c.message <= c.forward ||
           c.message <= c.backward;
  };
  EXPECT_GT(sweep(ScheduleKind::one_f_one_b, P2pMode::occupying, 2, hides, expected), 2000);
}

TEST(EagerOneFOneB, PaysLatencyOnceWhileTwoMessagesFitAPeriod) {
  const auto hides = [](Int, Int, const Costs& c) {
    return 2 * c.message <= c.forward + c.backward;
  };
  const int checked =
      sweep(ScheduleKind::eager_1f1b, P2pMode::latency, 1, hides, [](Int p, Int m, const Costs& c) {
        return (m + p - 1) * (c.forward + c.backward) + 2 * (p - 1) * c.message;
      });
  EXPECT_GT(checked, 1900);
}

// A last stage that is the slowest is never idle once it has started.
TEST(OneFOneB, WithTheSlowestStageLastRunsAtItsPace) {
  constexpr std::uint64_t kSeed = 4;
  RandomStream random(kSeed, 0, Purpose::property_test);
  for (int round = 0; round < 1500; ++round) {
    const int p = 1 + static_cast<int>(random.uniform_int(7));
    const int m = 1 + static_cast<int>(random.uniform_int(16));
    TickCosts costs;
    Int before = 0;
    Int slowest = 0;
    for (int stage = 0; stage + 1 < p; ++stage) {
      costs.forward.push_back(1 + static_cast<Int>(random.uniform_int(9)));
      costs.backward.push_back(1 + static_cast<Int>(random.uniform_int(9)));
      before += costs.forward.back() + costs.backward.back();
      slowest = std::max(slowest, costs.forward.back() + costs.backward.back());
    }
    const Int last = std::max<Int>(slowest, 2) + static_cast<Int>(random.uniform_int(4));
    costs.forward.push_back(
        1 + static_cast<Int>(random.uniform_int(static_cast<std::uint64_t>(last - 1))));
    costs.backward.push_back(last - costs.forward.back());
    const Schedule schedule =
        generated({.kind = ScheduleKind::one_f_one_b, .devices = p, .micro_batches = m});
    EXPECT_EQ(must_run(schedule, P2pMode::none, costs).makespan, before + m * last)
        << "seed " << kSeed << " round " << round;
  }
}

// No stage can run its m micro-batches before the first has come down to it and the last has gone
// back up: T >= max over k of (sum of the stages before k + m X_k), X = F + B.
TEST(OneFOneB, WithUnevenStagesNeverBeatsItsBusiestStage) {
  constexpr std::uint64_t kSeed = 8;
  RandomStream random(kSeed, 0, Purpose::property_test);
  for (int round = 0; round < 1000; ++round) {
    const int p = 1 + static_cast<int>(random.uniform_int(7));
    const int m = 1 + static_cast<int>(random.uniform_int(16));
    TickCosts costs;
    for (int stage = 0; stage < p; ++stage) {
      costs.forward.push_back(1 + static_cast<Int>(random.uniform_int(9)));
      costs.backward.push_back(1 + static_cast<Int>(random.uniform_int(9)));
    }
    Int bound = 0;
    Int before = 0;
    for (std::size_t k = 0; k < costs.forward.size(); ++k) {
      const Int stage = costs.forward[k] + costs.backward[k];
      bound = std::max(bound, before + m * stage);
      before += stage;
    }
    const Schedule schedule =
        generated({.kind = ScheduleKind::one_f_one_b, .devices = p, .micro_batches = m});
    const TickRun run = must_run(schedule, P2pMode::none, costs);
    EXPECT_GE(run.makespan, bound) << "seed " << kSeed << " round " << round;
    for (std::size_t d = 0; d < run.busy.size(); ++d) {
      EXPECT_EQ(run.busy[d] + run.idle[d], run.makespan);
    }
  }
}

// Asynchronous messages never cost more than shared links, nor these than blocking.
TEST(OneFOneB, PaysMoreTheMoreAMessageBlocks) {
  constexpr std::uint64_t kSeed = 12;
  RandomStream random(kSeed, 0, Purpose::property_test);
  for (int round = 0; round < 600; ++round) {
    const int p = 2 + static_cast<int>(random.uniform_int(6));
    const int m = 1 + static_cast<int>(random.uniform_int(14));
    const Schedule schedule =
        generated({.kind = ScheduleKind::one_f_one_b, .devices = p, .micro_batches = m});
    TickCosts costs;
    costs.message = static_cast<Int>(random.uniform_int(7));
    for (int stage = 0; stage < p; ++stage) {
      costs.forward.push_back(1 + static_cast<Int>(random.uniform_int(9)));
      costs.backward.push_back(1 + static_cast<Int>(random.uniform_int(9)));
    }
    const Int latency = must_run(schedule, P2pMode::latency, costs).makespan;
    const Int link = must_run(schedule, P2pMode::link, costs).makespan;
    EXPECT_LE(must_run(schedule, P2pMode::none, costs).makespan, latency);
    EXPECT_LE(latency, link) << "seed " << kSeed << " round " << round;
    EXPECT_LE(link, must_run(schedule, P2pMode::occupying, costs).makespan)
        << "seed " << kSeed << " round " << round;
    EXPECT_LE(link, must_run(schedule, P2pMode::rendezvous_fused, costs).makespan)
        << "seed " << kSeed << " round " << round;
  }
}

}  // namespace
}  // namespace orrery::schedule
