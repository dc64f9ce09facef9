#pragma once

// The speed of one GPU: coefficients with provenance, read from a profile file.
//
//   GEMM time     = overhead + F / (sustained(dtype) / (1 + half_depth / K)) + bytes / memory rate
//   memory-bound  = overhead + bytes / (hbm_bandwidth * memory_efficiency)
//   attention     = F / (rate / (1 + half_length / s)), per kernel generation
//
// Rates that differ from the datasheet peak are the point: predictions use `sustained`. A kernel
// that runs between memory-bound ones can exceed it a little, up to the burst rate; that is the
// business of the stack's gemm_efficiency (software_profile.hpp). A data type without an entry is
// one the GPU has no fast unit for.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "sim/base/provenance.hpp"
#include "sim/base/units.hpp"
#include "sim/base/yaml/kinds.hpp"
#include "sim/step/hardware/kernel_tables.hpp"
#include "sim/step/model/op.hpp"

namespace orrery::hardware {

// Constants of the laws of step/cost that were fitted to measured kernels and collectives, one row
// each. They hold for every GPU, some by architecture; a GPU whose profile states one under
// `coefficients` has its own:
//
//   coefficients:
//     wave_exponent: {value: 0.8, source: measured, citation: "products of this card"}
//
// A new constant is a member, a row, and its use. What stays in the code of the laws, and why, says
// decision 34.
enum class GpuArch;

struct GpuCoefficients {
  double exposed_memory = 0.0;
  double grouped_exposed_memory = 0.0;
  double wave_exponent = 0.0;
  double misaligned_time = 0.0;
  double block_ratio = 0.0;
  double attention_full_ratio = 0.0;
  double attention_backward_ratio = 0.0;
  double attention_head_64 = 0.0;
  double deterministic_time = 0.0;
  double deterministic_fa2_time = 0.0;
  double nvls_share = 0.0;
  double direct_share = 0.0;
  double ring_share = 0.0;
  double message_share = 0.0;
  Seconds call_time;
  Seconds network_hop;
  Seconds node_message;
  Seconds network_message;
  Seconds direct_base;
  Seconds rail_hop;
  Seconds remote_rank;
  Seconds exchange_base;
  Seconds exchange_network;
  Seconds exchange_node;
  double fill_per_latency = 0.0;
  Bytes fill_bytes;
  double fill_exponent = 0.0;
};

// A coefficient as a plain number in seconds, bytes or 1, and back.
[[nodiscard]] constexpr double plain(double value) { return value; }

[[nodiscard]] constexpr double plain(Seconds value) { return in_seconds(value); }

[[nodiscard]] constexpr double plain(Bytes value) { return in_bytes(value); }

template <typename Q>
[[nodiscard]] constexpr Q quantity(double value) {
  if constexpr (std::is_same_v<Q, Seconds>) {
    return seconds(value);
  } else if constexpr (std::is_same_v<Q, Bytes>) {
    return bytes(value);
  } else {
    return value;
  }
}

using GpuCoefficientMember =
    std::variant<double GpuCoefficients::*, Seconds GpuCoefficients::*, Bytes GpuCoefficients::*>;

struct OfArch {
  GpuArch arch = {};
  double value = 0.0;  // 0: none
};

struct GpuCoefficient {
  std::string_view key;
  GpuCoefficientMember member;
  double value;                        // for every GPU, in seconds, bytes or 1
  std::array<OfArch, 5> of_arch = {};  // in place of it for these architectures
  yaml::Range<double> range = {};
  std::string_view source;
  std::string_view meaning;  // and the file of the law

