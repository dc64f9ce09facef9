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
// data       | what is read, and how full the sequences are                  | -    | scenario

#include <cstdint>
#include <optional>

#include "sim/base/units.hpp"
#include "sim/hardware/software_profile.hpp"
#include "sim/layout/layout_spec.hpp"
#include "sim/model/transformer_ops.hpp"
#include "sim/schedule/schedule_spec.hpp"
#include "sim/schedule/step_graph.hpp"
#include "sim/step/data_spec.hpp"
#include "sim/step/local_steps_spec.hpp"
#include "sim/step/offload_spec.hpp"
#include "sim/step/variation_spec.hpp"

namespace orrery::step {

struct RecomputeSpec {
  model::Recompute policy = model::Recompute::none;
  // Recomputation in only that many layers of each chunk: of the modules, else in full.
  std::optional<std::int64_t> layers = {};
  model::RecomputeModules modules = {};

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
};

// The precision with what the scenario leaves to the stack: the type of gradients, whether
// parameters stay in FP8 between the steps, how operands are cast and in which type they are
// gathered.
[[nodiscard]] model::PrecisionSpec resolve_precision(const StepSpec& spec,
                                                     const hardware::SoftwareProfile& software);

}  // namespace orrery::step
