#pragma once

// How well does a profile predict steps that it has not seen, and where does an error come from?
//
//   interpolation = predicted kernel / the same kernel measured alone - 1
//   composition   = sum of the kernels measured alone / measured step - 1
//   prediction    = sum of the predicted kernels / measured step - 1
//   simulation    = step of the whole simulator / measured step - 1
//   layer         = (step of many layers - step of few) / (many - few), predicted and measured
//
// gate       | what                                                         | limit
// -----------|--------------------------------------------------------------|----------------------
// gemm       | median and 90th percentile of |interpolation| of products    | 3 %, 8 %
// layer      | largest |error| of a layer                                   | 5 %
// step       | largest |prediction|                                         | 5 %
// optimizer  | largest |interpolation| of norm and update                   | 5 %
// transfer   | |interpolation| of the copy to the host                      | 10 %
// baselines  | mean |error| of steps against those of three rules of thumb  | below the best rule
// check      | gradients of small steps against double precision            | all pass
//
// Products that the profile holds exactly have no interpolation and do not count at the gate. A
// gate without anything to judge is open, neither passed nor failed. The limits are those of a
// first plan, to be tuned after the first measurements.

#include <optional>
#include <string>
#include <vector>

#include "calibrate/validate/case_prediction.hpp"
#include "calibrate/validate/torch_step.hpp"
#include "calibrate/validate/validation_record.hpp"
#include "sim/hardware/gpu_profile.hpp"

namespace orrery::calibrate {

struct ComparedKernel {
  std::string name;  // of its first call
  kernels::KernelCase kernel;
  std::int64_t calls = 0;  // per step
  std::optional<Seconds> measured = {};
  std::optional<cost::KernelPrediction> predicted = {};

  [[nodiscard]] std::optional<double> error() const;  // interpolation
};

struct ComparedStep {
  RecordedStep measured;
  std::vector<ComparedKernel> kernels = {};
  std::optional<Seconds> sum = {};        // of kernels measured alone; absent: one of them was not
  std::optional<Seconds> predicted = {};  // absent: the profile lacks one of them
  std::optional<Seconds> simulated = {};  // by the whole simulator (simulated_step.hpp)
  double exact_share = 0.0;               // of the predicted time
  double extrapolated_share = 0.0;
  Seconds roofline = {};
  Seconds fixed_mfu = {};
  Seconds burst = {};

  [[nodiscard]] Seconds time() const {
    return microseconds(measured.us);
  }

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

  [[nodiscard]] bool failed() const {
    return value && *value > limit;
  }
};

struct ComparedTorch {
  TorchStep measured;
  std::optional<Seconds> predicted = {};  // of the own step of the same shape
  std::optional<Seconds> own = {};        // the own step, measured
};

struct StepValidation {
  ValidationRecord record;
  std::string profile = {};  // id of its fingerprint
  std::vector<ComparedStep> steps = {};
  std::vector<ComparedLayer> layers = {};
  std::optional<ComparedKernel> transfer = {};
  std::vector<Gate> gates = {};
  std::vector<ComparedTorch> torch = {};
};

// The copy to the host that a checkpoint makes, of a size that no sweep measures.
[[nodiscard]] kernels::KernelCase transfer_case();

[[nodiscard]] StepValidation compare_steps(const ValidationRecord& record,
                                           const hardware::GpuProfile& gpu,
                                           const std::vector<TorchStep>& torch);

[[nodiscard]] bool passed(const StepValidation& validation);

// `all`: every kernel, not only products and the worst of the rest.
[[nodiscard]] std::string to_text(const StepValidation& validation, bool all);
[[nodiscard]] std::string to_json(
    const StepValidation& validation);  // orrery-hardware-validation/1

}  // namespace orrery::calibrate
