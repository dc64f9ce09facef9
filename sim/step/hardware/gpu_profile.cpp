#include "sim/step/hardware/gpu_profile.hpp"

#include <algorithm>
#include <array>

namespace orrery::hardware {

const GpuCoefficients& GpuProfile::coefficients() const {
  return own_coefficients ? *own_coefficients : usual_coefficients(arch);
}

const GemmRate* GpuProfile::find_gemm(model::Dtype dtype) const {
  const auto found = std::find_if(gemm.begin(), gemm.end(),
                                  [dtype](const GemmRate& rate) { return rate.dtype == dtype; });
  return found == gemm.end() ? nullptr : &*found;
}

const AttentionRate* GpuProfile::find_attention(AttentionGeneration generation) const {
  if (attention.generation == generation) {
    return &attention;
  }
  const auto found = std::find_if(
      attention_kernels.begin(), attention_kernels.end(),
      [generation](const AttentionRate& rate) { return rate.generation == generation; });
  return found == attention_kernels.end() ? nullptr : &*found;
}

const ScanRate* GpuProfile::find_scan(model::ScanKind kind) const {
  const auto found = std::find_if(scan_kernels.begin(), scan_kernels.end(),
                                  [kind](const ScanRate& rate) { return rate.kind == kind; });
  return found == scan_kernels.end() ? nullptr : &*found;
}

const NormRate* GpuProfile::find_norm(NormImplementation implementation) const {
  const auto found = std::find_if(
      norm_kernels.begin(), norm_kernels.end(),
      [implementation](const NormRate& rate) { return rate.implementation == implementation; });
  return found == norm_kernels.end() ? nullptr : &*found;
}

double NvlinkProfile::share_of(std::int64_t ranks) const {
  if (peers == 0 || ranks <= 1) {
    return 1.0;
  }
  return static_cast<double>(std::min(ranks - 1, peers)) / static_cast<double>(peers);
}

std::string_view to_string(GpuArch arch) {
  const auto* found = std::find_if(kGpuArchNames.begin(), kGpuArchNames.end(),
                                   [arch](const GpuArchName& entry) { return entry.arch == arch; });
  return found == kGpuArchNames.end() ? std::string_view() : found->name;
}

std::string_view vendor_of(GpuArch arch) {
  return arch == GpuArch::cdna ? "AMD" : arch == GpuArch::gaudi ? "Intel" : "NVIDIA";
}

std::string_view link_name(GpuArch arch) {
  return arch == GpuArch::cdna    ? "Infinity Fabric"
         : arch == GpuArch::gaudi ? "scale-up Ethernet"
                                  : "NVLink";
}

std::string_view to_string(AttentionGeneration generation) {
  constexpr std::array<std::string_view, 6> kNames = {"triton-2023", "fa2", "triton-2024",
                                                      "cudnn-2024",  "fa3", "cudnn-9"};
  return kNames[static_cast<std::size_t>(generation)];
}

}  // namespace orrery::hardware
