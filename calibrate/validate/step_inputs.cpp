#include "calibrate/validate/step_inputs.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/device/random.hpp"
#include "kernels/reference/elementwise.hpp"
#include "kernels/reference/routing.hpp"

namespace orrery::calibrate {

namespace {

constexpr double kRotaryBase = 10000.0;

enum class Stream : std::uint64_t { ids = 1, targets = 2, weights = 3, parameters = 16 };

std::uint64_t seed_of(std::uint64_t seed, Stream stream, std::uint64_t index = 0) {
  constexpr std::uint64_t kStreams = 4096;  // more than parameters of a step
  return seed * kStreams + static_cast<std::uint64_t>(stream) + index;
}

std::vector<std::int64_t> random_tokens(const StepShape& shape, std::uint64_t seed) {
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(shape.tokens()));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = kernels::integer_at(seed, i, static_cast<std::uint32_t>(shape.vocabulary));
  }
  return tokens;
}

std::vector<float> rotary_table(const StepShape& shape) {
  const auto half = static_cast<std::size_t>(shape.head_dim) / 2;
  std::vector<float> angles;
  for (std::int64_t position = 0; position < shape.sequence_length; ++position) {
    const auto angle = [&](std::size_t pair) {
      return kernels::reference::rotary_angle(static_cast<double>(position),
                                              pair,
                                              static_cast<std::size_t>(shape.head_dim),
                                              kRotaryBase);
    };
    for (std::size_t pair = 0; pair < half; ++pair) {
      angles.push_back(static_cast<float>(std::cos(angle(pair))));
    }
    for (std::size_t pair = 0; pair < half; ++pair) {
      angles.push_back(static_cast<float>(std::sin(angle(pair))));
    }
  }
  return angles;
}

// Rows of every expert, as the grouped products of the step count them.
std::vector<std::int64_t> rows_of_experts(const StepShape& shape) {
  const std::int64_t rows = shape.rows_per_expert();
  const std::int64_t largest = shape.experts->largest > 0 ? shape.experts->largest : rows;
  return kernels::group_rows({.operation = kernels::Operation::grouped_gemm,
                              .role = kernels::Role::fprop,
                              .extents = {shape.experts->experts, rows, 1, 1, largest}});
}

}  // namespace

std::vector<std::int32_t> deal_experts(const StepShape& shape) {
  std::vector<std::int64_t> lacking = rows_of_experts(shape);
  std::vector<std::int32_t> order(lacking.size());
  std::iota(order.begin(), order.end(), 0);
  const auto copies = static_cast<std::ptrdiff_t>(shape.experts->copies);
  std::vector<std::int32_t> dealt;
  for (std::int64_t token = 0; token < shape.tokens(); ++token) {
    std::partial_sort(order.begin(),
                      order.begin() + copies,
                      order.end(),
                      [&lacking](std::int32_t a, std::int32_t b) {
                        const std::int64_t rows_a = lacking[static_cast<std::size_t>(a)];
                        const std::int64_t rows_b = lacking[static_cast<std::size_t>(b)];
                        return rows_a != rows_b ? rows_a > rows_b : a < b;
                      });
    for (auto expert = order.begin(); expert != order.begin() + copies; ++expert) {
      dealt.push_back(*expert);
      --lacking[static_cast<std::size_t>(*expert)];
    }
  }
  return dealt;
}

StepInputs step_inputs(const StepShape& shape, std::uint64_t seed) {
  StepInputs inputs{.ids = random_tokens(shape, seed_of(seed, Stream::ids)),
                    .targets = random_tokens(shape, seed_of(seed, Stream::targets)),
                    .angles = rotary_table(shape),
                    .places = {},
                    .weights = {}};
  if (shape.experts) {
    inputs.places = kernels::reference::places_by_expert(deal_experts(shape));
    const float share = 1.0F / static_cast<float>(shape.experts->copies);
    for (std::size_t i = 0; i < inputs.places.size(); ++i) {
      const float random = kernels::uniform_at(seed_of(seed, Stream::weights), i);
      inputs.weights.push_back(share * (0.5F + random));
    }
  }
  return inputs;
}

ParameterStart start_of(const StepProgram& program, std::size_t parameter, std::uint64_t seed) {
  const Parameter& weights = program.parameters[parameter];
  const bool table = weights.narrow == program.parameters.front().narrow;
  const double deviation = table ? 1.0 : 1.0 / std::sqrt(static_cast<double>(weights.columns));
  return {.seed = seed_of(seed, Stream::parameters, parameter),
          .deviation = static_cast<float>(deviation)};
}

}  // namespace orrery::calibrate
