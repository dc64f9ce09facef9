#pragma once

// What a training stack does with the hardware: a handful of physical coefficients.
//
// Its numbers are rows of stack_coefficients.hpp, with their meaning. Each starts with its neutral
// value, that of a bare library, so that a profile without the key behaves as if there were none.
//
// Switches: selective_recompute says what `recompute: selective` means in the stack; context_method
// and context_balanced how context ranks share a sequence; shards_master that FSDP's parameter
// shard is the optimizer's master copy; keeps_root_gathered that tables and the last layer of FSDP
// stay gathered from forward to backward; keeps_gathered_input, recompute_stops_early: see
// model/transformer_ops.hpp.
//
// Every coefficient carries its source; `assumed` needs a reason. Shared by all runs of one stack.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/provenance.hpp"
#include "sim/base/units.hpp"
#include "sim/step/hardware/gpu_profile.hpp"
#include "sim/step/model/op.hpp"

namespace orrery::yaml {
struct Value;
}

namespace orrery::hardware {

// What is switched on in the mixture-of-experts layers of a training stack. One layout on one GPU
// takes 1.5 to 2.9 times as long by these alone (Megatron Bridge performance summaries, 25.09 to
// 26.06). The words are those of Megatron Core.
//
// Whether tokens are dropped is a matter of the model (capacity_factor).
//
// Sources: Megatron Core, docs/user-guide/features/cuda_graph.md and token_dispatcher.py; DeepEP.

enum class ExpertDispatcher { alltoall, deepep, hybridep };
enum class GroupedGemm { per_expert, grouped, fused };
enum class GraphScope { attn, mlp, moe_router, moe_preprocess, layer, full_iteration };

inline constexpr std::array<std::string_view, 3> kDispatcherNames = {"alltoall", "deepep",
                                                                     "hybridep"};
inline constexpr std::array<std::string_view, 3> kGroupedGemmNames = {"per_expert", "grouped",
                                                                      "fused"};
inline constexpr std::array<std::string_view, 6> kGraphScopeNames = {
    "attn", "mlp", "moe_router", "moe_preprocess", "layer", "full_iteration"};

[[nodiscard]] constexpr std::string_view name_of(ExpertDispatcher dispatcher) {
  return kDispatcherNames[static_cast<std::size_t>(dispatcher)];
}

// Which parts are graphs.
class GraphScopes {
 public:
  constexpr void add(GraphScope scope) { bits_ |= bit(scope); }

  // Stated as it is.
  [[nodiscard]] constexpr bool has(GraphScope scope) const { return (bits_ & bit(scope)) != 0; }

  // `layer` and `full_iteration` hold all others.
  [[nodiscard]] constexpr bool covers(GraphScope scope) const {
    const std::uint8_t wider =
        bit(GraphScope::full_iteration) |
        (scope == GraphScope::full_iteration ? std::uint8_t{0} : bit(GraphScope::layer));
    return (bits_ & (bit(scope) | wider)) != 0;
  }

  friend constexpr bool operator==(const GraphScopes&, const GraphScopes&) = default;

 private:
  static constexpr std::uint8_t bit(GraphScope scope) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(scope));
  }

  std::uint8_t bits_ = 0;
};

struct ExpertOptions {
  // alltoall: a copy to every expert's rank, by NCCL; deepep, hybridep: one to every node that
  // holds one of them, and one to every rank there over NVLink (HybridEP needs fewer kernels).
  ExpertDispatcher dispatcher = ExpertDispatcher::alltoall;
  // A loop of library calls, one kernel, or one with activation and casts inside it.
  GroupedGemm grouped_gemm = GroupedGemm::grouped;
  GraphScopes cuda_graphs = {};  // moe_router holds the shared experts, mlp is that of dense layers
  bool attention_fp8 = false;    // attention multiplies in 8 bits

  friend bool operator==(const ExpertOptions&, const ExpertOptions&) = default;
};

// What a scenario states of them; absent: as the stack does it.
struct ExpertChoices {
  std::optional<ExpertDispatcher> dispatcher = {};
  std::optional<GroupedGemm> grouped_gemm = {};
  std::optional<GraphScopes> cuda_graphs = {};
  std::optional<bool> attention_fp8 = {};

