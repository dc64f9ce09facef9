#include "tests/unit/scenario/key_effect.hpp"

namespace orrery::scenario {

const std::vector<Effect>& axis_effects() {
  using Pairs = ScenarioText::Pairs;
  static const Pairs on_host = {{"offload.optimizer", "cpu"}};
  static const Pairs on_drives = {{"offload.parameters", "nvme"},
                                  {"offload.nvme_read", "25GB/s"},
                                  {"offload.nvme_write", "12GB/s"}};
  static const Pairs islands = {{"local_steps.every", "500"}, {"local_steps.islands", "2"}};
  static const Pairs spread = {{"variation.gpu_sigma", "0.02"}};
  static const Pairs slow = {{"variation.slow_share", "0.01"}};
  static const Pairs reads = {{"data.read_bandwidth", "1GB/s"}};
  static const Pairs documents = {{"data.packing", "padded"}, {"data.document_length", "1200"}};
  static const std::vector<Effect> effects = {
      {"overlap.tensor",
       "true",
       "step.overlap.tensor = true",
       {{"layout.tensor", "2"}, {"layout.sequence_parallel", "true"}}},
      {"overlap.tensor_chunks",
       "8",
       {},
       {{"layout.tensor", "2"}, {"layout.sequence_parallel", "true"}, {"overlap.tensor", "true"}}},
      {"software_options.cuda_graphs", "[attn, moe_router]",
       "step.experts.cuda_graphs = attn moe_router"},
      {"software_options.attention_fp8", "true", "step.experts.attention_fp8 = true"},
      {"software_options.dropout", "true", "step.dropout = true"},
      {"recompute.memory_budget", "0.25",
       "step.recompute.policy = #4; step.recompute.memory_budget = 0.25"},
      {"precision", "fp32",
       "step.compute = #0; step.activation = #0; step.parameter = #0; "
       "checkpoint.bytes_per_parameter = 12 B"},
      {"precision", "tf32",
       "step.compute = #1; step.activation = #1; step.parameter = #1; "
       "checkpoint.bytes_per_parameter = 12 B"},
      {"software_options.gradient_fusion", "false", "step.fuses_gradients = false"},
      {"software.name", "nemo", "software = nemo"},
      {"software", "generic", "software = generic; recipe.plain = false"},
      {"software.release", "main", "recipe.release = main"},
      {"software.context", "benchmark", "recipe.context = benchmark"},
      {"precision.kept_attention_output", "e5m6", "step.kept_attention_output = 1.53125 B"},
      {"overlap.bucket", "25MiB", "step.bucket = 26214400 B"},
      {"overlap.reduction", "per_micro_batch", "step.reduction = #1"},
      {"overlap.data", "false", "step.overlap.data = false"},
      {"step.time", "105.22s", "step.given_time = 105.22 s"},
      {"expect", "[fits_memory]", "expect = fits_memory; expect.decide_point = false"},
      {"offload.optimizer", "cpu"},
      {"offload.optimizer", "nvme", {}, on_drives},
      {"offload.parameters", "cpu", {}, on_host},
      {"offload.activations", "0.5"},
      {"offload.modules", "[attn_norm, core_attn]"},
      {"offload.link", "3GB/s", {}, on_host},
      {"offload.host_bandwidth", "250GB/s", {}, on_host},
      {"offload.nvme_read", "20GB/s", {}, on_drives},
      {"offload.nvme_write", "10GB/s", {}, on_drives},
      {"offload.host_memory", "1TB", {}, on_host},
      {"offload.overlap", "false", {}, on_host},
      {"local_steps.every", "100", {}, islands},
      {"local_steps.islands", "4", {}, islands},
      {"local_steps.rate", "1GB/s", {}, islands},
      {"local_steps.latency", "80ms", {}, islands},
      {"local_steps.precision", "int8", {}, islands},
      {"local_steps.overlap", "true", {}, islands},
      {"variation.gpu_sigma", "0.02"},
      {"variation.node_sigma", "0.01"},
      {"variation.slow_share", "0.001"},
      {"variation.slow_factor", "1.5", {}, slow},
      {"variation.slow_gpus[].node",
       "[{node: 1, factor: 1.5}]",
       "variation.slow_gpus[0].node = 1",
       {{"cluster.nodes", "2"}, {"variation.slow_gpus", "[{node: 0, factor: 1.5}]"}},
       "variation.slow_gpus"},
      {"variation.slow_gpus[].gpu",
       "[{node: 0, gpu: 1, factor: 1.5}]",
       "variation.slow_gpus[0].gpu = 1",
       {{"variation.slow_gpus", "[{node: 0, gpu: 0, factor: 1.5}]"}},
       "variation.slow_gpus"},
      {"variation.slow_gpus[].factor",
       "[{node: 0, factor: 2}]",
       "variation.slow_gpus[0].factor = 2",
       {{"variation.slow_gpus", "[{node: 0, factor: 1.5}]"}},
       "variation.slow_gpus"},
      {"variation.draws", "100", {}, spread},
      {"variation.seed", "7", {}, spread},
      {"data.bytes_per_token", "2B", {}, reads},
      {"data.read_bandwidth", "2GB/s"},
      {"data.tokens_per_second", "500000"},
      {"data.prefetch", "false", {}, reads},
      {"data.packing", "masked", {}, documents},
      {"data.document_length", "900", {}, documents},
      {"cluster.mixed[].gpu",
       "[{gpu: l4, nodes: 1}]",
       "cluster.mixed[0].gpu = l4",
       {{"cluster.mixed", "[{gpu: h200-sxm, nodes: 1}]"}},
       "cluster.mixed"},
      {"cluster.mixed[].nodes",
       "[{gpu: l4, nodes: 2}]",
       "cluster.mixed[0].nodes = 2",
       {{"cluster.nodes", "4"}, {"cluster.mixed", "[{gpu: l4, nodes: 1}]"}},
       "cluster.mixed"},
      {"data.document_sigma", "1.2", {}, documents},
  };
  return effects;
}

}  // namespace orrery::scenario
