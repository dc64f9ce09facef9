#include "sim/step/hardware/stack_coefficients.hpp"

#include <algorithm>
#include <type_traits>

#include "sim/step/hardware/coefficient_reader.hpp"

namespace orrery::hardware {

namespace {

using S = SoftwareProfile;

// Against a sustained rate: a stack may run a little above it, never twice as fast.
constexpr yaml::Range<double> kRelative = {0.0, 1.6, true};
constexpr yaml::Range<double> kShareOrNone = {0.0, 1.0, false};  // 0 to 1
constexpr yaml::Range<double> kNotNegative = {0.0, std::nullopt, false};
constexpr yaml::Range<double> kSharpness = {1.0, 100.0, false};
constexpr yaml::Range<double> kSpeedup = {1.0, 10.0, false};

using Neutral = std::optional<double>;

// A rate or a traffic, on a logarithmic scale.
constexpr FitBounds rate(double lower, double upper, double sigma, Neutral neutral = {}) {
  return {lower, upper, sigma, FitScale::logarithmic, 0.0, neutral};
}

// A share that may well be 0, on a linear scale.
constexpr FitBounds share(double lower, double upper, double sigma, Neutral neutral = {}) {
  return {lower, upper, sigma, FitScale::linear, 0.0, neutral};
}

// A time; far below the offset it does not matter how small it is.
constexpr FitBounds time(double upper, double offset, double sigma, Neutral neutral = {}) {
  return {0.0, upper, sigma, FitScale::logarithmic, offset, neutral};
}

bool is_unfused(const S& stack) { return stack.attention == AttentionImplementation::unfused; }

bool broadcasts(const S& stack) { return stack.parameter_gather == ParameterGather::broadcast; }

constexpr std::string_view kProducts = "rate of matrix products";
constexpr std::string_view kMessages = "latency of communication";
constexpr std::string_view kHost = "host time per kernel";

constexpr StackCoefficient kStackRows[] = {
    {.key = "gemm_efficiency",
     .member = &S::gemm_efficiency,
     .range = kRelative,
     .required = true,
     .fit = rate(0.4, 1.15, 0.15),
     .knob = kProducts,
     .meaning = "GEMM rate in this stack / the GPU's sustained library rate; above 1 where GEMMs "
                "alternate with light work and the clock stays above that of a pure GEMM soak"},
    {.key = "memory_efficiency",
     .member = &S::memory_efficiency,
     .range = kRelative,
     .required = true,
     .fit = rate(0.3, 1.1, 0.20),
     .knob = "rate of memory-bound kernels",
     .meaning = "the same of memory-bound kernels"},
    {.key = "attention_efficiency",
     .member = &S::attention_efficiency,
     .range = kRelative,
     .required = true,
     .fit = rate(0.2, 1.5, 0.30),
     .knob = "rate of attention",
     .meaning = "the same of attention: fused kernels against the rate of attention_kernel, or the "
                "batched products of unfused attention against the sustained rate of a GEMM"},
    {.key = "loss_bytes_per_logit",
     .member = &S::loss_bytes_per_logit,
     .required = true,
     .fit = rate(6.0, 100.0, 0.40),
     .meaning = "memory traffic of cross-entropy, forward and backward"},
    {.key = "optimizer_traffic",
     .member = &S::optimizer_traffic,
     .required = true,
     .fit = rate(12.0, 120.0, 0.30),
     .meaning = "bytes moved per parameter of the optimizer step"},
    {.key = "kernel_gap",
     .member = &S::kernel_gap,
     .required = true,
     .fit = time(50.0 * kMicro, kMicro, 0.60),
     .knob = kHost,
     .meaning = "idle time between two kernels of a layer, beyond the GPU's own launch_latency"},
    {.key = "host_layer_time",
     .member = &S::host_layer_time,
     .required = true,
     .fit = time(3.0 * kMilli, 0.05 * kMilli, 0.50),
     .knob = kHost,
     .meaning = "host time to launch one layer forward; a floor of the pass"},
    {.key = "score_passes",
     .member = &S::score_passes,
     .range = kNotNegative,
     .needed = is_unfused,
     .idle = "has no effect with fused attention",
     .advice = "leave it out, or attention: unfused",
     .fit = share(2.0, 16.0, 2.0),
     .meaning = "memory passes over the s^2 scores of unfused attention"},
    {.key = "nvlink_efficiency",
     .member = &S::nvlink_efficiency,
     .range = kRelative,
     .required = true,
     .fit = rate(0.25, 1.15, 0.25),
     .knob = "bandwidth inside nodes",
     .meaning = "bus bandwidth / what NCCL's model gives, inside the NVLink domain"},
    {.key = "network_efficiency",
     .member = &S::network_efficiency,
     .range = kShare,
     .required = true,
     .fit = rate(0.08, 1.0, 0.40),
     .knob = "network bandwidth",
     .meaning = "the same between nodes"},
    {.key = "collective_overhead",
     .member = &S::collective_overhead,
     .required = true,
     .fit = time(1.5 * kMilli, 10.0 * kMicro, 0.70),
     .knob = kMessages,
     .meaning = "extra time per collective, host and stream hand-over"},
    {.key = "transfer_overhead",
     .member = &S::transfer_overhead,
     .required = true,
     .fit = time(20.0 * kMilli, 20.0 * kMicro, 1.0),
     .knob = kMessages,
     .meaning = "the same per pipeline message"},
    {.key = "tensor_exposed",
     .member = &S::tensor_exposed,
     .range = kShareOrNone,
     .required = true,
     .fit = share(0.0, 1.0, 0.25),
     .meaning = "share of tensor-parallel communication not hidden"},
    {.key = "communication_slowdown",
     .member = &S::communication_slowdown,
     .range = kShareOrNone,
     .required = true,
     .fit = share(0.0, 1.0, 0.20),
     .knob = "cost of overlap",
     .meaning = "overlap is not free: added time / the shorter of the two"},
    {.key = "fixed_step_time",
     .member = &S::fixed_step_time,
     .required = true,
     .fit = time(0.6, 10.0 * kMilli, 0.80),
     .meaning = "host work once per step"},
    {.key = "jitter_per_doubling",
     .member = &S::jitter_per_doubling,
     .range = kShareOrNone,
     .required = true,
     .fit = share(0.0, 0.03, 0.006),
     .meaning = "slowest-of-N growth of the step per doubling beyond 8 GPUs"},
    {.key = "host_launch_time",
     .member = &S::host_launch_time,
     .fit = time(60.0 * kMicro, 2.0 * kMicro, 0.60, 0.0),
     .meaning = "host time per kernel or collective launched, on top of host_layer_time"},
    {.key = "host_backward",
     .member = &S::host_backward,
     .range = kNotNegative,
     .fit = rate(0.7, 3.0, 0.30, 1.4),
     .meaning = "host time of a backward / of a forward, beside host_launch_time"},
    {.key = "host_sharpness",
     .member = &S::host_sharpness,
     .range = kSharpness,
     .fit = rate(1.0, 20.0, 0.50, 6.0),
     .meaning = "p where GPU and host work at once: pass = (gpu^p + host^p)^(1/p)"},
    {.key = "host_sharpness_after_counts",
     .member = &S::host_sharpness_after_counts,
     .range = kSharpness,
     .fit = rate(1.0, 20.0, 0.50, 2.0),
     .meaning = "the same where the host waits for the counts of the tokens of experts"},
    {.key = "expert_product_launches",
     .member = &S::expert_product_launches,
     .range = kNotNegative,
     .fit = rate(0.2, 4.0, 0.50, 1.5),
     .meaning = "launches that a product of an expert costs the host in a loop over experts"},
    {.key = "expert_cast_launches",
     .member = &S::expert_cast_launches,
     .range = kNotNegative,
     .fit = rate(0.02, 2.0, 0.50, 0.1),
     .meaning = "the same of a cast; twice that with scales of blocks of 32"},
    {.key = "backward_passes",
     .member = &S::backward_passes,
     .range = kNotNegative,
     .fit = rate(0.7, 3.0, 0.30, 1.4),
     .meaning = "memory passes of unfused kernels (scores, the activation of experts with biases), "
                "backward / forward"},
    {.key = "grouped_call_time",
     .member = &S::grouped_call_time,
     .fit = time(60.0 * kMicro, 2.0 * kMicro, 0.60, 0.0),
     .meaning = "host time per product where the experts' products are a loop of library calls; "
                "absent: one kernel for all of them"},
    {.key = "softmax_fallback_passes",
     .member = &S::softmax_fallback_passes,
     .range = kNotNegative,
     .fit = share(0.0, 20.0, 2.0, 0.0),
     .meaning = "passes more where Megatron's fused softmax kernel refuses the shape; absent: the "
                "stack has no such kernel"},
    {.key = "ring_nic_exponent",
     .member = &S::ring_nic_exponent,
     .range = kShareOrNone,
     .fit = share(0.0, 1.0, 0.30, 1.0),
     .meaning = "NICs of a node that one ring uses = (NICs beside its ranks there)^exponent: 1 all "
                "of them (NCCL's channels on rails), 0 a single one"},
    {.key = "cross_rail_efficiency",
     .member = &S::cross_rail_efficiency,
     .range = kShare,
     .fit = rate(0.1, 1.0, 0.30, 1.0),
     .meaning = "rate between nodes of a ring with several, but not all, GPUs of a node / that of "
                "a ring on its rail"},
    {.key = "compile_speedup",
     .member = &S::compile_speedup,
     .range = kSpeedup,
     .fit = rate(1.0, 4.0, 0.30, 1.0),
     .meaning = "rate of memory-bound kernels under torch.compile / eager; 1: the stack has no "
                "such switch"},
    {.key = "context_attention_efficiency",
     .member = &S::context_attention_efficiency,
     .range = kRelative,
     .fit = rate(0.4, 1.0, 0.30, 1.0),
     .meaning = "rate of attention across context ranks / on half as many"},
    {.key = "fp8_gemm_efficiency",
     .member = &S::fp8_gemm_efficiency,
     .range = kRelative,
     .fit = rate(0.3, 1.3, 0.15, 0.0),
     .knob = kProducts,
     .meaning = "gemm_efficiency of FP8 products; absent: as all others"},
    {.key = "fp8_rowwise_gemm_efficiency",
     .member = &S::fp8_rowwise_gemm_efficiency,
     .range = kRelative,
     .fit = rate(0.2, 1.3, 0.30, 0.0),
     .knob = kProducts,
     .meaning = "the same with scales per row; absent: as other FP8"},
    {.key = "cast_share",
     .member = &S::cast_share,
     .range = kShareOrNone,
     .fit = share(0.0, 1.0, 0.30, 1.0),
     .meaning = "memory traffic of FP8 casts / that of separate kernels: less where norms and "
                "activations write FP8 themselves"},
    {.key = "broadcast_time",
     .member = &S::broadcast_time,
     .needed = broadcasts,
     .idle = "has no effect without broadcasts",
     .advice = "leave it out, or parameter_gather: broadcast",
     .fit = time(10.0 * kMilli, 0.2 * kMilli, 0.60, 0.0),
     .meaning = "per rank that owns a part of the parameters, when they come back by broadcasts "
                "one rank after the other"},
    {.key = "expert_all_to_all_sms",
     .member = &S::expert_all_to_all_sms,
     .range = kNotNegative,
     .meaning = "SMs that the kernels of the experts' all-to-all take from compute beside them; "
                "absent: communication_slowdown says it"},
    {.key = "expert_overlap_share",
     .member = &S::expert_overlap_share,
     .range = kShareOrNone,
     .meaning = "most of an all-to-all of the experts that other work hides"},
    {.key = "biased_activation_passes",
     .member = &S::biased_activation_passes,
     .range = kNotNegative,
     .meaning = "memory passes over what the experts' activation starts from, forward, where "
                "experts have biases and are multiplied one by one; absent: one fused kernel"},
    {.key = "logits_bytes",
     .member = &S::logits_bytes,
     .meaning = "alive per logit at the peak of the loss; absent: 4 kept and the gradient in the "
                "activation type"},
    {.key = "loss_parallel_bytes",
     .member = &S::loss_parallel_bytes,
     .meaning = "the same where the vocabulary is split (tensor parallel)"},
    {.key = "memory_overhead",
     .member = &S::memory_overhead,
     .required = true,
     .meaning = "context, NCCL buffers, workspace"},
    {.key = "fragmentation",
     .member = &S::fragmentation,
     .range = kShareOrNone,
     .required = true,
     .meaning = "share of the allocated bytes lost to the allocator"},
    {.key = "memory_error",
     .member = &S::memory_error,
     .range = kShareOrNone,
     .meaning = "how far a peak may lie above the predicted one"}};

// What `visitor` makes of the coefficient, or `absent`.
template <typename Profile, typename Visitor, typename Result>
Result visit(const StackMember& member, Profile& profile, Visitor visitor, Result absent) {
  return std::visit(
      [&](auto pointer) -> Result {
        auto& coefficient = profile.*pointer;
        if constexpr (requires { coefficient->value(); }) {
          return coefficient ? visitor(*coefficient) : absent;
        } else {
          return visitor(coefficient);
        }
      },
      member);
}

}  // namespace

double StackCoefficient::get(const SoftwareProfile& profile) const {
  return visit(
      member, profile, [](const auto& c) { return plain(c.value()); }, 0.0);
}

void StackCoefficient::set(SoftwareProfile& profile, double value, const Source& source) const {
  std::visit(
      [&](auto pointer) {
        using Q = QuantityOf<std::decay_t<decltype(profile.*pointer)>>;
        profile.*pointer = Coefficient<Q>(quantity<Q>(value), source);
      },
      member);
}

double StackCoefficient::residual(const SoftwareProfile& profile) const {
  return visit(
      member, profile, [](const auto& c) { return c.residual(); }, 0.0);
}

void StackCoefficient::scale(SoftwareProfile& profile, double factor) const {
  const auto times = [factor](auto& c) {
    c = {c.value() * factor, c.source(), c.residual(), c.range()};
    return true;
  };
  visit(member, profile, times, false);
}

std::span<const StackCoefficient> stack_coefficients() { return kStackRows; }

namespace {

constexpr std::string_view kByKernels = "orrery calibrate --scenario";
constexpr std::string_view kByCollectives = "orrery calibrate --collectives";
constexpr std::string_view kBySteps = "orrery fit";

constexpr StackKnob kKnobs[] = {{"rate of matrix products", kByKernels},
                                {"rate of attention", kByKernels},
                                {"rate of memory-bound kernels", kByKernels},
                                {"bandwidth inside nodes", kByCollectives},
                                {"network bandwidth", kByCollectives},
                                {"latency of communication", kByCollectives},
                                {"cost of overlap", kBySteps},
                                {"host time per kernel", kBySteps}};

}  // namespace

double StackKnob::residual(const SoftwareProfile& software) const {
  const auto rows = stack_coefficients();
  const auto first =
      std::ranges::find_if(rows, [this](const auto& row) { return row.knob == name; });
  return first == rows.end() ? 0.0 : first->residual(software);
}

void StackKnob::move(SoftwareProfile& software, double factor) const {
  for (const StackCoefficient& row : stack_coefficients()) {
    if (row.knob == name) {
      row.scale(software, factor);
    }
  }
}

double StackKnob::error(const SoftwareProfile& software) const {
  const double fitted = residual(software);
  return fitted > 0.0 ? fitted : kAssumedError;
}

std::span<const StackKnob> stack_knobs() { return kKnobs; }

}  // namespace orrery::hardware
