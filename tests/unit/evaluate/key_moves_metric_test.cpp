// No key is parsed but inert: each changed key moves a named metric in the stated direction.

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "tests/unit/evaluate/change_table.hpp"

namespace orrery::evaluate::test {
namespace {

// Ordered as in the reference. Directions follow from the equations of docs/model.md.
const std::vector<Change> kChanges = {
    {"sequence_length: 8192", "sequence_length: 16384", "step_time", Moves::up},
    {"preset: llama3-8b", "preset: llama3-8b, num_layers: 16", "step_time", Moves::down},
    {"preset: llama3-8b", "preset: llama3-8b, ffn_hidden_size: 28672", "step_time", Moves::up},
    {"preset: llama3-8b", "preset: llama3-8b, vocab_size: 256000", "peak_memory", Moves::up},
    {"preset: llama3-8b", "preset: llama3-8b, num_query_groups: 32", "step_time", Moves::up},
    {"preset: llama3-8b", "preset: llama3-8b, reference: true", "step_time", Moves::up},
    {"preset: llama3-8b", "preset: llama3-8b, reference: true", "peak_memory", Moves::up},
    {"gpu: h100-sxm-80gb", "gpu: a100-sxm-80gb", "step_time", Moves::up},
    {"gpu: h100-sxm-80gb", "gpu: b200-sxm", "step_time", Moves::down},
    {"nodes: 8,", "mixed: [{gpu: a100-sxm-80gb, nodes: 4}], nodes: 8,", "step_time", Moves::up},
    {"nodes: 8,", "nodes: 16,", "tokens_per_second", Moves::up},
    {"preset: infiniband-400g", "preset: ethernet-25g", "step_time", Moves::up},
    {"{preset: infiniband-400g}", "{preset: infiniband-400g, fabric: tcpx}", "step_time",
     Moves::up},
    {"{preset: infiniband-400g}", "{preset: infiniband-400g, links_down: [{node: 3}]}", "step_time",
     Moves::up},
    {"{preset: infiniband-400g}", "{preset: infiniband-400g, collectives: none}", "step_time",
     Moves::down},
    {"tensor: 2", "tensor: 4", "peak_memory", Moves::down},
    {"sequence_parallel: true", "sequence_parallel: false", "peak_memory", Moves::up},
    {"pipeline: 4", "pipeline: 2", "peak_memory", Moves::up},
    {"virtual_stages: 2", "virtual_stages: 4", "bubble_fraction", Moves::down},
    {"sharding: zero1", "sharding: none", "peak_memory", Moves::up},
    {"virtual_stages: 2, sharding: zero1, schedule: interleaved",
     "sharding: zero1, schedule: gpipe", "bubble_fraction", Moves::up},
    {"schedule: interleaved", "schedule: interleaved, order: [tp, cp, pp, dp]", "step_time",
     Moves::up},
    {"schedule: interleaved", "schedule: interleaved, stage_layers: [2, 2, 4, 4, 4, 4, 6, 6]",
     "step_time", Moves::up},
    {"global: 128", "global: 256", "bubble_fraction", Moves::down},
    {"micro: 1", "micro: 2", "peak_memory", Moves::up},
    {"precision: bf16", "precision: fp8-delayed", "step_time", Moves::down},
    {"precision: bf16", "precision: fp8-block", "step_time", Moves::down},
    {"precision: bf16", "precision: {compute: bf16, deterministic: true}", "step_time", Moves::up},
    {"precision: bf16", "precision: {compute: bf16, gradient_dtype: bf16}", "peak_memory",
     Moves::down},
    {"recompute: none", "recompute: none\nsoftware_options: {dropout: true}", "peak_memory",
     Moves::up},
    {"recompute: none", "recompute: none\nsoftware_options: {gradient_fusion: false}", "step_time",
     Moves::up},
    {"recompute: none", "recompute: full", "step_time", Moves::up},
    {"recompute: none", "recompute: selective", "step_time", Moves::up},
    {"recompute: none", "recompute: {layers: 2}", "peak_memory", Moves::down},
    {"recompute: none", "recompute: {modules: [layernorm]}", "peak_memory", Moves::down},
    {"recompute: none", "recompute: {modules: [activation]}", "step_time", Moves::up},
    {"recompute: none", "recompute: {modules: [mlp], layers: 2}", "hfu", Moves::up},
    {"precision: bf16", "precision: {compute: bf16, kept_attention_output: e5m6}", "peak_memory",
     Moves::down},
    {"recompute: none", "recompute: none\noverlap: {data: false}", "step_time", Moves::up},
    {"recompute: none", "recompute: none\noverlap: {tensor: true}", "step_time", Moves::down},
    {"recompute: none", "recompute: none\noverlap: {tensor: true, tensor_chunks: 8}", "step_time",
     Moves::down},
    {"recompute: none", "recompute: none\noverlap: {pipeline: false}", "step_time", Moves::up},
    {"recompute: none", "recompute: none\noffload: {optimizer: cpu, host_bandwidth: 10GB/s}",
     "step_time", Moves::up},
    {"recompute: none", "recompute: none\noffload: {optimizer: cpu}", "peak_memory", Moves::down},
    {"recompute: none", "recompute: none\noffload: {activations: 0.5}", "peak_memory", Moves::down},
    {"recompute: none", "recompute: none\noffload: {activations: 0.5, link: 1GB/s}", "step_time",
     Moves::up},
    {"recompute: none", "recompute: none\noffload: {activations: 0.5, overlap: false}", "step_time",
     Moves::up},
    {"recompute: none", "recompute: none\noffload: {parameters: cpu}", "peak_memory", Moves::down},
    {"recompute: none",
     "recompute: none\noffload: {optimizer: nvme, nvme_read: 1GB/s, nvme_write: 10GB/s}",
     "step_time", Moves::up},
    {"recompute: none",
     "recompute: none\noffload: {optimizer: nvme, nvme_read: 10GB/s, nvme_write: 1GB/s}",
     "step_time", Moves::up},
    {"recompute: none", "recompute: none\nvariation: {gpu_sigma: 0.02}", "step_time", Moves::up},
    {"recompute: none", "recompute: none\nvariation: {node_sigma: 0.02}", "step_time", Moves::up},
    {"recompute: none", "recompute: none\nvariation: {slow_share: 0.1, slow_factor: 1.5}",
     "step_time", Moves::up},
    {"recompute: none", "recompute: none\nvariation: {slow_gpus: [{node: 0, gpu: 1, factor: 1.5}]}",
     "step_time", Moves::up},
    {"recompute: none", "recompute: none\ndata: {read_bandwidth: 10kB/s}", "step_time", Moves::up},
    {"recompute: none", "recompute: none\ndata: {tokens_per_second: 1000}", "step_time", Moves::up},
    {"recompute: none", "recompute: none\ndata: {tokens_per_second: 100000, prefetch: false}",
     "step_time", Moves::up},
    {"recompute: none", "recompute: none\ndata: {packing: masked, document_length: 1000}",
     "step_time", Moves::down},
    {"virtual_stages: 2, sharding: zero1", "virtual_stages: 2, sharding: none",
     "exposed_communication_fraction", Moves::up},
    {"recompute: none", "recompute: none\nlocal_steps: {every: 10, islands: 2, rate: 1Gbps}",
     "step_time", Moves::up},
    {"precision: bf16", "precision: {compute: bf16, optimizer: {name: sgd}}", "step_time",
     Moves::down},
    {"software: megatron-core", "software: megatron-deepspeed", "step_time", Moves::up},
    {"tokens: 300B", "tokens: 600B", "finish_time", Moves::up},
    {"tokens: 300B", "tokens: 300B, rework: [{at: 100B tokens}]", "finish_time", Moves::up},
    {"tokens: 300B", "tokens: 300B, rework: [{at: 100B tokens, discard: 100M tokens, stall: 5d}]",
     "finish_time", Moves::up},
    {"tokens: 300B", "tokens: 300B, batch_ramp: {start: 32, increment: 32, samples: 20M}",
     "finish_time", Moves::up},
    {"tokens: 300B", "tokens: 300B, phases: [{until: 200B tokens, global: 32}, {name: rest}]",
     "finish_time", Moves::up},
    {"tokens: 300B", "tokens: 300B, phases: [{until: 200B tokens, micro: 4}, {name: rest}]",
     "finish_time", Moves::up},
    {"tokens: 300B",
     "tokens: 300B, phases: [{until: 200B tokens, sequence_length: 32768, global: 32}, {name: "
     "rest}]",
     "finish_time", Moves::up},
    {"tokens: 300B", "tokens: 300B, phases: [{until: 200B tokens, nodes: 4}, {name: rest}]",
     "finish_time", Moves::up},
    {"tokens: 300B", "tokens: 300B, phases: [{until: 200B tokens, gpus: 32}, {name: rest}]",
     "finish_time", Moves::up},
    {"tokens: 300B", "tokens: 300B, phases: [{until: 200B tokens, context: 2}, {name: rest}]",
     "finish_time", Moves::up},
    {"tokens: 300B", "tokens: 300B, phases: [{until: 200B tokens, step_time: 60s}, {name: rest}]",
     "finish_time", Moves::up},
    {"tokens: 300B", "tokens: 300B, phases: [{until: 200B tokens}, {name: rest, restart: 5d}]",
     "finish_time", Moves::up},
    {"start: 2026-01-01T00:00Z", "start: 2026-02-01T00:00Z", "finish_date", Moves::up},
    {"every: 1000 steps", "every: 100 steps", "finish_time", Moves::up},
    {"duration: 10min", "duration: 1h", "finish_time", Moves::up},
    {"node_rate: 0.05/d", "node_rate: 0.5/d", "failures", Moves::up},
    {"job_rate: 0.1/d", "job_rate: 2/d", "mtbf", Moves::down},
    {"job_rate: 0.1/d", "job_rate: 0.1/d, maintenance: {rate: 1/d, stall: 30min}", "finish_time",
     Moves::up},
    {"job_rate: 0.1/d", "job_rate: 0.1/d, unitemised: 10min", "finish_time", Moves::up},
    {"interval: 1h", "interval: 10min", "lost_work", Moves::down},
    {"mode: sync", "mode: async", "finish_time", Moves::down},
    {"mode: sync", "mode: sync, bytes_per_parameter: 28B", "checkpoint_stall", Moves::up},
    {"write: 10GB/s", "write: 1GB/s", "checkpoint_stall", Moves::up},
    {"read: 10GB/s", "read: 10MB/s", "finish_time", Moves::up},
    {"mode: sync", "mode: async, stall: 5min, durable: 6min", "finish_time", Moves::up},
    {"mode: sync", "mode: async, device_to_host: 10MB/s", "checkpoint_stall", Moves::up},
    {"detect: 10min", "detect: 1h", "goodput", Moves::down},
    {"diagnose: 10min", "diagnose: 1h", "goodput", Moves::down},
    {"reschedule: 5min", "reschedule: 1h", "goodput", Moves::down},
    {"communicator_init: 1min", "communicator_init: 1h", "goodput", Moves::down},
    {"warm_up: 2min", "warm_up: 1h", "goodput", Moves::down},
    {"warm_up: 2min", "warm_up: 2min, load: 1h", "goodput", Moves::down},
    {"spares: 1", "spares: 4", "goodput", Moves::up},
    {"spares: 1", "spares: 4", "gpu_hours", Moves::up},
    {"repair_time: 2d", "repair_time: 10d", "goodput", Moves::down},
    {"$4/h", "$8/h", "cost", Moves::up},
    {"$4/h}", "$4/h, bill_spares: false}", "cost", Moves::down},
};

// A mixture of experts whose tokens cross nodes.
constexpr std::string_view kMixture = R"(format: orrery/1
name: mixture
model: {preset: deepseek-v2, moe: {imbalance: 1.0}}
cluster: {gpu: h800-sxm, nodes: 16, gpus_per_node: 8, network: {preset: infiniband-400g}}
layout: {pipeline: 4, expert: 16, sharding: zero1, schedule: 1f1b}
batch: {global: 512, micro: 1}
precision: {compute: fp8-block}
overlap: {expert: false}
software_options: {expert_dispatcher: alltoall, grouped_gemm: per_expert}
)";

const std::vector<Change> kMixtureChanges = {
    {"imbalance: 1.0", "imbalance: 1.5", "step_time", Moves::up},
    {"imbalance: 1.0", "load_spread: 0.5", "step_time", Moves::up},
    {"imbalance: 1.0", "router_skew: 0.1", "step_time", Moves::up},
    {"imbalance: 1.0", "imbalance: 1.5, capacity: 0.9", "step_time", Moves::down},
    {"imbalance: 1.0", "shared: 4", "step_time", Moves::up},
    {"compute: fp8-block", "compute: fp8-block, expert_dispatch: fp8", "step_time", Moves::down},
    {"compute: fp8-block", "compute: fp8-block, kept_expert_inner: fp8", "peak_memory",
     Moves::down},
    {"overlap: {", "recompute: {modules: [mla_up_proj]}\noverlap: {", "peak_memory", Moves::down},
    {"overlap: {", "recompute: {modules: [moe_act]}\noverlap: {", "peak_memory", Moves::down},
    {"overlap: {", "recompute: {modules: [shared_experts]}\noverlap: {", "hfu", Moves::up},
    {"overlap: {", "recompute: {modules: [moe]}\noverlap: {", "exposed_communication_fraction",
     Moves::up},
    {"expert: false", "expert: true", "exposed_communication_fraction", Moves::down},
    {"alltoall", "deepep", "exposed_communication_fraction", Moves::down},
    {"per_expert", "fused", "step_time", Moves::down},
    {"per_expert", "per_expert, cuda_graphs: [attn, moe_router, moe_preprocess]", "step_time",
     Moves::down},
    {"schedule: 1f1b", "virtual_stages: 2, schedule: dualpipe", "bubble_fraction", Moves::down},
};

// A step of FSDP on a slow network.
constexpr std::string_view kFsdpBase = R"(format: orrery/1
name: sharded
model: {preset: llama3-8b, sequence_length: 8192}
cluster: {gpu: h100-sxm-80gb, nodes: 4, gpus_per_node: 8, network: {preset: ethernet-25g}}
layout: {sharding: zero3}
batch: {global: 32, micro: 1}
recompute: none
software: torchtitan-fsdp2
)";

