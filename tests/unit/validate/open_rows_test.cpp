// Rows that leave much open: each gets a prediction, and says what had to be assumed.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "sim/evaluate/catalog.hpp"
#include "sim/validate/rows/repair_run.hpp"
#include "sim/validate/rows/run_tables.hpp"
#include "tests/checkout.hpp"

namespace orrery::validate {
namespace {

namespace fs = std::filesystem;

struct Settled {
  ReadyRun run;
  double seconds = 0.0;

  [[nodiscard]] bool notes(const std::string& text) const {
    const auto& notes = run.mapped.notes;
    return std::find(notes.begin(), notes.end(), text) != notes.end();
  }
};

class OpenRows : public ::testing::Test {
 protected:
  Settled settle(const std::string& text) {
    Settled settled;
    Diagnostics diagnostics;
    const auto document = yaml::parse(text, "row", {}, diagnostics);
    EXPECT_TRUE(document.has_value()) << to_string(diagnostics);
    auto run = prepare_run(DataRow(*document), shelf_, diagnostics);
    EXPECT_FALSE(diagnostics.has_errors()) << to_string(diagnostics);
    if (const auto* reason = std::get_if<std::string>(&run)) {
      ADD_FAILURE() << *reason;
      return settled;
    }
    settled.run = std::get<ReadyRun>(std::move(run));
    const auto outcome = simulate_measured(settled.run, {});
    if (const auto* reason = std::get_if<std::string>(&outcome)) {
      ADD_FAILURE() << *reason;
      return settled;
    }
    settled.seconds = in_seconds(to_seconds(std::get<SimulatedRun>(outcome).step.step_time));
    return settled;
  }

