#include "sim/hardware/stack_knobs.hpp"

namespace orrery::hardware {

namespace {

template <typename Q>
void scale(Coefficient<Q>& coefficient, double factor) {
  coefficient = Coefficient<Q>(coefficient.value() * factor,
                               coefficient.source(),
                               coefficient.residual(),
                               coefficient.range());
}

constexpr std::string_view kByKernels = "orrery calibrate --scenario";
constexpr std::string_view kByCollectives = "orrery calibrate --collectives";
constexpr std::string_view kBySteps = "orrery fit";

constexpr StackKnob kKnobs[] = {
    {"rate of matrix products",
     kByKernels,
     [](const SoftwareProfile& s) { return s.gemm_efficiency.residual(); },
     [](SoftwareProfile& s, double factor) {
       scale(s.gemm_efficiency, factor);
       for (auto* eight_bit : {&s.fp8_gemm_efficiency, &s.fp8_rowwise_gemm_efficiency}) {
         if (*eight_bit) {
           scale(**eight_bit, factor);
         }
       }
     }},
    {"rate of attention",
     kByKernels,
     [](const SoftwareProfile& s) { return s.attention_efficiency.residual(); },
     [](SoftwareProfile& s, double factor) { scale(s.attention_efficiency, factor); }},
    {"rate of memory-bound kernels",
     kByKernels,
     [](const SoftwareProfile& s) { return s.memory_efficiency.residual(); },
     [](SoftwareProfile& s, double factor) { scale(s.memory_efficiency, factor); }},
    {"NVLink bandwidth",
     kByCollectives,
     [](const SoftwareProfile& s) { return s.nvlink_efficiency.residual(); },
     [](SoftwareProfile& s, double factor) { scale(s.nvlink_efficiency, factor); }},
    {"network bandwidth",
     kByCollectives,
     [](const SoftwareProfile& s) { return s.network_efficiency.residual(); },
     [](SoftwareProfile& s, double factor) { scale(s.network_efficiency, factor); }},
    {"latency of communication",
     kByCollectives,
     [](const SoftwareProfile& s) { return s.collective_overhead.residual(); },
     [](SoftwareProfile& s, double factor) {
       scale(s.collective_overhead, factor);
       scale(s.transfer_overhead, factor);
     }},
    {"cost of overlap",
     kBySteps,
     [](const SoftwareProfile& s) { return s.communication_slowdown.residual(); },
     [](SoftwareProfile& s, double factor) { scale(s.communication_slowdown, factor); }},
    {"host time per kernel",
     kBySteps,
     [](const SoftwareProfile& s) { return s.kernel_gap.residual(); },
     [](SoftwareProfile& s, double factor) {
       scale(s.kernel_gap, factor);
       scale(s.host_layer_time, factor);
     }}};

}  // namespace

std::span<const StackKnob> stack_knobs() {
  return kKnobs;
}

}  // namespace orrery::hardware
