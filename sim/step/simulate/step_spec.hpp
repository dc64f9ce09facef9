#pragma once

// Spec of one optimizer step, beyond model and layout: recomputation, overlap, precision and more.
//
// symbol     | meaning                                                       | unit | origin
// -----------|---------------------------------------------------------------|------|---------
// precision  | data types of compute, parameters, gradients, optimizer       | -    | scenario
// gradient_dtype | what the scenario states; absent: as the stack does          | -    | scenario
// fp8_parameters | the same, of parameters between their uses                   | -    | scenario
// dropout    | the same, of masks                                            | -    | scenario
// recompute  | what is computed twice to save memory                         | -    | scenario
// overlap    | which communication may hide behind compute                   | -    | scenario
// fsdp       | order, extent and data types of FSDP's communication          | -    | scenario
// compile    | kernels run through torch.compile                             | -    | scenario
// bucket     | bytes of one data-parallel communication                      | byte | scenario
// given_time | step time stated by the scenario; the step model is not used  | s    | scenario
// offload    | what is kept in host memory or on NVMe                        | -    | scenario
// local_steps | how rarely islands of GPUs synchronise                       | -    | scenario
// variation  | how unequal the GPUs are                                      | -    | scenario
// critic     | states of a value model beside the model's own, as a share    | 1    | scenario
// data       | what is read, and how full the sequences are                  | -    | scenario

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
// symbol         | meaning                                                      | unit   | origin
// ---------------|--------------------------------------------------------------|--------|---------
// optimizer      | where states are kept and updated; nvme: updated by the host | -      | scenario
// parameters     | where the 16-bit parameters are kept between their uses      | -      | scenario
// activations    | share of what a pass keeps that waits in host memory         | 1      | scenario
// modules        | or the modules whose inputs do                               | -      | scenario
// link           | copy rate between one GPU and its host, each direction       | byte/s | scenario
// host_bandwidth | memory traffic that the host update of one node reaches      | byte/s | scenario
// nvme_read, nvme_write | rates of all drives of one node                       | byte/s | scenario
// host_memory    | host memory of one node that may be used                     | byte   | scenario
// overlap        | copies run beside the passes, the update beside its copies   | -      | scenario
//
// The default of host_bandwidth is what the CPU Adam of ZeRO-Offload (arXiv 2101.06840, table of
// optimizer latencies: 10^10 parameters in 2.57 s on a two-socket host) moves at 30 bytes each.

inline constexpr BytesPerSecond kHostUpdateBandwidth = gigabytes_per_second(117.0);

enum class OffloadTarget { none, cpu, nvme };

struct OffloadSpec {
  OffloadTarget optimizer = OffloadTarget::none;
  OffloadTarget parameters = OffloadTarget::none;
  double activations = 0.0;
  model::OffloadModules modules = {};
  std::optional<BytesPerSecond> link;            // absent: host_bandwidth of the GPU profile
  std::optional<BytesPerSecond> host_bandwidth;  // absent: kHostUpdateBandwidth
  std::optional<BytesPerSecond> nvme_read;
  std::optional<BytesPerSecond> nvme_write;
  std::optional<Bytes> host_memory;  // absent: not checked
  bool overlap = true;

  [[nodiscard]] bool any() const {
    return optimizer != OffloadTarget::none || parameters != OffloadTarget::none ||
           moves_activations();
  }

  [[nodiscard]] bool moves_activations() const {
    return activations > 0.0 || modules != model::OffloadModules{};
  }
};

// Input of the run: what is read from storage, and how full its sequences are.
//
// symbol            | meaning                                           | unit     | origin
// ------------------|---------------------------------------------------|----------|---------
// bytes_per_token   | read from storage for one token of the batch      | byte     | scenario
// read_bandwidth    | what one node reads from storage                  | byte/s   | scenario
// tokens_per_second | what one node's loaders decode and shuffle        | tokens/s | scenario
// prefetch          | the next batch is prepared while the step runs    | -        | scenario
// packing           | how documents fill the sequences of the batch     | -        | scenario
// document_length   | mean length of a document                         | tokens   | scenario
// document_sigma    | spread of its logarithm; 0: all alike             | 1        | scenario

enum class Packing {
  packed,  // documents follow one another and attend across their borders
  masked,  // the same, but attention stays inside a document
  padded   // one document a sequence, cut or filled with padding
};

