#include <algorithm>
#include <array>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

#include "sim/step/hardware/coefficient_reader.hpp"
#include "sim/step/hardware/profile_document.hpp"

namespace orrery::hardware {

namespace {

using model::Dtype;
using yaml::above;
using yaml::at_least;
using yaml::Choice;
using yaml::MappingReader;
namespace kind = yaml::kind;

constexpr std::array<Choice<bool>, 1> kGpuFormats = {{{kGpuFormat, true}}};
constexpr std::array<Choice<Dtype>, 6> kDtypes = {{{"fp32", Dtype::fp32},
                                                   {"tf32", Dtype::tf32},
                                                   {"bf16", Dtype::bf16},
                                                   {"fp16", Dtype::fp16},
                                                   {"fp8", Dtype::fp8},
                                                   {"fp4", Dtype::fp4}}};

constexpr std::array<Choice<model::ScanKind>, 4> kScanKinds = {
    {{"state-space", model::ScanKind::state_space},
     {"delta", model::ScanKind::delta},
     {"channel-delta", model::ScanKind::channel_delta},
     {"retention", model::ScanKind::retention}}};

const yaml::Range<BytesPerSecond> kPositiveBandwidth = above(BytesPerSecond{});
const yaml::Range<FlopPerSecond> kPositiveRate = above(FlopPerSecond{});

std::optional<GemmRate> read_gemm_rate(MappingReader reader, Dtype dtype) {
  auto peak = read_coefficient<kind::FlopRate>(reader, "peak", kPositiveRate);
  auto sustained = read_coefficient<kind::FlopRate>(reader, "sustained", kPositiveRate);
  auto half_depth = read_coefficient<kind::Number>(reader, "half_depth", at_least(0.0));
  auto burst = read_optional<kind::FlopRate>(reader, "burst", kPositiveRate);
  auto short_gain = read_optional<kind::Number>(reader, "short_gain", at_least(0.0));
  auto short_work = read_optional<kind::Number>(reader, "short_work", above(0.0));
  auto block_ratio = read_optional<kind::Number>(reader, "block_ratio", kShare);
  auto mx_ratio = read_optional<kind::Number>(reader, "mx_ratio", kShare);
  if (short_gain.has_value() != short_work.has_value()) {
    reader.error(short_gain ? "short_work" : "short_gain", "is needed beside its partner",
                 "short_gain and short_work go together");
  }
  reader.finish();
  if (!peak || !sustained || !half_depth) {
    return std::nullopt;
  }
  for (const auto& [key, rate] : {std::pair{"sustained", sustained->value()},
                                  std::pair{"burst", burst ? burst->value() : FlopPerSecond{}}}) {
    if (rate > peak->value()) {
      reader.error(key, "is above the peak of the data type",
                   "at most " + kind::FlopRate::format(peak->value()));
    }
  }
  return GemmRate{.dtype = dtype,
                  .peak = std::move(*peak),
                  .sustained = std::move(*sustained),
                  .half_depth = std::move(*half_depth),
                  .burst = std::move(burst),
                  .short_gain = std::move(short_gain),
                  .short_work = std::move(short_work),
                  .block_ratio = std::move(block_ratio),
                  .mx_ratio = std::move(mx_ratio)};
}

std::vector<GemmRate> read_gemm(MappingReader& root) {
  std::vector<GemmRate> rates;
  std::optional<MappingReader> section = root.require_mapping("gemm");
  if (!section) {
    return rates;
  }
  bool any = false;
  for (const Choice<Dtype>& dtype : kDtypes) {
    std::optional<MappingReader> entry = section->optional_mapping(dtype.name);
    if (!entry) {
      continue;
    }
    any = true;
    std::optional<GemmRate> rate = read_gemm_rate(std::move(*entry), dtype.value);
    if (rate) {
      rates.push_back(std::move(*rate));
    }
  }
  if (!any) {
    root.error("gemm", "has no data type", "at least one of fp32, tf32, bf16, fp16, fp8, fp4");
  }
  section->finish();
  return rates;
}

FlopPerSecond fastest_16_bit(const std::vector<GemmRate>& gemm) {
  FlopPerSecond fastest;
  for (const GemmRate& rate : gemm) {
    if (rate.dtype == Dtype::bf16 || rate.dtype == Dtype::fp16) {
      fastest = std::max(fastest, rate.peak.value());
    }
  }
  return fastest;
}

// One kernel; `generation` is set for those that a stack finds by name.
std::optional<AttentionRate> read_attention_rate(
    MappingReader section, const std::vector<GemmRate>& gemm,
    std::optional<AttentionGeneration> generation = std::nullopt) {
  if (!generation) {
    generation = section.optional_choice("generation", kAttentionGenerations);
  }
  auto forward = read_coefficient<kind::FlopRate>(section, "forward", kPositiveRate);
  auto backward = read_coefficient<kind::FlopRate>(section, "backward", kPositiveRate);
  auto half_length = read_coefficient<kind::Number>(section, "half_length", at_least(0.0));
  auto full_ratio = read_optional<kind::Number>(section, "full_ratio", at_least(0.0));
  auto backward_ratio = read_optional<kind::Number>(section, "backward_ratio", at_least(0.0));
  auto head_64 = read_optional<kind::Number>(section, "head_64", above(0.0));
  auto head_256 = read_optional<kind::Number>(section, "head_256", above(0.0));
  auto head_256_fp8 = read_optional<kind::Number>(section, "head_256_fp8", above(0.0));
  auto forward_fp8 = read_optional<kind::FlopRate>(section, "forward_fp8", kPositiveRate);
  auto backward_fp8 = read_optional<kind::FlopRate>(section, "backward_fp8", kPositiveRate);
  auto backward_ratio_fp8 =
      read_optional<kind::Number>(section, "backward_ratio_fp8", at_least(0.0));
  auto causal_backward_fp8 = read_optional<kind::Number>(section, "causal_backward_fp8", kShare);
  section.finish();
  if (!forward || !backward || !half_length) {
    return std::nullopt;
  }
  const FlopPerSecond limit = fastest_16_bit(gemm);
  for (const auto& [key, rate] :
       {std::pair{"forward", forward->value()}, std::pair{"backward", backward->value()}}) {
    if (limit > FlopPerSecond{} && rate > limit) {
      section.error(key, "is above the 16-bit peak", "at most " + kind::FlopRate::format(limit));
    }
  }
  return AttentionRate{.forward = std::move(*forward),
                       .backward = std::move(*backward),
                       .half_length = std::move(*half_length),
                       .generation = generation,
                       .full_ratio = std::move(full_ratio),
                       .backward_ratio = std::move(backward_ratio),
                       .head_64 = std::move(head_64),
                       .head_256 = std::move(head_256),
                       .head_256_fp8 = std::move(head_256_fp8),
                       .forward_fp8 = std::move(forward_fp8),
                       .backward_fp8 = std::move(backward_fp8),
                       .backward_ratio_fp8 = std::move(backward_ratio_fp8),
                       .causal_backward_fp8 = std::move(causal_backward_fp8)};
}

std::optional<AttentionRate> read_attention(MappingReader& root,
                                            const std::vector<GemmRate>& gemm) {
  std::optional<MappingReader> section = root.require_mapping("attention");
  return section ? read_attention_rate(std::move(*section), gemm) : std::nullopt;
}

std::vector<AttentionRate> read_attention_kernels(MappingReader& root,
                                                  const std::vector<GemmRate>& gemm) {
  std::vector<AttentionRate> kernels;
  std::optional<MappingReader> section = root.optional_mapping("attention_kernels");
  if (!section) {
    return kernels;
  }
  for (const Choice<AttentionGeneration>& generation : kAttentionGenerations) {
    std::optional<MappingReader> entry = section->optional_mapping(generation.name);
    if (!entry) {
      continue;
    }
    auto rate = read_attention_rate(std::move(*entry), gemm, generation.value);
    if (rate) {
      kernels.push_back(std::move(*rate));
    }
  }
  section->finish();
  return kernels;
}

std::vector<NormRate> read_norm_kernels(MappingReader& root) {
  std::vector<NormRate> kernels;
  std::optional<MappingReader> section = root.optional_mapping("norm_kernels");
  if (!section) {
    return kernels;
  }
  for (const Choice<NormImplementation>& implementation : kNormImplementations) {
    std::optional<MappingReader> entry = section->optional_mapping(implementation.name);
    if (!entry) {
      continue;
    }
    auto forward = read_coefficient<kind::Number>(*entry, "forward", kShare);
    auto backward = read_coefficient<kind::Number>(*entry, "backward", kShare);
    auto forward_latency = read_coefficient<kind::Time>(*entry, "forward_latency");
    auto backward_latency = read_coefficient<kind::Time>(*entry, "backward_latency");
    entry->finish();
    if (forward && backward && forward_latency && backward_latency) {
      kernels.push_back({.implementation = implementation.value,
                         .forward = std::move(*forward),
                         .backward = std::move(*backward),
                         .forward_latency = std::move(*forward_latency),
                         .backward_latency = std::move(*backward_latency)});
    }
  }
  section->finish();
  return kernels;
}

std::vector<ScanRate> read_scan_kernels(MappingReader& root) {
  std::vector<ScanRate> kernels;
  std::optional<MappingReader> section = root.optional_mapping("scan_kernels");
  if (!section) {
    return kernels;
  }
  for (const Choice<model::ScanKind>& scan : kScanKinds) {
    std::optional<MappingReader> entry = section->optional_mapping(scan.name);
    if (!entry) {
      continue;
    }
    auto forward = read_coefficient<kind::Bandwidth>(*entry, "forward", kPositiveBandwidth);
    auto backward = read_coefficient<kind::Bandwidth>(*entry, "backward", kPositiveBandwidth);
    auto forward_chunk = read_coefficient<kind::Time>(*entry, "forward_chunk");
    auto backward_chunk = read_coefficient<kind::Time>(*entry, "backward_chunk");
    entry->finish();
    if (forward && backward && forward_chunk && backward_chunk) {
      kernels.push_back({.kind = scan.value,
                         .forward = std::move(*forward),
                         .backward = std::move(*backward),
                         .forward_chunk = std::move(*forward_chunk),
                         .backward_chunk = std::move(*backward_chunk)});
    }
  }
  section->finish();
  return kernels;
}

// Wires of its own between every pair of GPUs, as one link that is shared out over the peers.
std::optional<NvlinkProfile> read_mesh(MappingReader section) {
  auto link = read_coefficient<kind::Bandwidth>(section, "link_bandwidth", kPositiveBandwidth);
  auto ring = read_coefficient<kind::Bandwidth>(section, "ring_bandwidth", kPositiveBandwidth);
  const auto peers = section.require<kind::Count>("peers", at_least<std::int64_t>(1));
  section.finish();
  if (!link || !ring || !peers) {
    return std::nullopt;
  }
  const BytesPerSecond all = link->value() * static_cast<double>(*peers);
  if (ring->value() > all) {
    section.error("ring_bandwidth", "is above the links",
                  "at most " + kind::Bandwidth::format(all));
  }
  return NvlinkProfile{.bandwidth = {all, link->source(), link->residual(), std::nullopt},
                       .nccl_ring_bandwidth = std::move(*ring),
                       .nvls = false,
                       .peers = *peers};
}

// Absent section: the GPU has no NVLink.
std::optional<NvlinkProfile> read_nvlink(MappingReader& root, std::optional<GpuArch> arch) {
  std::optional<MappingReader> section = root.optional_mapping("nvlink");
  std::optional<MappingReader> mesh = root.optional_mapping("mesh");
  if (section && (mesh || (arch && vendor_of(*arch) != "NVIDIA"))) {
    root.error("nvlink", "is a link of NVIDIA's alone", "mesh, where each pair has its own wires");
  }
  if (mesh) {
    return read_mesh(std::move(*mesh));
  }
  if (!section) {
    return std::nullopt;
  }
  auto bandwidth = read_coefficient<kind::Bandwidth>(*section, "bandwidth", kPositiveBandwidth);
  auto ring =
      read_coefficient<kind::Bandwidth>(*section, "nccl_ring_bandwidth", kPositiveBandwidth);
  const std::optional<bool> nvls = section->require<kind::Boolean>("nvls");
  section->finish();
  if (!bandwidth || !ring || !nvls) {
    return std::nullopt;
  }
  if (ring->value() > bandwidth->value()) {
    section->error("nccl_ring_bandwidth", "is above the link rate",
                   "at most " + kind::Bandwidth::format(bandwidth->value()));
  }
  if (*nvls && arch && *arch < GpuArch::hopper) {
    section->error("nvls", "needs switches that reduce, which came with hopper", "false");
  }
  return NvlinkProfile{
      .bandwidth = std::move(*bandwidth), .nccl_ring_bandwidth = std::move(*ring), .nvls = *nvls};
}

template <typename Q>
void read_law(MappingReader& section, const GpuCoefficient& row, Q& place) {
  std::optional<Coefficient<Q>> read;
  if constexpr (std::is_same_v<Q, Seconds>) {
    read = read_optional<kind::Time>(section, row.key);
  } else if constexpr (std::is_same_v<Q, Bytes>) {
    read = read_optional<kind::Size>(section, row.key);
  } else {
    read = read_optional<kind::Number>(section, row.key, row.range);
  }
  place = read ? read->value() : place;
}

// nullptr where the profile states none.
std::shared_ptr<const GpuCoefficients> read_own_coefficients(MappingReader& root, GpuArch arch) {
  std::optional<MappingReader> section = root.optional_mapping("coefficients");
  if (!section) {
    return nullptr;
  }
  GpuCoefficients own = usual_coefficients(arch);
  for (const GpuCoefficient& row : gpu_coefficients()) {
    std::visit([&](auto place) { read_law(*section, row, own.*place); }, row.member);
  }
  section->finish();
  return std::make_shared<const GpuCoefficients>(own);
}

// The scalar coefficients of the top level.
struct TopLevel {
  std::optional<Coefficient<Bytes>> memory;
  std::optional<Coefficient<BytesPerSecond>> hbm_bandwidth;
  std::optional<Coefficient<double>> memory_efficiency;
  std::optional<Coefficient<Seconds>> launch_latency;
  std::optional<Coefficient<BytesPerSecond>> host_bandwidth;
  std::optional<Coefficient<BytesPerSecond>> pcie_bandwidth;
  std::optional<Coefficient<double>> power_watts;