const std::vector<Change> kFsdpChanges = {
    {"recompute: none", "recompute: selective_operations", "peak_memory", Moves::down},
    {"recompute: none", "recompute: none\ncompile: true", "step_time", Moves::down},
    {"recompute: none", "recompute: none\noverlap: {fsdp: {prefetch: 0}}", "step_time", Moves::up},
    {"recompute: none", "recompute: none\noverlap: {fsdp: {backward_prefetch: after}}", "step_time",
     Moves::up},
    {"recompute: none", "recompute: none\noverlap: {fsdp: {backward_prefetch: none}}", "step_time",
     Moves::up},
    {"recompute: none", "recompute: none\noverlap: {fsdp: {reshard: false}}", "step_time",
     Moves::down},
    {"recompute: none", "recompute: none\noverlap: {fsdp: {reshard_group: 8}}", "step_time",
     Moves::down},
    {"recompute: none", "recompute: none\noverlap: {fsdp: {quantized_weights: true}}", "step_time",
     Moves::down},
    {"recompute: none", "recompute: none\noverlap: {fsdp: {quantized_gradients: true}}",
     "step_time", Moves::down},
};

// A long sequence over four GPUs.
constexpr std::string_view kContextBase = R"(format: orrery/1
name: long
model: {preset: llama3-8b, sequence_length: 65536}
cluster: {gpu: h100-sxm-80gb, nodes: 4, gpus_per_node: 8, network: {preset: infiniband-400g}}
layout: {context: 4, sharding: zero1}
batch: {global: 8, micro: 1}
recompute: full
software: torchtitan-fsdp2
)";

