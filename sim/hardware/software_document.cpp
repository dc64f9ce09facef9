#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "sim/hardware/coefficient_reader.hpp"
#include "sim/hardware/profile_document.hpp"
#include "sim/hardware/read_profile.hpp"

namespace orrery::hardware {

namespace {

using yaml::at_least;
using yaml::Choice;
using yaml::MappingReader;
namespace kind = yaml::kind;

constexpr std::array<Choice<bool>, 1> kSoftwareFormats = {{{kSoftwareFormat, true}}};
constexpr std::array<Choice<AttentionImplementation>, 2> kAttention = {
    {{"fused", AttentionImplementation::fused}, {"unfused", AttentionImplementation::unfused}}};
constexpr std::array<Choice<GradientReduction>, 2> kReduction = {
    {{"per_step", GradientReduction::per_step},
     {"per_micro_batch", GradientReduction::per_micro_batch}}};
constexpr std::array<Choice<GradientType>, 2> kGradientType = {
    {{"fp32", GradientType::fp32}, {"activation", GradientType::activation}}};
constexpr std::array<Choice<ParameterGather>, 2> kParameterGather = {
    {{"all_gather", ParameterGather::all_gather}, {"broadcast", ParameterGather::broadcast}}};
constexpr std::array<Choice<SelectiveRecompute>, 2> kSelective = {
    {{"attention_core", SelectiveRecompute::attention_core},
     {"every_second_product", SelectiveRecompute::every_second_product}}};
constexpr std::array<Choice<model::ContextMethod>, 3> kContext = {
    {{"all_gather", model::ContextMethod::all_gather},
     {"ring", model::ContextMethod::ring},
     {"all_to_all", model::ContextMethod::all_to_all}}};
constexpr double kMostSpeedup = 10.0;
constexpr std::array<Choice<PipelineTransfer>, 2> kTransfer = {
    {{"latency", PipelineTransfer::latency},
     {"rendezvous_fused", PipelineTransfer::rendezvous_fused}}};

constexpr std::array<Choice<BlockProducts>, 2> kBlockProducts = {
    {{"library", BlockProducts::library}, {"deepgemm", BlockProducts::deepgemm}}};

template <typename E, std::size_t N>
constexpr std::array<Choice<E>, N> choices(const std::array<std::string_view, N>& names) {
  std::array<Choice<E>, N> made;
  for (std::size_t i = 0; i < N; ++i) {
    made[i] = {names[i], static_cast<E>(i)};
  }
  return made;
}

constexpr auto kDispatchers = choices<ExpertDispatcher>(kDispatcherNames);
constexpr auto kGroupedGemms = choices<GroupedGemm>(kGroupedGemmNames);

// Against a sustained rate: a stack may run a little above it, never twice as fast.
const yaml::Range<double> kRelative = {0.0, 1.6, true};
const yaml::Range<double> kShareOrNone = {0.0, 1.0, false};  // 0 to 1

using Number = std::optional<Coefficient<double>>;
using Time = std::optional<Coefficient<Seconds>>;
using Size = std::optional<Coefficient<Bytes>>;

struct Rates {
  Number gemm, memory, attention, nvlink, network;
  Number tensor_exposed, communication_slowdown, jitter, fragmentation, score_passes;
  Number ring_nic_exponent;  // may be left out, like these
  Number expert_all_to_all_sms, expert_overlap, biased_activation;
  Number compile_speedup, context_attention, fp8_gemm, fp8_rowwise_gemm;
  Size logits, loss_parallel;
  Time kernel_gap, host_layer, collective, transfer, fixed_step;
  Size loss, optimizer, memory_overhead;