 private:
  ProfileShelf shelf_{
      evaluate::profile_search({}, {fs::path(kSourceDir) / "scenarios" / "profiles"})};
};

constexpr const char* kLlama =
    "model: {name: Llama-3-70B, layers: 80, hidden: 8192, heads: 64, kv_heads: 8, ffn_hidden: "
    "28672, gated: true, vocab: 128256, seq_len: 8192}\n";

TEST_F(OpenRows, PredictMixturesOfExpertsWithHalfOfTheirLayout) {
  const Settled run = settle(
      "stack: megatron-bridge\n"
      "model: {name: DeepSeek-V3, layers: 61, hidden: 7168, heads: 128, kv_heads: 128, "
      "ffn_hidden: 18432, gated: true, vocab: 129280, seq_len: 4096, moe: {experts: 256, topk: 8, "
      "expert_ffn: 2048, shared_expert_ffn: 2048, dense_layers: 3}, mla: {q_lora: 1536, kv_lora: "
      "512, qk_head: 128, qk_rope: 64, v_head: 128}}\n"
      "hardware: {gpu: GB300, count: 256, gpus_per_node: 4}\n"
      "layout: {tp: 1, cp: 1, pp: 4, vpp: 4, ep: 64, dp: 64}\n"
      "batch: {global_sequences: 2048, micro: 1}\nprecision: mxfp8\nmissing: [recompute]\n");
  EXPECT_GT(run.seconds, 1.0);
  EXPECT_LT(run.seconds, 60.0);
  EXPECT_EQ(run.run.mapped.scenario.layout.expert, 64);
  EXPECT_TRUE(run.notes("sharding as its stack has it: zero1"));
}

// Dimensions, micro-batch, chunks and recomputation are those of the published model and of common
// practice.
TEST_F(OpenRows, TakeDimensionsFromTheModelsName) {
  const Settled run = settle(
      "stack: megatron-bridge\nmodel: {name: Llama-3.1-405B}\n"
      "hardware: {gpu: H100-80GB, count: 1024}\n"
      "layout: {tp: 8, pp: 8, vpp: null, schedule: interleaved}\n"
      "batch: {global_sequences: 512}\nprecision: bf16\nrecompute: none\n");
  const scenario::Scenario& scenario = run.run.mapped.scenario;
  EXPECT_EQ(scenario.model.num_layers, 126);
  EXPECT_EQ(scenario.model.hidden_size, 16384);
  EXPECT_EQ(scenario.layout.data, 16);
  EXPECT_EQ(scenario.layout.virtual_stages, 8);  // (126 + 2) / 8 layers on a device, two a chunk
  EXPECT_TRUE(run.notes("hidden is missing: 16384"));
  EXPECT_TRUE(run.notes("micro batch is missing: 1"));
  EXPECT_TRUE(run.notes("vpp is missing: 8"));
}

// A model whose name says 13B: h = cbrt(13e9 * 128 / 12) = 5,177, 40 heads of 128 and 40 layers.
TEST_F(OpenRows, GuessAnUnknownModelFromItsSize) {
  const Settled run =
      settle("stack: homemade\nmodel: {name: Mystery-13B}\nhardware: {gpu: TPU-v5, count: 16}\n");
  const model::ModelSpec& model = run.run.mapped.scenario.model;
  EXPECT_EQ(model.hidden_size, 5120);
  EXPECT_EQ(model.num_layers, 40);
  EXPECT_EQ(run.run.software->name, kGenericSoftware);
  EXPECT_TRUE(run.notes("no GPU profile for `TPU-v5`: h100-sxm-80gb"));
  EXPECT_GT(run.seconds, 0.0);
}

// 24 GPUs hold 4 x 2 x 3: the stated dp of 8 is wrong, and 30 sequences on 3 replicas are 10 each.
TEST_F(OpenRows, RepairALayoutThatDoesNotMultiplyUp) {
  const Settled run = settle(std::string("stack: nanotron\n") + kLlama +
                             "hardware: {gpu: H100-80GB, count: 24, gpus_per_node: 8}\n"
                             "layout: {tp: 4, pp: 2, vpp: 1, dp: 8, schedule: 1f1b}\n"
                             "batch: {global_sequences: 29, micro: 4}\nprecision: bf16\n");
  const scenario::Scenario& scenario = run.run.mapped.scenario;
  EXPECT_EQ(scenario.layout.data, 3);
  EXPECT_EQ(scenario.batch.global, 30);
  EXPECT_EQ(scenario.batch.micro, 2);
  EXPECT_TRUE(run.notes("dp 8 does not fit 24 GPUs: 3"));
  EXPECT_TRUE(run.notes("29 sequences on 3 replicas: 30"));
  EXPECT_TRUE(run.notes("micro batch 4 does not divide 10 sequences: 2"));
}

// 7 micro-batches on 4 devices: Megatron's interleaved schedule asks for multiples of the devices.
TEST_F(OpenRows, FallBackToPlain1f1bWhereAScheduleDoesNotExist) {
  const Settled run = settle(std::string("stack: megatron-core\n") + kLlama +
                             "hardware: {gpu: H100-80GB, count: 32, gpus_per_node: 8}\n"
                             "layout: {tp: 8, pp: 4, vpp: 5, dp: 1, schedule: interleaved}\n"
                             "batch: {global_sequences: 7, micro: 1}\nprecision: bf16\n");
  EXPECT_EQ(run.run.mapped.scenario.step.schedule, schedule::ScheduleKind::one_f_one_b);
  EXPECT_TRUE(run.notes("the schedule does not exist for these numbers: plain 1f1b"));
}

TEST_F(OpenRows, TakeThePrecisionThatTheGpuHas) {
  const Settled run = settle(std::string("stack: nemo\n") + kLlama +
                             "hardware: {gpu: A100-80GB, count: 64, gpus_per_node: 8}\n"
                             "layout: {tp: 8, pp: 4, vpp: 1, dp: 2, schedule: 1f1b}\n"
                             "batch: {global_sequences: 64, micro: 1}\nprecision: nvfp4\n");
  EXPECT_EQ(run.run.mapped.scenario.step.precision.compute, model::Dtype::bf16);
}

// 70B on 8 GPUs with long sequences cannot keep its activations; a row that states `none` did.
TEST_F(OpenRows, RecomputeOnlyWhereTheRowLeavesItOpenAndMemoryAsksForIt) {
  const std::string row = std::string("stack: torchtitan\n") + kLlama +
                          "hardware: {gpu: H100-80GB, count: 64, gpus_per_node: 8}\n"
                          "layout: {tp: 1, pp: 1, dp: 64, sharding: fsdp}\n"
                          "batch: {global_sequences: 256, micro: 2}\nprecision: bf16\n";
  const Settled open = settle(row);
  const Settled stated = settle(row + "recompute: none\n");
  EXPECT_EQ(open.run.mapped.scenario.step.recompute.policy, model::Recompute::full);
  EXPECT_EQ(stated.run.mapped.scenario.step.recompute.policy, model::Recompute::none);
  EXPECT_GT(open.seconds, 1.2 * stated.seconds);
}

// Whatever stands in a row: a mapping gets a prediction.
TEST_F(OpenRows, PredictARowThatSaysAlmostNothing) {
  const Settled run = settle(
      "stack: x\nhardware: {gpu: unheard-of, count: 30, gpus_per_node: 0}\n"
      "layout: {tp: 3, pp: 7, cp: 2, ep: 16, dp: -1, schedule: zigzag, sharding: odd, "
      "shard_group: 5}\nbatch: {global_sequences: 0, micro: 0}\nprecision: int4\n"
      "recompute: sometimes\n");
  EXPECT_GT(run.seconds, 0.0);
}

}  // namespace
}  // namespace orrery::validate
