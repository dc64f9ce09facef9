#pragma once

// Spec of one optimizer step, beyond model and layout: recomputation, overlap, precision and more.

#include <cstdint>
#include <optional>

#include "sim/base/units.hpp"
#include "sim/step/hardware/software_profile.hpp"
#include "sim/step/layout/layout_spec.hpp"
#include "sim/step/model/memory.hpp"
#include "sim/step/model/transformer_ops.hpp"
#include "sim/step/schedule/schedule_spec.hpp"
#include "sim/step/schedule/step_graph.hpp"

namespace orrery::step {

// What is offloaded between its uses: optimizer, parameters and activations, to host or NVMe.
//
// The default of host_bandwidth is what the CPU Adam of ZeRO-Offload (arXiv 2101.06840, table of
// optimizer latencies: 10^10 parameters in 2.57 s on a two-socket host) moves at 30 bytes each.

inline constexpr BytesPerSecond kHostUpdateBandwidth = gigabytes_per_second(117.0);

enum class OffloadTarget { none, cpu, nvme };

struct OffloadSpec {
  // Where states are kept and updated; nvme: updated by the host
  OffloadTarget optimizer = OffloadTarget::none;
  // Where the 16-bit parameters are kept between their uses
  OffloadTarget parameters = OffloadTarget::none;
  double activations = 0.0;            // share of what a pass keeps that waits in host memory
  model::OffloadModules modules = {};  // or the modules whose inputs do
  std::optional<BytesPerSecond> link;  // absent: host_bandwidth of the GPU profile
  std::optional<BytesPerSecond> host_bandwidth;  // absent: kHostUpdateBandwidth
  std::optional<BytesPerSecond> nvme_read;       // rates of all drives of one node
  std::optional<BytesPerSecond> nvme_write;      // rates of all drives of one node
  std::optional<Bytes> host_memory;              // absent: not checked
  bool overlap = true;  // copies run beside the passes, the update beside its copies

  [[nodiscard]] bool any() const {
    return optimizer != OffloadTarget::none || parameters != OffloadTarget::none ||
           moves_activations();
  }

  [[nodiscard]] bool moves_activations() const {
    return activations > 0.0 || modules != model::OffloadModules{};
  }
};

// Input of the run: what is read from storage, and how full its sequences are.

enum class Packing {
  packed,  // documents follow one another and attend across their borders
  masked,  // the same, but attention stays inside a document
  padded   // one document a sequence, cut or filled with padding
};

struct DataSpec {
  Bytes bytes_per_token = bytes(4.0);  // read from storage for one token of the batch
  std::optional<BytesPerSecond> read_bandwidth = {};  // what one node reads from storage
  std::optional<double> tokens_per_second = {};       // what one node's loaders decode and shuffle
  bool prefetch = true;               // the next batch is prepared while the step runs
  Packing packing = Packing::packed;  // how documents fill the sequences of the batch
  std::optional<std::int64_t> document_length = {};  // mean length of a document
  double document_sigma = 0.0;                       // spread of its logarithm; 0: all alike
};

// Variation between GPUs of one type, as a distribution of their speeds:
//
//   time of a GPU's compute = nominal (1 + gpu_sigma Z_gpu + node_sigma Z_node) [slow_factor]

struct SlowGpu {
  std::int64_t node = 0;
  std::optional<std::int64_t> gpu = {};  // of the node; absent: all of them
  double factor = 1.0;

  friend bool operator==(const SlowGpu&, const SlowGpu&) = default;
};

struct VariationSpec {
  double gpu_sigma = 0.0;    // standard deviation of the compute time between GPUs / its mean
  double node_sigma = 0.0;   // the same between nodes, shared by the GPUs of a node
  double slow_share = 0.0;   // share of GPUs that are slow beyond that (throttled, degraded)
  double slow_factor = 1.2;  // how much longer those take
  std::vector<SlowGpu> slow_gpus = {};  // the same for GPUs by place
  std::int64_t draws = 1;               // how many sets of machines are drawn
  std::int64_t seed = 1;                // of the draws

  [[nodiscard]] bool drawn() const {
    return gpu_sigma > 0.0 || node_sigma > 0.0 || slow_share > 0.0;
  }

