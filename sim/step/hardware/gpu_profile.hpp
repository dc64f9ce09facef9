#pragma once

// The speed of one GPU: coefficients with provenance, read from a profile file.
//
//   GEMM time     = overhead + F / (sustained(dtype) / (1 + half_depth / K)) + bytes / memory rate
//   memory-bound  = overhead + bytes / (hbm_bandwidth * memory_efficiency)
//   attention     = F / (rate / (1 + half_length / s)), per kernel generation
//
// symbol              | meaning                                | unit   | origin
// --------------------|----------------------------------------|--------|--------------------
// peak                | dense peak of a data type, no sparsity | FLOP/s | datasheet
// sustained           | limit of large GEMMs, power-limited    | FLOP/s | published, measured
// half_depth          | K at which a GEMM reaches half, k0     | 1      | fit, may be 0
// burst               | rate before power limits the clock;    | FLOP/s | published, measured
//                     | absent: as sustained                   |        |
// short_gain          | what short products run above          | 1      | fit, absent: 0
//                     | sustained: g / (1 + F / short_work)    |        |
// block_ratio         | rate of the library with 1 x 128 and   | 1      | measured here;
//                     | 128 x 128 scales / with one per tensor |        | absent: the rule
//                     |                                        |        | of cost/gemm.hpp
// mx_ratio            | the same with scales of 32 values;     | 1      | published,
//                     | absent: the GPU has no such unit       |        | measured
// short_work          | F at which half of short_gain is left  | FLOP   | fit
// hbm_bandwidth       | memory bandwidth                       | byte/s | datasheet
// memory_efficiency   | share of it that streaming kernels get | 1      | published, measured
// launch_latency      | gap between dependent kernels          | s      | published, measured
// nvlink.bandwidth    | per GPU, one way; absent: no NVLink    | byte/s | datasheet
// nccl_ring_bandwidth | links x speed of NCCL's search         | byte/s | NCCL source
// mesh.link_bandwidth | to one peer, one way, where every pair | byte/s | datasheet
//                     | has wires of its own (Infinity Fabric, |        |
//                     | the Ethernet ports of a Gaudi)         |        |
// mesh.peers          | GPUs that one GPU is wired to; k ranks | -      | datasheet
//                     | of a group use (k - 1) / peers of them |        |
// mesh.ring_bandwidth | bus bandwidth that a collective of all | byte/s | published
//                     | peers reaches                          |        |
// pcie_bandwidth      | GPU to GPU without NVLink, one way     | byte/s | NCCL source
// host_bandwidth      | pinned copy GPU - host, one way        | byte/s | published, measured
// host_factor         | launch time of the CPUs it is sold     | 1      | published;
//                     | with / that of a Xeon of 2023          |        | absent: 1
// collective_slowdown | time that a product gains beside a      | 1      | measured; absent:
//                     | collective / its own                   |        | the stack's
// sm_count            | SMs, compute units, or tiles of 256 x  | -      | datasheet
//                     | 128 that matrix engines do at a time   |        |
// memory              | bytes the driver shows, not nominal    | byte   | published
// norm_kernels        | latency and share of hbm_bandwidth of the norms of an implementation,
//                     | forward and backward, which a stack names (software_profile.hpp)
// scan_kernels        | rate and chain of the scans of linear mixers, by kind (cost/scan.hpp)
// attention           | rates of the best attention kernel; attention_kernels: those of other
//                     | generations, which a stack names (software_profile.hpp)
//
// coefficients        | constants of the laws of step/cost, where they are not those of every GPU
//                     | (gpu_coefficients.hpp)
// kernels             | times of single kernels on one machine, where a calibration profile was
//                     | given in place of this file (calibration_profile.hpp)
//
// Rates that differ from the datasheet peak are the point: predictions use `sustained`. A kernel
// that runs between memory-bound ones can exceed it a little, up to the burst rate; that is the
// business of the stack's gemm_efficiency (software_profile.hpp). A data type without an entry is
// one the GPU has no fast unit for.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/provenance.hpp"
#include "sim/base/units.hpp"
#include "sim/step/hardware/gpu_coefficients.hpp"
#include "sim/step/hardware/kernel_tables.hpp"
#include "sim/step/model/op.hpp"

namespace orrery::hardware {

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
  Coefficient<FlopPerSecond> sustained;  // what large GEMMs reach in steady state
  Coefficient<double> half_depth;        // k0 in elements: penalty 1 + k0 / K
  std::optional<Coefficient<FlopPerSecond>> burst = {};
  std::optional<Coefficient<double>> short_gain = {};
  std::optional<Coefficient<double>> short_work = {};
  std::optional<Coefficient<double>> block_ratio = {};
  std::optional<Coefficient<double>> mx_ratio = {};
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

// Scans of one kind (cost/scan.hpp).
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
  std::vector<std::string> names = {};  // what drivers and data sets call it: gpu_names.hpp
  GpuArch arch = GpuArch::hopper;
  std::string sold_as = {};  // preset of clusters: the machines in which alone it is sold
  std::int64_t sm_count = 0;
  Coefficient<Bytes> memory;
  Coefficient<BytesPerSecond> hbm_bandwidth;
  Coefficient<double> memory_efficiency;
  Coefficient<Seconds> launch_latency;
  std::vector<GemmRate> gemm;                         // one per supported data type
  AttentionRate attention;                            // the best fused kernel, in 16-bit
  std::vector<AttentionRate> attention_kernels = {};  // other generations
  std::vector<NormRate> norm_kernels = {};
  std::vector<ScanRate> scan_kernels = {};
  std::optional<NvlinkProfile> nvlink;
  Coefficient<BytesPerSecond> host_bandwidth;  // pinned copy GPU -> host, one direction
  Coefficient<BytesPerSecond> pcie_bandwidth;  // GPU -> GPU of one host where there is no NVLink
  Coefficient<double> power_watts;             // board power limit
  std::optional<Coefficient<double>> host_factor = {};
  std::optional<Coefficient<double>> collective_slowdown = {};
  std::shared_ptr<const GpuCoefficients> own_coefficients = {};  // nullptr: the usual ones
  std::optional<CalibrationStamp> calibration = {};
  std::shared_ptr<const KernelTables> kernels = {};
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
