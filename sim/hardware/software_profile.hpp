#pragma once

// What does the training stack do with the hardware? A handful of physical coefficients per stack.
//
// symbol                  | meaning                                                     | unit
// ------------------------|-------------------------------------------------------------|------
// gemm_efficiency         | GEMM rate in this stack / the GPU's sustained library rate; | 1
//                         | above 1 where GEMMs alternate with light work and the clock |
//                         | stays above that of a pure GEMM soak (up to the burst rate) |
// caches_fp8_weights      | weights are cast once per step and kept in 8 bits beside    | -
//                         | the 16-bit ones; false: cast again for every micro-batch    |
// memory_efficiency       | the same for memory-bound kernels                           | 1
// attention_efficiency    | the same for attention: fused kernels against the rate of   | 1
//                         | attention_kernel, or the batched products of unfused        |
//                         | attention against the sustained rate of a GEMM              |
// attention_kernel        | generation of the fused kernels, a name of gpu_profile.hpp; | -
//                         | absent: the best one that the GPU's profile knows           |
// norm_kernel             | whose kernels compute the norms, a name of gpu_profile.hpp; | -
//                         | absent: as other memory-bound kernels                       |
// kernel_gap              | idle time between two kernels of a layer, beyond the GPU's  | s
//                         | own launch_latency                                          |
// host_layer_time         | host time to launch one layer forward; a floor of the pass  | s
// host_launch_time        | host time per kernel or collective launched, on top of it;  | s
//                         | left out: 0                                                 |
// grouped_call_time       | host time per product where the experts' products are a loop  | s
//                         | of library calls; absent: one kernel for all of them        |
// score_passes            | memory passes over the s^2 scores, unfused attention        | 1
// softmax_fallback_passes | passes more where Megatron's fused softmax kernel refuses   | 1
//                         | the shape; left out: the stack has no such kernel           |
// nvlink_efficiency       | bus bandwidth / what NCCL's model gives, inside the NVLink  | 1
//                         | domain; network_efficiency: the same between nodes          |
// ring_nic_exponent       | NICs of a node that one ring uses = (NICs beside its ranks  | 1
//                         | there)^exponent: 1 all of them (NCCL's channels on rails, and |
//                         | the default), 0 a single one                                |
// cross_rail_efficiency   | rate between nodes of a ring with several, but not all,     | 1
//                         | GPUs of a node / that of a ring on its rail; left out: 1    |
// collective_overhead     | extra time per collective, host and stream hand-over        | s
// transfer_overhead       | the same per pipeline message                               | s
// tensor_exposed          | share of tensor-parallel communication not hidden           | 1
// communication_slowdown  | overlap is not free: added time / the shorter of the two    | 1
// expert_all_to_all_sms   | SMs that the kernels of the experts' all-to-all take from compute | SMs
//                         | beside them; absent: communication_slowdown says it         |
// expert_overlap_share    | most of an all-to-all of the experts that other work hides;   | 1
//                         | left out: 1                                                 |
// biased_activation_passes | memory passes over what the experts' activation starts from, | 1
//                         | forward, where experts have biases and are multiplied one by  |
//                         | one; absent: one fused kernel for them too                  |
// loss_bytes_per_logit    | memory traffic of cross-entropy, forward and backward       | byte
// optimizer_traffic       | bytes moved per parameter of the optimizer step             | byte
// fixed_step_time         | host work once per step                                     | s
// jitter_per_doubling     | slowest-of-N growth of the step per doubling beyond 8 GPUs  | 1
// cast_share              | memory traffic of FP8 casts / that of separate kernels: less  | 1
//                         | where norms and activations write FP8 themselves (default 1) |
// broadcast_time          | per rank that owns a part of the parameters, when they come  | s
//                         | back by broadcasts one rank after the other                 |
// fp8_gemm_efficiency     | gemm_efficiency of FP8 products; default: as all others     | 1
// fp8_rowwise_gemm_       | the same with scales per row; default: as other FP8         | 1
// efficiency              |                                                             |
// block_products          | whose kernels multiply with scales of 128 values: the       | -
//                         | library's (default), or those of DeepGEMM (cost/gemm.hpp)   |
// compile_speedup         | rate of memory-bound kernels under torch.compile / eager;    | 1
//                         | 1 (default): the stack has no such switch                   |
// context_attention_      | rate of attention across context ranks / on half as many;   | 1
// efficiency              | default 1                                                   |
// logits_bytes            | alive per logit at the peak of the loss; default: 4 kept    | byte
//                         | and the gradient in the activation type                     |
// loss_parallel_bytes     | the same where the vocabulary is split (tensor parallel)    | byte
// memory_overhead         | context, NCCL buffers, workspace                            | byte
// fragmentation           | share of the allocated bytes lost to the allocator          | 1
// memory_error            | how far a peak may lie above the predicted one              | 1
//
// Switches: selective_recompute says what `recompute: selective` means in the stack; context_method
// and context_balanced how context ranks share a sequence; shards_master that FSDP's parameter
// shard is the optimizer's master copy; keeps_root_gathered that tables and the last layer of FSDP
// stay gathered from forward to backward; keeps_gathered_input, recompute_stops_early: see
// model/transformer_ops.hpp.
//
// Every coefficient carries its source; `assumed` needs a reason. Shared by all runs of one stack.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "sim/base/provenance.hpp"
#include "sim/base/units.hpp"
#include "sim/hardware/expert_options.hpp"
#include "sim/hardware/gpu_profile.hpp"
#include "sim/model/op.hpp"

