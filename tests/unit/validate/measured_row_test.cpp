// The mapping from a row of measured-runs/1 to a scenario, key by key.

#include "sim/validate/rows/measured_row.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/hardware/profile_reader.hpp"
#include "sim/validate/rows/run_tables.hpp"

namespace orrery::validate {
namespace {

using layout::Sharding;
using schedule::ScheduleKind;

// A row as text, with parts that a test replaces.
std::string row_text(const std::map<std::string, std::string>& changes = {}) {
  std::map<std::string, std::string> parts = {
      {"stack", "nemo"},
      {"model",
       "{name: Llama-3-70B, layers: 80, hidden: 8192, heads: 64, kv_heads: 8, ffn_hidden: 28672, "
       "gated: true, vocab: 128256, seq_len: 8192, tied_embeddings: false}"},
      {"hardware",
       "{gpu: H100-80GB, count: 64, gpus_per_node: 8, inter_node_gbit_per_s_per_gpu: 400}"},
      {"layout",
       "{tp: 4, sp: true, pp: 4, vpp: 5, cp: 2, ep: 1, dp: 2, schedule: interleaved, sharding: "
       "zero1}"},
      {"batch", "{global_sequences: 128, micro: 1}"},
      {"precision", "bf16"},
      {"recompute", "none"},
      {"overlap_as_stated", "not stated"},
  };
  for (const auto& [key, value] : changes) {
    parts[key] = value;
  }
  std::string text;
  for (const auto& [key, value] : parts) {
    text += key + ": " + value + "\n";
  }
  return text;
}

std::variant<MappedRun, std::string> map_text(const std::map<std::string, std::string>& changes) {
  Diagnostics diagnostics;
  const auto document = yaml::parse(row_text(changes), "row", {}, diagnostics);
  EXPECT_TRUE(document.has_value()) << to_string(diagnostics);
  return document ? map_run(DataRow(*document)) : std::string("no row");
}

scenario::Scenario scenario_of(const std::map<std::string, std::string>& changes = {}) {
  auto mapped = map_text(changes);
  if (const auto* reason = std::get_if<std::string>(&mapped)) {
    ADD_FAILURE() << *reason;
    return {};
  }
  return std::get<MappedRun>(std::move(mapped)).scenario;
}

std::vector<std::string> notes_of(const std::map<std::string, std::string>& changes) {
  auto mapped = map_text(changes);
  const auto* run = std::get_if<MappedRun>(&mapped);
  return run == nullptr ? std::vector<std::string>{} : run->notes;
}

TEST(MeasuredRow, GivesTheDimensionsOfTheModel) {
  const model::ModelSpec model = scenario_of().model;
  EXPECT_EQ(model.num_layers, 80);
  EXPECT_EQ(model.hidden_size, 8192);
  EXPECT_EQ(model.num_attention_heads, 64);
  EXPECT_EQ(model.num_query_groups, 8);
  EXPECT_EQ(model.head_dim, 128);
  EXPECT_EQ(model.ffn_hidden_size, 28672);
  EXPECT_EQ(model.vocab_size, 128256);
  EXPECT_EQ(model.sequence_length, 8192);
  EXPECT_FALSE(model.tie_embeddings);
  EXPECT_EQ(model.activation, model::Activation::swiglu);
  EXPECT_EQ(model.position, model::PositionEmbedding::rotary);
}

TEST(MeasuredRow, GivesClusterLayoutAndBatch) {
  const scenario::Scenario scenario = scenario_of();
  EXPECT_EQ(scenario.cluster.gpu, "H100-80GB");
  EXPECT_EQ(scenario.cluster.nodes, 8);
  EXPECT_EQ(scenario.cluster.gpus_per_node, 8);
  EXPECT_DOUBLE_EQ(in_gigabits_per_second(scenario.cluster.network.nic_rate), 400.0);
  EXPECT_EQ(scenario.layout.tensor, 4);
  EXPECT_TRUE(scenario.layout.sequence_parallel);
  EXPECT_EQ(scenario.layout.pipeline, 4);
  EXPECT_EQ(scenario.layout.virtual_stages, 5);
  EXPECT_EQ(scenario.layout.context, 2);
  EXPECT_EQ(scenario.layout.data, 2);
  EXPECT_EQ(scenario.layout.sharding, Sharding::zero1);
  EXPECT_EQ(scenario.step.schedule, ScheduleKind::interleaved);
  EXPECT_EQ(scenario.batch.global, 128);
  EXPECT_EQ(scenario.batch.micro, 1);
  EXPECT_EQ(scenario.software, "nemo");
}

// Megatron-Core's words name modules; others that say what is recomputed mean the attention core.
TEST(MeasuredRow, NamesRecomputedModules) {
  const auto recompute = [](const std::string& text) {
    return scenario_of({{"recompute", text}}).step.recompute;
  };
  const step::RecomputeSpec named = recompute("'selective: mla_up_proj, moe_act'");
  EXPECT_EQ(named.policy, model::Recompute::modules);
  EXPECT_TRUE(named.modules.mla_up_projection && named.modules.moe_activation);
  EXPECT_FALSE(named.modules.moe || named.modules.mlp || named.modules.core_attention);
  EXPECT_EQ(recompute("selective").policy, model::Recompute::selective);
  EXPECT_EQ(recompute("attention").policy, model::Recompute::selective);
  EXPECT_EQ(recompute("full, moe_act").policy, model::Recompute::full);
  EXPECT_EQ(recompute("none").policy, model::Recompute::none);
}

TEST(MeasuredRow, NeverReadsWhatWasMeasured) {
  const scenario::Scenario one =
      scenario_of({{"id", "a"}, {"measured", "{step_time_s: 1.0}"}, {"confidence", "complete"}});
  const scenario::Scenario two = scenario_of(
      {{"id", "b"}, {"measured", "{step_time_s: 99.0, mfu: 0.5}"}, {"confidence", "partial"}});
  EXPECT_EQ(one.model.name, two.model.name);
  EXPECT_EQ(one.model.num_layers, two.model.num_layers);
  EXPECT_EQ(one.batch.global, two.batch.global);
  EXPECT_EQ(one.layout.tensor, two.layout.tensor);
  EXPECT_EQ(one.software, two.software);
  EXPECT_FALSE(one.step.given_time.has_value());
  EXPECT_FALSE(two.step.given_time.has_value());
}

TEST(MeasuredRow, TakesScheduleNoneForOneStageOrForTheUsualPipeline) {
  const auto kind = [](const std::string& layout) {
    return scenario_of({{"layout", layout}}).step.schedule;
  };
  EXPECT_EQ(kind("{tp: 8, pp: 1, dp: 8, schedule: none}"), ScheduleKind::none);
  EXPECT_EQ(kind("{tp: 8, pp: 2, dp: 4, schedule: none}"), ScheduleKind::one_f_one_b);
  EXPECT_EQ(kind("{tp: 8, pp: 2, vpp: 4, dp: 4, schedule: none}"), ScheduleKind::interleaved);
  EXPECT_EQ(kind("{tp: 8, pp: 2, dp: 4, schedule: zb-h1}"), ScheduleKind::zb_h1);
}

// 80 layers with embedding and loss on 8 devices are 10 each: 5 chunks of two.
TEST(MeasuredRow, InterleavesAtLeastTwoChunks) {
  const auto chunks = [](const std::string& layout, const std::string& missing) {
    return scenario_of({{"layout", layout}, {"missing", missing}}).layout.virtual_stages;
  };
  const std::string layout = "{tp: 4, sp: true, pp: 8, vpp: 1, dp: 2, schedule: interleaved}";
  EXPECT_EQ(chunks(layout, "[]"), 2);
  EXPECT_EQ(chunks(layout, "[vpp]"), 5);
  EXPECT_EQ(chunks("{tp: 4, sp: true, pp: 8, dp: 2, schedule: 1f1b}", "[vpp]"), 1);
}

TEST(MeasuredRow, ShardsInsideTheStatedGroup) {
  const auto layout_of = [](const std::string& sharding) {
    return scenario_of({{"layout", "{tp: 1, pp: 1, dp: 64, " + sharding + "}"}}).layout;
  };
  EXPECT_EQ(layout_of("sharding: zero3").sharding, Sharding::zero3);
  EXPECT_EQ(layout_of("sharding: zero3, shard_group: 8").sharding, Sharding::hsdp);
  EXPECT_EQ(layout_of("sharding: zero3, shard_group: 8").shard_group, 8);
  EXPECT_EQ(layout_of("sharding: zero1, shard_group: 8").sharding, Sharding::zero1);
  EXPECT_EQ(layout_of("sharding: zero1, shard_group: 8").shard_group, 8);
  EXPECT_FALSE(layout_of("sharding: zero1, shard_group: 64").shard_group.has_value());
}

TEST(MeasuredRow, ReadsPrecisionsByName) {
  const auto precision = [](const std::string& name) {
    return scenario_of({{"precision", name}}).step.precision;
  };
  EXPECT_EQ(precision("bf16").compute, model::Dtype::bf16);
  EXPECT_EQ(scenario_of({{"precision", "fp16"}}).step.gradient_dtype, model::Dtype::fp16);
  EXPECT_FALSE(scenario_of({{"precision", "bf16"}}).step.gradient_dtype.has_value());
  EXPECT_EQ(precision("fp8-delayed").fp8_scaling, model::Fp8Scaling::delayed);
  EXPECT_EQ(precision("fp8-tensorwise").fp8_scaling, model::Fp8Scaling::tensorwise);
  EXPECT_EQ(precision("fp8-rowwise").fp8_scaling, model::Fp8Scaling::rowwise);
  EXPECT_EQ(precision("fp8-block").fp8_scaling, model::Fp8Scaling::block);
  EXPECT_EQ(precision("mxfp8").fp8_scaling, model::Fp8Scaling::block);  // no Blackwell
  EXPECT_EQ(precision("nvfp4").fp8_scaling, model::Fp8Scaling::nvfp4);
  EXPECT_EQ(precision("nvfp4").compute, model::Dtype::fp4);
  EXPECT_EQ(precision("mxfp8").compute, model::Dtype::fp8);
  EXPECT_EQ(precision("FP8-CS").fp8_scaling, model::Fp8Scaling::tensorwise);
  EXPECT_EQ(precision("NVFP4").compute, model::Dtype::fp4);
  EXPECT_EQ(notes_of({{"precision", "int4"}}).front(), "precision `int4`: bf16");
}

TEST(MeasuredRow, LetsTextInOnlyThroughTheKeywords) {
  const auto overlap = [](const std::string& words) {
    return scenario_of({{"overlap_as_stated", "'" + words + "'"}}).step.overlap;
  };
  EXPECT_TRUE(overlap("not stated").data);
  EXPECT_FALSE(overlap("not stated").tensor);
  EXPECT_FALSE(overlap("gradient buckets off").data);
  EXPECT_FALSE(overlap("scatter/gather communication; no DP overlap stated").data);
  EXPECT_TRUE(overlap("DP overlap, TP userbuffers overlap, PP P2P overlap per recipe").tensor);
  EXPECT_FALSE(overlap("DP overlap; no TP userbuffers overlap").tensor);
  EXPECT_FALSE(overlap("all overlaps disabled (no DP overlap)").pipeline);
  EXPECT_TRUE(overlap("words that no table holds").pipeline);
}

TEST(MeasuredRow, CountsTheNicsThatTheTextNames) {
  const scenario::Scenario scenario = scenario_of(
      {{"hardware",
        "{gpu: A100-80GB, count: 64, gpus_per_node: 8, inter_node_gbit_per_s_per_gpu: 50, "
        "inter_node: 4 x 100 Gb/s RoCE per node}"}});
  EXPECT_EQ(scenario.cluster.network.nics_per_node, 4);
  EXPECT_DOUBLE_EQ(in_gigabits_per_second(scenario.cluster.network.nic_rate), 100.0);
}

TEST(MeasuredRow, NeedsNoNetworkOnOneNode) {
  const scenario::Scenario scenario =
      scenario_of({{"hardware", "{gpu: B200, count: 4, gpus_per_node: 8}"},
                   {"layout", "{tp: 4, pp: 1, dp: 1}"}});
  EXPECT_EQ(scenario.cluster.nodes, 1);
  EXPECT_EQ(scenario.cluster.gpus_per_node, 4);
  EXPECT_EQ(scenario.cluster.network.nics_per_node, 0);
}

TEST(MeasuredRow, MapsExpertsAndLatentAttention) {
  const model::ModelSpec model =
      scenario_of(
          {{"model",
            "{name: DeepSeek-V3 (4 layers), layers: 4, hidden: 7168, heads: 128, kv_heads: 128, "
            "ffn_hidden: 18432, gated: true, vocab: 129280, seq_len: 4096, moe: {experts: 256, "
            "topk: 8, expert_ffn: 2048, shared_expert_ffn: 2048, dense_layers: 1}, mla: {q_lora: "
            "1536, kv_lora: 512, qk_head: 128, qk_rope: 64, v_head: 128}}"}})
          .model;
  ASSERT_TRUE(model.moe.has_value());
  EXPECT_EQ(model.moe->num_experts, 256);
  EXPECT_EQ(model.moe->top_k, 8);
  EXPECT_EQ(model.moe->shared_experts, 1);
  EXPECT_EQ(model.moe->dense_layers, 1);
  ASSERT_TRUE(model.mla.has_value());
  EXPECT_EQ(model.mla->kv_lora_rank, 512);
  EXPECT_EQ(model.head_dim, 192);
}

TEST(MeasuredRow, PadsTheMlpToItsShards) {
  const scenario::Scenario scenario = scenario_of(
      {{"model",
        "{name: InternLM-7B, layers: 32, hidden: 4096, heads: 32, kv_heads: 32, ffn_hidden: 10923, "
        "gated: true, vocab: 103168, seq_len: 2048}"},
       {"layout", "{tp: 2, pp: 1, dp: 32}"}});
  EXPECT_EQ(scenario.model.ffn_hidden_size, 10924);
}

TEST(RunTables, FindTheMostSpecificEntry) {
  EXPECT_EQ(software_of("megatron-deepspeed-vtrain-single"), "megatron-deepspeed-vtrain");
  EXPECT_EQ(software_of("megatron-deepspeed"), "megatron-deepspeed");
  EXPECT_EQ(software_of("megatron-core"), "megatron-core");
  EXPECT_EQ(software_of("megatron-bridge"), "megatron-bridge");
  EXPECT_EQ(software_of("maxtext"), kGenericSoftware);
  EXPECT_EQ(model_family("GPT-OSS-120B", true).position, model::PositionEmbedding::rotary);
  EXPECT_EQ(model_family("GPT-175B", false).position, model::PositionEmbedding::learned);
  EXPECT_EQ(model_family("unheard-of", true).name, "Llama");
}

const std::map<std::string, std::string> kMixtureRow = {
    {"stack", "megatron-bridge"},
    {"model",
     "{name: Qwen3-30B-A3B, layers: 48, hidden: 2048, heads: 32, kv_heads: 4, head_dim: 128, "
     "ffn_hidden: 6144, gated: true, vocab: 151936, seq_len: 4096, tied_embeddings: false, "
     "moe: {experts: 128, topk: 8, expert_ffn: 768}}"},
    {"hardware", "{gpu: B200, count: 8, gpus_per_node: 8}"},
    {"layout", "{tp: 1, pp: 1, cp: 1, ep: 8, dp: 8, schedule: none, sharding: zero1}"},
    {"batch", "{global_sequences: 512, micro: 1}"},
    {"precision", "mxfp8"}};

scenario::Scenario mixture_with(const std::string& key, const std::string& value) {
  std::map<std::string, std::string> row = kMixtureRow;
  row[key] = value;
  return scenario_of(row);
}

TEST(MeasuredRow, SoftwareOptionsBecomeThoseOfTheScenario) {
  using namespace hardware;
  const scenario::Scenario scenario = mixture_with(
      "software_options",
      "{expert_dispatcher: hybridep, cuda_graphs: [attn, moe_router], grouped_gemm: fused, "
      "attention_fp8: true, expert_overlap: true, token_drop: true, routing: balanced}");
  const ExpertChoices& experts = scenario.step.experts;
  EXPECT_EQ(experts.dispatcher, ExpertDispatcher::hybridep);
  EXPECT_EQ(experts.grouped_gemm, GroupedGemm::fused);
  EXPECT_EQ(experts.attention_fp8, true);
  ASSERT_TRUE(experts.cuda_graphs);
  EXPECT_TRUE(experts.cuda_graphs->covers(GraphScope::moe_router));
  EXPECT_FALSE(experts.cuda_graphs->covers(GraphScope::moe_preprocess));
  EXPECT_EQ(scenario.step.overlap.expert, true);
  EXPECT_DOUBLE_EQ(scenario.model.moe->capacity_factor, 1.0);
  EXPECT_DOUBLE_EQ(scenario.model.moe->imbalance, 1.0);
}

TEST(MeasuredRow, WordsSayWhatWasSwitchedOnWhereNoOptionsDo) {
  using namespace hardware;
  const scenario::Scenario partly =
      mixture_with("overlap_as_stated",
                   "'DP overlap; DeepEP dispatch; MoE all-to-all overlap (1F1B); CUDA graphs: "
                   "transformer_engine moe_router+moe_preprocess'");
  EXPECT_EQ(partly.step.experts.dispatcher, ExpertDispatcher::deepep);
  EXPECT_EQ(partly.step.overlap.expert, true);
  ASSERT_TRUE(partly.step.experts.cuda_graphs);
  EXPECT_TRUE(partly.step.experts.cuda_graphs->covers(GraphScope::moe_preprocess));
  EXPECT_FALSE(partly.step.experts.cuda_graphs->covers(GraphScope::attn));
  EXPECT_FALSE(partly.step.experts.grouped_gemm);
  const scenario::Scenario whole =
      mixture_with("overlap_as_stated", "'HybridEP dispatch; CUDA graphs: full_iteration'");
  EXPECT_EQ(whole.step.experts.dispatcher, ExpertDispatcher::hybridep);
  EXPECT_EQ(whole.step.experts.grouped_gemm, GroupedGemm::fused);
  EXPECT_FALSE(scenario_of(kMixtureRow).step.experts.dispatcher);
}

TEST(MeasuredRow, NaturalRoutingLoadsTheBusiestRank) {
  EXPECT_DOUBLE_EQ(mixture_with("notes", "'natural routing, aux loss'").model.moe->imbalance, 1.35);
}

}  // namespace
}  // namespace orrery::validate
