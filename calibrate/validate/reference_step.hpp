#pragma once

// Executes a step program in double precision on the host, through kernels/reference and without
// rounding between operations.
//
//   loss = mean over tokens of the cross entropy
//
// Casts to 8 bits pass values on (and their transposed copy): an FP8 program has the gradients of
// the bf16 one, so that its data flow can be proved without a GPU; what rounding costs is a
// question for the device. Gradients of the loss are exact to about 1e-12, and central differences
// of the loss are their test.

#include <cstdint>
#include <span>
#include <vector>

#include "calibrate/validate/step_program.hpp"
#include "kernels/reference/operations.hpp"

namespace orrery::calibrate {

inline constexpr double kNormEpsilon = 1e-5;

class ReferenceStep {
 public:
  // `program` must outlive it. Parameters start rounded to bf16.
  ReferenceStep(const StepProgram& program, const StepInputs& inputs, std::uint64_t seed);

  // Values of a buffer; integers as doubles.
  [[nodiscard]] std::span<double> values(int buffer);

  void run();
  void run_forward();

  // Of the latest run.
  [[nodiscard]] double loss();

  kernels::reference::AdamwSettings settings;

 private:
  void run(const StepOperation& operation);

  const StepProgram& program_;
  std::vector<std::vector<double>> memory_;  // by buffer, views are empty
};

// The operations by family; `reads` and `writes` as step_program.hpp lists them.
using Values = std::span<double>;

struct Operands {
  const StepShape& shape;
  const kernels::KernelCase& kernel;
  std::vector<Values> reads;
  std::vector<Values> writes;
};

void reference_product(const Operands& operands);
void reference_grouped_product(const Operands& operands);
void reference_attention(const Operands& operands);
void reference_rotary(const Operands& operands);
void reference_norm(const Operands& operands);
void reference_swiglu(const Operands& operands);
void reference_permute(const Operands& operands);
void reference_unpermute(const Operands& operands);
void reference_embedding(const Operands& operands);
void reference_cross_entropy(const Operands& operands);
void reference_cast(const Operands& operands);

}  // namespace orrery::calibrate
