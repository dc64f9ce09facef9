#include <cuda_runtime_api.h>
#include <fmt/core.h>

#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "calibrate/sweep/timing_protocol.hpp"
#include "calibrate/validate/device_step.hpp"
#include "calibrate/validate/reference_step.hpp"
#include "kernels/device/device_info.hpp"
#include "kernels/device/occupier.hpp"
#include "sim/base/error.hpp"

namespace orrery::calibrate {

namespace {

constexpr std::uint64_t kSeed = 2026;
constexpr float kCheckedRate = 1e-4F;
constexpr float kTimedRate = 1e-7F;  // hundreds of steps leave the data, and the power, as they are
constexpr double kWideError = 0.05;
constexpr double kNarrowError = 0.30;

// Seconds that the device takes for what `enqueue` puts on the stream; `during` runs on the host.
template <typename Enqueue, typename During>
double seconds_of(kernels::Stream stream, const Enqueue& enqueue, const During& during) {
  const kernels::Event from;
  const kernels::Event to;
  from.record(stream);
  enqueue();
  to.record(stream);
  during();
  return kernels::seconds_between(from, to);
}

double distance(std::span<const float> found, std::span<const double> reference) {
  double difference = 0.0;
  double size = 0.0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double off = static_cast<double>(found[i]) - reference[i];
    difference += off * off;
    size += reference[i] * reference[i];
  }
  const double error = std::sqrt(difference / size);
  return std::isnan(error) ? HUGE_VAL : error;
}

// A library may run a call but refuse to have it captured (grouped products): then there is no such
// step to time.
kernels::Graph captured(const DeviceStep& step, const kernels::ClockProbe& clock,
                        kernels::Stream stream) {
  try {
    return {stream, [&](kernels::Stream capturing) { step.enqueue(capturing, &clock); }};
  } catch (const Error& error) {
    static_cast<void>(cudaGetLastError());
    throw kernels::Unsupported(fmt::format("the step cannot be replayed: {}", error.what()),
                               "not captured");
  }
}

}  // namespace

DeviceStepBench::DeviceStepBench(int device)
    : bench_(device), nvml_(kernels::find_device(device).pci) {}

StepTiming DeviceStepBench::time_step(const StepProgram& program, const StepTimingRules& rules) {
  const kernels::Stream stream = stream_.get();
  const DeviceStep step(program, step_inputs(program.shape, kSeed), kSeed, kTimedRate, stream);
  StepTiming timing;
  std::vector<double> launched;
  // Also the first launch of every kernel, which loads it: not counted.
  for (int i = 0; i <= rules.launched; ++i) {
    const double time = seconds_of(
        stream, [&] { step.enqueue(stream); }, [] {});
    if (i > 0) {
      launched.push_back(time / kMicro);
    }
  }
  if (!launched.empty()) {
    timing.launched = summarise(launched);
  }
  const kernels::ClockProbe clock;
  const kernels::Graph graph = captured(step, clock, stream);
  timing.nodes = static_cast<std::int64_t>(graph.nodes());
  const auto replay = [&](const auto& during) {
    return seconds(seconds_of(
        stream, [&] { graph.launch(stream); }, during));
  };
  Seconds spent;
  while (spent < rules.warm_up) {
    spent += replay([] {});
  }
  DeviceReadings readings;
  std::vector<double> times;
  std::vector<double> clocks;
  spent = Seconds{};
  while (spent < rules.loop || times.size() < static_cast<std::size_t>(rules.fewest)) {
    const Seconds time = replay([&] { readings.take(nvml_.read()); });
    times.push_back(in_microseconds(time));
    spent += time;
    if (const std::optional<double> megahertz = clock.megahertz()) {
      clocks.push_back(*megahertz);
    }
  }
  timing.step = summarise(times);
  timing.state = readings.state();
  // NVML is asked when a step begins, at the clock of the optimizer before it.
  if (!clocks.empty()) {
    timing.state.sm_clock = summarise(clocks).median;
  }
  return timing;
}

StepCheck DeviceStepBench::check_step(const StepProgram& program) {
  const kernels::Stream stream = stream_.get();
  const StepInputs inputs = step_inputs(program.shape, kSeed);
  ReferenceStep reference(program, inputs, kSeed);
  reference.run();
  const DeviceStep step(program, inputs, kSeed, kCheckedRate, stream);
  step.enqueue(stream);
  stream_.synchronize();

  StepCheck check;
  const std::vector<float> losses = step.read(program.loss, stream);
  check.loss =
      std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size());
  check.reference_loss = reference.loss();
  for (const Parameter& parameter : program.parameters) {
    const double error =
        distance(step.read(parameter.gradient, stream), reference.values(parameter.gradient));
    if (error >= check.worst) {
      check.worst = error;
      check.where = parameter.layer < 0
                        ? parameter.name
                        : fmt::format("{} of layer {}", parameter.name, parameter.layer);
    }
  }
  const bool wide = program.shape.precision == kernels::Precision::bf16;
  const double limit = wide ? kWideError : kNarrowError;
  constexpr double kOfLoss = 0.2;
  check.passed =
      check.worst <= limit && std::abs(check.loss / check.reference_loss - 1.0) <= kOfLoss * limit;
  return check;
}

}  // namespace orrery::calibrate
