// Every key of the table reaches its field and no other: no key is parsed but inert.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>
#include <vector>

#include "sim/scenario/load.hpp"
#include "sim/scenario/table/key_table.hpp"
#include "sim/scenario/variant.hpp"
#include "tests/unit/scenario/key_effect.hpp"
#include "tests/unit/scenario/scenario_dump.hpp"
#include "tests/unit/scenario/scenario_text.hpp"

namespace orrery::scenario {
namespace {

using Pairs = ScenarioText::Pairs;

const Pairs kMoe = {{"model.moe.num_experts", "8"},
                    {"model.moe.top_k", "2"},
                    {"model.moe.ffn_hidden_size", "512"},
                    {"model.moe.dense_layers", "1"},
                    {"layout.expert", "4"}};
const Pairs kMla = {{"model.mla.kv_lora_rank", "512"},
                    {"model.mla.qk_nope_head_dim", "128"},
                    {"model.mla.qk_rope_head_dim", "64"},
                    {"model.mla.v_head_dim", "128"}};
const Pairs kSparse = {{"model.mla.q_lora_rank", "1536"},
                       {"model.mla.kv_lora_rank", "512"},
                       {"model.mla.qk_nope_head_dim", "128"},
                       {"model.mla.qk_rope_head_dim", "64"},
                       {"model.mla.v_head_dim", "128"},
                       {"model.sparse_attention.index_heads", "8"},
                       {"model.sparse_attention.index_head_dim", "64"},
                       {"model.sparse_attention.top_k", "512"}};
const Pairs kCompressed = {{"model.attention_window.size", "128"},
                           {"model.layer_types", "[sliding_attention, compressed_attention]"},
                           {"model.compressed_attention.q_lora_rank", "1024"},
                           {"model.compressed_attention.output_groups", "8"},
                           {"model.compressed_attention.output_rank", "512"}};
const Pairs kLinear = {{"model.layer_types", "[gated_delta, attention]"},
                       {"model.linear_attention.value_heads", "16"},
                       {"model.linear_attention.key_heads", "8"},
                       {"model.linear_attention.key_dim", "128"},
                       {"model.linear_attention.value_dim", "64"}};
const Pairs kWindow = {{"model.attention_window.size", "512"}};
const Pairs kFull = {{"model.attention_window.size", "512"},
                     {"model.attention_window.full_every", "2"},
                     {"model.full_attention.num_query_groups", "8"},
                     {"model.full_attention.head_dim", "256"},
                     {"model.full_attention.shared_key_value", "false"}};
const Pairs kPreset = {{"cluster.network", "{preset: infiniband-400g}"}};
const Pairs kPipeline = {{"layout.pipeline", "2"}, {"layout.schedule", "gpipe"}};
const Pairs kGeneric = {{"software.name", "generic"}};  // without recipes
const Pairs kFsdp = {{"layout.sharding", "zero3"}};
const Pairs kMaintenance = {{"failures.maintenance.rate", "1/d"},
                            {"failures.maintenance.stall", "1min"}};

const std::vector<Effect>& model_effects() {
  static const std::vector<Effect> effects = {
      {"name", "other", "name = other"},
      {"model.preset",
       "llama3-8b",
       "model_preset = llama3-8b; model.name = llama3-8b; model.num_layers = 32; "
       "model.hidden_size = 4096; model.num_attention_heads = 32; model.num_query_groups = 8; "
       "model.head_dim = 128; model.ffn_hidden_size = 14336; model.vocab_size = 128256; "
       "model.sequence_length = 8192",
       {},
       "model"},
      {"model.name", "ours", "model.name = ours"},
      {"model.num_layers", "16", "model.num_layers = 16"},
      {"model.hidden_size", "2048",
       "model.hidden_size = 2048; model.head_dim = 128; model.ffn_hidden_size = 8192"},
      {"model.num_attention_heads", "8",
       "model.num_attention_heads = 8; model.num_query_groups = 8; model.head_dim = 128"},
      {"model.num_query_groups", "4", "model.num_query_groups = 4"},
      {"model.head_dim", "96", "model.head_dim = 96"},
      {"model.ffn_hidden_size", "3072", "model.ffn_hidden_size = 3072"},
      {"model.vocab_size", "50304", "model.vocab_size = 50304"},
      {"model.sequence_length", "4k", "model.sequence_length = 4000"},
      {"model.activation", "squared_relu", "model.activation = #2"},
      {"model.gated_mlp", "false", "model.activation = #0"},
      {"model.tie_embeddings", "true", "model.tie_embeddings = true"},
      {"model.norm", "layer_norm", "model.norm = #0"},
      {"model.position", "learned", "model.position = #1; model.max_positions = 2048"},
      {"model.max_positions",
       "4096",
       "model.max_positions = 4096",
       {{"model.position", "learned"}}},
      {"model.linear_bias", "true", "model.linear_bias = true"},
      {"model.qkv_bias", "true", "model.qkv_bias = true"},
      {"model.embedding_norm", "true", "model.embedding_norm = true"},
      {"model.causal", "false", "model.causal = false"},
      {"model.output_gate", "true", "model.output_gate = true"},
      {"model.mtp", "1", "model.mtp_layers = 1"},
      {"model.mtp_shared", "true", "model.mtp_shared = true", {{"model.mtp", "2"}}},
      {"model.layer_types", "[attention, gated_delta]",
       "model.layer_types[0] = #0; model.layer_types[1] = #3", kLinear},
      {"model.linear_attention.value_heads", "32", {}, kLinear},
      {"model.linear_attention.key_heads", "4", {}, kLinear},
      {"model.linear_attention.key_dim", "64", {}, kLinear},
      {"model.linear_attention.value_dim", "96", {}, kLinear},
      {"model.linear_attention.conv", "3", {}, kLinear},
      {"model.linear_attention.chunk", "128", {}, kLinear},
      {"model.sparse_attention.index_heads", "16", {}, kSparse},
      {"model.sparse_attention.index_head_dim", "128", {}, kSparse},
      {"model.sparse_attention.top_k", "256", {}, kSparse},
      {"model.compressed_attention.q_lora_rank", "512", {}, kCompressed},
      {"model.compressed_attention.output_groups", "4", {}, kCompressed},
      {"model.compressed_attention.output_rank", "256", {}, kCompressed},
      {"model.residual_streams", "4", "model.residual_streams = 4"},
      {"model.moe.num_experts", "16", {}, kMoe},
      {"model.moe.top_k", "4", {}, kMoe},
      {"model.moe.ffn_hidden_size", "768", {}, kMoe},
      {"model.moe.shared", "1", "model.moe.shared_experts = 1", kMoe},
      {"model.moe.dense_layers", "3", {}, kMoe},
      {"model.moe.capacity", "1.25", "model.moe.capacity_factor = 1.25", kMoe},
      {"model.moe.imbalance", "1.5", {}, kMoe},
      {"model.moe.load_spread", "0.3", {}, kMoe},
      {"model.moe.router_skew", "0.1", {}, kMoe},
      {"model.moe.dense_branch", "256", {}, kMoe},
      {"model.moe.latent_size", "256", {}, kMoe},
      {"model.moe.node_limit", "2", {}, kMoe},
      {"model.attention_window.size", "256", {}, kWindow},
      {"model.attention_window.full_every", "2", {}, kWindow},
      {"model.full_attention.num_query_groups", "4", {}, kFull},
      {"model.full_attention.head_dim", "512", {}, kFull},
      {"model.full_attention.shared_key_value", "true", {}, kFull},
      {"model.mla.q_lora_rank", "1536", {}, kMla},
      {"model.mla.kv_lora_rank", "256", {}, kMla},
      {"model.mla.qk_nope_head_dim", "64", "model.head_dim = 128; model.mla.qk_nope_head_dim = 64",
       kMla},
      {"model.mla.qk_rope_head_dim", "32", "model.head_dim = 160; model.mla.qk_rope_head_dim = 32",
       kMla},
      {"model.mla.v_head_dim", "192", {}, kMla},
  };
  return effects;
}

const std::vector<Effect>& cluster_effects() {
  static const std::vector<Effect> effects = {
      {"cluster.preset", "dgx-h100",
       "cluster.preset = dgx-h100; network.preset = infiniband-400g; "
       "tiers[0].name = scalable unit; tiers[0].nodes = 32; tiers[0].oversubscription = 1; "
       "tiers[0].latency = 0 s; tiers[1].name = spine; tiers[1].nodes = 256; "
       "tiers[1].oversubscription = 1; tiers[1].latency = 9e-07 s; tiers[2].name = core; "
       "tiers[2].nodes = 2048; tiers[2].oversubscription = 1; tiers[2].latency = 9e-07 s"},
      {"cluster.gpu", "./our.yaml", "cluster.gpu = ./our.yaml"},
      {"cluster.nodes", "4", "cluster.nodes = 4"},
      {"cluster.gpus", "32", "cluster.nodes = 4", {{"cluster.nodes", ""}, {"cluster.gpus", "16"}}},
      {"cluster.gpus_per_node", "4", "cluster.gpus_per_node = 4"},
      {"cluster.network.preset", "omnipath-100g-4",
       "network.preset = omnipath-100g-4; network.nic_rate = 12.5 GB/s; network.nics_per_node = 4"},
      {"cluster.network.nvlink_domain", "4", "network.nvlink_domain = 4"},
      {"cluster.network.domain_gpus", "8", "network.domain_gpus = 8"},
      {"cluster.network.nic_rate", "25GB/s", "network.nic_rate = 25 GB/s"},
      {"cluster.network.nics_per_node", "4", "network.nics_per_node = 4"},
      {"cluster.network.tiers[].name",
       "[{name: leaf, nodes: 32}]",
       "tiers[0].name = leaf",
       {{"cluster.network.tiers", "[{name: x, nodes: 32}]"}},
       "cluster.network.tiers"},
      {"cluster.network.tiers[].nodes",
       "[{name: x, nodes: 64}]",
       "tiers[0].nodes = 64",
       {{"cluster.network.tiers", "[{name: x, nodes: 32}]"}},
       "cluster.network.tiers"},
      {"cluster.network.tiers[].oversubscription",
       "[{name: x, nodes: 32, oversubscription: 7}]",
       "tiers[0].oversubscription = 7",
       {{"cluster.network.tiers", "[{name: x, nodes: 32}]"}},
       "cluster.network.tiers"},
      {"cluster.network.tiers[].latency",
       "[{name: x, nodes: 32, latency: 1ms}]",
       "tiers[0].latency = 0.001 s",
       {{"cluster.network.tiers", "[{name: x, nodes: 32}]"}},
       "cluster.network.tiers"},
      {"cluster.network.fabric", "efa", "network.fabric = #2"},
      {"cluster.network.routing", "static_ecmp", "network.routing = #2"},
      {"cluster.network.cross_rail", "pxn", "network.cross_rail = #1"},
      {"cluster.network.algorithm", "ring", "network.algorithm = #1"},
      {"cluster.network.sharp", "true", "network.sharp = true"},
      {"cluster.network.collectives", "none", "network.collectives = none"},
      {"cluster.network.links_down[].node",
       "[{node: 1}]",
       "links_down[0].node = 1",
       {{"cluster.network.links_down", "[{node: 0}]"}},
       "cluster.network.links_down"},
      {"cluster.network.links_down[].nics",
       "[{node: 0, nics: 2}]",
       "links_down[0].nics = 2",
       {{"cluster.network.links_down", "[{node: 0}]"}},
       "cluster.network.links_down"},
      {"cluster.network.detail", "flows", "network.detail = #1"},
      {"cluster.network.faults[].node",
       "[{share: 0.5, node: 1}]",
       "faults[0].node = 1",
       {{"cluster.network.faults", "[{share: 0.5, node: 0}]"}},
       "cluster.network.faults"},
      {"cluster.network.faults[].nic",
       "[{share: 0.5, node: 0, nic: 2}]",
       "faults[0].nic = 2",
       {{"cluster.network.faults", "[{share: 0.5, node: 0}]"}},
       "cluster.network.faults"},
      {"cluster.network.faults[].tier",
       "[{share: 0.5, tier: leaf}]",
       "faults[0].tier = leaf",
       {{"cluster.network.tiers", "[{name: x, nodes: 1}, {name: leaf, nodes: 2}]"},
        {"cluster.network.faults", "[{share: 0.5, tier: x}]"}},
       "cluster.network.faults"},
      {"cluster.network.faults[].block",
       "[{share: 0.5, tier: x, block: 1}]",
       "faults[0].block = 1",
       {{"cluster.network.tiers", "[{name: x, nodes: 1}, {name: leaf, nodes: 2}]"},
        {"cluster.network.faults", "[{share: 0.5, tier: x}]"}},
       "cluster.network.faults"},
      {"cluster.network.faults[].rail",
       "[{share: 0.5, tier: x, rail: 1}]",
       "faults[0].rail = 1",
       {{"cluster.network.tiers", "[{name: x, nodes: 1}, {name: leaf, nodes: 2}]"},
        {"cluster.network.cross_rail", "pxn"},
        {"cluster.network.faults", "[{share: 0.5, tier: x}]"}},
       "cluster.network.faults"},
      {"cluster.network.faults[].uplinks",
       "[{share: 0.5, tier: x, uplinks: 1}]",
       "faults[0].uplinks = 1",
       {{"cluster.network.tiers", "[{name: x, nodes: 1}, {name: leaf, nodes: 2}]"},
        {"cluster.network.faults", "[{share: 0.5, tier: x}]"}},
       "cluster.network.faults"},
      {"cluster.network.faults[].part",
       "[{share: 0.5, tier: x, part: switch}]",
       "faults[0].part = #1",
       {{"cluster.network.tiers", "[{name: x, nodes: 1}, {name: leaf, nodes: 2}]"},
        {"cluster.network.faults", "[{share: 0.5, tier: x}]"}},
       "cluster.network.faults"},
      {"cluster.network.faults[].from",
       "[{share: 0.5, node: 0, from: 2s}]",
       "faults[0].from = 2 s",
       {{"cluster.network.faults", "[{share: 0.5, node: 0}]"}},
       "cluster.network.faults"},
      {"cluster.network.faults[].until",
       "[{share: 0.5, node: 0, until: 3s}]",
       "faults[0].until = 3 s",
       {{"cluster.network.faults", "[{share: 0.5, node: 0}]"}},
       "cluster.network.faults"},
      {"cluster.network.faults[].share",
       "[{node: 0, share: 0.25}]",
       "faults[0].share = 0.25",
       {{"cluster.network.faults", "[{node: 0, share: 0.5}]"}},
       "cluster.network.faults"},
  };
  return effects;
}

const std::vector<Effect>& layout_effects() {
  static const std::vector<Effect> effects = {
      {"layout.tensor", "8", "layout.tensor = 8"},
      {"layout.sequence_parallel",
       "true",
       "layout.sequence_parallel = true",
       {{"layout.tensor", "8"}}},
      {"layout.context", "2", "layout.context = 2"},
      {"layout.context_method", "ring", "layout.context_method = #1", {{"layout.context", "2"}}},
      {"layout.context_balanced",
       "false",
       "layout.context_balanced = false",
       {{"layout.context", "2"}}},
      {"layout.pipeline", "4", "layout.pipeline = 4", {{"layout.schedule", "1f1b"}}},
      {"layout.virtual_stages",
       "4",
       "layout.virtual_stages = 4",
       {{"layout.pipeline", "2"},
        {"layout.schedule", "interleaved"},
        {"layout.virtual_stages", "2"}}},
      {"layout.expert", "8", {}, kMoe},
      {"layout.expert_tensor", "2", {}, kMoe},
      {"layout.data", "16", "layout.data = 16"},
      {"layout.order", "[tp, cp, ep, pp, dp]", "layout.order = #0#1#2#3"},
      {"layout.order", "[data, pipeline, context, tensor]", "layout.order = #3#2#1#0"},
      {"layout.sharding", "zero3", "layout.sharding = #3; software = torchtitan-fsdp2"},
      {"layout.shard_group", "8", "layout.shard_group = 8", {{"layout.sharding", "hsdp"}}},
      {"layout.schedule", "1f1b", "step.schedule = #2", kPipeline},
      {"layout.stage_layers", "[3, 5]", "layout.stage_layers = 3 5 ", kPipeline},
      {"batch.global", "128", "batch.global = 128"},
      {"batch.micro", "2", "batch.micro = 2"},
  };
  return effects;
}

const std::vector<Effect>& step_effects() {
  static const std::vector<Effect> effects = {
      {"precision", "fp16", "step.compute = #3; step.activation = #3; step.parameter = #3"},
      {"precision", "fp8-delayed", "step.compute = #4"},
      {"precision", "fp8-tensorwise", "step.compute = #4; step.fp8_scaling = #1"},
      {"precision", "fp8-current", "step.compute = #4; step.fp8_scaling = #1"},
      {"precision", "fp8-rowwise", "step.compute = #4; step.fp8_scaling = #3"},
      {"precision", "fp8-block", "step.compute = #4; step.fp8_scaling = #2"},
      {"precision", "mxfp8", "step.compute = #4; step.fp8_scaling = #4"},
      {"precision", "nvfp4", "step.compute = #5; step.fp8_scaling = #5"},
      {"precision.deterministic", "true", "step.deterministic = true"},
      {"precision.compute", "fp8-block", "step.compute = #4; step.fp8_scaling = #2"},
      {"precision.gradient_dtype", "bf16", "step.gradient_dtype = #2"},
      {"precision.parameters",
       "fp8",
       "step.fp8_parameters = true",
       {{"precision.compute", "fp8-delayed"}}},
      {"precision.optimizer.name", "lion",
       "step.optimizer_bytes = 8 B; checkpoint.bytes_per_parameter = 10 B"},
      {"precision.optimizer.state_bytes", "6B",
       "step.optimizer_bytes = 6 B; checkpoint.bytes_per_parameter = 8 B"},
      {"recompute", "selective", "step.recompute.policy = #1"},
      {"recompute", "selective_operations", "step.recompute.policy = #3"},
      {"compile", "true", "step.compile = true"},
      {"recompute.layers", "2", "step.recompute.policy = #2; step.recompute.layers = 2"},
      {"recompute.modules", "[core_attn, layernorm, activation]",
       "step.recompute.policy = #4; step.recompute.modules = core_attention layernorm "
       "mlp_activation moe_activation"},
      {"recompute.modules", "[mla_up_proj, mlp, shared_experts, moe]",
       "step.recompute.policy = #4; step.recompute.modules = mla_up_projection mlp "
       "shared_experts moe",
       kMla},
      {"precision.kept_expert_inner", "fp8", "step.kept_expert_inner = 1.03125 B", kMoe},
      {"overlap.pipeline", "false", "step.overlap.pipeline = false", kPipeline},
      {"overlap.expert", "true", "step.overlap.expert = true", kMoe},
      {"software_options.expert_dispatcher", "deepep", "step.experts.dispatcher = #1", kMoe},
      {"software_options.grouped_gemm", "fused", "step.experts.grouped_gemm = #2", kMoe},
      {"precision.expert_dispatch", "fp8", "step.dispatch = #4", kMoe},
      {"overlap.fsdp.prefetch", "2", "step.fsdp.prefetch = 2", kFsdp},
      {"overlap.fsdp.backward_prefetch", "after", "step.fsdp.backward_prefetch = #1", kFsdp},
      {"overlap.fsdp.reshard", "false", "step.fsdp.reshard = false", kFsdp},
      {"overlap.fsdp.reshard_group", "8", "step.fsdp.reshard_group = 8", kFsdp},
      {"overlap.fsdp.quantized_weights", "true", "step.fsdp.quantized_weights = true", kFsdp},
      {"overlap.fsdp.quantized_gradients", "true", "step.fsdp.quantized_gradients = true", kFsdp},
      {"software.recipe", "released", "recipe.plain = false", kGeneric},
      {"expect[].text",
       "[{text: mfu >= 0.4}]",
       "expect = mfu >= 0.4",
       {{"expect", "[fits_memory]"}},
       "expect"},
      {"expect[].decide",
       "[{text: fits_memory, decide: point}]",
       "expect.decide_point = true",
       {{"expect", "[fits_memory]"}},
       "expect"},
  };
  return effects;
}

const std::vector<Effect>& run_effects() {
  static const std::vector<Effect> effects = {
      {"simulation.trials", "10k", "simulation.trials = 10000"},
      {"simulation.seed", "7", "simulation.seed = 7"},
      {"simulation.max_wall", "90d", "simulation.max_wall = 7776000 s"},
  };
  return effects;
}

Effect cause(const std::string& name, const std::string& value, const std::string& changed) {
  return {"failures.causes[]." + name,
          fmt::format("[{{name: x, {}: {}}}]", name, value),
          changed,
          {{"failures.causes", "[{name: x}]"}},
          "failures.causes"};
}

const std::vector<Effect>& failure_effects() {
  static const std::vector<Effect> effects = {
      {"failures.preset", "llama3-2024", "failures.preset = llama3-2024"},
      {"failures.node_rate", "0.0065/d", "failures.node_rate = 0.0065 /d"},
      {"failures.job_rate", "0.5/d", "failures.job_rate = 0.5 /d"},
      cause("weight", "148", "failures.causes[0].weight = 148"),
      cause("takes_node", "true", "failures.causes[0].takes_node = true"),
      {"failures.maintenance.rate", "0.87/d", "failures.maintenance.rate = 0.87 /d", kMaintenance},
      {"failures.maintenance.stall", "10min", "failures.maintenance.stall = 600 s", kMaintenance},
      {"failures.during_recovery", "false", "failures.during_recovery = false"},
      {"failures.unitemised", "30min", "failures.unitemised = 1800 s"},
  };
  return effects;
}

std::vector<Effect> stated_effects() {
  std::vector<Effect> all;
  for (const auto* part : {&model_effects(), &cluster_effects(), &layout_effects(), &step_effects(),
                           &axis_effects(), &post_training_effects(), &training_effects(),
                           &capacity_effects(), &price_effects(), &plan_effects(), &run_effects(),
                           &checkpoint_effects(), &failure_effects(), &cause_effects()}) {
    all.insert(all.end(), part->begin(), part->end());
  }
  return all;
}

bool has_law(const Key& key) {
  const auto below = children_of(key.path);
  return key.mapping && !below.empty() && below.front()->folded;
}

// A duration of the only item of a list: its own, or that of a stage of its recovery.
Effect law_in_item(const std::string& list, const std::string& key, const std::string& value,
                   const std::string& shown) {
  const std::string item = *failure_item(list);
  const std::size_t dot = key.find('.');
  std::string changed = fmt::format("{}, recovery: {{{}: {}}}", item, key.substr(dot + 1), value);
  if (dot == std::string::npos) {  // it replaces the one that the item needs
    changed = fmt::format("{}{}: {}", item.substr(0, item.rfind(key)), key, value);
  }
  return {fmt::format("{}[].{}", list, key),
          fmt::format("[{{{}}}]", changed),
          fmt::format("{}[0].{} = {}", list, key, shown),
          {{list, fmt::format("[{{{}}}]", item)}},
          list};
}

// Fixed times and the laws of every key that takes a duration.
std::vector<Effect> law_effects() {
  const std::vector<std::pair<std::string, std::string>> laws = {
      {"90s", "90 s"},
      {"{mean: 1h}", "exponential 3600 s"},
      {"{median: 30min, sigma: 1.5}", "lognormal 1800 s 1.5"},
      {"{median: 222s, mean: 222s}", "lognormal 222 s 0"},
      {"{low: 5min, high: 20min}", "uniform 300 s 1200 s"},
      {"{values: [90s, 2min]}", "one of 90 s 120 s"}};
  std::vector<Effect> effects;
  for (const Key& key : key_table()) {
    if (!has_law(key)) {
      continue;
    }
    for (const auto& [value, shown] : laws) {
      const std::size_t brackets = key.path.find("[].");
      const std::string list = key.path.substr(0, brackets);
      if (failure_item(list)) {
        effects.push_back(law_in_item(list, key.path.substr(brackets + 3), value, shown));
      } else {
        effects.push_back(
            {key.path, value, fmt::format("{} = {}", key.path, shown), failure_context(key.path)});
      }
    }
  }
  return effects;
}

std::vector<Effect> all_effects() {
  std::vector<Effect> all = stated_effects();
  const std::vector<Effect> laws = law_effects();
  all.insert(all.end(), laws.begin(), laws.end());
  return all;
}

std::optional<Scenario> load(const ScenarioText& text) {
  Diagnostics diagnostics;
  auto scenario = load_text(text.yaml(), "test.yaml", diagnostics);
  EXPECT_TRUE(scenario.has_value()) << to_string(diagnostics) << text.yaml();
  return scenario;
}

ScenarioText in_context(const Effect& effect) {
  ScenarioText text = base_text();
  for (const auto& [key, value] : effect.context) {
    text.set(key, value);
  }
  return text;
}

void set_effect(const Effect& effect, const std::string& key, ScenarioText& text) {
  if (effect.key == "model.preset") {
    text.set("model", "{preset: " + effect.value + "}");
  } else if (effect.key == "cluster.network.preset") {
    text.set("cluster.network", "{preset: " + effect.value + "}");
  } else {
    text.set(key, effect.value);
  }
}

std::string changed_by(const Effect& effect, const Scenario& after) {
  const std::string value = value_of(after, effect.key).value_or("nothing");
  return effect.changed.empty() ? effect.key + " = " + value : effect.changed;
}

TEST(KeyEffects, EveryKeyChangesItsFieldAndNoOther) {
  for (const Effect& effect : all_effects()) {
    SCOPED_TRACE(effect.key + ": " + effect.value);
    ScenarioText text = in_context(effect);
    const auto before = load(text);
    set_effect(effect, effect.path.empty() ? effect.key : effect.path, text);
    const auto after = load(text);
    ASSERT_TRUE(before && after);
    EXPECT_EQ(difference(*before, *after), changed_by(effect, *after));
  }
}

TEST(KeyEffects, EveryAliasMeansTheSameAsItsKey) {
  std::size_t aliases = 0;
  for (const Effect& effect : stated_effects()) {
    for (const Key& key : key_table()) {
      if (key.path != effect.key || !effect.path.empty()) {
        continue;
      }
      for (const std::string& alias : key.aliases) {
        SCOPED_TRACE(key.path + " as " + alias);
        ScenarioText text = in_context(effect);
        const auto before = load(text);
        text.set(key.path, "");
        const std::string parent(key.parent());
        set_effect(effect, parent.empty() ? alias : parent + "." + alias, text);
        const auto after = load(text);
        ASSERT_TRUE(before && after);
        EXPECT_EQ(difference(*before, *after), changed_by(effect, *after));
        ++aliases;
      }
    }
  }
  EXPECT_GE(aliases, 50U);
}

TEST(KeyEffects, NoKeyOfTheTableIsLeftOut) {
  std::set<std::string> tested = {"format"};  // has one value; load_test.cpp
  for (const Effect& effect : all_effects()) {
    tested.insert(effect.key);
  }
  for (const Key& key : key_table()) {
    // Names of presets: preset_library_test.cpp.
    if (!key.forms.empty() && !key.folded && !tested.contains(key.path + ".preset")) {
      EXPECT_TRUE(tested.contains(key.path)) << key.path << " has no test of its effect";
    }
  }
}

// A key is a lens: what was stored is read back, and storing that changes nothing. Left aside are
// keys that another one prints, and those that no single value stands behind.
TEST(KeyEffects, WhatAKeyStoresIsReadBack) {
  static const std::regex only_stored(
      "model.gated_mlp|recompute.modules|checkpoint.storage.preset|capacity.spot.traces|"
      "failures\\.c.*\\.rate|failures.diurnal\\..*|.*\\.life\\..*|plan\\..*|measured|expect");
  std::size_t read_back = 0;
  for (const Effect& effect : all_effects()) {
    if (std::regex_match(effect.key, only_stored)) {
      continue;
    }
    SCOPED_TRACE(effect.key + ": " + effect.value);
    ScenarioText text = in_context(effect);
    set_effect(effect, effect.path.empty() ? effect.key : effect.path, text);
    const auto after = load(text);
    std::string path = effect.key;
    for (std::size_t at = path.find("[]"); at != std::string::npos; at = path.find("[]")) {
      path.replace(at, 2, "[0]");
    }
    ASSERT_TRUE(after);
    const auto value = value_of(*after, path);
    ASSERT_TRUE(value.has_value());
    Diagnostics diagnostics;
    const auto base = ScenarioTemplate::from_text(text.yaml(), "test.yaml", diagnostics);
    const auto again = base->with({{{path, *value, {}}}}, diagnostics);
    ASSERT_TRUE(again) << *value << to_string(diagnostics);
    EXPECT_EQ(difference(*after, *again), "") << *value;
    ++read_back;
  }
  EXPECT_GT(read_back, 300U);
}

// The default that the reference prints holds. A section of which nothing is stated begins with it.
TEST(KeyEffects, StatingTheDefaultChangesNothing) {
  std::size_t defaults = 0;
  for (const Effect& effect : stated_effects()) {
    for (const Key& key : key_table()) {
      if (key.path != effect.key || key.fallback.empty() || !effect.path.empty()) {
        continue;
      }
      SCOPED_TRACE(key.path + ": " + key.fallback);
      // The contexts of these two hold a pipeline, for which their defaults are wrong.
      const bool plain = key.path == "layout.schedule" || key.path == "layout.virtual_stages";
      ScenarioText text = plain ? base_text() : in_context(effect);
      const auto before = load(text.set(key.path, ""));
      const auto after = load(text.set(key.path, key.fallback));
      EXPECT_EQ(difference(after.value(), before.value()), "");
      ++defaults;
    }
  }
  EXPECT_GE(defaults, 25U);
}

}  // namespace
}  // namespace orrery::scenario
