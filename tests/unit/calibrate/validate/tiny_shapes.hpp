#pragma once

// Steps that a test computes in an instant.

#include <string>
#include <vector>

#include "calibrate/validate/step_program.hpp"

namespace orrery::calibrate::test {

inline StepShape tiny_shape() {
  StepShape shape;
  shape.name = "tiny";
  shape.sequences = 2;
  shape.sequence_length = 6;
  shape.hidden = 16;
  shape.ffn = 20;
  shape.heads = 4;
  shape.groups = 2;
  shape.head_dim = 4;
  shape.layers = 2;
  shape.vocabulary = 24;
  return shape;
}

inline StepShape tiny_mixture() {
  StepShape shape = tiny_shape();
  shape.name = "tiny-mixture";
  shape.experts = ExpertShape{.experts = 4, .copies = 2, .largest = 9};
  return shape;
}

inline StepShape in_fp8(StepShape shape) {
  shape.name += "-fp8";
  shape.precision = kernels::Precision::fp8_tensor;
  return shape;
}

inline std::vector<StepShape> tiny_shapes() {
  return {tiny_shape(), tiny_mixture(), in_fp8(tiny_shape()), in_fp8(tiny_mixture())};
}

}  // namespace orrery::calibrate::test
