// What a reference model, a critic, weights of several versions and modules on the host add to a
// step and to its memory.

#include <gtest/gtest.h>

#include "sim/step/model/flops.hpp"
#include "sim/step/model/memory.hpp"
#include "sim/step/model/parameters.hpp"
#include "sim/step/simulate/stages/stage_costs.hpp"
#include "tests/unit/step/step_fixture.hpp"

namespace orrery::step::test {
namespace {

using layout::Sharding;

double parameters_of(const Case& what) {
  return static_cast<double>(model::count_parameters(model_of(what)).total);
}

model::ModelSpec with_reference(const Case& what) {
  model::ModelSpec spec = model_of(what);
  spec.reference = true;
  return spec;
}

Seconds forward_of(const Case& what) {
  const Prepared prepared = prepare(what);
  Seconds sum;
  for (const BucketCosts& bucket : stage_costs(prepared.input, prepared.costs, {{1}}).buckets) {
    sum += bucket.forward.total();
  }
  return sum;
}

// Of a model without dropout the reference's forward is the forward once more.
TEST(Reference, RunsTheForwardTwiceAndNothingElse) {
  for (const bool full : {false, true}) {
    Case what;
    what.step.recompute.policy = full ? model::Recompute::full : model::Recompute::none;
    Case compared = what;
    compared.model_spec = with_reference(what);
    const Seconds once = forward_of(what);
    EXPECT_NEAR(forward_of(compared) / once, 2.0, 1e-6);
    const Prepared base = prepare(what);
    const double added = step_seconds(simulate(compared)) - step_seconds(simulate(what));
    const auto m = static_cast<double>(base.input.layout.micro_batches);
    EXPECT_NEAR(added, in_seconds(once) * m, 0.01 * added);
  }
}

// 6 N + 2 N, and 4 N + 2 N of frozen weights: 4 / 3 and 1 of the FLOP of a full step.
TEST(Reference, CountsAForwardMore) {
  Case what;
  const auto flop = [](const model::ModelSpec& spec, model::FlopConvention convention) {
    return in_flop(model::model_flop_per_token(spec, convention));
  };
  model::ModelSpec compared = with_reference(what);
  for (const auto convention : {model::FlopConvention::palm, model::FlopConvention::six_nd}) {
    EXPECT_NEAR(flop(compared, convention) / flop(model_of(what), convention), 4.0 / 3.0, 1e-12);
  }
  compared.lora = model::AdapterSpec{.rank = 1};
  const auto weights = model::FlopConvention::six_nd;
  EXPECT_NEAR(flop(compared, weights) / flop(model_of(what), weights), 1.0, 0.001);
}

// 2 bytes a parameter beside the states, split as they are; nothing where adapters make the model
// its own reference.
TEST(Reference, IsHeldInTheTypeOfTheParameters) {
  for (const Sharding sharding : {Sharding::none, Sharding::zero3}) {
    Case what;
    what.layout.sharding = sharding;
    Case compared = what;
    compared.model_spec = with_reference(what);
    const double share = sharding == Sharding::zero3 ? 1.0 / 8.0 : 1.0;
    EXPECT_NEAR(in_bytes(simulate(compared).memory.at(0).parameters -
                         simulate(what).memory.at(0).parameters),
                2.0 * parameters_of(what) * share, 1e-6 * parameters_of(what));
    what.model_spec = model_of(what);
    what.model_spec->lora = model::AdapterSpec{.rank = 16};
    compared.model_spec->lora = what.model_spec->lora;
    EXPECT_EQ(simulate(compared).memory.at(0).parameters, simulate(what).memory.at(0).parameters);
  }
}

// Half the states again of a critic of half the size; activations are never there at once.
TEST(Critic, HoldsItsStatesBesideThePolicy) {
  Case what;
  const StageMemory alone = simulate(what).memory.at(0);
  what.step.critic = 0.5;
  const StageMemory both = simulate(what).memory.at(0);
  EXPECT_NEAR(both.optimizer / alone.optimizer, 1.5, 1e-12);
  EXPECT_NEAR(both.gradients / alone.gradients, 1.5, 1e-12);
  EXPECT_EQ(both.activations, alone.activations);
}

Case pipeline_case(schedule::ScheduleKind kind, std::int64_t micro_batches) {
  Case what;
  what.layout.pipeline = 4;
  what.batch = {.global = 2 * micro_batches, .micro = 1};
  what.step.schedule = kind;
  return what;
}

// PipeDream on four stages, an update per micro-batch: 4, 3, 2 and 1 versions and micro-batches in
// flight. 2BW: two versions everywhere.
TEST(StaleWeights, TakeOneCopyForEveryVersion) {
  const Case flushed = pipeline_case(schedule::ScheduleKind::one_f_one_b, 8);
  const StepResult base = simulate(flushed);
  const StepResult pipedream = simulate(pipeline_case(schedule::ScheduleKind::pipedream, 1));
  const StepResult two = simulate(pipeline_case(schedule::ScheduleKind::pipedream_2bw, 8));
  for (std::size_t d = 0; d < 4; ++d) {
    const StageMemory& one = base.memory.at(d);
    EXPECT_NEAR(pipedream.memory.at(d).parameters / one.parameters, 4.0 - static_cast<double>(d),
                1e-9);
    EXPECT_NEAR(two.memory.at(d).parameters / one.parameters, 2.0, 1e-9);
    EXPECT_NEAR(two.memory.at(d).activations / one.activations, 1.0, 1e-9);
    if (d + 1 < 4) {  // the head's are held while it runs
      EXPECT_NEAR(pipedream.memory.at(d).activations / one.activations, 1.0, 1e-9);
    }
  }
}

// What is gained over 1F1B is its bubble: 3 of 8 + 3 micro-batches, less the update.
TEST(StaleWeights, GainTheBubble) {
  const StepResult flushed = simulate(pipeline_case(schedule::ScheduleKind::one_f_one_b, 8));
  const StepResult stale = simulate(pipeline_case(schedule::ScheduleKind::pipedream_2bw, 8));
  EXPECT_GT(flushed.ledger.share(StepCategory::bubble), 0.15);
  EXPECT_LT(stale.ledger.share(StepCategory::bubble), 0.01);
  EXPECT_LT(step_seconds(stale), 0.85 * step_seconds(flushed));
  EXPECT_GE(step_seconds(stale), 8.0 / 11.0 * step_seconds(flushed));
}

// Attention: stream, norm's result, Q, K, V and the output; MLP: the stream. Together with the
// rest that has no module they are all that the layer keeps.
TEST(OffloadedModules, TakeTheirInputsOutOfTheGpu) {
  const Case what;
  const Prepared prepared = prepare(what);
  const model::ActivationOptions options{.ops = op_options(prepared.input, prepared.costs)};
  const model::ModelSpec& spec = prepared.input.model;
  const auto moved = [&](const model::OffloadModules& modules) {
    return in_bytes(model::layer_offloaded_bytes(spec, options, modules, 0));
  };
  const double tokens = static_cast<double>(spec.sequence_length);
  const double stream = 2.0 * tokens * static_cast<double>(spec.hidden_size);
  EXPECT_DOUBLE_EQ(moved({.attn_norm = true}), stream);
  EXPECT_DOUBLE_EQ(moved({.qkv_linear = true}), stream);
  EXPECT_DOUBLE_EQ(moved({.core_attn = true}), stream * 1.5);  // 8 of 32 heads for K and for V
  EXPECT_DOUBLE_EQ(moved({.attn_proj = true}), stream);
  EXPECT_DOUBLE_EQ(moved({.mlp_norm = true}), stream);
  EXPECT_DOUBLE_EQ(moved({.expert_fc1 = true, .moe_act = true}), 0.0);
  Case away = what;
  away.step.offload.modules = {.attn_norm = true, .core_attn = true};
  const StageMemory here = simulate(what).memory.at(0);
  const StageMemory there = simulate(away).memory.at(0);
  const double layers = static_cast<double>(spec.num_layers);
  EXPECT_NEAR(in_bytes(here.activations - there.activations), layers * 2.5 * stream, 1.0);
  EXPECT_NEAR(in_bytes(there.host), layers * 2.5 * stream, 1.0);
}

}  // namespace
}  // namespace orrery::step::test