namespace orrery::yaml {
struct Value;
}

namespace orrery::hardware {

enum class AttentionImplementation { fused, unfused };
enum class GradientReduction { per_step, per_micro_batch };
enum class GradientType { fp32, activation };  // accumulated and reduced; 16 bit as activations
enum class ParameterGather { all_gather, broadcast };
enum class SelectiveRecompute { attention_core, every_second_product };
enum class BlockProducts { library, deepgemm };
enum class PipelineTransfer { latency, rendezvous_fused };  // schedule::P2pMode by name

struct SoftwareProfile {
  std::string name;
  std::string version;
  std::string file;
  std::string newest = {};                                    // release, of those that `recipes` name
  std::shared_ptr<const yaml::Value> recipes = nullptr;  // unread: scenario/recipes/
  Coefficient<double> gemm_efficiency;
  Coefficient<double> memory_efficiency;
  Coefficient<double> attention_efficiency;
  Coefficient<Seconds> kernel_gap;
  Coefficient<Seconds> host_layer_time;
  Coefficient<double> score_passes;  // 0 with fused attention
  Coefficient<double> nvlink_efficiency;
  Coefficient<double> network_efficiency;
  Coefficient<double> ring_nic_exponent{
      1.0, {SourceKind::assumed, "NCCL lays its channels over all NICs beside the ranks"}};
  Coefficient<Seconds> collective_overhead;
  Coefficient<Seconds> transfer_overhead;
  Coefficient<double> tensor_exposed;
  Coefficient<double> communication_slowdown;
  Coefficient<Bytes> loss_bytes_per_logit;
  Coefficient<Bytes> optimizer_traffic;
  Coefficient<Seconds> fixed_step_time;
  Coefficient<double> jitter_per_doubling;
  Coefficient<double> cast_share{1.0, {SourceKind::assumed, "casts are kernels of their own"}};
  Coefficient<Seconds> broadcast_time{Seconds{}, {SourceKind::assumed, "no broadcasts"}};
  Coefficient<Bytes> memory_overhead;
  Coefficient<double> fragmentation;
  Coefficient<double> memory_error{
      0.05,
      {SourceKind::assumed, "the bar of the memory model: no run states a whole GPU's memory"}};
  Coefficient<Seconds> host_launch_time{Seconds(), {SourceKind::assumed, "left out: no floor"}};
  std::optional<Coefficient<Seconds>> grouped_call_time = std::nullopt;
  std::optional<Coefficient<double>> softmax_fallback_passes = std::nullopt;
  Coefficient<double> cross_rail_efficiency{1.0, {SourceKind::assumed, "left out: none lost"}};
  std::optional<Coefficient<double>> expert_all_to_all_sms = std::nullopt;
  Coefficient<double> expert_overlap_share{1.0, {SourceKind::assumed, "left out: all of it"}};
  std::optional<Coefficient<double>> biased_activation_passes = std::nullopt;
  Coefficient<double> compile_speedup{1.0, {SourceKind::assumed, "no compiler of its own"}};
  Coefficient<double> context_attention_efficiency{
      1.0, {SourceKind::assumed, "blocks of a long sequence are long"}};
  std::optional<Coefficient<double>> fp8_gemm_efficiency = std::nullopt;
  std::optional<Coefficient<double>> fp8_rowwise_gemm_efficiency = std::nullopt;
  BlockProducts block_products = BlockProducts::library;
  std::optional<Coefficient<Bytes>> logits_bytes = std::nullopt;
  std::optional<Coefficient<Bytes>> loss_parallel_bytes = std::nullopt;
  AttentionImplementation attention = AttentionImplementation::fused;
  // Transformer Engine from 2.3 on with gradients accumulated inside the GEMM: keeps an empty
  // gradient in the parameters' type for every shape that a linear layer's weight has.
  bool keeps_empty_gradients = false;
  std::optional<AttentionGeneration> attention_kernel = {};
  std::optional<NormImplementation> norm_kernel = {};
  bool caches_fp8_weights = true;
  bool dropout = false;  // keeps dropout masks (recipes of the GPT-3 era)
  GradientReduction gradient_reduction = GradientReduction::per_step;
  GradientType gradient_dtype = GradientType::fp32;  // where the scenario does not state it
  bool fp8_tensor_gather = false;  // tensor-parallel gathers move FP8 where layers multiply in it
  bool fp8_parameters = false;  // parameters held and gathered in FP8 where layers multiply in it
  // How sharded parameters come back after the optimizer: in one collective, or each rank sends the
  // part that it owns to all others, one rank after the other.
  ParameterGather parameter_gather = ParameterGather::all_gather;
  PipelineTransfer plain_1f1b_transfer = PipelineTransfer::rendezvous_fused;
  PipelineTransfer interleaved_transfer = PipelineTransfer::latency;
  ExpertOptions experts = {};  // defaults of the stack
  // Chunks per device of this stack's interleaved schedule, where a published run leaves them out.
  std::optional<std::int64_t> interleaved_chunks = std::nullopt;
  bool hides_tensor_backward = false;  // backward collectives of a linear layer beside its GEMMs
  bool can_overlap_gradients = true;
  bool can_overlap_parameters = true;
  SelectiveRecompute selective_recompute = SelectiveRecompute::attention_core;
  model::ContextMethod context_method = model::ContextMethod::all_gather;
  bool context_balanced = true;
  bool shards_master = false;
  bool keeps_root_gathered = false;
  bool keeps_gathered_input = false;
  bool recompute_stops_early = false;
  bool compiled = false;             // set by compiled(): the scenario's choice, no key
  std::int64_t gather_prefetch = 1;  // FSDP: layers gathered ahead of the one that computes
};

// GEMM rate of the stack relative to the library, by data type.
[[nodiscard]] const Coefficient<double>& gemm_efficiency(const SoftwareProfile& software,
                                                         model::Dtype dtype);

// The stack when FP8 tensors have scales per row.
[[nodiscard]] SoftwareProfile with_rowwise_scales(SoftwareProfile software);

// The stack under torch.compile: its memory-bound kernels are faster.
[[nodiscard]] SoftwareProfile compiled(SoftwareProfile software);

}  // namespace orrery::hardware
