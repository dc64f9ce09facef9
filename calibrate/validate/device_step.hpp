#pragma once

// Runs a step program on a GPU: memory for its buffers, random parameters, and one launch for each
// call.
//
//   stored code = encode(value multiplier)      product = codes x codes / (multiplier multiplier)
//
// cast to 8 bits | multiplier                                      | largest that does not saturate
// ---------------|-------------------------------------------------|-------------------------------
// activations    | 8: they are of order 1                          | 56
// weights        | 8 sqrt(inputs): of order 1 / sqrt(inputs)       | 56 deviations
// gradients      | 16 tokens: the loss is a mean over tokens       | 3,500 / tokens
//
// Multipliers are those of a step before, as in delayed scaling: fixed from the start, since the
// update of a timed step is too small to move anything. Attention is the implementation that the
// single kernel is measured with. Everything is enqueued on one stream: no launch allocates or
// waits, so that a step can be captured.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "calibrate/measure/device_bench.hpp"
#include "calibrate/validate/step_program.hpp"
#include "calibrate/validate/validation_record.hpp"
#include "kernels/attention/attention_case.hpp"
#include "kernels/device/occupier.hpp"
#include "kernels/device/runtime.hpp"
#include "kernels/nvml/nvml.hpp"
#include "kernels/products/grouped_call.hpp"
#include "kernels/products/product_call.hpp"

namespace orrery::calibrate {

class DeviceStep {
 public:
  // `program` must outlive it. Throws Unsupported where the library or the GPU does not offer a
  // call or lacks the memory. `rate`: of the update.
  DeviceStep(const StepProgram& program, const StepInputs& inputs, std::uint64_t seed, float rate,
             kernels::Stream stream);

  // `clock`: begins with the step and ends before the optimizer, whose clock is another one.
  void enqueue(kernels::Stream stream, const kernels::ClockProbe* clock = nullptr) const;

  // Values of a buffer of fp32 or bf16. Waits for the stream.
  [[nodiscard]] std::vector<float> read(int buffer, kernels::Stream stream) const;

 private:
  [[nodiscard]] void* data(int buffer) const;

  template <typename T>
  [[nodiscard]] T* as(int buffer) const {
    return static_cast<T*>(data(buffer));
  }

  [[nodiscard]] kernels::DeviceBuffer& memory(int buffer);
  void allocate();
  void fill(const StepInputs& inputs, std::uint64_t seed, kernels::Stream stream);
  void prepare_scales(kernels::Stream stream);
  void add(const StepOperation& operation, float rate, kernels::Stream stream);
  void add_product(const StepOperation& operation, kernels::Stream stream);
  void add_grouped(const StepOperation& operation, kernels::Stream stream);
  void add_attention(const StepOperation& operation);
  void add_rotary(const StepOperation& operation);
  void add_norm(const StepOperation& operation);
  void add_elementwise(const StepOperation& operation);
  void add_loss(const StepOperation& operation);
  void add_routing(const StepOperation& operation);
  void add_cast(const StepOperation& operation);
  void add_optimizer(const StepOperation& operation, float rate);
  [[nodiscard]] void* scratch(std::int64_t bytes);

  template <typename Call>
  void push(void (*launch)(const Call&, kernels::Stream), const Call& call) {
    launches_.emplace_back([launch, call](kernels::Stream stream) { launch(call, stream); });
  }

  const StepProgram& program_;
  std::vector<std::unique_ptr<kernels::DeviceBuffer>> memory_;  // by buffer, views are null
  std::vector<std::unique_ptr<kernels::DeviceBuffer>> scratch_;
  std::unique_ptr<kernels::DeviceBuffer> workspace_;
  std::map<kernels::KernelCase, kernels::ProductCall> products_;
  kernels::GroupLanes lanes_;
  std::map<kernels::KernelCase, kernels::GroupedCall> grouped_;
  std::vector<std::unique_ptr<kernels::GroupedCall::Operands>> groups_;  // of each call
  std::map<kernels::KernelCase, std::unique_ptr<kernels::AttentionRunnable>> attention_;
  std::vector<float> multipliers_;  // of the casts, in the order of the program
  float* scales_ = nullptr;         // 1 / multiplier, on the device
  float* multipliers_on_device_ = nullptr;
  std::uint32_t* magnitudes_ = nullptr;
  std::map<int, std::size_t> cast_of_;  // of a buffer, as the program stands
  std::size_t casts_ = 0;
  std::vector<std::function<void(kernels::Stream)>> launches_;
};

// The bench of a real GPU for whole steps: captured as one graph, and launched call by call.
//
//   step = time between events around one replay of the graph; the median of those of the loop
//
// check_step() runs the first step of a small shape with the seed of the reference and compares the
// loss and the gradient of every parameter:
//
//   error = |g - reference| / |reference|, Euclidean norms over a parameter
//
// precision  | largest error | why
// -----------|---------------|------------------------------------------------------------------
// bf16       | 0.05          | 2^-9 per rounding, some tens of roundings in a row
// fp8_tensor | 0.30          | 2^-4 (E4M3) and 2^-3 (E5M2) per operand, averaged in the sums
//
// A wrong kernel, layout or operand makes an error of order 1. The loss agrees within a fifth of
// these, relative.

class DeviceStepBench : public StepBench {
 public:
  // Throws Error(device) with one clear sentence where there is no GPU.
  explicit DeviceStepBench(int device);

  [[nodiscard]] Bench& kernels() override { return bench_; }

  [[nodiscard]] StepTiming time_step(const StepProgram& program,
                                     const StepTimingRules& rules) override;
  [[nodiscard]] StepCheck check_step(const StepProgram& program) override;

 private:
  DeviceBench bench_;
  kernels::Nvml nvml_;
  kernels::OwnedStream stream_;
};

}  // namespace orrery::calibrate
