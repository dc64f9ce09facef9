#include "sim/step/hardware/gpu_profile.hpp"

#include <algorithm>
#include <array>
#include <type_traits>

namespace orrery::hardware {

const GpuCoefficients& GpuProfile::coefficients() const {
  return own_coefficients ? *own_coefficients : usual_coefficients(arch);
}

const GemmRate* GpuProfile::find_gemm(model::Dtype dtype) const {
  const auto found = std::ranges::find(gemm, dtype, &GemmRate::dtype);
  return found == gemm.end() ? nullptr : &*found;
}

const AttentionRate* GpuProfile::find_attention(AttentionGeneration generation) const {
  if (attention.generation == generation) {
    return &attention;
  }
  const auto found = std::ranges::find(attention_kernels, generation, &AttentionRate::generation);
  return found == attention_kernels.end() ? nullptr : &*found;
}

const ScanRate* GpuProfile::find_scan(model::ScanKind kind) const {
  const auto found = std::ranges::find(scan_kernels, kind, &ScanRate::kind);
  return found == scan_kernels.end() ? nullptr : &*found;
}

const NormRate* GpuProfile::find_norm(NormImplementation implementation) const {
  const auto found = std::ranges::find(norm_kernels, implementation, &NormRate::implementation);
  return found == norm_kernels.end() ? nullptr : &*found;
}

double NvlinkProfile::share_of(std::int64_t ranks) const {
  if (peers == 0 || ranks <= 1) {
    return 1.0;
  }
  return static_cast<double>(std::min(ranks - 1, peers)) / static_cast<double>(peers);
}

std::string_view to_string(GpuArch arch) {
  const auto* found = std::ranges::find(kGpuArchNames, arch, &GpuArchName::arch);
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

namespace {

using G = GpuCoefficients;

constexpr yaml::Range<double> kPart = {0.0, 1.0, true};  // above 0, at most 1
constexpr yaml::Range<double> kAboveZero = {0.0, std::nullopt, true};
constexpr yaml::Range<double> kTimeFactor = {1.0, 100.0, false};

constexpr GpuCoefficient kGpuRows[] = {
    {.key = "exposed_memory",
     .member = &G::exposed_memory,
     .value = 0.25,
     .range = {0.0, 1.0, false},
     .source = "fit to the products of kernel_measurements.yaml",
     .meaning = "share of a product's memory time that its compute does not hide (gemm.hpp)"},
    {.key = "grouped_exposed_memory",
     .member = &G::grouped_exposed_memory,
     .value = 0.58,
     .range = {0.0, 1.0, false},
     .source = "fit to loops of cuBLAS calls on B200 and A100 and to DeepGEMM's kernel on H800",
     .meaning = "the same of grouped products: the few tiles of a group cannot hide each other's "
                "loads and stores"},
    {.key = "wave_exponent",
     .member = &G::wave_exponent,
     .value = 0.75,
     .range = {0.0, 1.0, false},
     .source = "fit to the products on A100 (0.76)",
     .meaning = "exponent of the wave ratio: a library that may choose another tile loses less "
                "than the one large tile would (gemm.hpp)"},
    {.key = "misaligned_time",
     .member = &G::misaligned_time,
     .value = 1.3,
     .range = kTimeFactor,
     .source = "cuBLAS documentation, Tensor Core Usage; published products",
     .meaning = "time of a product whose rows are no multiple of 16 bytes / aligned (gemm.hpp)"},
    {.key = "block_ratio",
     .member = &G::block_ratio,
     .value = 0.82,
     .range = {0.0, 2.0, true},
     .source = "Transformer Engine, docs/examples/gemm_profiling: 16.9 of 20.8 ms on H200 NVL",
     .meaning = "rate of the library with scales of blocks / with one per tensor, where "
                "gemm.fp8.block_ratio does not say it and no unit adds the sums (gemm.hpp)"},
    {.key = "attention_full_ratio",
     .member = &G::attention_full_ratio,
     .value = 1.0 / 3.0,
     .range = kAboveZero,
     .source = "fit to the attention kernels of kernel_measurements.yaml",
     .meaning = "full_ratio of attention kernels that state none (attention.hpp)"},
    {.key = "attention_backward_ratio",
     .member = &G::attention_backward_ratio,
     .value = 1.2,
     .range = kAboveZero,
     .source = "fit to the attention kernels of kernel_measurements.yaml",
     .meaning = "backward_ratio of attention kernels that state none (attention.hpp)"},
    {.key = "attention_head_64",
     .member = &G::attention_head_64,
     .value = 0.81,
     .range = kPart,
     .source = "published attention kernels at both head dimensions",
     .meaning = "head_64 of attention kernels that state none (attention.hpp)"},
    {.key = "deterministic_time",
     .member = &G::deterministic_time,
     .value = 1.25,
     .range = kTimeFactor,
     .source = "cuDNN 9.19 on an H200: 0.82 and 0.85 of the others' rate",
     .meaning = "time of a backward of attention that adds in a fixed order / of the usual one"},
    {.key = "deterministic_fa2_time",
     .member = &G::deterministic_fa2_time,
     .value = 1.75,
     .range = kTimeFactor,
     .source = "1.66 to 1.94 on an H100 (Dao-AILab flash-attention, pull request 1893)",
     .meaning = "the same of FlashAttention-2"},
    {.key = "nvls_share",
     .member = &G::nvls_share,
     .value = 0.61,
     .of_arch = {{{GpuArch::blackwell, 0.535}}},
     .range = kPart,
     .source = "8 H100 or H200: 275 of 450 GB/s, 8 B200: 483 of 900 GB/s (ml-engineering, Azure)",
     .meaning = "all-reduce bytes over an NVLink that the switches sum / its rate"},
    {.key = "direct_share",
     .member = &G::direct_share,
     .value = 0.75,
     .of_arch = {{{GpuArch::volta, 0.65},
                  {GpuArch::ampere, 0.65},
                  {GpuArch::ada, 0.65},
                  {GpuArch::cdna, 0.73},
                  {GpuArch::gaudi, 0.97}}},
     .range = kPart,
     .source = "8 H100 342 of 450, B300 and NVL72 615-685 of 900, 8 A100 send/receive 195 of 300 "
               "GB/s; MI300X 46.6 of 64 GB/s a pair (TransferBench, AMD), Gaudi 3 509 of 525 GB/s "
               "(HCCL demo of its documentation)",
     .meaning = "all-to-all and messages over NVLink / its rate"},
    {.key = "ring_share",
     .member = &G::ring_share,
     .value = 0.965,
     .of_arch = {{{GpuArch::hopper, 0.985},
                  {GpuArch::blackwell, 0.94},
                  {GpuArch::cdna, 1.0},
                  {GpuArch::gaudi, 1.0}}},
     .range = kPart,
     .source = "8 H200 361-367 of 370.8 GB/s, 8 A100 231.6 of 240, 8 B200 673-682 of 721.8 "
               "(ml-engineering, Azure); Volta as Ampere; of a mesh the profile states the plateau "
               "itself",
     .meaning = "plateau of a ring / links x speed of NCCL's topology search"},
    {.key = "message_share",
     .member = &G::message_share,
     .value = 0.86,
     .range = kPart,
     .source = "42 to 43 of 50 GB/s per GPU between hosts of 8 H100 (smol playbook)",
     .meaning = "rate of a pipeline message on a NIC / its line rate"},
    {.key = "call_time",
     .member = &G::call_time,
     .value = 14.0 * kMicro,
     .source = "floors of published collectives inside a node (nccl-tests)",
     .meaning = "launch and hand-over of one NCCL call"},
    {.key = "network_hop",
     .member = &G::network_hop,
     .value = 14.0 * kMicro,
     .source = "NVIDIA/nccl v2.28.9, tuning.cc",
     .meaning = "NIC to NIC latency of a message, Simple protocol"},
    {.key = "node_message",
     .member = &G::node_message,
     .value = 4.0 * kMicro,
     .source = "NVIDIA/nccl v2.28.9, tuning.cc",
     .meaning = "latency of a pipeline message inside a node, beyond the call"},
    {.key = "network_message",
     .member = &G::network_message,
     .value = 8.4 * kMicro,
     .source = "NVIDIA/nccl v2.28.9, tuning.cc: base latency of the Simple protocol",
     .meaning = "latency of a pipeline message between nodes, beyond call and hop"},
    {.key = "direct_base",
     .member = &G::direct_base,
     .value = 8.0 * kMicro,
     .source = "published all-to-alls inside a node (nccl-tests)",
     .meaning = "latency of n - 1 messages inside a node"},
    {.key = "rail_hop",
     .member = &G::rail_hop,
     .value = 3.4 * kMicro,
     .source = "one Simple step over NVLink (NVIDIA/nccl v2.28.9)",
     .meaning = "hand-over to the GPU on the receiver's rail"},
    {.key = "remote_rank",
     .member = &G::remote_rank,
     .value = 5.0 * kMicro,
     .source = "published all-to-alls between nodes (nccl-tests)",
     .meaning = "what each rank on another node adds to an all-to-all"},
    {.key = "exchange_base",
     .member = &G::exchange_base,
     .value = 8.0 * kMicro,
     .source = "DeepEP on 32 and 64 H100 (awsome-distributed-ai)",
     .meaning = "latency of a hierarchical exchange inside a node"},
    {.key = "exchange_network",
     .member = &G::exchange_network,
     .value = 12.0 * kMicro,
     .source = "DeepEP on 32 and 64 H100 (awsome-distributed-ai)",
     .meaning = "what the network adds to it"},
    {.key = "exchange_node",
     .member = &G::exchange_node,
     .value = 5.0 * kMicro,
     .source = "DeepEP on 32 and 64 H100 (awsome-distributed-ai)",
     .meaning = "what each further node adds to it"},
    {.key = "fill_per_latency",
     .member = &G::fill_per_latency,
     .value = 2.7,
     .source = "fit to published collectives (docs/collectives.md)",
     .meaning = "time to fill the pipeline of a large collective / its latency"},
    {.key = "fill_bytes",
     .member = &G::fill_bytes,
     .value = 24.0 * kMebi,
     .source = "fit to published collectives (docs/collectives.md)",
     .meaning = "size at which half of that time is seen"},
    {.key = "fill_exponent",
     .member = &G::fill_exponent,
     .value = 0.75,
     .range = {0.0, 2.0, false},
     .source = "two racks of 72: 0.9 ms, two hosts of 8: 0.18 ms",
     .meaning = "how the fill of a tree over switches grows with the ranks of a domain"}};

double value_of(const GpuCoefficient& row, GpuArch arch) {
  const auto own = std::ranges::find_if(
      row.of_arch, [arch](const OfArch& entry) { return entry.value > 0.0 && entry.arch == arch; });
  return own == row.of_arch.end() ? row.value : own->value;
}

}  // namespace

double GpuCoefficient::get(const GpuCoefficients& coefficients) const {
  return std::visit(
      [&coefficients](auto place) {
        const auto value = coefficients.*place;
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Seconds>) {
          return in_seconds(value);
        } else if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Bytes>) {
          return in_bytes(value);
        } else {
          return value;
        }
      },
      member);
}

void GpuCoefficient::set(GpuCoefficients& coefficients, double value) const {
  std::visit(
      [&coefficients, value](auto place) {
        auto& target = coefficients.*place;
        if constexpr (std::is_same_v<std::decay_t<decltype(target)>, Seconds>) {
          target = seconds(value);
        } else if constexpr (std::is_same_v<std::decay_t<decltype(target)>, Bytes>) {
          target = bytes(value);
        } else {
          target = value;
        }
      },
      member);
}

std::span<const GpuCoefficient> gpu_coefficients() { return kGpuRows; }

const GpuCoefficients& usual_coefficients(GpuArch arch) {
  static const auto all = [] {
    std::array<GpuCoefficients, kGpuArchNames.size()> usual;
    for (const GpuArchName& name : kGpuArchNames) {
      for (const GpuCoefficient& row : kGpuRows) {
        row.set(usual[static_cast<std::size_t>(name.arch)], value_of(row, name.arch));
      }
    }
    return usual;
  }();
  return all[static_cast<std::size_t>(arch)];
}

}  // namespace orrery::hardware