const std::vector<Change> kContextChanges = {
    {"context: 4,", "context: 4, context_method: ring,", "exposed_communication_fraction",
     Moves::down},
    {"context: 4,", "context: 4, context_method: all_to_all,", "step_time", Moves::down},
    {"context: 4,", "context: 4, context_balanced: false,", "step_time", Moves::up},
};

TEST(Keys, EveryChangeMovesItsMetric) { expect_moves(kBase, kChanges); }

TEST(Keys, EveryChangeOfAMixtureOfExpertsMovesItsMetric) {
  expect_moves(kMixture, kMixtureChanges);
}

// Without a pipeline the forward of a micro-batch runs with the backward of the one before.
TEST(Keys, CombinedStepsNeedNoPipeline) {
  const std::string plain = replaced(replaced(kMixture, "pipeline: 4, ", ""), "1f1b", "none");
  const std::string combined =
      replaced(replaced(plain, "schedule: none", "schedule: interleaved_combined"), "expert: false",
               "expert: true");
  EXPECT_LT(value(must_evaluate(combined), "step_time"), value(must_evaluate(plain), "step_time"));
}

TEST(Keys, ParametersInEightBitsAreSmaller) {
  const auto peak = [](const std::string& type) {
    const std::string text = replaced(
        kBase, "precision: bf16", "precision: {compute: fp8-tensorwise, parameters: " + type + "}");
    return value(must_evaluate(text), "peak_memory");
  };
  EXPECT_LT(peak("fp8"), peak("bf16"));
}