  [[nodiscard]] constexpr ExpertOptions over(const ExpertOptions& stack) const {
    return {.dispatcher = dispatcher.value_or(stack.dispatcher),
            .grouped_gemm = grouped_gemm.value_or(stack.grouped_gemm),
            .cuda_graphs = cuda_graphs.value_or(stack.cuda_graphs),
            .attention_fp8 = attention_fp8.value_or(stack.attention_fp8)};
  }

  friend bool operator==(const ExpertChoices&, const ExpertChoices&) = default;
};

enum class AttentionImplementation { fused, unfused };
enum class GradientReduction { per_step, per_micro_batch };
enum class GradientType { fp32, activation };  // accumulated and reduced; 16 bit as activations
enum class ParameterGather { all_gather, broadcast };
enum class SelectiveRecompute { attention_core, every_second_product };
enum class BlockProducts { library, deepgemm };
enum class PipelineTransfer { latency, rendezvous_fused };  // schedule::P2pMode by name

// What the stack can run, in the words of a scenario.
struct StackOffers {
  std::vector<std::string> splits;    // of a replica over GPUs: tensor, sequence, context
  std::vector<std::string> exchange;  // of experts: deepep (beside alltoall), hidden (by compute)
  bool pipeline = true;
  bool chunks = true;  // several on a stage, interleaved
  std::vector<std::string> shardings;
  std::vector<std::string> beside_pipeline;  // of these
  bool selective = true;                     // recomputes attention alone
  bool layers = true;                        // or some layers of a stage
  std::string source;
};

struct SoftwareProfile;

// What changed with a release of the stack.
struct StackRelease {
  std::string from;
  // Share of the rates that the profile states; up to the next entry with one, the first also
  // before its release.
  std::optional<double> speed = {};
  // Coefficients of this release and of all later ones.
  std::vector<std::function<void(SoftwareProfile&)>> sets = {};
};

// Of what a profile does not state: nothing but the library runs.
inline const Source kBareLibrary{SourceKind::given, "a benchmark of the bare library"};