struct DataSpec {
  Bytes bytes_per_token = bytes(4.0);
  std::optional<BytesPerSecond> read_bandwidth = {};
  std::optional<double> tokens_per_second = {};
  bool prefetch = true;
  Packing packing = Packing::packed;
  std::optional<std::int64_t> document_length = {};
  double document_sigma = 0.0;
};

// Variation between GPUs of one type, as a distribution of their speeds:
//
//   time of a GPU's compute = nominal (1 + gpu_sigma Z_gpu + node_sigma Z_node) [slow_factor]
//
// symbol      | meaning                                                          | unit  | origin
// ------------|------------------------------------------------------------------|-------|--------
// gpu_sigma   | standard deviation of the compute time between GPUs / its mean   | 1     | scenario
// node_sigma  | the same between nodes, shared by the GPUs of a node             | 1     | scenario
// slow_share  | share of GPUs that are slow beyond that (throttled, degraded)    | 1     | scenario
// slow_factor | how much longer those take                                       | 1     | scenario
// slow_gpus   | the same for GPUs by place                                       | -     | scenario
// draws       | how many sets of machines are drawn                              | -     | scenario
// seed        | of the draws                                                     | -     | scenario

struct SlowGpu {
  std::int64_t node = 0;
  std::optional<std::int64_t> gpu = {};  // of the node; absent: all of them
  double factor = 1.0;

  friend bool operator==(const SlowGpu&, const SlowGpu&) = default;
};

struct VariationSpec {
  double gpu_sigma = 0.0;
  double node_sigma = 0.0;
  double slow_share = 0.0;
  double slow_factor = 1.2;
  std::vector<SlowGpu> slow_gpus = {};
  std::int64_t draws = 1;
  std::int64_t seed = 1;

  [[nodiscard]] bool drawn() const {
    return gpu_sigma > 0.0 || node_sigma > 0.0 || slow_share > 0.0;
  }

  [[nodiscard]] bool any() const { return drawn() || !slow_gpus.empty(); }

  friend bool operator==(const VariationSpec&, const VariationSpec&) = default;
};

// Local steps in the manner of DiLoCo: how often islands of GPUs synchronise, and how.
//
// symbol  | meaning                                                        | unit    | origin
// --------|----------------------------------------------------------------|---------|---------
// every   | inner steps between two outer ones (H)                         | steps   | scenario
// islands | groups of whole replicas that only meet in the outer step (K)  | groups  | scenario
// rate    | what one island sends to the next, one direction               | byte/s  | scenario
// latency | of one hop between islands                                     | s       | scenario
// bits    | of one parameter's difference on the wire                      | bit     | scenario
// overlap | the outer all-reduce streams beside the inner steps            | -       | scenario
//
// Sources: DiLoCo, arXiv 2311.08105 (H = 500, K = 8); Streaming DiLoCo, arXiv 2501.18512 (overlap,
// 4 bits); INTELLECT-1, arXiv 2412.01152 (H = 100, 8 bits).

struct LocalStepsSpec {
  std::int64_t every = 1;
  std::int64_t islands = 1;            // 1: no local steps
  std::optional<BytesPerSecond> rate;  // absent: the NICs of one island
  Seconds latency;
  double bits = 32.0;
  bool overlap = false;
};

struct RecomputeSpec {
  model::Recompute policy = model::Recompute::none;
  // Recomputation in only that many layers of each chunk: of the modules, else in full.
  std::optional<std::int64_t> layers = {};
  model::RecomputeModules modules = {};
  std::optional<double> memory_budget = {};  // chooses policy and modules (memory_budget.hpp)

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
  model::PrecisionSpec precision;
  std::optional<model::Dtype> gradient_dtype;  // absent: as the software profile says
  std::optional<bool> fp8_parameters;          // the same; where layers multiply in FP8
  std::optional<bool> dropout;                 // the same
  RecomputeSpec recompute;
  OverlapSpec overlap;
  FsdpSpec fsdp;
  schedule::ScheduleKind schedule = schedule::ScheduleKind::none;
  std::optional<Bytes> bucket;                           // absent: one bucket per layer
  std::optional<hardware::GradientReduction> reduction;  // absent: as the software profile says
  hardware::ExpertChoices experts;                       // absent: as the software profile says
  std::optional<Seconds> given_time;
  bool compile = false;  // torch.compile, where the stack has it
  OffloadSpec offload;
  LocalStepsSpec local_steps;
  VariationSpec variation;
  DataSpec data;
  double critic = 0.0;
};

}  // namespace orrery::step