// Where the GPU has a rate for it.
TEST(Keys, AttentionInEightBitsIsFaster) {
  const std::string wide = replaced(kMixture, "h800-sxm", "b200-sxm");
  const std::string narrow = replaced(wide, "per_expert", "per_expert, attention_fp8: true");
  EXPECT_LT(value(must_evaluate(narrow), "step_time"), value(must_evaluate(wide), "step_time"));
}

// A limit on the nodes of a token saves bytes where one copy per node is sent: 160 experts on 4
// nodes, 6 of them chosen, lie on 3.3 nodes when nothing limits them.
TEST(Keys, ANodeLimitShortensAHierarchicalExchange) {
  const std::string free =
      replaced(replaced(kMixture, "alltoall", "deepep"), "expert: 16", "expert: 32");
  const std::string limited = replaced(free, "imbalance: 1.0", "node_limit: 1");
  EXPECT_LT(value(must_evaluate(limited), "step_time"), value(must_evaluate(free), "step_time"));
}

TEST(Keys, EveryChangeOfShardedStepsMovesItsMetric) { expect_moves(kFsdpBase, kFsdpChanges); }

TEST(Keys, EveryChangeOfLongSequencesMovesItsMetric) {
  expect_moves(kContextBase, kContextChanges);
}

}  // namespace
}  // namespace orrery::evaluate::test
