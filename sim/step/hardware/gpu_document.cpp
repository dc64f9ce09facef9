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

// What was read, or after a diagnostic anything: a document with an error makes no profile.
template <typename Q>
Coefficient<Q> read_or_nothing(std::optional<Coefficient<Q>> read) {
  return read ? *std::move(read) : Coefficient<Q>(Q{}, {SourceKind::assumed, {}});
}

template <typename K>
auto required(MappingReader& reader, std::string_view key,
              const yaml::Range<typename K::Type>& range = {}) {
  return read_or_nothing(read_coefficient<K>(reader, key, range));
}

// One entry for each of the names that the section states.
template <typename Rate, typename E, std::size_t N, typename Read>
std::vector<Rate> read_entries(MappingReader& section, const std::array<Choice<E>, N>& names,
                               Read read) {
  std::vector<Rate> rates;
  for (const Choice<E>& name : names) {
    if (auto entry = section.optional_mapping(name.name)) {
      rates.push_back(read(*entry, name.value));
    }
  }
  return rates;
}

template <typename Rate, typename E, std::size_t N, typename Read>
std::vector<Rate> read_kernels(MappingReader& root, std::string_view key,
                               const std::array<Choice<E>, N>& names, Read read) {
  std::vector<Rate> rates;
  if (auto section = root.optional_mapping(key)) {
    rates = read_entries<Rate>(*section, names, read);
    section->finish();
  }
  return rates;
}

GemmRate read_gemm_rate(MappingReader& reader, Dtype dtype) {
  GemmRate rate{.dtype = dtype,
                .peak = required<kind::FlopRate>(reader, "peak", kPositiveRate),
                .sustained = required<kind::FlopRate>(reader, "sustained", kPositiveRate),
                .half_depth = required<kind::Number>(reader, "half_depth", at_least(0.0)),
                .burst = read_optional<kind::FlopRate>(reader, "burst", kPositiveRate),
                .short_gain = read_optional<kind::Number>(reader, "short_gain", at_least(0.0)),
                .short_work = read_optional<kind::Number>(reader, "short_work", above(0.0)),
                .block_ratio = read_optional<kind::Number>(reader, "block_ratio", kShare),
                .mx_ratio = read_optional<kind::Number>(reader, "mx_ratio", kShare)};
  if (rate.short_gain.has_value() != rate.short_work.has_value()) {
    reader.error(rate.short_gain ? "short_work" : "short_gain", "is needed beside its partner",
                 "short_gain and short_work go together");
  }
  reader.finish();
  const FlopPerSecond peak = rate.peak.value();
  for (const auto& [key, value] :
       {std::pair{"sustained", rate.sustained.value()},
        std::pair{"burst", rate.burst ? rate.burst->value() : FlopPerSecond{}}}) {
    if (peak > FlopPerSecond{} && value > peak) {
      reader.error(key, "is above the peak of the data type",
                   "at most " + kind::FlopRate::format(peak));
    }
  }
  return rate;
}