  [[nodiscard]] bool complete() const {
    return gemm && memory && attention && nvlink && network && tensor_exposed &&
           communication_slowdown && jitter && fragmentation && score_passes && kernel_gap &&
           host_layer && collective && transfer && fixed_step && loss && optimizer &&
           memory_overhead;
  }
};

// Fused kernels keep the scores on chip, so the key would have no effect and may be left out.
Number read_score_passes(MappingReader& root, std::optional<AttentionImplementation> attention) {
  if (attention != AttentionImplementation::fused) {
    return read_coefficient<kind::Number>(root, "score_passes", at_least(0.0));
  }
  if (root.has("score_passes")) {
    root.allow("score_passes");
    root.diagnostics().warning(root.where("score_passes"),
                               root.path_of("score_passes"),
                               "has no effect with fused attention",
                               "leave it out, or attention: unfused");
  }
  return Coefficient<double>(0.0, {SourceKind::assumed, "fused kernels keep the scores on chip"});
}

Rates read_rates(MappingReader& root, std::optional<AttentionImplementation> attention) {
  Rates rates;
  rates.gemm = read_coefficient<kind::Number>(root, "gemm_efficiency", kRelative);
  rates.memory = read_coefficient<kind::Number>(root, "memory_efficiency", kRelative);
  rates.attention = read_coefficient<kind::Number>(root, "attention_efficiency", kRelative);
  rates.score_passes = read_score_passes(root, attention);
  rates.kernel_gap = read_coefficient<kind::Time>(root, "kernel_gap");
  rates.host_layer = read_coefficient<kind::Time>(root, "host_layer_time");
  rates.nvlink = read_coefficient<kind::Number>(root, "nvlink_efficiency", kRelative);
  rates.network = read_coefficient<kind::Number>(root, "network_efficiency", kShare);
  if (root.has("ring_nic_exponent")) {
    rates.ring_nic_exponent =
        read_coefficient<kind::Number>(root, "ring_nic_exponent", kShareOrNone);
  }
  if (root.has("expert_all_to_all_sms")) {
    rates.expert_all_to_all_sms =
        read_coefficient<kind::Number>(root, "expert_all_to_all_sms", at_least(0.0));
  }
  const auto may_have = [&root](const char* key, const yaml::Range<double>& range) {
    return root.has(key) ? read_coefficient<kind::Number>(root, key, range) : std::nullopt;
  };
  rates.expert_overlap = may_have("expert_overlap_share", kShareOrNone);
  rates.biased_activation = may_have("biased_activation_passes", at_least(0.0));
  rates.compile_speedup = may_have("compile_speedup", yaml::between(1.0, kMostSpeedup));
  rates.fp8_gemm = may_have("fp8_gemm_efficiency", kRelative);
  rates.fp8_rowwise_gemm = may_have("fp8_rowwise_gemm_efficiency", kRelative);
  rates.context_attention = may_have("context_attention_efficiency", kRelative);
  if (root.has("logits_bytes")) {
    rates.logits = read_coefficient<kind::Size>(root, "logits_bytes");
  }
  if (root.has("loss_parallel_bytes")) {
    rates.loss_parallel = read_coefficient<kind::Size>(root, "loss_parallel_bytes");
  }
  rates.collective = read_coefficient<kind::Time>(root, "collective_overhead");
  rates.transfer = read_coefficient<kind::Time>(root, "transfer_overhead");
  rates.tensor_exposed = read_coefficient<kind::Number>(root, "tensor_exposed", kShareOrNone);
  rates.communication_slowdown =
      read_coefficient<kind::Number>(root, "communication_slowdown", kShareOrNone);
  rates.loss = read_coefficient<kind::Size>(root, "loss_bytes_per_logit");
  rates.optimizer = read_coefficient<kind::Size>(root, "optimizer_traffic");
  rates.fixed_step = read_coefficient<kind::Time>(root, "fixed_step_time");
  rates.jitter = read_coefficient<kind::Number>(root, "jitter_per_doubling", kShareOrNone);
  rates.memory_overhead = read_coefficient<kind::Size>(root, "memory_overhead");
  rates.fragmentation = read_coefficient<kind::Number>(root, "fragmentation", kShareOrNone);
  return rates;
}

// Coefficients that may be left out: SoftwareProfile holds their neutral values.
struct OptionalRates {
  Time host_launch;
  Time grouped_call;
  Number softmax_fallback;
  Number cross_rail;
  Number memory_error;
};

OptionalRates read_optional_rates(MappingReader& root) {
  OptionalRates rates;
  rates.host_launch = read_optional<kind::Time>(root, "host_launch_time");
  rates.grouped_call = read_optional<kind::Time>(root, "grouped_call_time");
  rates.softmax_fallback =
      read_optional<kind::Number>(root, "softmax_fallback_passes", at_least(0.0));
  rates.cross_rail = read_optional<kind::Number>(root, "cross_rail_efficiency", kShare);
  rates.memory_error = read_optional<kind::Number>(root, "memory_error", kShareOrNone);
  return rates;
}

// Switches that may be left out: SoftwareProfile holds their defaults.
struct Switches {
  std::optional<bool> keeps_empty_gradients;
  std::optional<AttentionGeneration> attention_kernel;
  std::optional<NormImplementation> norm_kernel;
  std::optional<bool> caches_fp8_weights;
  std::optional<bool> dropout;
  std::optional<GradientReduction> gradient_reduction;
  std::optional<GradientType> gradient_dtype;
  std::optional<bool> fp8_tensor_gather;
  std::optional<bool> fp8_parameters;
  Number cast_share;
  std::optional<ParameterGather> parameter_gather;
  Time broadcast_time;
  std::optional<PipelineTransfer> plain_1f1b_transfer;
  std::optional<PipelineTransfer> interleaved_transfer;
  ExpertChoices experts;
  std::optional<BlockProducts> block_products;
  std::optional<std::int64_t> interleaved_chunks;
  std::optional<bool> hides_tensor_backward;
  std::optional<bool> can_overlap_gradients;
  std::optional<bool> can_overlap_parameters;
  std::optional<SelectiveRecompute> selective_recompute;
  std::optional<model::ContextMethod> context_method;
  std::optional<bool> context_balanced;
  std::optional<bool> shards_master;
  std::optional<bool> keeps_root_gathered;
  std::optional<bool> keeps_gathered_input;
  std::optional<bool> recompute_stops_early;
  std::optional<std::int64_t> gather_prefetch;
};

// A time per broadcast says nothing about a stack that gathers in one collective.
Time read_broadcast_time(MappingReader& root, std::optional<ParameterGather> gather) {
  if (gather == ParameterGather::broadcast) {
    return read_coefficient<kind::Time>(root, "broadcast_time");
  }
  if (root.has("broadcast_time")) {
    root.allow("broadcast_time");
    root.diagnostics().warning(root.where("broadcast_time"),
                               root.path_of("broadcast_time"),
                               "has no effect without broadcasts",
                               "leave it out, or parameter_gather: broadcast");
  }
  return std::nullopt;
}

std::optional<GraphScopes> read_graphs(MappingReader& root) {
  const auto names = root.optional_text_list("cuda_graphs");
  if (!names) {
    return std::nullopt;
  }
  GraphScopes scopes;
  for (const std::string& name : *names) {
    const auto found = std::find(kGraphScopeNames.begin(), kGraphScopeNames.end(), name);
    if (found == kGraphScopeNames.end()) {
      root.diagnostics().error(root.where("cuda_graphs"),
                               root.path_of("cuda_graphs"),
                               fmt::format("`{}` is no part that can be a graph", name),
                               fmt::format("{}", fmt::join(kGraphScopeNames, ", ")));
      return std::nullopt;
    }
    scopes.add(static_cast<GraphScope>(found - kGraphScopeNames.begin()));
  }
  return scopes;
}

Switches read_switches(MappingReader& root, std::optional<AttentionImplementation> attention) {
  Switches switches;
  switches.keeps_empty_gradients = root.optional<kind::Boolean>("keeps_empty_gradients");
  switches.attention_kernel = root.optional_choice("attention_kernel", kAttentionGenerations);
  if (switches.attention_kernel && attention == AttentionImplementation::unfused) {
    root.diagnostics().warning(root.where("attention_kernel"),
                               root.path_of("attention_kernel"),
                               "has no effect with unfused attention",
                               "leave it out, or attention: fused");
  }
  switches.norm_kernel = root.optional_choice("norm_kernel", kNormImplementations);
  switches.caches_fp8_weights = root.optional<kind::Boolean>("caches_fp8_weights");
  switches.dropout = root.optional<kind::Boolean>("dropout");
  switches.gradient_reduction = root.optional_choice("gradient_reduction", kReduction);
  switches.gradient_dtype = root.optional_choice("gradient_dtype", kGradientType);
  switches.fp8_tensor_gather = root.optional<kind::Boolean>("fp8_tensor_gather");
  if (root.has("cast_share")) {
    switches.cast_share = read_coefficient<kind::Number>(root, "cast_share", kShareOrNone);
  }
  switches.fp8_parameters = root.optional<kind::Boolean>("fp8_parameters");
  switches.parameter_gather = root.optional_choice("parameter_gather", kParameterGather);
  switches.broadcast_time = read_broadcast_time(root, switches.parameter_gather);
  switches.plain_1f1b_transfer = root.optional_choice("plain_1f1b_transfer", kTransfer);
  switches.interleaved_transfer = root.optional_choice("interleaved_transfer", kTransfer);
  switches.experts.dispatcher = root.optional_choice("expert_dispatcher", kDispatchers);
  switches.experts.grouped_gemm = root.optional_choice("grouped_gemm", kGroupedGemms);
  switches.experts.cuda_graphs = read_graphs(root);
  switches.block_products = root.optional_choice("block_products", kBlockProducts);
  switches.interleaved_chunks =
      root.optional<kind::Count>("interleaved_chunks", at_least<std::int64_t>(2));
  switches.hides_tensor_backward = root.optional<kind::Boolean>("hides_tensor_backward");
  switches.can_overlap_gradients = root.optional<kind::Boolean>("can_overlap_gradients");
  switches.can_overlap_parameters = root.optional<kind::Boolean>("can_overlap_parameters");
  switches.selective_recompute = root.optional_choice("selective_recompute", kSelective);
  switches.context_method = root.optional_choice("context_method", kContext);
  switches.context_balanced = root.optional<kind::Boolean>("context_balanced");
  switches.shards_master = root.optional<kind::Boolean>("shards_master");
  switches.keeps_root_gathered = root.optional<kind::Boolean>("keeps_root_gathered");
  switches.keeps_gathered_input = root.optional<kind::Boolean>("keeps_gathered_input");
  switches.recompute_stops_early = root.optional<kind::Boolean>("recompute_stops_early");
  switches.gather_prefetch =
      root.optional<kind::Count>("gather_prefetch", at_least<std::int64_t>(0));
  return switches;
}

template <typename T>
void override_with(T& target, const std::optional<T>& given) {
  target = given.value_or(target);
}

void apply(const OptionalRates& rates, SoftwareProfile& profile) {
  override_with(profile.host_launch_time, rates.host_launch);
  profile.grouped_call_time = rates.grouped_call;
  profile.softmax_fallback_passes = rates.softmax_fallback;
  override_with(profile.cross_rail_efficiency, rates.cross_rail);
  override_with(profile.memory_error, rates.memory_error);
}

void apply(const Switches& switches, SoftwareProfile& profile) {
  override_with(profile.keeps_empty_gradients, switches.keeps_empty_gradients);
  profile.attention_kernel = switches.attention_kernel;
  profile.norm_kernel = switches.norm_kernel;
  override_with(profile.caches_fp8_weights, switches.caches_fp8_weights);
  override_with(profile.dropout, switches.dropout);
  override_with(profile.gradient_reduction, switches.gradient_reduction);
  override_with(profile.gradient_dtype, switches.gradient_dtype);
  override_with(profile.fp8_tensor_gather, switches.fp8_tensor_gather);
  override_with(profile.cast_share, switches.cast_share);
  override_with(profile.fp8_parameters, switches.fp8_parameters);
  override_with(profile.parameter_gather, switches.parameter_gather);
  override_with(profile.broadcast_time, switches.broadcast_time);
  override_with(profile.plain_1f1b_transfer, switches.plain_1f1b_transfer);
  override_with(profile.interleaved_transfer, switches.interleaved_transfer);
  profile.experts = switches.experts.over(profile.experts);
  override_with(profile.block_products, switches.block_products);
  profile.interleaved_chunks = switches.interleaved_chunks;
  override_with(profile.hides_tensor_backward, switches.hides_tensor_backward);
  override_with(profile.can_overlap_gradients, switches.can_overlap_gradients);
  override_with(profile.can_overlap_parameters, switches.can_overlap_parameters);
  override_with(profile.selective_recompute, switches.selective_recompute);
  override_with(profile.context_method, switches.context_method);
  override_with(profile.context_balanced, switches.context_balanced);
  override_with(profile.shards_master, switches.shards_master);
  override_with(profile.keeps_root_gathered, switches.keeps_root_gathered);
  override_with(profile.keeps_gathered_input, switches.keeps_gathered_input);
  override_with(profile.recompute_stops_early, switches.recompute_stops_early);
  override_with(profile.gather_prefetch, switches.gather_prefetch);
}

SoftwareProfile make_profile(Rates rates) {
  return SoftwareProfile{.name = {},
                         .version = {},
                         .file = {},
                         .newest = {},
                         .gemm_efficiency = std::move(*rates.gemm),
                         .memory_efficiency = std::move(*rates.memory),
                         .attention_efficiency = std::move(*rates.attention),
                         .kernel_gap = std::move(*rates.kernel_gap),
                         .host_layer_time = std::move(*rates.host_layer),
                         .score_passes = std::move(*rates.score_passes),
                         .nvlink_efficiency = std::move(*rates.nvlink),
                         .network_efficiency = std::move(*rates.network),
                         .collective_overhead = std::move(*rates.collective),
                         .transfer_overhead = std::move(*rates.transfer),
                         .tensor_exposed = std::move(*rates.tensor_exposed),
                         .communication_slowdown = std::move(*rates.communication_slowdown),
                         .loss_bytes_per_logit = std::move(*rates.loss),
                         .optimizer_traffic = std::move(*rates.optimizer),
                         .fixed_step_time = std::move(*rates.fixed_step),
                         .jitter_per_doubling = std::move(*rates.jitter),
                         .memory_overhead = std::move(*rates.memory_overhead),
                         .fragmentation = std::move(*rates.fragmentation)};
}

std::optional<SoftwareProfile> read_software_keys(MappingReader& reader) {
  std::optional<std::string> name = reader.require_text("name", "`megatron-core`");
  std::optional<std::string> version = reader.require_text("version");
  const auto attention = reader.require_choice("attention", kAttention);
  Rates rates = read_rates(reader, attention);
  const OptionalRates optional_rates = read_optional_rates(reader);
  const Switches switches = read_switches(reader, attention);
  const yaml::Value* recipes = reader.take("recipes");
  const std::optional<std::string> newest = reader.optional_text("newest");
  reader.finish();
  if (!name || !version || !attention || !rates.complete()) {
    return std::nullopt;
  }
  const Rates given = rates;
  SoftwareProfile profile = make_profile(std::move(rates));
  override_with(profile.ring_nic_exponent, given.ring_nic_exponent);
  override_with(profile.compile_speedup, given.compile_speedup);
  override_with(profile.context_attention_efficiency, given.context_attention);
  profile.fp8_gemm_efficiency = given.fp8_gemm;
  profile.fp8_rowwise_gemm_efficiency = given.fp8_rowwise_gemm;
  profile.logits_bytes = given.logits;
  profile.loss_parallel_bytes = given.loss_parallel;
  profile.expert_all_to_all_sms = given.expert_all_to_all_sms;
  override_with(profile.expert_overlap_share, given.expert_overlap);
  profile.biased_activation_passes = given.biased_activation;
  profile.name = std::move(*name);
  profile.version = std::move(*version);
  profile.attention = *attention;
  profile.newest = newest.value_or("");
  if (recipes != nullptr) {
    profile.recipes = std::make_shared<const yaml::Value>(*recipes);
  }
  apply(optional_rates, profile);
  apply(switches, profile);
  return profile;
}

}  // namespace

const Coefficient<double>& gemm_efficiency(const SoftwareProfile& software, model::Dtype dtype) {
  return dtype == model::Dtype::fp8 && software.fp8_gemm_efficiency ? *software.fp8_gemm_efficiency
                                                                    : software.gemm_efficiency;
}

SoftwareProfile with_rowwise_scales(SoftwareProfile software) {
  if (software.fp8_rowwise_gemm_efficiency) {
    software.fp8_gemm_efficiency = software.fp8_rowwise_gemm_efficiency;
  }
  return software;
}

SoftwareProfile compiled(SoftwareProfile software) {
  const double speedup = software.compile_speedup.value();
  const Coefficient<double>& eager = software.memory_efficiency;
  software.memory_efficiency =
      Coefficient<double>(eager.value() * speedup, eager.source(), eager.residual(), eager.range());
  software.compiled = true;
  return software;
}

std::optional<SoftwareProfile> read_software_document(const yaml::Value& root,
                                                      const std::string& file,
                                                      Diagnostics& diagnostics) {
  return read_profile(
      root,
      file,
      kSoftwareFormats,
      [](MappingReader& reader) { return read_software_keys(reader); },
      diagnostics);
}

}  // namespace orrery::hardware
