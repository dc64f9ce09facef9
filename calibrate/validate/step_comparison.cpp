#include "calibrate/validate/step_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "calibrate/samples/summary.hpp"
#include "calibrate/validate/simulated_step.hpp"
#include "sim/base/quantile.hpp"

namespace orrery::calibrate {

namespace {

using kernels::KernelCase;
using kernels::Operation;

constexpr double kGemmMedian = 0.03;
constexpr double kGemmP90 = 0.08;
constexpr double kStep = 0.05;
constexpr double kOptimizer = 0.05;
constexpr double kTransfer = 0.10;

double relative(Seconds value, Seconds base) {
  return value / base - 1.0;
}

std::optional<double> relative(const std::optional<Seconds>& value, Seconds base) {
  return value ? std::optional(relative(*value, base)) : std::nullopt;
}

using MeasuredKernels = std::map<KernelCase, const RecordedKernel*>;

ComparedKernel compare_kernel(const KernelCase& kernel,
                              const MeasuredKernels& measured,
                              const hardware::GpuProfile& gpu) {
  ComparedKernel compared{.name = {},
                          .kernel = kernel,
                          .calls = 1,
                          .measured = {},
                          .predicted = predict_case(kernel, gpu)};
  const auto found = measured.find(kernel);
  if (found != measured.end() && found->second->status.empty()) {
    compared.measured = microseconds(found->second->us);
  }
  return compared;
}

// Kernels of a step, each once, in the order of their first calls.
std::vector<ComparedKernel> kernels_of(const StepProgram& program,
                                       const MeasuredKernels& measured,
                                       const hardware::GpuProfile& gpu) {
  std::vector<ComparedKernel> compared;
  std::map<KernelCase, std::size_t> places;
  for (const StepOperation& operation : program.operations) {
    const auto [place, is_new] = places.emplace(operation.kernel, compared.size());
    if (is_new) {
      compared.push_back(compare_kernel(operation.kernel, measured, gpu));
      compared.back().name = operation.name;
    } else {
      ++compared[place->second].calls;
    }
  }
  return compared;
}

void add_sums(ComparedStep& step) {
  Seconds sum;
  Seconds predicted;
  Seconds exact;
  Seconds extrapolated;
  bool all_measured = true;
  bool all_predicted = true;
  for (const ComparedKernel& one : step.kernels) {
    const auto calls = static_cast<double>(one.calls);
    all_measured = all_measured && one.measured;
    all_predicted = all_predicted && one.predicted;
    sum += calls * one.measured.value_or(Seconds{});
    if (one.predicted) {
      const Seconds time = calls * one.predicted->time;
      predicted += time;
      exact += one.predicted->reach == cost::Reach::exact ? time : Seconds{};
      extrapolated += one.predicted->reach == cost::Reach::extrapolated ? time : Seconds{};
    }
  }
  if (all_measured) {
    step.sum = sum;
  }
  if (all_predicted) {
    step.predicted = predicted;
    step.exact_share = exact / predicted;
    step.extrapolated_share = extrapolated / predicted;
  }
}

ComparedStep compare_step(const RecordedStep& measured,
                          const MeasuredKernels& known,
                          const hardware::GpuProfile& gpu) {
  const StepProgram program = make_step_program(measured.shape);
  ComparedStep step{.measured = measured, .kernels = kernels_of(program, known, gpu)};
  for (const ComparedKernel& one : step.kernels) {
    const auto calls = static_cast<double>(one.calls);
    step.roofline += calls * roofline_time(one.kernel, gpu);
    step.burst += calls * burst_time(one.kernel, gpu);
  }
  step.fixed_mfu = fixed_mfu_time(flop_of(program), measured.shape.precision, gpu);
  add_sums(step);
  step.simulated = simulated_time(measured.shape, gpu);
  return step;
}

std::optional<Seconds> slope(const std::optional<Seconds>& many,
                             const std::optional<Seconds>& few,
                             double layers) {
  return many && few ? std::optional((*many - *few) / layers) : std::nullopt;
}

// Steps that differ in nothing but the number of layers, two at a time.
std::vector<ComparedLayer> layers_of(const std::vector<ComparedStep>& steps) {
  std::vector<ComparedLayer> layers;
  for (const ComparedStep& few : steps) {
    for (const ComparedStep& many : steps) {
      StepShape same = many.measured.shape;
      same.layers = few.measured.shape.layers;
      const std::int64_t more = many.measured.shape.layers - same.layers;
      if (more <= 0 || to_text(same) != to_text(few.measured.shape)) {
        continue;
      }
      const auto count = static_cast<double>(more);
      layers.push_back({.name = same.name,
                        .precision = same.precision,
                        .measured = (many.time() - few.time()) / count,
                        .sum = slope(many.sum, few.sum, count),
                        .predicted = slope(many.predicted, few.predicted, count)});
    }
  }
  return layers;
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return quantile_of_sorted(values, share);
}

std::optional<double> largest(const std::vector<double>& values) {
  return values.empty() ? std::nullopt
                        : std::optional(*std::max_element(values.begin(), values.end()));
}

std::optional<double> mean(const std::vector<double>& values) {
  if (values.empty()) {
    return std::nullopt;
  }
  double sum = 0.0;
  for (const double value : values) {
    sum += value;
  }
  return sum / static_cast<double>(values.size());
}

// |interpolation| of kernels, each case once.
template <typename Wanted>
std::vector<double> kernel_errors(const std::vector<ComparedStep>& steps, Wanted wanted) {
  std::map<KernelCase, double> errors;
  for (const ComparedStep& step : steps) {
    for (const ComparedKernel& one : step.kernels) {
      const std::optional<double> error = one.error();
      if (error && wanted(one)) {
        errors[one.kernel] = std::abs(*error);
      }
    }
  }
  std::vector<double> values;
  for (const auto& [kernel, error] : errors) {
    values.push_back(error);
  }
  return values;
}

bool is_unseen_product(const ComparedKernel& one) {
  const bool product =
      one.kernel.operation == Operation::gemm || one.kernel.operation == Operation::grouped_gemm;
  return product && one.predicted->reach != cost::Reach::exact;
}

bool is_optimizer(const ComparedKernel& one) {
  return one.kernel.operation == Operation::adamw ||
         one.kernel.operation == Operation::gradient_norm;
}

std::vector<double> step_errors(const std::vector<ComparedStep>& steps) {
  std::vector<double> errors;
  for (const ComparedStep& step : steps) {
    if (const auto error = step.prediction()) {
      errors.push_back(std::abs(*error));
    }
  }
  return errors;
}

std::vector<double> layer_errors(const std::vector<ComparedLayer>& layers) {
  std::vector<double> errors;
  for (const ComparedLayer& layer : layers) {
    if (layer.predicted) {
      errors.push_back(std::abs(relative(*layer.predicted, layer.measured)));
    }
  }
  return errors;
}

std::optional<double> best_rule(const std::vector<ComparedStep>& steps) {
  std::optional<double> best;
  for (const auto rule :
       {&ComparedStep::roofline, &ComparedStep::fixed_mfu, &ComparedStep::burst}) {
    std::vector<double> errors;
    for (const ComparedStep& step : steps) {
      if (step.predicted) {
        errors.push_back(std::abs(relative(step.*rule, step.time())));
      }
    }
    const std::optional<double> error = mean(errors);
    best = !best || (error && *error < *best) ? error : best;
  }
  return best;
}

bool any_failed(const ValidationRecord& record) {
  const auto failed = [](const auto& entry) { return entry.status.starts_with(kFailedStatus); };
  return std::any_of(record.checks.begin(), record.checks.end(), failed) ||
         std::any_of(record.steps.begin(), record.steps.end(), failed) ||
         std::any_of(record.kernels.begin(), record.kernels.end(), failed);
}

void add_gates(StepValidation& validation) {
  std::vector<Gate>& gates = validation.gates;
  const std::vector<double> products = kernel_errors(validation.steps, is_unseen_product);
  const auto of_products = [&products](double share) {
    return products.empty() ? std::nullopt : std::optional(quantile(products, share));
  };
  gates.push_back({"product, median", kGemmMedian, of_products(0.5)});
  gates.push_back({"product, 90th percentile", kGemmP90, of_products(0.9)});
  gates.push_back({"layer, largest", kStep, largest(layer_errors(validation.layers))});
  gates.push_back({"step, largest", kStep, largest(step_errors(validation.steps))});
  gates.push_back(
      {"optimizer, largest", kOptimizer, largest(kernel_errors(validation.steps, is_optimizer))});
  const auto transfer = validation.transfer ? validation.transfer->error() : std::nullopt;
  gates.push_back({"copy to the host",
                   kTransfer,
                   transfer ? std::optional(std::abs(*transfer)) : std::nullopt});
  gates.push_back({"step, mean, below the best rule of thumb",
                   best_rule(validation.steps).value_or(0.0),
                   mean(step_errors(validation.steps))});
  std::vector<double> wrong;
  for (const RecordedCheck& entry : validation.record.checks) {
    if (entry.status.empty()) {
      wrong.push_back(entry.check.passed ? 0.0 : 1.0);
    }
  }
  gates.push_back({"gradients that are wrong", 0.0, largest(wrong)});
  if (any_failed(validation.record)) {
    gates.push_back({"calls that failed", 0.0, 1.0});
  }
}

ComparedTorch compare_torch(const TorchStep& measured,
                            const std::vector<ComparedStep>& steps,
                            const hardware::GpuProfile& gpu) {
  ComparedTorch compared{.measured = measured,
                         .predicted = compare_step({.shape = measured.shape}, {}, gpu).predicted,
                         .own = {}};
  for (const ComparedStep& step : steps) {
    if (to_text(step.measured.shape) == to_text(measured.shape)) {
      compared.own = step.time();
    }
  }
  return compared;
}

}  // namespace

std::optional<double> ComparedKernel::error() const {
  return measured && predicted ? std::optional(relative(predicted->time, *measured)) : std::nullopt;
}

std::optional<double> ComparedStep::composition() const {
  return relative(sum, time());
}

std::optional<double> ComparedStep::prediction() const {
  return relative(predicted, time());
}

std::optional<double> ComparedStep::simulation() const {
  return relative(simulated, time());
}

kernels::KernelCase transfer_case() {
  constexpr std::int64_t kBytes = std::int64_t{3} << 29;  // 1.5 GiB
  return {.operation = Operation::device_to_host, .extents = {kBytes}};
}

StepValidation compare_steps(const ValidationRecord& record,
                             const hardware::GpuProfile& gpu,
                             const std::vector<TorchStep>& torch) {
  MeasuredKernels known;
  for (const RecordedKernel& entry : record.kernels) {
    known[entry.kernel] = &entry;
  }
  StepValidation validation{.record = record,
                            .profile = gpu.calibration ? gpu.calibration->id : std::string()};
  for (const RecordedStep& step : record.steps) {
    if (step.status.empty()) {
      validation.steps.push_back(compare_step(step, known, gpu));
    }
  }
  validation.layers = layers_of(validation.steps);
  if (known.contains(transfer_case())) {
    validation.transfer = compare_kernel(transfer_case(), known, gpu);
    validation.transfer->name = "device_to_host";
  }
  for (const TorchStep& step : torch) {
    validation.torch.push_back(compare_torch(step, validation.steps, gpu));
  }
  add_gates(validation);
  return validation;
}

bool passed(const StepValidation& validation) {
  return std::none_of(validation.gates.begin(), validation.gates.end(), [](const Gate& gate) {
    return gate.failed();
  });
}

}  // namespace orrery::calibrate
