#pragma once

// Initial state of a validation step: tokens, targets, routing and parameters from a seed, the same
// on the host and on a GPU.
//
//   parameter i    = deviation normal(seed + parameter, i), rounded to bf16; 1 of a norm
//   deviation      = 1 / sqrt(inputs) of a product's weights, so that results are of order 1; 1 of
//                    the embedding
//   master = parameter (on a GPU before it was rounded), moments = 0
//
// symbol  | meaning                                                       | unit | origin
// --------|---------------------------------------------------------------|------|------------
// angles  | [positions, 2, dim / 2]: cosines, then sines                  | -    | elementwise
// places  | [tokens, copies]: row of each copy in the order of experts    | -    | dealt
// weights | [tokens, copies]: share of each copy, between 0.5 and 1.5     | 1    | random
//         | over the number of copies                                     |      |
//
// Experts are dealt so that each gets exactly the rows of group_rows() and no token goes to one
// twice: every token goes to the experts that lack the most rows.

#include <cstdint>
#include <vector>

#include "calibrate/validate/step_program.hpp"

namespace orrery::calibrate {

struct StepInputs {
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> targets;
  std::vector<float> angles;
  std::vector<std::int32_t> places;
  std::vector<float> weights;
};

[[nodiscard]] StepInputs step_inputs(const StepShape& shape, std::uint64_t seed);

// Before it is rounded to bf16; of a parameter that is no norm.
struct ParameterStart {
  std::uint64_t seed = 0;
  float deviation = 1.0F;
};

[[nodiscard]] ParameterStart start_of(const StepProgram& program,
                                      std::size_t parameter,
                                      std::uint64_t seed);

// Expert of every copy, [token][copy].
[[nodiscard]] std::vector<std::int32_t> deal_experts(const StepShape& shape);

}  // namespace orrery::calibrate
