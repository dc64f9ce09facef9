#include "sim/step/fabric/fluid_flows.hpp"

#include <gtest/gtest.h>

#include "sim/base/random.hpp"
#include "tests/progressive_filling.hpp"

namespace orrery::fabric {
namespace {

constexpr double kUnit = 1e9;  // bytes: one second on a link of capacity 1

SimTime at(double time) { return to_sim_time(seconds(time)); }

std::vector<BytesPerSecond> links_of(const std::vector<double>& capacities) {
  std::vector<BytesPerSecond> links;
  for (const double capacity : capacities) {
    links.push_back(bytes_per_second(capacity * kUnit));
  }
  return links;
}

std::vector<Hop> hops_over(const std::vector<int>& links) {
  std::vector<Hop> hops;
  for (const int link : links) {
    hops.push_back({.link = {link}});
  }
  return hops;
}

struct Start {
  std::vector<int> links;
  double size = 1.0;
  double time = 0.0;
};

struct Change {
  double time = 0.0;
  double capacity = 1.0;  // of link 0
};

// The end of each start in seconds, in the order of the starts; both lists by time.
std::vector<double> ends_of(const std::vector<double>& capacities, const std::vector<Start>& starts,
                            const std::vector<Change>& changes = {}) {
  FluidFlows flows(links_of(capacities), compare_with_full_solve);
  std::vector<double> ends(starts.size(), -1.0);
  std::map<FlowId, std::size_t> running;
  std::size_t next_start = 0;
  std::size_t next_change = 0;
  while (true) {
    SimTime next = flows.next_end();
    if (next_start < starts.size()) {
      next = std::min(next, at(starts[next_start].time));
    }
    if (next_change < changes.size()) {
      next = std::min(next, at(changes[next_change].time));
    }
    if (next == kForever) {
      return ends;
    }
    for (const FlowId flow : flows.advance_to(next)) {
      ends[running.at(flow)] = in_seconds(to_seconds(next));
    }
    for (; next_start < starts.size() && at(starts[next_start].time) == next; ++next_start) {
      const Start& start = starts[next_start];
      running[flows.start(hops_over(start.links), bytes(start.size * kUnit))] = next_start;
    }
    for (; next_change < changes.size() && at(changes[next_change].time) == next; ++next_change) {
      flows.set_capacity({0}, bytes_per_second(changes[next_change].capacity * kUnit));
    }
  }
}

using Ends = std::vector<double>;

TEST(FluidFlows, TheShorterOfTwoEndsFirst) {
  EXPECT_EQ(ends_of({1.0}, {{.links = {0}, .size = 1.0}, {.links = {0}, .size = 2.0}}),
            (Ends{2.0, 3.0}));
}

// Half of the first is through when the second comes: both end later than alone.
TEST(FluidFlows, AnArrivalSlowsDownWhoIsThere) {
  EXPECT_EQ(ends_of({1.0}, {{.links = {0}}, {.links = {0}, .time = 0.5}}), (Ends{1.5, 2.0}));
}

TEST(FluidFlows, ALinkMaySlowDownAndRecover) {
  EXPECT_EQ(ends_of({1.0}, {{.links = {0}}}, {{.time = 0.5, .capacity = 0.5}}), (Ends{1.5}));
  EXPECT_EQ(ends_of({1.0}, {{.links = {0}}},
                    {{.time = 0.5, .capacity = 0.5}, {.time = 1.0, .capacity = 1.0}}),
            (Ends{1.25}));
}

TEST(FluidFlows, ALinkMayBeDownForAWhile) {
  EXPECT_EQ(ends_of({1.0}, {{.links = {0}}},
                    {{.time = 0.25, .capacity = 0.0}, {.time = 1.25, .capacity = 1.0}}),
            (Ends{2.0}));
  EXPECT_EQ(ends_of({1.0}, {{.links = {0}}}, {{.time = 0.25, .capacity = 0.0}}), (Ends{-1.0}));
}

TEST(FluidFlows, AParkingLotEmptiesFromTheSides) {
  EXPECT_EQ(ends_of({1.0, 1.0, 1.0}, {{.links = {0, 1, 2}},
                                      {.links = {0}, .size = 0.5},
                                      {.links = {1}, .size = 0.5},
                                      {.links = {2}, .size = 0.5}}),
            (Ends{1.5, 1.0, 1.0, 1.0}));
}

TEST(FluidFlows, NothingToSendEndsAtOnce) {
  EXPECT_EQ(ends_of({1.0}, {{.links = {0}}, {.links = {0}, .size = 0.0, .time = 0.5}}),
            (Ends{1.0, 0.5}));
}

// 100 s beside 40 messages of one second that come twice as fast as they can leave: what
// cost::stretch_beside says, own + min(own, others).
TEST(FluidFlows, MessagesDelayALongFlowByWhatTheyTakeAlone) {
  std::vector<Start> starts = {{.links = {0}, .size = 100.0}};
  for (int i = 0; i < 40; ++i) {
    starts.push_back({.links = {0}, .time = 0.5 * i});
  }
  EXPECT_NEAR(ends_of({1.0}, starts)[0], 140.0, 1e-6);
}

// Jobs that compute for c, then send what takes m alone over one link; the period of the last.
double period(double c, double m, const std::vector<double>& offsets) {
  FluidFlows flows(links_of({1.0}), compare_with_full_solve);
  constexpr int kSteps = 60;
  std::vector<SimTime> ready;  // when each job begins to send, kForever while it sends
  for (const double offset : offsets) {
    ready.push_back(at(c + offset));
  }
  std::map<FlowId, std::size_t> sending;
  std::vector<SimTime> ends;  // of the first job
  while (ends.size() < kSteps) {
    SimTime next = flows.next_end();
    for (const SimTime time : ready) {
      next = std::min(next, time);
    }
    for (const FlowId flow : flows.advance_to(next)) {
      const std::size_t job = sending.at(flow);
      ready[job] = next + at(c);
      if (job == 0) {
        ends.push_back(next);
      }
    }
    for (std::size_t job = 0; job < ready.size(); ++job) {
      if (ready[job] == next) {
        ready[job] = kForever;
        sending[flows.start(hops_over({0}), bytes(m * kUnit))] = job;
      }
    }
  }
  return in_seconds(to_seconds(ends[kSteps - 1] - ends[kSteps - 2]));
}

// max(c + 2m - d', c + m, 2m), d' = min(d, c + m - d): fair sharing never repairs a bad offset.
TEST(FluidFlows, TwoJobsOnOneLinkKeepTheirPhase) {
  struct Case {
    double c, m, d, wanted;
  };

  for (const Case& job : std::vector<Case>{{1, 1, 0, 3},
                                           {1, 1, 0.25, 2.75},
                                           {1, 1, 1, 2},
                                           {2, 1, 0, 4},
                                           {2, 1, 0.5, 3.5},
                                           {2, 1, 1, 3},
                                           {2, 1, 1.5, 3},
                                           {1, 2, 0, 5},
                                           {1, 2, 1, 4}}) {
    EXPECT_NEAR(period(job.c, job.m, {0.0, job.d}), job.wanted, 1e-6)
        << job.c << " " << job.m << " " << job.d;
  }
}

// c = (k - 1) m: in phase c + k m, shifted by m each as fast as alone.
TEST(FluidFlows, JobsInPhaseTakeLongerThanShiftedOnes) {
  for (const int k : {2, 3, 4, 6}) {
    std::vector<double> shifted;
    for (int job = 0; job < k; ++job) {
      shifted.push_back(job);
    }
    const double c = k - 1;
    EXPECT_NEAR(period(c, 1.0, std::vector<double>(shifted.size(), 0.0)), c + k, 1e-6);
    EXPECT_NEAR(period(c, 1.0, shifted), k, 1e-6);
  }
}

// Every link carries the bytes of the flows that crossed it, whatever happened on the way.
TEST(FluidFlows, BytesAreConserved) {
  constexpr std::uint64_t kSeed = 20261124;
  for (std::uint32_t trial = 0; trial < 300; ++trial) {
    SCOPED_TRACE(::testing::Message() << "seed " << kSeed << " trial " << trial);
    RandomStream random(kSeed, trial, Purpose::property_test);
    FluidFlows flows(links_of(std::vector<double>(6, 1.0)), compare_with_full_solve);
    std::vector<double> wanted(6, 0.0);
    double integral = 0.0;  // of the rate of one flow
    const double size = static_cast<double>(1 + random.uniform_int(1'000'000'000));
    const FlowId watched = flows.start(hops_over({0}), bytes(size));
    wanted[0] += size;
    bool watching = true;
    for (int event = 0; event < 40; ++event) {
      const auto first = static_cast<int>(random.uniform_int(6));
      const auto second = static_cast<int>(random.uniform_int(5));
      const double sent = static_cast<double>(1 + random.uniform_int(1'000'000'000));
      flows.start(hops_over({first, (first + 1 + second) % 6}), bytes(sent));
      wanted[static_cast<std::size_t>(first)] += sent;
      wanted[static_cast<std::size_t>((first + 1 + second) % 6)] += sent;
      const SimTime end = flows.next_end();
      const SimTime next = std::min(end, flows.now() + at(0.2 * random.uniform01()));
      if (watching) {
        integral +=
            in_bytes_per_second(flows.rate(watched)) * in_seconds(to_seconds(next - flows.now()));
      }
      for (const FlowId flow : flows.advance_to(next)) {
        watching = watching && flow != watched;
      }
      if (!watching) {
        EXPECT_NEAR(integral, size, 1.0);  // half a nanosecond at 1 GB/s
        break;
      }
      EXPECT_NEAR(integral + in_bytes(flows.left(watched)), size, 1.0);
    }
    for (SimTime end = flows.next_end(); end != kForever; end = flows.next_end()) {
      flows.advance_to(end);
    }
    for (int link = 0; link < 6; ++link) {
      EXPECT_EQ(in_bytes(flows.carried({link})), wanted[static_cast<std::size_t>(link)]);
    }
  }
}

TEST(FluidFlows, ACancelledFlowLeavesWhatItSent) {
  FluidFlows flows(links_of({1.0}), compare_with_full_solve);
  const FlowId gone = flows.start(hops_over({0}), bytes(kUnit));
  const FlowId other = flows.start(hops_over({0}), bytes(kUnit));
  flows.advance_to(at(0.5));
  flows.cancel(gone);
  EXPECT_EQ(flows.bottleneck(other), LinkId{0});
  EXPECT_EQ(flows.next_end(), at(1.25));
  flows.advance_to(at(1.25));
  EXPECT_EQ(in_bytes(flows.carried({0})), 1.25 * kUnit);
}

}  // namespace
}  // namespace orrery::fabric
