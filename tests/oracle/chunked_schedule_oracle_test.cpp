// The executed step graphs of several chunks per device, split backwards and overlapped steps
// against closed forms. Symbols: tests/oracle/schedule_costs.hpp.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/base/random.hpp"
#include "tests/oracle/schedule_costs.hpp"

namespace orrery::schedule {
namespace {

bool valid_group(int p, int group, int m) {
  return group >= p && group <= m && (m % group == 0 || m % group >= p);
}

// v chunks make the fill v times shorter: p - 1 chunks instead of p - 1 stages.
TEST(Interleaved, TakesOneFillOfChunksForEveryValidGroup) {
  int checked = 0;
  for (int p = 1; p <= 6; ++p) {
    for (int v = 2; v <= 4; ++v) {
      for (int m = p; m <= 20; ++m) {
        for (int group = p; group <= m; ++group) {
          if (!valid_group(p, group, m)) {
            continue;
          }
          ScheduleRequest request{.kind = ScheduleKind::interleaved,
                                  .devices = p,
                                  .chunks = v,
                                  .micro_batches = m,
                                  .group_size = group};
          const Costs costs{2, 3, 0};
          const Int expected = (Int{m} * v + p - 1) * 5;
          EXPECT_EQ(makespan(request, P2pMode::none, costs), expected) << where(request, costs);
          request.kind = ScheduleKind::interleaved_combined;  // a step F+B of F + B ticks
          EXPECT_EQ(makespan(request, P2pMode::none, costs), expected) << where(request, costs);
          ++checked;
        }
      }
    }
  }
  EXPECT_GT(checked, 1000);
}

// A message is hidden in the steady state; the first forward and the last backward pay p v - 1
// each.
TEST(Interleaved, PaysLatencyOnceWhenMessagesAreShort) {
  int checked = 0;
  for (int p = 2; p <= 6; ++p) {
    for (int v = 2; v <= 4; ++v) {
      for (int groups = 1; groups <= 5; ++groups) {
        const ScheduleRequest request{.kind = ScheduleKind::interleaved,
                                      .devices = p,
                                      .chunks = v,
                                      .micro_batches = groups * p};
        for (const Costs& c : cost_grid(true)) {
          if (c.message <= std::min(c.forward, c.backward)) {
            const Int passes = Int{request.micro_batches} * v;
            EXPECT_EQ(
                makespan(request, P2pMode::latency, c),
                (passes + p - 1) * (c.forward + c.backward) + 2 * (Int{p} * v - 1) * c.message)
                << where(request, c);
            ++checked;
          }
        }
      }
    }
  }
  EXPECT_GT(checked, 1000);
}

// Between two chunks the wave has to come round: p t, hidden behind m - p further micro-batches.
TEST(LoopedBfs, PaysForTheWrapAroundOnlyWithFewMicroBatches) {
  int checked = 0;
  for (int p = 2; p <= 6; ++p) {
    for (int v = 1; v <= 3; ++v) {
      for (const int m : {1, 2, 3, 4, 6, 8, 13}) {
        for (const Costs& c : cost_grid(true)) {
          ScheduleRequest request{
              .kind = ScheduleKind::looped_bfs, .devices = p, .chunks = v, .micro_batches = m};
          const Int pt = p * c.message;
          const Int expected =
              (Int{m} * v + p - 1) * (c.forward + c.backward) + 2 * (p - 1) * c.message +
              (v - 1) * (positive(pt - (m - p) * c.forward) + positive(pt - (m - p) * c.backward));
          EXPECT_EQ(makespan(request, P2pMode::latency, c), expected) << where(request, c);
          request.backward_order = BackwardOrder::fifo;
          EXPECT_EQ(makespan(request, P2pMode::latency, c), expected) << where(request, c);
          ++checked;
        }
      }
    }
  }
  EXPECT_GT(checked, 3000);
}

// Weight gradients fill the drain; what is left is the longest of three chains per device.
TEST(ZeroBubble, H1AndH2LeaveTheLongestOfThreeChains) {
  int checked = 0;
  for (int p = 1; p <= 6; ++p) {
    for (int m = 2 * p; m <= 2 * p + 5; ++m) {
      for (Int f = 1; f <= 5; ++f) {
        for (Int i = 1; i <= 5; ++i) {
          for (Int w = 1; w <= 5; ++w) {
            const Schedule h1 =
                generated({.kind = ScheduleKind::zb_h1, .devices = p, .micro_batches = m});
            const TickRun run1 = must_run(h1, P2pMode::none, equal_costs(h1, f, i, w));
            EXPECT_EQ(run1.makespan, m * (f + i + w) + (p - 1) * std::max({f, i, f + i - w}));
            EXPECT_EQ(run1.span, m * (f + i + w) + (p - 1) * std::max(i, f + i - w));
            const Schedule h2 =
                generated({.kind = ScheduleKind::zb_h2, .devices = p, .micro_batches = m});
            const TickRun run2 = must_run(h2, P2pMode::none, equal_costs(h2, f, i, w));
            EXPECT_EQ(run2.makespan,
                      m * (f + i + w) + (p - 1) * std::max({f, i - f, f + i - 2 * w}));
            EXPECT_EQ(run2.span,
                      m * (f + i + w) + (p - 1) * std::max({Int{0}, i - f, f + i - 2 * w}));
            ++checked;
          }
        }
      }
    }
  }
  EXPECT_EQ(checked, 6 * 6 * 125);
}

TEST(ZeroBubble, VLeavesOneFillWhenForwardAndInputGradientAreEqual) {
  for (int p = 1; p <= 6; ++p) {
    for (int m = 2 * p - 1; m <= 2 * p + 6; ++m) {
      for (Int f = 1; f <= 6; ++f) {
        for (Int w = 1; w <= f; ++w) {
          const Schedule schedule = generated(
              {.kind = ScheduleKind::zb_v, .devices = p, .chunks = 2, .micro_batches = m});
          const TickRun run = must_run(schedule, P2pMode::none, equal_costs(schedule, f, f, w));
          EXPECT_EQ(run.makespan, 2 * m * (2 * f + w) + (p - 1) * std::max(f, 2 * f - 2 * w));
          EXPECT_EQ(run.span, 2 * m * (2 * f + w) + (p - 1) * positive(2 * f - 2 * w));
        }
      }
    }
  }
}

// (p/2 - 1)(F&B + B - 3W) idle in the middle of DualPipe, (p - 1)(F&B + B - 3W) at the end of its
// folded form; and the folded form is one half of the other.
TEST(DualPipe, IsIdleInTheMiddleAsPublished) {
  for (int half = 1; half <= 4; ++half) {
    for (int m = 2 * half; m <= 2 * half + 6; ++m) {
      for (Int f = 1; f <= 5; ++f) {
        for (Int w = 1; w <= f; ++w) {
          const Int b = f + w;
          for (Int both = b; both <= f + b; ++both) {
            const Schedule dual = generated({.kind = ScheduleKind::dualpipe,
                                             .devices = 2 * half,
                                             .chunks = 2,
                                             .micro_batches = 2 * m});
            const Schedule folded = generated({.kind = ScheduleKind::dualpipev,
                                               .devices = half,
                                               .chunks = 2,
                                               .micro_batches = m});
            TickCosts costs = equal_costs(dual, f, f, w);
            costs.overlapped = both;
            const TickRun run = must_run(dual, P2pMode::none, costs);
            costs = equal_costs(folded, f, f, w);
            costs.overlapped = both;
            const TickRun half_run = must_run(folded, P2pMode::none, costs);
            const auto middle = static_cast<std::size_t>(half);
            EXPECT_EQ(run.idle[middle], (half - 1) * (both + b - 3 * w));
            EXPECT_EQ(run.idle[middle - 1], run.idle[middle]);
            EXPECT_EQ(half_run.idle, Ticks(run.idle.begin(), run.idle.begin() + half));
          }
        }
      }
    }
  }
}

TEST(Combined, WithoutPipelineMergesAllButTheEnds) {
  for (int m = 1; m <= 9; ++m) {
    const Schedule schedule =
        generated({.kind = ScheduleKind::interleaved_combined, .micro_batches = m});
    TickCosts costs = equal_costs(schedule, 3, 4, 0);
    costs.overlapped = 5;
    EXPECT_EQ(must_run(schedule, P2pMode::none, costs).makespan, 3 + 4 + (m - 1) * 5);
  }
}

// The comparison of eleven schedules at p = 8, m = 32 and F = I = W = 4 per device.
TEST(Schedules, OfOneModelCompareAsTabulated) {
  const auto run = [](ScheduleKind kind, int v, Int message) {
    const Schedule schedule =
        generated({.kind = kind, .devices = 8, .chunks = v, .micro_batches = 32});
    const Int part = schedule.placement == Placement::bidirectional ? 4 : 4 / v;
    return must_run(schedule, message == 0 ? P2pMode::none : P2pMode::latency,
                    equal_costs(schedule, part, part, part, message))
        .makespan;
  };
  EXPECT_EQ(run(ScheduleKind::one_f_one_b, 1, 0), 468);
  EXPECT_EQ(run(ScheduleKind::interleaved, 2, 0), 426);
  EXPECT_EQ(run(ScheduleKind::interleaved, 4, 0), 405);
  EXPECT_EQ(run(ScheduleKind::looped_bfs, 2, 0), 426);
  EXPECT_EQ(run(ScheduleKind::zb_h1, 1, 0), 412);
  EXPECT_EQ(run(ScheduleKind::zb_h2, 1, 0), 412);
  EXPECT_EQ(run(ScheduleKind::zb_v, 2, 0), 398);
  EXPECT_EQ(run(ScheduleKind::dualpipe, 2, 0), 408);
  EXPECT_EQ(run(ScheduleKind::dualpipev, 2, 0), 412);
  EXPECT_EQ(run(ScheduleKind::one_f_one_b, 1, 1), 536);
  EXPECT_EQ(run(ScheduleKind::eager_1f1b, 1, 1), 482);
  EXPECT_EQ(run(ScheduleKind::interleaved, 2, 1), 456);
  EXPECT_EQ(run(ScheduleKind::looped_bfs, 2, 1), 440);
  EXPECT_EQ(run(ScheduleKind::zb_h1, 1, 1), 440);
  EXPECT_EQ(run(ScheduleKind::zb_h2, 1, 1), 419);
  EXPECT_EQ(run(ScheduleKind::zb_v, 2, 1), 431);
  EXPECT_EQ(run(ScheduleKind::dualpipe, 2, 1), 445);
  EXPECT_EQ(run(ScheduleKind::dualpipev, 2, 1), 492);
}

// Longer tasks or messages never shorten a step of fixed lists, and scaling all scales the result.
TEST(Schedules, AreMonotoneAndScaleInTheirCosts) {
  constexpr std::uint64_t kSeed = 31;
  RandomStream random(kSeed, 0, Purpose::property_test);
  for (const ScheduleFamily& family : schedule_families()) {
    ScheduleRequest request{.kind = family.kind, .devices = 4, .chunks = 2, .micro_batches = 8};
    if (family.kind == ScheduleKind::none) {
      request.devices = 1;
    }
    if (family.validate(request)) {
      request.chunks = 1;
    }
    const Schedule schedule = generated(request);
    for (int round = 0; round < 40; ++round) {
      const auto draw = [&random] { return 1 + static_cast<Int>(random.uniform_int(6)); };
      TickCosts costs = equal_costs(schedule, draw(), draw(), draw(), draw() - 1);
      const Int before = must_run(schedule, P2pMode::latency, costs).makespan;
      TickCosts scaled = equal_costs(schedule, 7 * costs.forward[0], 7 * costs.input[0],
                                     7 * costs.weight[0], 7 * costs.message);
      EXPECT_EQ(must_run(schedule, P2pMode::latency, scaled).makespan, 7 * before)
          << to_string(family.kind);
      costs.message += 1;
      const Int with_message = must_run(schedule, P2pMode::latency, costs).makespan;
      EXPECT_GE(with_message, before) << to_string(family.kind);
      costs.forward[random.uniform_int(costs.forward.size())] += draw();
      EXPECT_GE(must_run(schedule, P2pMode::latency, costs).makespan, with_message)
          << to_string(family.kind) << " seed " << kSeed << " round " << round;
    }
  }
}

}  // namespace
}  // namespace orrery::schedule
