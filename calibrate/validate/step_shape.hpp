#pragma once

// Dimensions of the transformer whose training step is validated on one GPU.
//
// symbol          | meaning                                              | unit     | origin
// ----------------|------------------------------------------------------|----------|--------------
// sequences       | of one micro-batch                                   | 1        | chosen
// sequence_length | tokens of one sequence                               | tokens   | chosen
// hidden          | width of the residual stream                         | elements | chosen
// ffn             | inner width of the MLP, or of one expert             | elements | chosen
// heads, groups   | query heads, key and value heads                     | 1        | chosen
// vocabulary      | rows of the tables at both ends, which are not tied  | tokens   | chosen
// experts, copies | of a mixture: experts of a layer, and of one token   | 1        | chosen
// largest         | rows of the busiest expert; 0: all have the same     | rows     | chosen
//
// Text form, which reads back:
//
//   a hidden=5120 ffn=13824 heads=40 groups=40 dim=128 layers=2 vocabulary=32000 tokens=3072x2 bf16
//
// The routing of a mixture is given, not learned: the router (hidden x experts weights and one
// small product per pass) is not part of the step.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/kernels/kernel_case.hpp"
#include "sim/model/model_spec.hpp"

namespace orrery::calibrate {

struct ExpertShape {
  std::int64_t experts = 0;
  std::int64_t copies = 0;   // top-k
  std::int64_t largest = 0;  // rows of the busiest expert, 0: even
};

struct StepShape {
  std::string name;
  std::int64_t sequences = 1;
  std::int64_t sequence_length = 0;
  std::int64_t hidden = 0;
  std::int64_t ffn = 0;
  std::int64_t heads = 0;
  std::int64_t groups = 0;
  std::int64_t head_dim = 0;
  std::int64_t layers = 0;
  std::int64_t vocabulary = 0;
  kernels::Precision precision = kernels::Precision::bf16;  // of linear layers: bf16 or fp8_tensor
  std::optional<ExpertShape> experts = {};

  [[nodiscard]] std::int64_t tokens() const {
    return sequences * sequence_length;
  }

  [[nodiscard]] std::int64_t query_width() const {
    return heads * head_dim;
  }

  [[nodiscard]] std::int64_t key_width() const {
    return groups * head_dim;
  }

  [[nodiscard]] std::int64_t qkv_width() const {
    return query_width() + 2 * key_width();
  }

  // Rows of all experts of a layer.
  [[nodiscard]] std::int64_t expert_rows() const {
    return experts ? tokens() * experts->copies : 0;
  }

  // Of one expert on average.
  [[nodiscard]] std::int64_t rows_per_expert() const {
    return experts ? expert_rows() / experts->experts : 0;
  }
};

[[nodiscard]] std::string to_text(const StepShape& shape);

// The shape of a text form, or what is wrong with it in one sentence.
struct ReadShape {
  std::optional<StepShape> shape;
  std::string problem;
};

[[nodiscard]] ReadShape read_shape(std::string_view text);

// What is wrong with a shape, in one sentence: an extent that is not positive, heads that are no
// multiple of groups, an odd head dimension, copies that do not spread over the experts, another
// precision.
[[nodiscard]] std::optional<std::string> problem_of(const StepShape& shape);

// The same model in the words of the simulator.
[[nodiscard]] model::ModelSpec model_of(const StepShape& shape);

// Shapes whose layers have no width and no token count in common with the sweep's products: dense,
// grouped queries and a mixture, bf16 and FP8, each with two and with eight layers.
// Source: the 13B member of Llama 2 (arXiv 2307.09288) and widths between published models.
[[nodiscard]] std::vector<StepShape> held_out_shapes();

// One that a host computes in double precision in seconds; the device's kernels take it too.
[[nodiscard]] StepShape small_shape(kernels::Precision precision, bool mixture);

}  // namespace orrery::calibrate
