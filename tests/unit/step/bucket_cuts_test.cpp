#include "sim/step/simulate/stages/bucket_cuts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "sim/step/simulate/stages/stage_costs.hpp"
#include "tests/unit/step/ideal_machine.hpp"
#include "tests/unit/step/step_fixture.hpp"

namespace orrery::step::test {
namespace {

constexpr double kHidden = 16'384.0;                   // h of the ideal model
constexpr double kSquare = kHidden * kHidden;          // its layers hold 12 h^2
constexpr double kGradient = 4.0;                      // bytes
constexpr double kLayer = 12.0 * kSquare * kGradient;  // bytes of a layer's gradients

Case replicas(double bucket) {
  Case what;
  what.model_spec = ideal_model(2);
  what.batch = {.global = 2, .micro = 1};
  what.step.bucket = bytes(bucket);
  return what;
}

cost::CostModel two_gpus(BytesPerSecond wire = bytes_per_second(kExa)) {
  Ideal ideal;
  ideal.gpus_per_node = 2;
  ideal.memory = gigabytes(1000.0);
  ideal.wire_rate = wire;
  return ideal_costs(ideal);
}

std::vector<double> cuts_of(const Case& what, const cost::CostModel& costs) {
  return input_of(what, costs).choices.bucket_cuts.at(0).at(0);
}

// Backward order: fc2 4, fc1 4, proj 1, qkv 3 h^2 of layer 1, then of layer 0. Buckets of 4.5 h^2
// close behind fc1 (8), behind fc2 of layer 0 (1 + 3 + 4), behind proj (4 + 1); the rest is qkv.
TEST(BucketCuts, CloseAtTheTensorThatFillsThem) {
  const auto cuts = cuts_of(replicas(4.5 * kSquare * kGradient), two_gpus());
  const std::vector<double> expected = {-1.0, 0.25, 2.0 / 3.0, 4.0 / 3.0, 3.0};
  ASSERT_EQ(cuts.size(), expected.size());
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    EXPECT_NEAR(cuts[i], expected[i], 1e-4) << i;  // norms and biases are spread over the tensors
  }
}

// A first bucket of one byte is the head alone, all others of one byte are one tensor each; the
// table of one row follows the last layer.
TEST(BucketCuts, HaveAFirstOneOfItsOwn) {
  Case what = replicas(100.0 * kLayer);
  EXPECT_EQ(cuts_of(what, two_gpus()), (std::vector<double>{-1.0, 3.0}));
  what.step.first_bucket = bytes(1.0);
  EXPECT_EQ(cuts_of(what, two_gpus()), (std::vector<double>{-1.0, 2.0, 3.0}));
  what.step.bucket = bytes(1.0);
  EXPECT_EQ(cuts_of(what, two_gpus()).size(), 2U * 4U + 2U + 1U);
}

TEST(BucketCuts, AreOfReplicasAlone) {
  Case what = replicas(1.0);
  what.layout.sharding = layout::Sharding::zero1;
  EXPECT_TRUE(input_of(what, two_gpus()).choices.bucket_cuts.empty());
  what = replicas(1.0);
  what.batch.global = 1;
  EXPECT_TRUE(input_of(what, ideal_costs({.gpus_per_node = 1})).choices.bucket_cuts.empty());
}

TEST(BucketCuts, DivideTimeAndParametersWithoutRest) {
  const cost::CostModel costs = two_gpus();
  const auto sums = [&costs](const Case& what) {
    const StepInput input = input_of(what, costs);
    const StageCosts stages = stage_costs(input, costs, buckets_per_chunk(input));
    std::pair<double, double> sum;
    for (const std::uint32_t b : stages.devices[0].chunks[0].buckets) {
      sum.first += stages.buckets[b].parameters;
      sum.second += in_seconds(stages.buckets[b].backward.total());
    }
    return sum;
  };
  const auto whole = sums(replicas(100.0 * kLayer));
  for (const double bucket : {0.1, 0.3, 0.7, 1.3}) {
    const auto cut = sums(replicas(bucket * kLayer));
    EXPECT_NEAR(cut.first / whole.first, 1.0, 1e-12) << bucket;
    EXPECT_NEAR(cut.second / whole.second, 1.0, 1e-12) << bucket;
  }
}

// A reduction starts when the last gradient of its bucket is there and the one before has ended:
//   e(b) = max(e(b + 1), sum of backward(k), k >= b) + reduce(b);  step = forward + e(0) + update
TEST(BucketCuts, AreReducedAsSoonAsTheyAreFull) {
  for (const double wire : {kGiga, 30.0 * kGiga, kExa}) {
    const cost::CostModel costs = with_software(
        two_gpus(bytes_per_second(wire)),
        [](hardware::SoftwareProfile& software) { software.can_overlap_gradients = true; });
    for (const double bucket : {0.2, 0.4, 1.0, 3.0}) {
      const StepInput input = input_of(replicas(bucket * kLayer), costs);
      const StageCosts stages = stage_costs(input, costs, buckets_per_chunk(input));
      const DeviceCosts& device = stages.devices.front();
      double forward = 0.0;
      double computed = 0.0;
      double reduced = 0.0;
      for (std::size_t b = device.chunks[0].buckets.size(); b-- > 0;) {
        const BucketCosts& one = stages.bucket(device.chunks[0], b);
        forward += in_seconds(one.forward.total());
        computed += in_seconds(one.backward.total());
        reduced = std::max(reduced, computed) + in_seconds(one.gradient_reduce.total());
      }
      const double expected = forward + reduced + in_seconds(device.optimizer.total());
      EXPECT_NEAR(step_seconds(simulate(input, costs)) / expected, 1.0, 1e-9)
          << bucket << " layers a bucket at " << wire << " B/s";
    }
  }
}

// A cycle of 1 / 10 of the backward brings a tenth of the gradients; the last waits half a cycle.
TEST(BucketCuts, HoldWhatACycleBrings) {
  const cost::CostModel costs = with_software(two_gpus(), [](hardware::SoftwareProfile& software) {
    software.can_overlap_gradients = true;
  });
  Case what = replicas(100.0 * kLayer);
  const StepInput whole = input_of(what, costs);
  const StageCosts one = stage_costs(whole, costs, buckets_per_chunk(whole));
  const BucketCosts& all = one.buckets.front();
  what.step.cycle = 0.1 * all.backward.total();
  const StepInput input = input_of(what, costs);
  Case same = replicas(0.1 * all.parameters * kGradient);
  EXPECT_EQ(input.choices.bucket_cuts, input_of(same, costs).choices.bucket_cuts);
  const StageCosts cut = stage_costs(input, costs, buckets_per_chunk(input));
  const StepInput plain = input_of(same, costs);
  const StageCosts without = stage_costs(plain, costs, buckets_per_chunk(plain));
  const auto last = [](const StageCosts& stages) {
    return in_seconds(stages.bucket(stages.devices[0].chunks[0], 0).gradient_reduce.total());
  };
  EXPECT_NEAR(last(cut) - last(without), 0.5 * in_seconds(*what.step.cycle), 1e-9);
}

}  // namespace
}  // namespace orrery::step::test
