#pragma once

// Compares a profile's predictions with steps it has not seen, and splits their error by origin:
//
//   interpolation = predicted kernel / the same kernel measured alone, at the profile's clock - 1
//   composition   = sum of the kernels measured alone, at the step's clock / measured step - 1
//   prediction    = sum of the predicted kernels / measured step - 1
//   simulation    = step of the whole simulator / measured step - 1
//   layer         = (step of many layers - step of few) / (many - few), predicted and measured
//
//   PyTorch       = our kernel measured alone / PyTorch's of the same case - 1
//
// Kernels alone and a step run at different clocks: times of products and attention are compared at
// one (sim/step/hardware/calibration_profile.hpp), where the record has both clocks.
//
// gate       | what                                                         | limit
// -----------|--------------------------------------------------------------|----------------------
// unseen     | median and 90th percentile of |interpolation| of products    | 3 %, 8 %
//            | and attention that the profile does not hold exactly         |
// memory     | 1 - rate of a memory-bound kernel / rate of a copy, of the   | 10 %
//            | fastest size of each kind; the worst kind                    |
// mm, ...    | PyTorch, the slowest of mm, _scaled_mm, SDPA, fused AdamW    | 3 %
// torch step | largest |predicted / PyTorch step - 1|, its faster mode      | 8 %
// again      | |ratio - 1| of the samples of two sweeps, median and p90     | 2 %, 5 %
// layer      | largest |error| of a layer                                   | 5 %
// step       | largest |prediction|                                         | 5 %
// optimizer  | largest |interpolation| of norm and update                   | 5 %
// transfer   | |interpolation| of the copy to the host                      | 10 %
// baselines  | mean |error| of steps against those of three rules of thumb  | below the best rule
// check      | gradients of small steps against double precision            | all pass
//
// A gate without anything to judge is open, neither passed nor failed. The limits are those of a
// first plan, to be tuned after the first measurements.

#include <optional>
#include <string>
#include <vector>

#include "calibrate/validate/step_program.hpp"
#include "calibrate/validate/validation_record.hpp"
#include "sim/base/units.hpp"
#include "sim/step/cost/measured_kernels.hpp"
#include "sim/step/hardware/calibration_profile.hpp"
#include "sim/step/hardware/gpu_profile.hpp"
#include "sim/step/kernels/kernel_case.hpp"

namespace orrery::calibrate {

struct ComparedKernel {
  std::string name;  // of its first call
  kernels::KernelCase kernel;
  std::int64_t calls = 0;                // per step
  std::optional<Seconds> measured = {};  // alone
  std::optional<double> clock = {};      // MHz, of that
  std::optional<cost::KernelPrediction> predicted = {};
  std::optional<double> stated_clock = {};  // MHz, of the prediction

  [[nodiscard]] std::optional<Seconds> measured_at(std::optional<double> mhz) const;
  [[nodiscard]] std::optional<double> error() const;  // interpolation
};

struct ComparedStep {
  RecordedStep measured;
  std::vector<ComparedKernel> kernels = {};
  std::optional<Seconds> sum = {};        // of kernels measured alone; absent: one of them was not
  std::optional<Seconds> predicted = {};  // absent: the profile lacks one of them
  std::optional<Seconds> simulated = {};  // by the whole simulator
  Ledger ledger = {};                     // of the prediction
  double exact_share = 0.0;               // of the predicted time
  double extrapolated_share = 0.0;
  Seconds roofline = {};
  Seconds fixed_mfu = {};
  Seconds burst = {};

  [[nodiscard]] Seconds time() const { return microseconds(measured.us); }

  [[nodiscard]] std::optional<double> composition() const;
  [[nodiscard]] std::optional<double> prediction() const;
  [[nodiscard]] std::optional<double> simulation() const;
};

struct ComparedLayer {
  std::string name;  // of the two shapes
  kernels::Precision precision = kernels::Precision::bf16;
  Seconds measured;
  std::optional<Seconds> sum = {};
  std::optional<Seconds> predicted = {};
};

struct Gate {
  std::string name;
  double limit = 0.0;
  std::optional<double> value;  // absent: nothing to judge

  [[nodiscard]] bool failed() const { return value && *value > limit; }
};

struct ComparedTorch {
  TorchStep measured;
  std::optional<Seconds> predicted = {};  // of the own step of the same shape
  Ledger ledger = {};                     // of that
  std::optional<Seconds> own = {};        // the own step, measured

