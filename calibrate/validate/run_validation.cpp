#include "calibrate/validate/run_validation.hpp"

#include <fmt/core.h>

#include <set>

#include "calibrate/validate/step_comparison.hpp"
#include "sim/base/error.hpp"

namespace orrery::calibrate {

namespace {

using kernels::KernelCase;
using kernels::Precision;

class Validation {
 public:
  Validation(StepBench& bench, const ValidationOptions& options)
      : bench_(bench), options_(options) {}

  ValidationRecord run();

 private:
  void check(const StepShape& shape);
  void time(const StepShape& shape);
  void time(const KernelCase& kernel);
  void advance();

  StepBench& bench_;
  const ValidationOptions& options_;
  ValidationRecord record_;
  std::set<KernelCase> known_;
  std::int64_t done_ = 0;
};

void Validation::advance() {
  ++done_;
  if (options_.progress) {
    options_.progress(done_, static_cast<std::int64_t>(options_.shapes.size()));
  }
}

void Validation::check(const StepShape& shape) {
  RecordedCheck entry{.shape = shape, .check = {}, .status = {}};
  try {
    entry.check = bench_.check_step(make_step_program(shape));
  } catch (const kernels::Unsupported& unsupported) {
    entry.status = unsupported.status();
  }
  if (entry.status.empty() && !entry.check.passed) {
    throw Error(ErrorKind::device,
                fmt::format("the step `{}` is wrong on this GPU: loss {} (reference {}), gradients "
                            "off by {:.3g} at {}",
                            to_text(shape),
                            entry.check.loss,
                            entry.check.reference_loss,
                            entry.check.worst,
                            entry.check.where));
  }
  record_.checks.push_back(entry);
}

void Validation::time(const StepShape& shape) {
  const StepProgram program = make_step_program(shape);
  RecordedStep step;
  step.shape = shape;
  try {
    const StepTiming timing = bench_.time_step(program, options_.timing);
    step.us = timing.step.median;
    step.p10 = timing.step.p10;
    step.p90 = timing.step.p90;
    step.count = static_cast<std::int64_t>(timing.step.count);
    if (timing.launched) {
      step.launched_us = timing.launched->median;
    }
    step.sm_clock = timing.state.sm_clock;
    step.power = timing.state.power;
    for (const std::string& reason : timing.state.throttled) {
      step.throttled += (step.throttled.empty() ? "" : " ") + reason;
    }
  } catch (const kernels::Unsupported& unsupported) {
    step.status = unsupported.status();
  }
  record_.steps.push_back(step);
  if (!step.status.empty()) {
    return;
  }
  for (const StepOperation& operation : program.operations) {
    if (!options_.stop.stop_requested()) {
      time(operation.kernel);
    }
  }
}

void Validation::time(const KernelCase& kernel) {
  if (!known_.insert(kernel).second) {
    return;
  }
  RecordedKernel entry{.kernel = kernel, .us = 0.0, .implementation = {}, .status = {}};
  try {
    const Sample sample = bench_.kernels().measure(kernel, {.regime = Regime::sustained});
    entry.us = summarise(sample.times).median;
    entry.implementation = sample.implementation;
  } catch (const kernels::Unsupported& unsupported) {
    entry.status = unsupported.status();
  }
  record_.kernels.push_back(entry);
}

ValidationRecord Validation::run() {
  Bench& single = bench_.kernels();
  record_.fingerprint = id_of(single.fingerprint());
  record_.gpu = single.fingerprint().gpu;
  record_.measured_at = single.now();
  for (const bool mixture : {false, true}) {
    for (const Precision precision : {Precision::bf16, Precision::fp8_tensor}) {
      if (!mixture || precision == Precision::bf16) {
        check(small_shape(precision, mixture));
      }
    }
  }
  single.soak(options_.soak);
  for (const StepShape& shape : options_.shapes) {
    if (options_.stop.stop_requested()) {
      break;
    }
    time(shape);
    advance();
  }
  if (!options_.stop.stop_requested()) {
    time(transfer_case());
  }
  return record_;
}

}  // namespace

ValidationRecord run_validation(StepBench& bench, const ValidationOptions& options) {
  return Validation(bench, options).run();
}

ValidationOptions validation_options(bool quick) {
  ValidationOptions options;
  options.shapes = held_out_shapes();
  if (quick) {
    constexpr std::size_t kFew = 2;  // bf16, of two and eight layers
    options.shapes.resize(kFew);
    options.timing.warm_up = seconds(1.0);
    options.timing.loop = seconds(2.0);
    options.soak = seconds(2.0);
  }
  return options;
}

}  // namespace orrery::calibrate