  [[nodiscard]] double get(const GpuCoefficients& coefficients) const;
  void set(GpuCoefficients& coefficients, double value) const;
};

[[nodiscard]] std::span<const GpuCoefficient> gpu_coefficients();

// Those of a GPU whose profile states none.
[[nodiscard]] const GpuCoefficients& usual_coefficients(GpuArch arch);

struct CollectiveTables;

// cdna: AMD Instinct from the MI200 on; gaudi: Intel Gaudi 2 and 3.
enum class GpuArch { volta, ampere, ada, hopper, blackwell, cdna, gaudi };

struct GpuArchName {
  std::string_view name;
  GpuArch arch;
};

inline constexpr std::array<GpuArchName, 7> kGpuArchNames = {{{"volta", GpuArch::volta},
                                                              {"ampere", GpuArch::ampere},
                                                              {"ada", GpuArch::ada},
                                                              {"hopper", GpuArch::hopper},
                                                              {"blackwell", GpuArch::blackwell},
                                                              {"cdna", GpuArch::cdna},
                                                              {"gaudi", GpuArch::gaudi}}};

[[nodiscard]] std::string_view to_string(GpuArch arch);

// Who makes it: GPUs of two vendors share no collective library.
[[nodiscard]] std::string_view vendor_of(GpuArch arch);

// What the wires between the GPUs of one host are called.
[[nodiscard]] std::string_view link_name(GpuArch arch);

struct GemmRate {
  model::Dtype dtype;
  Coefficient<FlopPerSecond> peak;       // datasheet, dense
  Coefficient<FlopPerSecond> sustained;  // limit of large GEMMs in steady state, power-limited
  Coefficient<double> half_depth;        // k0 in elements: penalty 1 + k0 / K
  std::optional<Coefficient<FlopPerSecond>> burst = {};  // before power limits; absent: sustained
  // Short products run above sustained: g / (1 + F / short_work).
  std::optional<Coefficient<double>> short_gain = {};  // absent: 0
  std::optional<Coefficient<double>> short_work = {};  // FLOP at which half of the gain is left
  // Rate with 1 x 128 and 128 x 128 scales / with one per tensor; absent: as cost/gemm.hpp has it.
  std::optional<Coefficient<double>> block_ratio = {};
  std::optional<Coefficient<double>> mx_ratio = {};  // of 32 values; absent: no such unit
};

// Generations of fused attention, oldest first.
enum class AttentionGeneration { triton_2023, fa2, triton_2024, cudnn_2024, fa3, cudnn_9 };

[[nodiscard]] std::string_view to_string(AttentionGeneration generation);

// Rates at head dimension 128; the optional ones fall back to what attention.hpp states.
struct AttentionRate {
  Coefficient<FlopPerSecond> forward;   // asymptotic, long causal sequences
  Coefficient<FlopPerSecond> backward;  // asymptotic, counted with 2.5 x forward FLOP
  Coefficient<double> half_length;      // s0: rate = asymptote / (1 + s0 / s)
  std::optional<AttentionGeneration> generation = {};
  std::optional<Coefficient<double>> full_ratio = {};      // half length unmasked / causal
  std::optional<Coefficient<double>> backward_ratio = {};  // half length backward / forward
  std::optional<Coefficient<double>> head_64 = {};         // rate at head dimension 64 / 128
  std::optional<Coefficient<double>> head_256 = {};        // rate at head dimension 256 / 128
  std::optional<Coefficient<double>> head_256_fp8 = {};    // the same of the 8-bit rates
  std::optional<Coefficient<FlopPerSecond>> forward_fp8 = {};
  std::optional<Coefficient<FlopPerSecond>> backward_fp8 = {};
  std::optional<Coefficient<double>> backward_ratio_fp8 = {};   // backward_ratio of 8-bit kernels
  std::optional<Coefficient<double>> causal_backward_fp8 = {};  // 8-bit rate causal / unmasked
};

// Whose kernels compute the norms.
enum class NormImplementation { cudnn, torch_compile, pytorch };

struct NormRate {
  NormImplementation implementation = NormImplementation::cudnn;
  Coefficient<double> forward;   // share of hbm_bandwidth that large norms reach
  Coefficient<double> backward;  // the same, of input, its gradient and the result's
  Coefficient<Seconds> forward_latency;
  Coefficient<Seconds> backward_latency;
};

// Scans of one kind (cost/memory_bound.hpp).
struct ScanRate {
  model::ScanKind kind = model::ScanKind::delta;
  Coefficient<BytesPerSecond> forward;  // at which the counted bytes move
  Coefficient<BytesPerSecond> backward;
  Coefficient<Seconds> forward_chunk;  // what a chunk adds to the chain over the sequence
  Coefficient<Seconds> backward_chunk;
};

// Links between the GPUs of one host: NVLink, Infinity Fabric, or the ports of a Gaudi.
struct NvlinkProfile {
  Coefficient<BytesPerSecond> bandwidth;  // per GPU, one direction
  Coefficient<BytesPerSecond>
      nccl_ring_bandwidth;  // NCCL's C * bwIntra: plateau of a ring inside the domain
  bool nvls = false;        // NVSwitch reductions (Hopper and later)
  std::int64_t peers = 0;   // of a mesh, `bandwidth` shared out over them; 0: switches