struct SoftwareProfile {
  std::string name;
  std::string version;
  std::string file;
  std::vector<std::string> vendors = {};  // of the GPUs that it runs on; empty: any
  std::string successor = {};             // the stack that replaced it on GPUs of today
  std::string newest = {};                // release, of those that `recipes` name
  std::shared_ptr<const yaml::Value> recipes = nullptr;      // unread: scenario/recipes/
  std::shared_ptr<const yaml::Value> default_for = nullptr;  // unread: scenario/usual_stack.hpp
  std::vector<std::string> aliases = {};                     // other names by which it is known
  std::optional<StackOffers> offers = {};                    // absent: nothing is known
  std::vector<StackRelease> releases = {};                   // oldest first
  Coefficient<double> gemm_efficiency{1.0, kBareLibrary};
  Coefficient<double> memory_efficiency{1.0, kBareLibrary};
  Coefficient<double> attention_efficiency{1.0, kBareLibrary};
  Coefficient<Bytes> loss_bytes_per_logit{bytes(16.0), kBareLibrary};
  Coefficient<Bytes> optimizer_traffic{bytes(30.0), kBareLibrary};
  Coefficient<Seconds> kernel_gap{Seconds(), kBareLibrary};
  Coefficient<Seconds> host_layer_time{Seconds(), kBareLibrary};
  Coefficient<double> score_passes{0.0,
                                   {SourceKind::assumed, "fused kernels keep the scores on chip"}};
  Coefficient<double> nvlink_efficiency{1.0, kBareLibrary};
  Coefficient<double> network_efficiency{1.0, kBareLibrary};
  Coefficient<Seconds> collective_overhead{Seconds(), kBareLibrary};
  Coefficient<Seconds> transfer_overhead{Seconds(), kBareLibrary};
  Coefficient<double> tensor_exposed{1.0, kBareLibrary};
  Coefficient<double> communication_slowdown{0.0, kBareLibrary};
  Coefficient<Seconds> fixed_step_time{Seconds(), kBareLibrary};
  Coefficient<double> jitter_per_doubling{0.0, kBareLibrary};
  Coefficient<Seconds> host_launch_time{Seconds(), {SourceKind::assumed, "left out: no floor"}};
  Coefficient<double> host_backward{
      1.4, {SourceKind::assumed, "the backward launches about 1.4 times as many kernels"}};
  Coefficient<double> host_sharpness{6.0,
                                     {SourceKind::published,
                                      "fit to the vTrain rows of single nodes: 6.2 % mean error, "
                                      "6.6 % with 12 or a plain maximum"}};
  Coefficient<double> host_sharpness_after_counts{
      2.0,
      {SourceKind::published,
       "chosen with host_launch_time on the rows of Megatron-Bridge, each release left out in "
       "turn"}};
  Coefficient<double> expert_product_launches{
      1.5,
      {SourceKind::published,
       "a library call with descriptors and a choice of the kernel; with expert_cast_launches "
       "chosen on 320 steps that no fit has seen, those of hybrids with 64 experts a rank among "
       "them"}};
  Coefficient<double> expert_cast_launches{
      0.1, {SourceKind::published, "Transformer Engine casts for all experts in one call"}};
  Coefficient<double> backward_passes{
      1.4, {SourceKind::published, "the fit to published step times that gives score_passes"}};
  std::optional<Coefficient<Seconds>> grouped_call_time = std::nullopt;
  std::optional<Coefficient<double>> softmax_fallback_passes = std::nullopt;
  Coefficient<double> ring_nic_exponent{
      1.0, {SourceKind::assumed, "NCCL lays its channels over all NICs beside the ranks"}};
  Coefficient<double> cross_rail_efficiency{1.0, {SourceKind::assumed, "left out: none lost"}};
  Coefficient<double> compile_speedup{1.0, {SourceKind::assumed, "no compiler of its own"}};
  Coefficient<double> context_attention_efficiency{
      1.0, {SourceKind::assumed, "blocks of a long sequence are long"}};
  std::optional<Coefficient<double>> fp8_gemm_efficiency = std::nullopt;
  std::optional<Coefficient<double>> fp8_rowwise_gemm_efficiency = std::nullopt;
  Coefficient<double> cast_share{1.0, {SourceKind::assumed, "casts are kernels of their own"}};
  Coefficient<Seconds> broadcast_time{Seconds{}, {SourceKind::assumed, "no broadcasts"}};
  std::optional<Coefficient<double>> expert_all_to_all_sms = std::nullopt;
  Coefficient<double> expert_overlap_share{1.0, {SourceKind::assumed, "left out: all of it"}};
  std::optional<Coefficient<double>> biased_activation_passes = std::nullopt;
  std::optional<Coefficient<Bytes>> logits_bytes = std::nullopt;
  std::optional<Coefficient<Bytes>> loss_parallel_bytes = std::nullopt;
  Coefficient<Bytes> memory_overhead{Bytes(), kBareLibrary};
  Coefficient<double> fragmentation{0.0, kBareLibrary};
  Coefficient<double> memory_error{
      0.05,
      {SourceKind::assumed, "the bar of the memory model: no run states a whole GPU's memory"}};
  BlockProducts block_products =
      BlockProducts::library;  // with scales of 128 values (cost/gemm.hpp)
  AttentionImplementation attention = AttentionImplementation::fused;
  // Transformer Engine from 2.3 on with gradients accumulated inside the GEMM: keeps an empty
  // gradient in the parameters' type for every shape that a linear layer's weight has.
  bool keeps_empty_gradients = false;
  std::optional<AttentionGeneration> attention_kernel =
      {};                                              // absent: the best of the GPU's profile
  std::optional<NormImplementation> norm_kernel = {};  // absent: as other memory-bound kernels
  bool caches_fp8_weights = true;  // cast once a step and kept; false: for every micro-batch
  bool dropout = false;            // keeps dropout masks (recipes of the GPT-3 era)
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
  // An exchange of experts hides beside the other direction of another micro-batch: its schedules
  // without a pipeline and with interleaved chunks are then interleaved_combined.
  bool combines_expert_overlap = false;
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

// The stack in one of its releases: coefficients that changed, rates as much higher, host times as
// much shorter. As it is where the release is not stated or the profile tells none apart.
[[nodiscard]] SoftwareProfile at_release(SoftwareProfile software, std::string_view release);

// The stack under torch.compile: its memory-bound kernels are faster.
[[nodiscard]] SoftwareProfile compiled(SoftwareProfile software);

// The software of a bare benchmark, which changes nothing: nccl-tests and kernel benchmarks
// measure the library, not a training stack.

// Efficiencies 1, gaps and overheads 0, source `given`.
[[nodiscard]] SoftwareProfile neutral_stack();

}  // namespace orrery::hardware
