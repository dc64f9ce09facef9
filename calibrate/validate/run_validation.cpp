#include "calibrate/validate/run_validation.hpp"

#include <fmt/core.h>

#include <set>
#include <string>
#include <utility>

#include "calibrate/profile/machine_fields.hpp"
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

  // What `work` throws becomes a status; empty when it throws nothing.
  template <typename Work>
  std::string status_of(const Work& work);

  [[nodiscard]] bool ended() const {
    return lost_ || options_.stop.stop_requested();
  }

  StepBench& bench_;
  const ValidationOptions& options_;
  ValidationRecord record_;
  std::set<KernelCase> known_;
  std::set<std::pair<Precision, bool>> wrong_;  // and whether a mixture
  std::int64_t done_ = 0;
  bool lost_ = false;
};

void Validation::advance() {
  ++done_;
  if (options_.keep) {
    options_.keep(record_);
  }
  if (options_.progress) {
    options_.progress(done_, static_cast<std::int64_t>(options_.shapes.size()));
  }
}

template <typename Work>
std::string Validation::status_of(const Work& work) {
  try {
    work();
  } catch (const kernels::Unsupported& unsupported) {
    return unsupported.status();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::device) {
      throw;
    }
    lost_ = !bench_.kernels().usable();
    return fmt::format("{}{}", kFailedStatus, error.what());
  }
  return {};
}

void Validation::check(const StepShape& shape) {
  RecordedCheck entry{.shape = shape, .check = {}, .status = {}};
  entry.status = status_of([&] { entry.check = bench_.check_step(make_step_program(shape)); });
  if (!entry.status.empty() || !entry.check.passed) {
    wrong_.insert({shape.precision, shape.experts.has_value()});
  }
  record_.checks.push_back(entry);
}

void keep(const StepTiming& timing, RecordedStep& step) {
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
}

void Validation::time(const StepShape& shape) {
  const StepProgram program = make_step_program(shape);
  RecordedStep step;
  step.shape = shape;
  if (wrong_.contains({shape.precision, shape.experts.has_value()})) {
    step.status = "its small step is not right on this GPU";
  } else {
    step.status = status_of([&] { keep(bench_.time_step(program, options_.timing), step); });
  }
  record_.steps.push_back(step);
  if (!step.status.empty()) {
    return;
  }
  for (const StepOperation& operation : program.operations) {
    if (!ended()) {
      time(operation.kernel);
    }
  }
}

void Validation::time(const KernelCase& kernel) {
  if (!known_.insert(kernel).second) {
    return;
  }
  RecordedKernel entry{.kernel = kernel};
  entry.status = status_of([&] {
    const Sample sample = bench_.kernels().measure(kernel, {.power = false});
    entry.us = summarise(sample.times).median;
    entry.implementation = sample.implementation;
    entry.sm_clock = sample.state.sm_clock;
  });
  record_.kernels.push_back(entry);
}

ValidationRecord Validation::run() {
  Bench& single = bench_.kernels();
  record_.fingerprint = machine_id(single.fingerprint());
  record_.gpu = single.fingerprint().gpu;
  record_.measured_at = single.now();
  for (const bool mixture : {false, true}) {
    for (const Precision precision : {Precision::bf16, Precision::fp8_tensor}) {
      if (!ended() && (!mixture || precision == Precision::bf16)) {
        check(small_shape(precision, mixture));
      }
    }
  }
  if (!ended()) {
    single.soak(options_.soak);
  }
  if (!ended()) {
    time(transfer_case());  // before the steps, which may run out of time
  }
  for (const StepShape& shape : options_.shapes) {
    if (ended()) {
      break;
    }
    time(shape);
    advance();
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