  [[nodiscard]] bool complete() const {
    return memory && hbm_bandwidth && memory_efficiency && launch_latency && host_bandwidth &&
           pcie_bandwidth && power_watts;
  }
};

TopLevel read_top_level(MappingReader& root) {
  TopLevel top;
  top.memory = read_coefficient<kind::Size>(root, "memory", above(Bytes{}));
  top.hbm_bandwidth = read_coefficient<kind::Bandwidth>(root, "hbm_bandwidth", kPositiveBandwidth);
  top.memory_efficiency = read_coefficient<kind::Number>(root, "memory_efficiency", kShare);
  top.launch_latency = read_coefficient<kind::Time>(root, "launch_latency");
  top.host_bandwidth =
      read_coefficient<kind::Bandwidth>(root, "host_bandwidth", kPositiveBandwidth);
  top.pcie_bandwidth =
      read_coefficient<kind::Bandwidth>(root, "pcie_bandwidth", kPositiveBandwidth);
  top.power_watts = read_coefficient<kind::Number>(root, "power_watts", above(0.0));
  return top;
}

std::optional<GpuProfile> read_gpu_keys(MappingReader& reader) {
  std::optional<std::string> name = reader.require_text("name", "`h100-sxm-80gb`");
  std::optional<std::string> full_name =
      reader.require_text("full_name", "`NVIDIA H100 SXM5 80 GB`");
  auto names = reader.optional_text_list("names");
  const std::optional<GpuArch> arch = reader.require_choice("arch", architecture_choices());
  auto sold_as = reader.optional_text("sold_as");
  const auto sm_count = reader.require<kind::Count>("sm_count", at_least<std::int64_t>(1));
  TopLevel top = read_top_level(reader);
  auto host = read_optional<kind::Number>(reader, "host_factor", above(0.0));
  std::vector<GemmRate> gemm = read_gemm(reader);
  std::optional<AttentionRate> attention = read_attention(reader, gemm);
  std::vector<AttentionRate> kernels = read_attention_kernels(reader, gemm);
  std::vector<NormRate> norms = read_norm_kernels(reader);
  std::vector<ScanRate> scans = read_scan_kernels(reader);
  std::optional<NvlinkProfile> nvlink = read_nvlink(reader, arch);
  auto own = read_own_coefficients(reader, arch.value_or(GpuArch::hopper));
  reader.finish();
  if (!name || !full_name || !arch || !sm_count || !top.complete() || !attention) {
    return std::nullopt;
  }
  return GpuProfile{.name = std::move(*name),
                    .full_name = std::move(*full_name),
                    .file = {},
                    .names = std::move(names).value_or(std::vector<std::string>()),
                    .arch = *arch,
                    .sold_as = std::move(sold_as).value_or(std::string()),
                    .sm_count = *sm_count,
                    .memory = std::move(*top.memory),
                    .hbm_bandwidth = std::move(*top.hbm_bandwidth),
                    .memory_efficiency = std::move(*top.memory_efficiency),
                    .launch_latency = std::move(*top.launch_latency),
                    .gemm = std::move(gemm),
                    .attention = std::move(*attention),
                    .attention_kernels = std::move(kernels),
                    .norm_kernels = std::move(norms),
                    .scan_kernels = std::move(scans),
                    .nvlink = std::move(nvlink),
                    .host_bandwidth = std::move(*top.host_bandwidth),
                    .pcie_bandwidth = std::move(*top.pcie_bandwidth),
                    .power_watts = std::move(*top.power_watts),
                    .host_factor = std::move(host),
                    .own_coefficients = std::move(own)};
}

}  // namespace

std::optional<GpuProfile> read_gpu_document(const yaml::Value& root, const std::string& file,
                                            Diagnostics& diagnostics) {
  return read_profile(
      root, file, kGpuFormats, [](MappingReader& reader) { return read_gpu_keys(reader); },
      diagnostics);
}

}  // namespace orrery::hardware