std::vector<GemmRate> read_gemm(MappingReader& root) {
  auto section = root.require_mapping("gemm");
  if (!section) {
    return {};
  }
  std::vector<GemmRate> rates = read_entries<GemmRate>(*section, kDtypes, read_gemm_rate);
  if (rates.empty()) {
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
AttentionRate read_attention_rate(MappingReader& section, const std::vector<GemmRate>& gemm,
                                  std::optional<AttentionGeneration> generation = std::nullopt) {
  if (!generation) {
    generation = section.optional_choice("generation", kAttentionGenerations);
  }
  auto forward = required<kind::FlopRate>(section, "forward", kPositiveRate);
  auto backward = required<kind::FlopRate>(section, "backward", kPositiveRate);
  auto half_length = required<kind::Number>(section, "half_length", at_least(0.0));
  const auto ratio = [&section](std::string_view key, const yaml::Range<double>& range) {
    return read_optional<kind::Number>(section, key, range);
  };
  const auto rate = [&section](std::string_view key) {
    return read_optional<kind::FlopRate>(section, key, kPositiveRate);
  };
  AttentionRate read{.forward = std::move(forward),
                     .backward = std::move(backward),
                     .half_length = std::move(half_length),
                     .generation = generation,
                     .full_ratio = ratio("full_ratio", at_least(0.0)),
                     .backward_ratio = ratio("backward_ratio", at_least(0.0)),
                     .head_64 = ratio("head_64", above(0.0)),
                     .head_256 = ratio("head_256", above(0.0)),
                     .head_256_fp8 = ratio("head_256_fp8", above(0.0)),
                     .forward_fp8 = rate("forward_fp8"),
                     .backward_fp8 = rate("backward_fp8"),
                     .backward_ratio_fp8 = ratio("backward_ratio_fp8", at_least(0.0)),
                     .causal_backward_fp8 = ratio("causal_backward_fp8", kShare)};
  section.finish();
  const FlopPerSecond limit = fastest_16_bit(gemm);
  for (const auto& [key, value] :
       {std::pair{"forward", read.forward.value()}, std::pair{"backward", read.backward.value()}}) {
    if (limit > FlopPerSecond{} && value > limit) {
      section.error(key, "is above the 16-bit peak", "at most " + kind::FlopRate::format(limit));
    }
  }
  return read;
}

NormRate read_norm_rate(MappingReader& entry, NormImplementation implementation) {
  NormRate rate{.implementation = implementation,
                .forward = required<kind::Number>(entry, "forward", kShare),
                .backward = required<kind::Number>(entry, "backward", kShare),
                .forward_latency = required<kind::Time>(entry, "forward_latency"),
                .backward_latency = required<kind::Time>(entry, "backward_latency")};
  entry.finish();
  return rate;
}

ScanRate read_scan_rate(MappingReader& entry, model::ScanKind scan) {
  ScanRate rate{.kind = scan,
                .forward = required<kind::Bandwidth>(entry, "forward", kPositiveBandwidth),
                .backward = required<kind::Bandwidth>(entry, "backward", kPositiveBandwidth),
                .forward_chunk = required<kind::Time>(entry, "forward_chunk"),
                .backward_chunk = required<kind::Time>(entry, "backward_chunk")};
  entry.finish();
  return rate;
}

// Wires of its own between every pair of GPUs, as one link that is shared out over the peers.
NvlinkProfile read_mesh(MappingReader& section) {
  const auto link = required<kind::Bandwidth>(section, "link_bandwidth", kPositiveBandwidth);
  auto ring = required<kind::Bandwidth>(section, "ring_bandwidth", kPositiveBandwidth);
  const auto peers = section.require<kind::Count>("peers", at_least<std::int64_t>(1)).value_or(0);
  section.finish();
  const BytesPerSecond all = link.value() * static_cast<double>(peers);
  if (all > BytesPerSecond{} && ring.value() > all) {
    section.error("ring_bandwidth", "is above the links",
                  "at most " + kind::Bandwidth::format(all));
  }
  return {.bandwidth = {all, link.source(), link.residual(), std::nullopt},
          .nccl_ring_bandwidth = std::move(ring),
          .nvls = false,
          .peers = peers};
}

// Absent section: the GPU has no NVLink.
std::optional<NvlinkProfile> read_nvlink(MappingReader& root, std::optional<GpuArch> arch) {
  std::optional<MappingReader> section = root.optional_mapping("nvlink");
  std::optional<MappingReader> mesh = root.optional_mapping("mesh");
  if (section && (mesh || (arch && vendor_of(*arch) != "NVIDIA"))) {
    root.error("nvlink", "is a link of NVIDIA's alone", "mesh, where each pair has its own wires");
  }
  if (mesh) {
    return read_mesh(*mesh);
  }
  if (!section) {
    return std::nullopt;
  }
  NvlinkProfile links{
      .bandwidth = required<kind::Bandwidth>(*section, "bandwidth", kPositiveBandwidth),
      .nccl_ring_bandwidth =
          required<kind::Bandwidth>(*section, "nccl_ring_bandwidth", kPositiveBandwidth),
      .nvls = section->require<kind::Boolean>("nvls").value_or(false)};
  section->finish();
  const BytesPerSecond rate = links.bandwidth.value();
  if (rate > BytesPerSecond{} && links.nccl_ring_bandwidth.value() > rate) {
    section->error("nccl_ring_bandwidth", "is above the link rate",
                   "at most " + kind::Bandwidth::format(rate));
  }
  if (links.nvls && arch && *arch < GpuArch::hopper) {
    section->error("nvls", "needs switches that reduce, which came with hopper", "false");
  }
  return links;
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

std::optional<GpuProfile> read_gpu_keys(MappingReader& reader) {
  const auto text = [](std::optional<std::string> read) {
    return std::move(read).value_or(std::string());
  };
  auto name = text(reader.require_text("name", "`h100-sxm-80gb`"));
  auto full_name = text(reader.require_text("full_name", "`NVIDIA H100 SXM5 80 GB`"));
  auto names = reader.optional_text_list("names").value_or(std::vector<std::string>());
  const std::optional<GpuArch> arch = reader.require_choice("arch", architecture_choices());
  auto sold_as = text(reader.optional_text("sold_as"));
  const auto sm_count = reader.require<kind::Count>("sm_count", at_least<std::int64_t>(1));
  auto memory = required<kind::Size>(reader, "memory", above(Bytes{}));
  auto hbm = required<kind::Bandwidth>(reader, "hbm_bandwidth", kPositiveBandwidth);
  auto memory_efficiency = required<kind::Number>(reader, "memory_efficiency", kShare);
  auto launch_latency = required<kind::Time>(reader, "launch_latency");
  auto host_bandwidth = required<kind::Bandwidth>(reader, "host_bandwidth", kPositiveBandwidth);
  auto pcie_bandwidth = required<kind::Bandwidth>(reader, "pcie_bandwidth", kPositiveBandwidth);
  auto power_watts = required<kind::Number>(reader, "power_watts", above(0.0));
  auto host = read_optional<kind::Number>(reader, "host_factor", above(0.0));
  std::vector<GemmRate> gemm = read_gemm(reader);
  const auto read_attention = [&gemm](MappingReader& section, AttentionGeneration generation) {
    return read_attention_rate(section, gemm, generation);
  };
  auto best = reader.require_mapping("attention");
  auto attention = best ? std::optional(read_attention_rate(*best, gemm)) : std::nullopt;
  auto kernels = read_kernels<AttentionRate>(reader, "attention_kernels", kAttentionGenerations,
                                             read_attention);
  auto norms = read_kernels<NormRate>(reader, "norm_kernels", kNormImplementations, read_norm_rate);
  auto scans = read_kernels<ScanRate>(reader, "scan_kernels", kScanKinds, read_scan_rate);
  std::optional<NvlinkProfile> nvlink = read_nvlink(reader, arch);
  auto own = read_own_coefficients(reader, arch.value_or(GpuArch::hopper));
  reader.finish();
  if (!attention) {
    return std::nullopt;
  }
  return GpuProfile{.name = std::move(name),
                    .full_name = std::move(full_name),
                    .file = {},
                    .names = std::move(names),
                    .arch = arch.value_or(GpuArch::hopper),
                    .sold_as = std::move(sold_as),
                    .sm_count = sm_count.value_or(0),
                    .memory = std::move(memory),
                    .hbm_bandwidth = std::move(hbm),
                    .memory_efficiency = std::move(memory_efficiency),
                    .launch_latency = std::move(launch_latency),
                    .gemm = std::move(gemm),
                    .attention = *std::move(attention),
                    .attention_kernels = std::move(kernels),
                    .norm_kernels = std::move(norms),
                    .scan_kernels = std::move(scans),
                    .nvlink = std::move(nvlink),
                    .host_bandwidth = std::move(host_bandwidth),
                    .pcie_bandwidth = std::move(pcie_bandwidth),
                    .power_watts = std::move(power_watts),
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
