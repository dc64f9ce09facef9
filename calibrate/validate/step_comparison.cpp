#include "calibrate/validate/step_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/answer/evaluate/inputs/resolve.hpp"
#include "sim/step/cost/attention.hpp"
#include "sim/step/cost/gemm.hpp"
#include "sim/step/cost/memory_bound.hpp"
#include "sim/step/hardware/calibration_profile.hpp"
#include "sim/step/hardware/software_profile.hpp"
#include "sim/step/simulate/step_simulator.hpp"

namespace orrery::calibrate {

namespace {

using kernels::KernelCase;
using kernels::Operation;
using kernels::Precision;

const hardware::GemmRate& rate_of(Precision precision, const hardware::GpuProfile& gpu) {
  bool substituted = false;
  return cost::gemm_rate(gpu, cost::dtype_of(precision), substituted);
}

bool is_even(const KernelCase& kernel) {
  const std::vector<std::int64_t> rows = kernels::group_rows(kernel);
  return rows.front() == rows.back();
}

bool is_skewed(const KernelCase& kernel) {
  return kernel.operation == Operation::grouped_gemm && !is_even(kernel);
}

// Of a stack that adds nothing.
Seconds law_time(const KernelCase& kernel, const hardware::GpuProfile& gpu) {
  if (const auto gemm = cost::gemm_of(kernel)) {
    return cost::gemm_cost(*gemm, gpu, hardware::neutral_stack()).time;
  }
  if (const auto attention = cost::attention_of(kernel)) {
    return cost::library_attention_time(*attention, gpu.attention, gpu);
  }
  const Bytes moved = kernels::work_of(kernel).moved();
  if (kernel.operation == Operation::host_to_device ||
      kernel.operation == Operation::device_to_host) {
    return moved / gpu.host_bandwidth.value();
  }
  return moved / cost::memory_rate(gpu, hardware::neutral_stack()) + gpu.launch_latency.value();
}

}  // namespace

std::optional<cost::KernelPrediction> predict_case(const KernelCase& kernel,
                                                   const hardware::GpuProfile& gpu) {
  const bool skewed = is_skewed(kernel);
  if (!gpu.kernels) {
    return skewed ? std::nullopt
                  : std::optional(cost::KernelPrediction{law_time(kernel, gpu), cost::Reach::law});
  }
  if (const auto gemm = cost::gemm_of(kernel); gemm && !skewed) {
    return cost::predict_gemm(*gemm, gpu);
  }
  if (const auto attention = cost::attention_of(kernel)) {
    return cost::predict_attention(*attention, gpu,
                                   cost::library_attention_time(*attention, gpu.attention, gpu));
  }
  const hardware::KernelSeries* series =
      gpu.kernels->find(kernel.operation, kernel.role, kernel.precision);
  if (series == nullptr) {
    return std::nullopt;
  }
  const kernels::Work work = kernels::work_of(kernel);
  const auto gemm = cost::gemm_of(kernel);
  const Bytes moved = gemm ? cost::gemm_bytes(*gemm) : work.moved();
  const Flop flop = gemm ? cost::effective_work(*gemm, gpu) : work.flop;
  return cost::predict_kernel(*series, kernel, moved, cost::line_time(series->line, flop, moved),
                              gpu.launch_latency.value());
}

Seconds roofline_time(const KernelCase& kernel, const hardware::GpuProfile& gpu) {
  const kernels::Work work = kernels::work_of(kernel);
  return std::max(work.flop / rate_of(kernel.precision, gpu).peak.value(),
                  work.moved() / gpu.hbm_bandwidth.value());
}

Seconds burst_time(const KernelCase& kernel, const hardware::GpuProfile& gpu) {
  const kernels::Work work = kernels::work_of(kernel);
  if (in_flop(work.flop) == 0.0) {
    return work.moved() / cost::memory_rate(gpu, hardware::neutral_stack());
  }
  const hardware::GemmRate& rate = rate_of(kernel.precision, gpu);
  return work.flop / (rate.burst ? rate.burst->value() : rate.sustained.value());
}

Seconds fixed_mfu_time(Flop work, Precision precision, const hardware::GpuProfile& gpu) {
  return work / (kFixedMfu * rate_of(precision, gpu).peak.value());
}

namespace {

// One fused kernel per pass: a logit is read, then read and its gradient written, in 16 bits.
constexpr double kLossBytes = 6.0;
// Per parameter: AdamW 30; the norm of the gradients reads 4; clearing them writes 4.
constexpr double kOptimizerBytes = 38.0;

// One expert has `largest` rows, the others share the rest evenly.
double load_spread(const StepShape& shape) {
  const ExpertShape& experts = shape.experts.value();
  if (experts.largest == 0 || experts.experts < 2) {
    return 0.0;
  }
  const auto count = static_cast<double>(experts.experts);
  const double busiest =
      static_cast<double>(experts.largest) / static_cast<double>(shape.rows_per_expert());
  const double other = (count - busiest) / (count - 1.0);
  const double variance =
      ((busiest - 1.0) * (busiest - 1.0) + (count - 1.0) * (other - 1.0) * (other - 1.0)) / count;
  return std::sqrt(variance);
}

scenario::Scenario scenario_of(const StepShape& shape) {
  scenario::Scenario scenario;
  scenario.name = shape.name;
  scenario.model = model_of(shape);
  if (shape.experts) {
    scenario.model.moe->load_spread = load_spread(shape);
  }
  scenario.cluster.nodes = 1;
  scenario.cluster.gpus_per_node = 1;
  scenario.cluster.network.nvlink_domain = 1;
  scenario.batch = {.global = shape.sequences, .micro = shape.sequences};
  if (shape.precision != kernels::Precision::bf16) {
    scenario.step.precision.compute = model::Dtype::fp8;
    scenario.step.precision.fp8_scaling = model::Fp8Scaling::delayed;
  }
  return scenario;
}

Coefficient<Bytes> of_this_step(double count) {
  return {bytes(count), {SourceKind::given, "the kernels of the validation step"}};
}

// The step's own way of doing what stacks do differently.
hardware::SoftwareProfile own_stack() {
  hardware::SoftwareProfile stack = hardware::neutral_stack();
  stack.loss_bytes_per_logit = of_this_step(kLossBytes);
  stack.optimizer_traffic = of_this_step(kOptimizerBytes);
  return stack;
}

}  // namespace

std::optional<Seconds> simulated_time(const StepShape& shape, const hardware::GpuProfile& gpu) {
  const scenario::Scenario scenario = scenario_of(shape);
  Diagnostics diagnostics;
  const auto resolved = evaluate::resolve(scenario, gpu, own_stack(), diagnostics);
  if (!resolved) {
    return std::nullopt;
  }
  step::StepSimulator simulator;
  const auto result = simulator.simulate(evaluate::step_input(scenario, *resolved), resolved->costs,
                                         {.timeline = false});
  const auto* step = std::get_if<step::StepResult>(&result);
  return step == nullptr ? std::nullopt : std::optional(to_seconds(step->step_time));
}

namespace {

double relative(Seconds value, Seconds base) { return value / base - 1.0; }

std::optional<double> relative(const std::optional<Seconds>& value, Seconds base) {
  return value ? std::optional(relative(*value, base)) : std::nullopt;
}

// Kernels that were measured alone, and the profile that they are compared with.
struct Known {
  std::map<KernelCase, const RecordedKernel*> measured;
  const hardware::GpuProfile& gpu;
  std::optional<double> clock = {};  // of the profile's products
};

ComparedKernel compare_kernel(const KernelCase& kernel, const Known& known) {
  ComparedKernel compared{.name = {},
                          .kernel = kernel,
                          .calls = 1,
                          .predicted = predict_case(kernel, known.gpu),
                          .stated_clock = known.clock};
  const auto found = known.measured.find(kernel);
  if (found != known.measured.end() && found->second->status.empty()) {
    compared.measured = microseconds(found->second->us);
    compared.clock = found->second->sm_clock;
  }
  return compared;
}

// Kernels of a step, each once, in the order of their first calls.
std::vector<ComparedKernel> kernels_of(const StepProgram& program, const Known& known) {
  std::vector<ComparedKernel> compared;
  std::map<KernelCase, std::size_t> places;
  for (const StepOperation& operation : program.operations) {
    const auto [place, is_new] = places.emplace(operation.kernel, compared.size());
    if (is_new) {
      compared.push_back(compare_kernel(operation.kernel, known));
      compared.back().name = operation.name;
    } else {
      ++compared[place->second].calls;
    }
  }
  return compared;
}

Seconds& account_of(Ledger& ledger, Operation operation) {
  switch (operation) {
    case Operation::gemm:
    case Operation::grouped_gemm:
      return ledger.products;
    case Operation::attention:
      return ledger.attention;
    case Operation::adamw:
    case Operation::gradient_norm:
      return ledger.optimizer;
    default:
      return ledger.memory;
  }
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
    sum += calls * one.measured_at(step.measured.sm_clock).value_or(Seconds{});
    if (one.predicted) {
      const Seconds time = calls * one.predicted->time;
      predicted += time;
      account_of(step.ledger, one.kernel.operation) += time;
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

ComparedStep compare_step(const RecordedStep& measured, const Known& known) {
  const hardware::GpuProfile& gpu = known.gpu;
  const StepProgram program = make_step_program(measured.shape);
  ComparedStep step{.measured = measured, .kernels = kernels_of(program, known)};
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

std::optional<Seconds> slope(const std::optional<Seconds>& many, const std::optional<Seconds>& few,
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

ComparedTorch compare_torch(const TorchStep& measured, const std::vector<ComparedStep>& steps,
                            const hardware::GpuProfile& gpu) {
  const ComparedStep same = compare_step({.shape = measured.shape}, {.measured = {}, .gpu = gpu});
  ComparedTorch compared{.measured = measured, .predicted = same.predicted, .ledger = same.ledger};
  for (const ComparedStep& step : steps) {
    if (to_text(step.measured.shape) == to_text(measured.shape)) {
      compared.own = step.time();
    }
  }
  return compared;
}

}  // namespace

std::optional<Seconds> ComparedKernel::measured_at(std::optional<double> mhz) const {
  return measured ? std::optional(hardware::at_step_clock(kernel.operation, *measured, clock, mhz))
                  : std::nullopt;
}

std::optional<double> ComparedKernel::error() const {
  const std::optional<Seconds> there = measured_at(stated_clock);
  return there && predicted ? std::optional(relative(predicted->time, *there)) : std::nullopt;
}

std::optional<double> ComparedTorch::error() const {
  return relative(predicted, microseconds(measured.median_us));
}

std::optional<double> ComparedTorchKernel::error() const {
  const double moved = in_bytes(kernels::work_of(measured.kernel).moved());
  const double same = measured.bytes ? moved / *measured.bytes : 1.0;
  return relative(own, microseconds(measured.us * same));
}

std::optional<double> ComparedStep::composition() const { return relative(sum, time()); }

std::optional<double> ComparedStep::prediction() const { return relative(predicted, time()); }

std::optional<double> ComparedStep::simulation() const { return relative(simulated, time()); }

kernels::KernelCase transfer_case() {
  constexpr std::int64_t kBytes = std::int64_t{3} << 29;  // 1.5 GiB
  return {.operation = Operation::device_to_host, .extents = {kBytes}};
}

std::vector<double> repeat_errors(const hardware::CalibrationProfile& first,
                                  const hardware::CalibrationProfile& second) {
  std::map<KernelCase, Seconds> before;
  for (const hardware::CalibrationSample& sample : first.samples) {
    if (!sample.burst) {
      before[sample.call] = sample.median;
    }
  }
  std::vector<double> errors;
  for (const hardware::CalibrationSample& sample : second.samples) {
    const auto at = sample.burst ? before.end() : before.find(sample.call);
    if (at != before.end()) {
      errors.push_back(std::abs(relative(sample.median, at->second)));
    }
  }
  return errors;
}

std::vector<double> first_choice_losses(const hardware::CalibrationProfile& profile) {
  std::vector<double> losses;
  for (const hardware::CalibrationSample& sample : profile.samples) {
    if (sample.first_over_best && !sample.burst) {
      losses.push_back(std::max(*sample.first_over_best - 1.0, 0.0));
    }
  }
  return losses;
}

StepValidation compare_steps(const ValidationRecord& record, const hardware::GpuProfile& gpu,
                             const Companions& beside) {
  Known known{.measured = {}, .gpu = gpu, .clock = beside.step_clock};
  for (const RecordedKernel& entry : record.kernels) {
    known.measured[entry.kernel] = &entry;
  }
  StepValidation validation{.record = record,
                            .profile = gpu.calibration ? gpu.calibration->id : std::string(),
                            .laws = gpu.calibration ? std::string() : gpu.name};
  for (const RecordedStep& step : record.steps) {
    if (step.status.empty()) {
      validation.steps.push_back(compare_step(step, known));
    }
  }
  validation.layers = layers_of(validation.steps);
  if (known.measured.contains(transfer_case())) {
    validation.transfer = compare_kernel(transfer_case(), known);
    validation.transfer->name = "device_to_host";
  }
  for (const TorchStep& step : beside.steps) {
    validation.torch.push_back(compare_torch(step, validation.steps, gpu));
  }
  for (const TorchKernel& kernel : beside.kernels) {
    validation.torch_kernels.push_back(
        {.measured = kernel, .own = compare_kernel(kernel.kernel, known).measured});
  }
  validation.beside = beside;
  validation.gates = gates_of(validation, gpu);
  return validation;
}

bool passed(const StepValidation& validation) {
  return std::ranges::none_of(validation.gates, [](const Gate& gate) { return gate.failed(); });
}

}  // namespace orrery::calibrate
