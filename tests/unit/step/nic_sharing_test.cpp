#include <gtest/gtest.h>

#include "sim/step/hardware/software_profile.hpp"
#include "sim/step/simulate/stages/data_parallel_costs.hpp"

namespace orrery::step {
namespace {

Parts parts_of(StepCategory category, double milliseconds_long) {
  Parts parts;
  parts.by_category[static_cast<std::size_t>(category)] = milliseconds(milliseconds_long);
  return parts;
}

// One device with one bucket: 40 ms forward, 60 ms backward, a reduction of 30 ms.
StageCosts one_device(double message) {
  StageCosts costs;
  BucketCosts bucket;
  bucket.forward = parts_of(StepCategory::compute, 40.0);
  bucket.backward = parts_of(StepCategory::compute, 60.0);
  bucket.gradient_reduce = parts_of(StepCategory::exposed_data, 30.0);
  costs.buckets.push_back(bucket);
  DeviceCosts device;
  device.chunks.push_back({{0}});
  costs.devices = {device, device};
  costs.send_forward.assign(2, parts_of(StepCategory::exposed_pipeline, message));
  costs.send_backward = costs.send_forward;
  return costs;
}

class NicSharing : public ::testing::Test {
 protected:
  NicSharing() {
    places.data = {.ranks = 8,
                   .nodes = 8,
                   .ranks_per_node = 1,
                   .domains = 8,
                   .ranks_per_domain = 1,
                   .sharing_node = 8,
                   .tier = 0};
  }

  [[nodiscard]] double stretch(const StageCosts& costs, bool overlapped = true) const {
    return data_parallel_stretch(
        {.places = places, .software = software, .overlapped = overlapped, .hops_on_network = hops},
        costs);
  }

  cost::Placements places;
  hardware::SoftwareProfile software = hardware::neutral_stack();
  std::vector<bool> hops = {true, true};
};

// A reduction of 30 ms beside messages of 6 ms forward and 6 ms backward: 1 + 12 / 30.
TEST_F(NicSharing, MessagesStretchTheReductionBesideThem) {
  EXPECT_DOUBLE_EQ(stretch(one_device(6.0)), 1.4);
}

TEST_F(NicSharing, AtLeastHalfOfTheNicIsLeft) { EXPECT_DOUBLE_EQ(stretch(one_device(200.0)), 2.0); }

TEST_F(NicSharing, NothingIsSharedInsideADomainOrOneAfterTheOther) {
  EXPECT_DOUBLE_EQ(stretch(one_device(10.0), false), 1.0);
  hops = {false, false};
  EXPECT_DOUBLE_EQ(stretch(one_device(10.0)), 1.0);
  hops = {true, true};
  places.data.nodes = places.data.domains = 1;
  EXPECT_DOUBLE_EQ(stretch(one_device(10.0)), 1.0);
}

// An all-to-all of 15 ms in the forward and 15 ms in the backward, experts over two nodes.
TEST_F(NicSharing, ExpertTrafficCountsWhenItLeavesTheNode) {
  StageCosts costs = one_device(0.0);
  for (Parts* pass : {&costs.buckets[0].forward, &costs.buckets[0].backward}) {
    Seconds& compute = pass->by_category[static_cast<std::size_t>(StepCategory::compute)];
    compute -= milliseconds(15.0);
    pass->by_category[static_cast<std::size_t>(StepCategory::exposed_expert)] = milliseconds(15.0);
  }
  EXPECT_DOUBLE_EQ(stretch(costs), 1.0);
  places.expert = places.data;
  EXPECT_DOUBLE_EQ(stretch(costs), 2.0);
}

TEST_F(NicSharing, ReductionsAndGathersTakeThatMuchLonger) {
  StageCosts costs = one_device(6.0);
  share_nics({.places = places, .software = software, .overlapped = true, .hops_on_network = hops},
             costs);
  EXPECT_NEAR(in_milliseconds(costs.buckets[0].gradient_reduce.total()), 42.0, 1e-9);
}

}  // namespace
}  // namespace orrery::step