  [[nodiscard]] std::optional<double> error() const;
};

struct ComparedTorchKernel {
  TorchKernel measured;
  std::optional<Seconds> own = {};  // absent: the record does not hold the case

  // Above 0: ours is slower. Calls that move other bytes are compared by their rates.
  [[nodiscard]] std::optional<double> error() const;
};

// What is known beside the record and the kernels of the profile.
struct Companions {
  std::optional<double> step_clock = {};  // MHz, at which the profile states products
  std::vector<TorchStep> steps = {};
  std::vector<TorchKernel> kernels = {};
  std::vector<double> again = {};          // |ratio - 1| of samples of a second sweep
  std::vector<double> first_choices = {};  // first_choice_losses of the profile
};

struct StepValidation {
  ValidationRecord record;
  std::string profile = {};  // id of its fingerprint
  std::string laws = {};     // name of a GPU profile that nothing was measured for
  std::vector<ComparedStep> steps = {};
  std::vector<ComparedLayer> layers = {};
  std::optional<ComparedKernel> transfer = {};
  std::vector<Gate> gates = {};
  std::vector<ComparedTorch> torch = {};
  std::vector<ComparedTorchKernel> torch_kernels = {};
  Companions beside = {};
};

// The copy to the host that a checkpoint makes, of a size that no sweep measures.
[[nodiscard]] kernels::KernelCase transfer_case();

// |second / first - 1| of the medians of each sustained case that both hold.
[[nodiscard]] std::vector<double> repeat_errors(const hardware::CalibrationProfile& first,
                                                const hardware::CalibrationProfile& second);

// By how much cuBLASLt's first choice of an algorithm is slower than the best that the search
// found, of each product whose candidates were timed.
[[nodiscard]] std::vector<double> first_choice_losses(const hardware::CalibrationProfile& profile);

[[nodiscard]] StepValidation compare_steps(const ValidationRecord& record,
                                           const hardware::GpuProfile& gpu,
                                           const Companions& beside);

// Every gate of a comparison, in the order in which they are printed (gates.cpp).
[[nodiscard]] std::vector<Gate> gates_of(const StepValidation& validation,
                                         const hardware::GpuProfile& gpu);

[[nodiscard]] bool passed(const StepValidation& validation);

// `all`: every kernel, not only products and the worst of the rest.
[[nodiscard]] std::string to_text(const StepValidation& validation, bool all);
[[nodiscard]] std::string to_json(
    const StepValidation& validation);  // orrery-hardware-validation/1

// Predicted time of one call: by the profile, and by three rules of thumb that a profile has to
// beat.
//
// rule     | time
// ---------|--------------------------------------------------------------------------------------
// profile  | sim/step/cost/measured_kernels.hpp: exact hit, interpolation, flagged extrapolation
// roofline | max(F / peak, B / bandwidth) of the datasheet
// mfu      | F / (0.45 peak) of the type that the linear layers multiply in; the rest takes no time
// burst    | F / burst rate; calls without FLOP: B / (bandwidth x share that streams get)
// F and B are those of step/kernels; the burst rate is that before power limits the clock, else the
// sustained one.

inline constexpr double kFixedMfu = 0.45;

// Nothing where the profile has no kernels of the kind. A profile that nothing was measured for
// predicts by its laws.
[[nodiscard]] std::optional<cost::KernelPrediction> predict_case(const kernels::KernelCase& kernel,
                                                                 const hardware::GpuProfile& gpu);

[[nodiscard]] Seconds roofline_time(const kernels::KernelCase& kernel,
                                    const hardware::GpuProfile& gpu);
[[nodiscard]] Seconds burst_time(const kernels::KernelCase& kernel,
                                 const hardware::GpuProfile& gpu);
[[nodiscard]] Seconds fixed_mfu_time(Flop work, kernels::Precision precision,
                                     const hardware::GpuProfile& gpu);

// Time of a validation step by the whole simulator, as `orrery run` would predict it:
//
//   the same model on one GPU of the profile, with a stack that adds nothing (software_profile.hpp)
//
// Beside the sum of predicted kernels it shows what the simulator's own list of operations changes:
// it has a router, loss and optimizer by their bytes, and no cases of its own choosing.

// Nothing when the simulator refuses the shape: the GPU has no rate for its precision.
[[nodiscard]] std::optional<Seconds> simulated_time(const StepShape& shape,
                                                    const hardware::GpuProfile& gpu);

}  // namespace orrery::calibrate