  [[nodiscard]] bool any() const { return drawn() || !slow_gpus.empty(); }

  friend bool operator==(const VariationSpec&, const VariationSpec&) = default;
};

// Local steps in the manner of DiLoCo: how often islands of GPUs synchronise, and how.
//
// Sources: DiLoCo, arXiv 2311.08105 (H = 500, K = 8); Streaming DiLoCo, arXiv 2501.18512 (overlap,
// 4 bits); INTELLECT-1, arXiv 2412.01152 (H = 100, 8 bits).

struct LocalStepsSpec {
  std::int64_t every = 1;              // inner steps between two outer ones (H)
  std::int64_t islands = 1;            // 1: no local steps
  std::optional<BytesPerSecond> rate;  // absent: the NICs of one island
  Seconds latency;                     // of one hop between islands
  double bits = 32.0;                  // of one parameter's difference on the wire
  bool overlap = false;                // the outer all-reduce streams beside the inner steps
};

struct RecomputeSpec {
  model::Recompute policy = model::Recompute::none;
  // Recomputation in only that many layers of each chunk: of the modules, else in full.
  std::optional<std::int64_t> layers = {};
  model::RecomputeModules modules = {};
  std::optional<double> memory_budget = {};  // chooses policy and modules (meet_memory_budget)

  // Of the layers of multi-token prediction modules; a number of layers counts those of chunks.
  [[nodiscard]] model::Recompute of_head() const {
    return layers ? model::Recompute::none : policy;
  }

  friend bool operator==(const RecomputeSpec&, const RecomputeSpec&) = default;
};

struct OverlapSpec {
  bool data = true;     // gradient reduction and parameter gather behind compute
  bool tensor = false;  // tensor-parallel collectives behind their GEMMs
  std::optional<std::int64_t> tensor_chunks = {};  // cut together with their GEMM into so many
  bool pipeline = true;  // interleaved schedules: send and receive behind compute
  // The experts' all-to-all behind compute; absent: in schedules with combined steps.
  std::optional<bool> expert = {};
};

// What FSDP (zero3, hsdp) does with its gathers and reductions.
struct FsdpSpec {
  std::optional<std::int64_t> prefetch;  // layers gathered ahead; absent: as the software does it
  schedule::BackwardPrefetch backward_prefetch = schedule::BackwardPrefetch::before;
  bool reshard = true;  // free the gathered parameters between forward and backward
  std::optional<std::int64_t> reshard_group = std::nullopt;  // keep them split over that many ranks
  bool quantized_weights = false;                            // ZeRO++: gathered as int8
  bool quantized_gradients = false;                          // ZeRO++: exchanged as int4
};

struct StepSpec {
  model::PrecisionSpec precision;  // data types of compute, parameters, gradients, optimizer
  std::optional<model::Dtype> gradient_dtype;  // absent: as the software profile says
  std::optional<bool> fp8_parameters;          // the same; where layers multiply in FP8
  std::optional<bool> dropout;                 // the same
  RecomputeSpec recompute;                     // what is computed twice to save memory
  OverlapSpec overlap;
  FsdpSpec fsdp;  // order, extent and data types of FSDP's communication
  schedule::ScheduleKind schedule = schedule::ScheduleKind::none;
  std::optional<Bytes> bucket;        // absent: one bucket per layer
  std::optional<Bytes> first_bucket;  // of a backward, where tensors are counted; absent: as others
  std::optional<Seconds> cycle;       // between two looks for gradients to reduce (Horovod)
  std::optional<hardware::GradientReduction> reduction;  // absent: as the software profile says
  hardware::ExpertChoices experts;                       // absent: as the software profile says
  // Step time stated by the scenario; the step model is not used
  std::optional<Seconds> given_time;
  bool compile = false;        // torch.compile, where the stack has it
  OffloadSpec offload;         // what is kept in host memory or on NVMe
  LocalStepsSpec local_steps;  // how rarely islands of GPUs synchronise
  VariationSpec variation;     // how unequal the GPUs are
  DataSpec data;
  double critic = 0.0;  // states of a value model beside the model's own, as a share
};

}  // namespace orrery::step
