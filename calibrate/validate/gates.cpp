// What has to hold before a profile is trusted: every gate with its value and its limit.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "calibrate/validate/step_comparison.hpp"
#include "sim/base/quantile.hpp"
#include "sim/step/hardware/calibration_profile.hpp"

namespace orrery::calibrate {

namespace {

using kernels::KernelCase;
using kernels::Operation;

constexpr double kUnseenMedian = 0.03;
constexpr double kUnseenP90 = 0.08;
constexpr double kShortOfCopy = 0.10;
constexpr double kTorchKernel = 0.03;
constexpr double kTorchStep = 0.08;
constexpr double kFirstChoice = 0.02;
constexpr double kAgainMedian = 0.02;
constexpr double kAgainP90 = 0.05;
constexpr double kStep = 0.05;
constexpr double kOptimizer = 0.05;
constexpr double kTransfer = 0.10;

double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return quantile_of_sorted(values, share);
}

std::optional<double> largest(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(*std::ranges::max_element(values));
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

bool is_unseen(const ComparedKernel& one) {
  return hardware::follows_clock(one.kernel.operation) &&
         one.predicted->reach != cost::Reach::exact;
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
      errors.push_back(std::abs(*layer.predicted / layer.measured - 1.0));
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
        errors.push_back(std::abs(step.*rule / step.time() - 1.0));
      }
    }
    const std::optional<double> error = mean(errors);
    best = !best || (error && *error < *best) ? error : best;
  }
  return best;
}

bool any_failed(const ValidationRecord& record) {
  const auto failed = [](const auto& entry) { return entry.status.starts_with(kFailedStatus); };
  return std::ranges::any_of(record.checks, failed) || std::ranges::any_of(record.steps, failed) ||
         std::ranges::any_of(record.kernels, failed);
}

// Over PCIe, or the copy that sets the measure.
bool is_copy(Operation operation) {
  return operation == Operation::copy || operation == Operation::host_to_device ||
         operation == Operation::device_to_host;
}

// The worst kind's share of the copy rate that it misses, each by its fastest size.
std::optional<double> short_of_copy(const hardware::GpuProfile& gpu) {
  const bool known = gpu.kernels && gpu.memory_efficiency.kind() == SourceKind::measured;
  if (!known) {
    return std::nullopt;
  }
  const BytesPerSecond copy = gpu.hbm_bandwidth.value() * gpu.memory_efficiency.value();
  std::vector<double> missing;
  for (const hardware::KernelSeries& series : gpu.kernels->series) {
    if (!kernels::is_memory_bound(series.operation) || is_copy(series.operation)) {
      continue;
    }
    double best = 0.0;
    for (const hardware::KernelPoint& point : series.points) {
      best = std::max(best, kernels::work_of(point.call).moved() / point.time / copy);
    }
    if (best > 0.0) {
      missing.push_back(std::max(1.0 - best, 0.0));
    }
  }
  return largest(missing);
}

// How much slower ours is than PyTorch's, the worst case of a call.
std::optional<double> slower_than_torch(const StepValidation& validation, std::string_view call) {
  std::vector<double> errors;
  for (const ComparedTorchKernel& one : validation.torch_kernels) {
    const std::optional<double> error = one.error();
    if (one.measured.call == call && error) {
      errors.push_back(std::max(*error, 0.0));
    }
  }
  return largest(errors);
}

// Of each shape the mode that PyTorch runs faster.
std::vector<double> torch_step_errors(const StepValidation& validation) {
  std::map<std::string, const ComparedTorch*> fastest;
  for (const ComparedTorch& one : validation.torch) {
    const ComparedTorch*& best = fastest[to_text(one.measured.shape)];
    if (best == nullptr || one.measured.median_us < best->measured.median_us) {
      best = &one;
    }
  }
  std::vector<double> errors;
  for (const auto& [shape, one] : fastest) {
    if (const auto error = one->error()) {
      errors.push_back(std::abs(*error));
    }
  }
  return errors;
}

std::optional<double> share_of(const std::vector<double>& values, double share) {
  return values.empty() ? std::nullopt : std::optional(quantile(values, share));
}

void add_companion_gates(const StepValidation& validation, std::vector<Gate>& gates) {
  for (const std::string_view call : kTorchCalls) {
    gates.push_back({fmt::format("slower than PyTorch's {}, largest", call), kTorchKernel,
                     slower_than_torch(validation, call)});
  }
  gates.push_back({"PyTorch step, largest", kTorchStep, largest(torch_step_errors(validation))});
  gates.push_back({"cuBLASLt's first choice above its best, median", kFirstChoice,
                   share_of(validation.beside.first_choices, 0.5)});
  gates.push_back({"second sweep, median", kAgainMedian, share_of(validation.beside.again, 0.5)});
  gates.push_back(
      {"second sweep, 90th percentile", kAgainP90, share_of(validation.beside.again, 0.9)});
}

}  // namespace

std::vector<Gate> gates_of(const StepValidation& validation, const hardware::GpuProfile& gpu) {
  std::vector<Gate> gates;
  const std::vector<double> unseen = kernel_errors(validation.steps, is_unseen);
  gates.push_back({"unseen shape, median", kUnseenMedian, share_of(unseen, 0.5)});
  gates.push_back({"unseen shape, 90th percentile", kUnseenP90, share_of(unseen, 0.9)});
  gates.push_back({"memory-bound, short of the copy rate", kShortOfCopy, short_of_copy(gpu)});
  gates.push_back({"layer, largest", kStep, largest(layer_errors(validation.layers))});
  gates.push_back({"step, largest", kStep, largest(step_errors(validation.steps))});
  gates.push_back(
      {"optimizer, largest", kOptimizer, largest(kernel_errors(validation.steps, is_optimizer))});
  const auto transfer = validation.transfer ? validation.transfer->error() : std::nullopt;
  gates.push_back({"copy to the host", kTransfer,
                   transfer ? std::optional(std::abs(*transfer)) : std::nullopt});
  gates.push_back({"step, mean, below the best rule of thumb",
                   best_rule(validation.steps).value_or(0.0), mean(step_errors(validation.steps))});
  add_companion_gates(validation, gates);
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
  return gates;
}

}  // namespace orrery::calibrate
