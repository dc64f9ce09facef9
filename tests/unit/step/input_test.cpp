// The input of a step: what must be read in time, and how documents fill the sequences.

#include <gtest/gtest.h>

#include <cmath>

#include "sim/step/simulate/stages/documents.hpp"
#include "sim/step/simulate/stages/speed_spread.hpp"
#include "sim/step/simulate/step_simulator.hpp"
#include "tests/unit/step/ideal_machine.hpp"
#include "tests/unit/step/step_fixture.hpp"

namespace orrery::step::test {
namespace {

constexpr std::int64_t kSequence = 4096;

Case read_case() {
  Case what;
  what.nodes = 2;
  what.layout.sharding = layout::Sharding::zero3;
  return what;
}

// 64 sequences of 8,192 tokens on two nodes at 4 bytes: 1 MiB of tokens a node.
TEST(InputSupply, EveryNodeReadsItsOwnTokens) {
  Case what = read_case();
  what.step.data.read_bandwidth = bytes_per_second(kMebi / 2.0);
  const Prepared prepared = prepare(what);
  EXPECT_NEAR(in_seconds(supply_time(prepared.input)), 2.0, 1e-12);
  what.step.data.tokens_per_second = kMebi / 4.0 / 8.0;
  EXPECT_NEAR(in_seconds(supply_time(prepare(what).input)), 8.0, 1e-12);
}

TEST(InputSupply, StallsForWhatTheStepDoesNotHide) {
  Case what = read_case();
  const StepResult alone = simulate(what);
  what.step.data.tokens_per_second = 64.0 * 8192.0 / 2.0 / (2.0 * step_seconds(alone));
  const StepResult late = simulate(what);
  EXPECT_NEAR(step_seconds(late) / step_seconds(alone), 2.0, 1e-8);
  EXPECT_NEAR(late.ledger.share(StepCategory::data_stall), 0.5, 1e-8);
  EXPECT_EQ(late.ledger.total(), Int128{16} * Int128{late.step_time.ns});
  what.step.data.prefetch = false;
  EXPECT_NEAR(step_seconds(simulate(what)) / step_seconds(alone), 3.0, 1e-8);
}

DocumentShape shape_of(Packing packing, std::int64_t length, double sigma = 0.0) {
  DataSpec data;
  data.packing = packing;
  data.document_length = length;
  data.document_sigma = sigma;
  return document_shape(data, kSequence);
}

TEST(Documents, EqualOnesHaveTheirOwnLengthAndNoSpread) {
  const DocumentShape shape = shape_of(Packing::masked, 1024);
  EXPECT_DOUBLE_EQ(shape.length, 1024.0);
  EXPECT_NEAR(shape.spread, 0.0, 1e-9);
  EXPECT_DOUBLE_EQ(shape.useful, 1.0);
}

TEST(Documents, LongOnesAreCut) {
  // 5,120 tokens are pieces of 4,096 and 1,024: (4096^2 + 1024^2) / 5120.
  EXPECT_DOUBLE_EQ(shape_of(Packing::masked, 5120).length,
                   (4096.0 * 4096.0 + 1024.0 * 1024.0) / 5120.0);
  EXPECT_DOUBLE_EQ(shape_of(Packing::padded, 5120).useful, 1.0);
  EXPECT_DOUBLE_EQ(shape_of(Packing::padded, 1024).useful, 0.25);
}

// Far below the sequence length nothing is cut: E[l^2] / E[l] = mean exp(sigma^2).
TEST(Documents, LognormalOnesHaveTheirTokenWeightedMean) {
  const DocumentShape shape = shape_of(Packing::masked, 100, 0.5);
  EXPECT_NEAR(shape.length, 100.0 * std::exp(0.25), 0.01);
  // Var(l^2 - r l) = E4 - 2 r E3 + r^2 E2 with E_k = mean^k exp(k (k - 1) sigma^2 / 2).
  const auto moment = [](int k) { return std::pow(100.0, k) * std::exp(k * (k - 1) * 0.125); };
  const double r = moment(2) / moment(1);
  const double pieces = kSequence / 100.0;
  const double expected =
      std::sqrt(pieces * (moment(4) - 2.0 * r * moment(3) + r * r * moment(2))) /
      (pieces * moment(2));
  EXPECT_NEAR(shape.spread / expected, 1.0, 1e-3);
}

// A rate that does not depend on length: masked attention takes length / s of the whole.
TEST(Documents, MaskingShortensAttentionAlone) {
  Ideal ideal;
  ideal.gpus_per_node = 1;
  ideal.attention = hardware::AttentionImplementation::fused;
  const cost::CostModel costs = ideal_costs(ideal);
  Case what;
  what.model_spec = ideal_model(2);
  what.batch = {.global = 1, .micro = 1};
  const auto attention = [&](const StepInput& input) {
    Seconds sum;
    for (const OperationShare& line : simulate(input, costs).operations) {
      sum +=
          line.name.starts_with("attention forward") || line.name.starts_with("attention backward")
              ? line.time
              : Seconds{};
    }
    return in_seconds(sum);
  };
  const StepInput whole = input_of(what, costs);
  what.step.data = {.packing = Packing::masked, .document_length = 512};
  const StepInput masked = input_of(what, costs);
  const double saved = step_seconds(simulate(whole, costs)) - step_seconds(simulate(masked, costs));
  EXPECT_NEAR(saved / (attention(whole) * (1.0 - 512.0 / 2048.0)), 1.0, 1e-6);
}

TEST(Documents, TheLongestReplicaIsWaitedFor) {
  Case what = read_case();
  what.step.data = {.packing = Packing::masked, .document_length = 1000, .document_sigma = 1.0};
  const Prepared prepared = prepare(what);
  const DocumentShape shape = document_shape(what.step.data, 8192);
  const MaskedAttention masked = masked_attention(prepared.input, prepared.costs);
  EXPECT_NEAR(masked.imbalance, expected_maximum(16) * shape.spread, 1e-12);
  EXPECT_GT(simulate(prepared.input, prepared.costs).ledger.share(StepCategory::idle), 0.0);
}

}  // namespace
}  // namespace orrery::step::test
