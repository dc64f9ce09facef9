#pragma once

// Builds a step program: buffers, parameters and calls, one after another. Used inside validate/
// only.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/validate/step_program.hpp"

namespace orrery::calibrate {

// A linear layer of the model: weights [outputs, inputs]; grouped: of every expert.
struct Linear {
  std::string name;
  int weight = -1;  // index into StepProgram::parameters
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  bool grouped = false;
  bool narrow = false;        // multiplies in 8 bits
  int codes_transposed = -1;  // of its input, kept for the weight gradient
  int weight_codes = -1;      // of its weights
  int weight_transposed = -1;
};

class StepBuilder {
 public:
  explicit StepBuilder(const StepShape& shape);

  [[nodiscard]] const StepShape& shape() const { return program_.shape; }

  [[nodiscard]] StepProgram take();

  // A buffer of this layer, or of the whole step outside of layers.
  int own(std::string_view name, std::int64_t count, BufferType type = BufferType::bf16,
          BufferKind kind = BufferKind::activation);
  // One for all layers.
  int shared(std::string_view name, std::int64_t count, BufferType type = BufferType::bf16);

  int parameter(std::string_view name, std::int64_t rows, std::int64_t columns);

  [[nodiscard]] const Parameter& parameter(int index) const {
    return program_.parameters[static_cast<std::size_t>(index)];
  }

  // Lays the parameters out in their arrays; before the first call.
  void finish_parameters();

  void call(std::string name, kernels::KernelCase kernel, std::vector<int> reads,
            std::vector<int> writes);

  // Linear layers: Y, dX and the accumulated weight gradient, with the casts of FP8.
  int product_forward(Linear& linear, int input, int output);
  // `input` is what product_forward read; writes dX to `input_gradient`.
  void product_backward(const Linear& linear, int input, int gradient, int input_gradient);

  int norm_forward(std::string_view name, int parameter, int input, int output);
  void norm_backward(std::string_view name, int parameter, int input, int scale, int gradient,
                     int input_gradient);
  void add(std::string_view name, int a, int b, int y);

  StepProgram& program() { return program_; }

  Phase phase = Phase::forward;
  std::int64_t layer = -1;

 private:
  struct Codes {
    int plain = -1;
    int transposed = -1;
  };

  Codes cast(std::string name, int input, std::int64_t rows, std::int64_t columns,
             kernels::Role role, Codes codes);
  [[nodiscard]] kernels::KernelCase product_case(const Linear& linear, kernels::Role role) const;
  [[nodiscard]] std::int64_t rows_of(const Linear& linear) const;

  StepProgram program_;
  std::map<std::string, int> shared_;
};

}  // namespace orrery::calibrate