  // Share of the links that lead to the other members of a group of `ranks` on this host.
  [[nodiscard]] double share_of(std::int64_t ranks) const;
};

// Which measurement of which machine stands behind a profile.
struct CalibrationStamp {
  std::string id;           // of the fingerprint
  std::string measured_at;  // ISO 8601
  std::string device;       // as the driver calls it
};

struct GpuProfile {
  std::string name;                     // key in scenarios, e.g. "h100-sxm-80gb"
  std::string full_name;                // vendor's name
  std::string file;                     // where it was read from
  std::vector<std::string> names = {};  // what drivers and data sets call it: profile_search.hpp
  GpuArch arch = GpuArch::hopper;
  std::string sold_as = {};   // preset of clusters: the machines in which alone it is sold
  std::int64_t sm_count = 0;  // SMs, compute units, or 256 x 128 tiles that are done at a time
  Coefficient<Bytes> memory;  // that the driver shows, not nominal
  Coefficient<BytesPerSecond> hbm_bandwidth;
  Coefficient<double> memory_efficiency;              // share that streaming kernels get
  Coefficient<Seconds> launch_latency;                // gap between dependent kernels
  std::vector<GemmRate> gemm;                         // one per supported data type
  AttentionRate attention;                            // the best fused kernel, in 16-bit
  std::vector<AttentionRate> attention_kernels = {};  // other generations
  std::vector<NormRate> norm_kernels = {};            // of implementations that a stack names
  std::vector<ScanRate> scan_kernels = {};
  std::optional<NvlinkProfile> nvlink;
  Coefficient<BytesPerSecond> host_bandwidth;  // pinned copy GPU -> host, one direction
  Coefficient<BytesPerSecond> pcie_bandwidth;  // GPU -> GPU of one host where there is no NVLink
  Coefficient<double> power_watts;             // board power limit
  // Launch time of the CPUs that it is sold with / that of a Xeon of 2023; absent: 1.
  std::optional<Coefficient<double>> host_factor = {};
  // Time that a product gains beside a collective / its own; absent: the stack's.
  std::optional<Coefficient<double>> collective_slowdown = {};
  std::shared_ptr<const GpuCoefficients> own_coefficients = {};  // nullptr: the usual ones
  std::optional<CalibrationStamp> calibration = {};
  std::shared_ptr<const KernelTables> kernels = {};          // of a calibration profile
  std::shared_ptr<const CollectiveTables> collectives = {};  // measured between these GPUs

  // Its own, or those of its architecture.
  [[nodiscard]] const GpuCoefficients& coefficients() const;

  // The entry of a data type, or nullptr when the GPU has no such unit.
  [[nodiscard]] const GemmRate* find_gemm(model::Dtype dtype) const;

  // The entry of an implementation of norms; nullptr when there is none.
  [[nodiscard]] const NormRate* find_norm(NormImplementation implementation) const;

  // The entry of a kind of scan; nullptr when there is none.
  [[nodiscard]] const ScanRate* find_scan(model::ScanKind kind) const;

  // The entry of a generation, `attention` or one of the others; nullptr when there is none.
  [[nodiscard]] const AttentionRate* find_attention(AttentionGeneration generation) const;
};

}  // namespace orrery::hardware
