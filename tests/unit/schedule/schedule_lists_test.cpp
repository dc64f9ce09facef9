#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/step/schedule/schedule.hpp"
#include "tests/unit/schedule/run_ticks.hpp"

namespace orrery::schedule {
namespace {

std::vector<std::string> orders(const Schedule& schedule) {
  std::vector<std::string> texts;
  for (const std::vector<PipelineOp>& list : schedule.lists) {
    texts.push_back(to_string(list, schedule.chunks));
  }
  return texts;
}

// A small request that the schedule accepts, with some chunks where it takes several.
ScheduleRequest accepted(ScheduleKind kind, int p, int m) {
  ScheduleRequest request{.kind = kind, .devices = p, .chunks = 2, .micro_batches = m};
  if (kind == ScheduleKind::none) {
    request.devices = 1;
  }
  if (std::holds_alternative<ScheduleRefusal>(generate(request))) {
    request.chunks = 1;
  }
  return request;
}

TEST(ScheduleTable, ListsEveryScheduleUnderItsName) {
  const auto families = schedule_families();
  ASSERT_EQ(families.size(), kScheduleKinds);
  for (std::size_t i = 0; i < families.size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(families[i].kind), i);
    EXPECT_FALSE(kScheduleTraits[i].summary.empty());
  }
}

TEST(StageMap, PlacesStagesAndBack) {
  const StageMap loop{Placement::loop, 4, 3};
  EXPECT_EQ(stage_count(loop), 12);
  EXPECT_EQ(virtual_stage(loop, {1, 2}), 9);
  EXPECT_EQ(downstream(loop, {3, 0}), (Position{0, 1}));
  EXPECT_EQ(downstream(loop, {3, 2}), std::nullopt);
  EXPECT_EQ(upstream(loop, {0, 0}), std::nullopt);
  const StageMap vee{Placement::vee, 4, 2};
  EXPECT_EQ(virtual_stage(vee, {1, 1}), 6);
  EXPECT_EQ(downstream(vee, {3, 0}), (Position{3, 1}));
  EXPECT_EQ(upstream(vee, {2, 1}), (Position{3, 1}));
  const StageMap both{Placement::bidirectional, 4, 2};
  EXPECT_EQ(stage_count(both), 4);
  EXPECT_EQ(virtual_stage(both, {3, 1}), 0);
  EXPECT_EQ(downstream(both, {3, 1}), (Position{2, 1}));
  for (const StageMap& map : {loop, vee, both}) {
    for (int device = 0; device < map.devices; ++device) {
      for (int chunk = 0; chunk < map.chunks; ++chunk) {
        const Position at{device, chunk};
        EXPECT_EQ(position_of_stage(map, virtual_stage(map, at), chunk), at);
      }
    }
  }
}

TEST(OneFOneB, WarmsUpByTheDistanceToTheLastDevice) {
  const Schedule schedule =
      generated({.kind = ScheduleKind::one_f_one_b, .devices = 3, .micro_batches = 4});
  EXPECT_EQ(orders(schedule),
            (std::vector<std::string>{"F0 F1 F2 B0 F3 B1 B2 B3", "F0 F1 B0 F2 B1 F3 B2 B3",
                                      "F0 B0 F1 B1 F2 B2 F3 B3"}));
  EXPECT_EQ(schedule.warm_up, (std::vector<int>{2, 1, 0}));
}

TEST(OneFOneB, WithFewerMicroBatchesThanDevicesIsAllForwardAllBackward) {
  const Schedule schedule =
      generated({.kind = ScheduleKind::one_f_one_b, .devices = 4, .micro_batches = 2});
  EXPECT_EQ(orders(schedule),
            (std::vector<std::string>{"F0 F1 B0 B1", "F0 F1 B0 B1", "F0 F1 B0 B1", "F0 B0 F1 B1"}));
}

TEST(None, AccumulatesMicroBatchAfterMicroBatch) {
  EXPECT_EQ(orders(generated({.micro_batches = 3})),
            (std::vector<std::string>{"F0 B0 F1 B1 F2 B2"}));
}

TEST(GPipe, RunsBackwardsInTheOrderAskedFor) {
  ScheduleRequest request{.kind = ScheduleKind::gpipe, .devices = 2, .micro_batches = 3};
  EXPECT_EQ(orders(generated(request))[1], "F0 F1 F2 B0 B1 B2");
  request.backward_order = BackwardOrder::lifo;
  EXPECT_EQ(orders(generated(request))[1], "F0 F1 F2 B2 B1 B0");
}

TEST(LoopedBfs, RunsAllMicroBatchesThroughOneChunkFirst) {
  const Schedule schedule =
      generated({.kind = ScheduleKind::looped_bfs, .devices = 2, .chunks = 2, .micro_batches = 2});
  EXPECT_EQ(orders(schedule)[0], "F0.0 F1.0 F0.1 F1.1 B1.1 B0.1 B1.0 B0.0");
}

// Megatron-LM get_schedule_table(6, 2, 4): groups of four and of two.
TEST(Interleaved, FollowsTheTableWithAShorterLastGroup) {
  const Schedule schedule = generated({.kind = ScheduleKind::interleaved,
                                       .devices = 2,
                                       .chunks = 2,
                                       .micro_batches = 6,
                                       .group_size = 4});
  EXPECT_EQ(schedule.warm_up, (std::vector<int>{6, 4}));
  EXPECT_EQ(orders(schedule)[0],
            "F0.0 F1.0 F2.0 F3.0 F0.1 F1.1 F2.1 B0.1 F3.1 B1.1 F4.0 B2.1 F5.0 B3.1 F4.1 B0.0 "
            "F5.1 B1.0 B2.0 B3.0 B4.1 B5.1 B4.0 B5.0");
}

TEST(Interleaved, WithOneChunkHasTheOrderOfEagerOneFOneB) {
  const auto* family = &schedule_families()[static_cast<std::size_t>(ScheduleKind::interleaved)];
  for (int p = 1; p <= 6; ++p) {
    for (const int m : {p, 2 * p, 5 * p}) {
      EXPECT_EQ(
          family->generate({.kind = ScheduleKind::interleaved, .devices = p, .micro_batches = m})
              .lists,
          generated({.kind = ScheduleKind::eager_1f1b, .devices = p, .micro_batches = m}).lists);
    }
  }
}

TEST(Schedules, RunEveryPassOnceForRandomSizes) {
  constexpr std::uint64_t kSeed = 71;
  RandomStream random(kSeed, 0, Purpose::property_test);
  int accepted_requests = 0;
  for (int round = 0; round < 3000; ++round) {
    ScheduleRequest request{.kind = static_cast<ScheduleKind>(random.uniform_int(kScheduleKinds)),
                            .devices = 1 + static_cast<int>(random.uniform_int(8)),
                            .chunks = 1 + static_cast<int>(random.uniform_int(4)),
                            .micro_batches = 1 + static_cast<int>(random.uniform_int(24))};
    if (random.uniform_int(2) == 0) {
      request.group_size = 1 + static_cast<int>(random.uniform_int(12));
    }
    const auto made = generate(request);
    if (const auto* schedule = std::get_if<Schedule>(&made)) {
      ++accepted_requests;
      EXPECT_EQ(find_list_fault(*schedule), std::nullopt) << "seed " << kSeed << " round " << round;
      EXPECT_TRUE(std::holds_alternative<StepGraph>(build_step_graph(*schedule, {})))
          << to_string(request.kind) << " deadlocks, seed " << kSeed << " round " << round;
    } else {
      EXPECT_FALSE(std::get<ScheduleRefusal>(made).message.empty());
    }
  }
  EXPECT_GT(accepted_requests, 500);
}

// Section 5 of the definitions: peaks in chunk activations, by device.
TEST(PeakInFlight, FollowsFromTheWarmUp) {
  for (int p = 1; p <= 6; ++p) {
    for (int m = 2 * p; m <= 4 * p; m += p) {
      for (int v = 2; v <= 3; ++v) {
        const auto peak = [&](ScheduleKind kind, int chunks, int r) {
          const Schedule s =
              generated({.kind = kind, .devices = p, .chunks = chunks, .micro_batches = m});
          return peak_in_flight(s)[static_cast<std::size_t>(r)];
        };
        for (int r = 0; r < p; ++r) {
          const int behind = p - 1 - r;
          EXPECT_EQ(peak(ScheduleKind::gpipe, 1, r), m);
          EXPECT_EQ(peak(ScheduleKind::one_f_one_b, 1, r), std::min(m, p - r));
          EXPECT_EQ(peak(ScheduleKind::eager_1f1b, 1, r), std::min(m, 2 * behind + 1));
          EXPECT_EQ(peak(ScheduleKind::looped_bfs, v, r), m * v);
          const int interleaved = 2 * behind + (v - 1) * p + 1;
          EXPECT_EQ(peak(ScheduleKind::interleaved, v, r), std::min(m * v, interleaved));
          EXPECT_EQ(peak(ScheduleKind::interleaved_combined, v, r),
                    std::min(m * v, interleaved + 1));
          EXPECT_EQ(peak(ScheduleKind::zb_h1, 1, r), p - r);
          EXPECT_EQ(peak(ScheduleKind::zb_h2, 1, r), 2 * (p - r) - 1);
          EXPECT_EQ(peak(ScheduleKind::zb_v, 2, r), 2 * p);
          EXPECT_EQ(peak(ScheduleKind::dualpipev, 2, r), 2 * p + 1);
          if (p % 2 == 0) {
            EXPECT_EQ(peak(ScheduleKind::dualpipe, 2, r), p + 1);
          }
        }
      }
    }
  }
}

TEST(PeakUntilWeight, IsTheSameOnEveryDeviceOfTheZeroBubbleSchedules) {
  for (int p = 1; p <= 6; ++p) {
    const auto devices = static_cast<std::size_t>(p);
    const int m = 3 * p;
    EXPECT_EQ(peak_until_weight(
                  generated({.kind = ScheduleKind::zb_h1, .devices = p, .micro_batches = m})),
              std::vector<int>(devices, p));
    EXPECT_EQ(peak_until_weight(
                  generated({.kind = ScheduleKind::zb_h2, .devices = p, .micro_batches = m})),
              std::vector<int>(devices, 2 * p - 1));
  }
}

TEST(ZeroBubbleV, WithFewMicroBatchesDropsThemFromTheListOfMany) {
  const Schedule schedule =
      generated({.kind = ScheduleKind::zb_v, .devices = 4, .chunks = 2, .micro_batches = 4});
  EXPECT_EQ(peak_in_flight(schedule), (std::vector<int>{5, 6, 7, 8}));
}

// Megatron refuses m mod N < p with reason: without the refusal bubbles appear, but no deadlock.
TEST(Interleaved, WithAShortLastGroupWouldLoseTime) {
  const auto* family = &schedule_families()[static_cast<std::size_t>(ScheduleKind::interleaved)];
  const std::vector<std::int64_t> expected = {79, 91, 88};
  for (int i = 0; i < 3; ++i) {
    const Schedule schedule = family->generate(
        {.kind = ScheduleKind::interleaved, .devices = 4, .chunks = 2, .micro_batches = 5 + i});
    EXPECT_EQ(must_run(schedule, P2pMode::none, equal_costs(schedule, 2, 3, 0)).makespan,
              expected[static_cast<std::size_t>(i)]);
  }
}

struct RefusalCase {
  ScheduleRequest request;
  std::string_view message;
  std::string_view allowed;
};

void expect_refusals(const std::vector<RefusalCase>& cases) {
  for (const RefusalCase& expected : cases) {
    const auto made = generate(expected.request);
    const auto* refusal = std::get_if<ScheduleRefusal>(&made);
    ASSERT_NE(refusal, nullptr) << expected.message;
    EXPECT_EQ(refusal->message, expected.message);
    EXPECT_EQ(refusal->allowed, expected.allowed);
  }
}

using K = ScheduleKind;

TEST(Refusals, StateTheRuleTheNumbersAndTheNearestValues) {
  expect_refusals({
      {{.kind = K::one_f_one_b, .devices = 4, .micro_batches = 0},
       "m must be positive: m = 0",
       "1"},
      {{.kind = K::none, .devices = 4, .micro_batches = 8},
       "none runs on one device: p = 4",
       "p = 1, or 1f1b for p = 4"},
      {{.kind = K::gpipe, .devices = 0, .micro_batches = 8},
       "p must lie in [1, 32767]: p = 0",
       "1"},
      {{.kind = K::one_f_one_b, .devices = 4, .chunks = 2, .micro_batches = 8},
       "1f1b runs one chunk per device: v = 2",
       "v = 1, or interleaved for v = 2"},
      {{.kind = K::one_f_one_b, .devices = 1024, .micro_batches = 8192},
       "p v m must not exceed 4194304: 1024 * 1 * 8192 = 8388608",
       "m = 4096"},
      {{.kind = K::interleaved, .devices = 4, .chunks = 1, .micro_batches = 8},
       "interleaved needs virtual stages (v >= 2): v = 1",
       "v = 2, or 1f1b for v = 1"},
      {{.kind = K::interleaved, .devices = 4, .chunks = 2, .micro_batches = 3},
       "interleaved needs a micro-batch for every stage at least: m = 3, p = 4",
       "m = 4"},
      {{.kind = K::interleaved, .devices = 4, .chunks = 2, .micro_batches = 8, .group_size = 3},
       "group size N must lie in [p, m]: N = 3, p = 4, m = 8",
       "N = 4"},
      {{.kind = K::interleaved, .devices = 4, .chunks = 2, .micro_batches = 8, .group_size = 9},
       "group size N must lie in [p, m]: N = 9, p = 4, m = 8",
       "N = 8"},
      {{.kind = K::interleaved, .devices = 4, .chunks = 2, .micro_batches = 6},
       "last micro-batch group (m mod N = 2) is smaller than p: 6 mod 4 = 2, p = 4",
       "m = 4 or 8"},
      {{.kind = K::interleaved, .devices = 4, .chunks = 2, .micro_batches = 11, .group_size = 5},
       "last micro-batch group (m mod N = 1) is smaller than p: 11 mod 5 = 1, p = 4",
       "N = 6"},
  });
}

TEST(Refusals, OfSplitAndOverlappedSchedulesStateTheirRules) {
  expect_refusals({
      {{.kind = K::interleaved_combined, .devices = 4, .micro_batches = 8},
       "combined 1F1B with p > 1 needs virtual stages (v >= 2): p = 4, v = 1",
       "v = 2"},
      {{.kind = K::zb_h1, .devices = 4, .micro_batches = 3},
       "m must be at least p: m = 3, p = 4, p = 4",
       "m = 4"},
      {{.kind = K::zb_h2, .devices = 4, .micro_batches = 6},
       "m must be at least 2p - 1: m = 6, p = 4, 2p - 1 = 7",
       "m = 7"},
      {{.kind = K::zb_v, .devices = 4, .chunks = 3, .micro_batches = 8},
       "exactly two chunks per rank: v = 3",
       "v = 2"},
      {{.kind = K::dualpipe, .devices = 3, .chunks = 2, .micro_batches = 12},
       "p must be even: p = 3",
       "p = 2 or 4"},
      {{.kind = K::dualpipe, .devices = 4, .chunks = 2, .micro_batches = 6},
       "m must be at least 2p: m = 6, 2 * 4 = 8",
       "m = 8"},
      {{.kind = K::dualpipe, .devices = 4, .chunks = 2, .micro_batches = 9},
       "m must be even: m = 9",
       "m = 8 or 10"},
      {{.kind = K::dualpipev, .devices = 4, .chunks = 2, .micro_batches = 7},
       "m must be at least 2p (ranks): m = 7, 2 * 4 = 8",
       "m = 8"},
      {{.kind = K::dualpipev, .devices = 4, .chunks = 1, .micro_batches = 8},
       "dualpipev holds two chunks per rank: v = 1",
       "v = 2"},
  });
}

// Every value that a refusal names as allowed is indeed accepted.
TEST(Refusals, NameOnlyMicroBatchesThatAreAccepted) {
  for (int p = 1; p <= 5; ++p) {
    for (int m = 1; m <= 14; ++m) {
      for (int group = 1; group <= 8; ++group) {
        ScheduleRequest request{.kind = ScheduleKind::interleaved,
                                .devices = p,
                                .chunks = 2,
                                .micro_batches = m,
                                .group_size = group};
        const auto made = generate(request);
        const auto* refusal = std::get_if<ScheduleRefusal>(&made);
        if (refusal == nullptr) {
          continue;
        }
        const int value = std::stoi(refusal->allowed.substr(4));
        const bool of_groups = refusal->allowed[0] == 'N';
        (of_groups ? *request.group_size : request.micro_batches) = value;
        if (!of_groups) {
          request.group_size = std::max(group, p);
        }
        EXPECT_TRUE(std::holds_alternative<Schedule>(generate(request)))
            << "p=" << p << " m=" << m << " N=" << group << ": " << refusal->allowed;
      }
    }
  }
}

TEST(ListFaults, NameTheFirstWrongOperation) {
  Schedule schedule;
  schedule.micro_batches = 1;
  const PipelineOp f{OpKind::forward, false, 0, 0};
  const PipelineOp b{OpKind::backward, false, 0, 0};
  const PipelineOp i{OpKind::backward_input, false, 0, 0};
  const PipelineOp w{OpKind::backward_weight, false, 0, 0};
  const PipelineOp beyond{OpKind::forward, false, 0, 1};
  const auto fault = [&schedule](std::vector<PipelineOp> list) {
    schedule.lists = {std::move(list)};
    return find_list_fault(schedule).value_or("none");
  };
  EXPECT_EQ(fault({f, b}), "none");
  EXPECT_EQ(fault({f, i, w}), "none");
  EXPECT_EQ(fault({f, b, w}), "device 0: weight gradient W0 follows a full backward B0");
  EXPECT_EQ(fault({f, w, i}), "device 0: weight gradient W0 before its input gradient");
  EXPECT_EQ(fault({f, f, b}), "device 0: F0 occurs twice");
  EXPECT_EQ(fault({f, b, i}), "device 0: I0 repeats the backward of its micro-batch");
  EXPECT_EQ(fault({f, i}), "device 0: W0 is missing");
  EXPECT_EQ(fault({f}), "device 0: B0 is missing");
  EXPECT_EQ(fault({f, b, beyond}), "device 0: F1 does not exist: 1 chunks of 1 micro-batches");
  EXPECT_EQ(fault({f, {OpKind::backward, true, 0, 0}}), "device 0: B0 overlaps with nothing");
}

// Those without a flush run the lists of 1F1B.
TEST(Schedules, HaveDistinctListsForTheSameSizes) {
  std::set<std::string> seen;
  std::size_t own = 0;
  for (const ScheduleFamily& family : schedule_families()) {
    if (family.kind != ScheduleKind::none) {
      seen.insert(orders(generated(accepted(family.kind, 4, 8)))[0]);
      own += traits_of(family.kind).stale ? 0U : 1U;
    }
  }
  EXPECT_EQ(seen.size(), own);
}

TEST(Schedules, TwoVersionsOfTheWeightsNeedAsManyMicroBatchesAsStages) {
  const auto refused = generate(
      {.kind = ScheduleKind::pipedream_2bw, .devices = 4, .chunks = 1, .micro_batches = 3});
  ASSERT_TRUE(std::holds_alternative<ScheduleRefusal>(refused));
  EXPECT_EQ(std::get<ScheduleRefusal>(refused).message, "pipedream-2bw needs m >= p: m = 3, p = 4");
  EXPECT_EQ(std::get<ScheduleRefusal>(refused).allowed, "m = 4, or pipedream");
}

}  // namespace
}  // namespace orrery::schedule
