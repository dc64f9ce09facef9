#pragma once

// The kernels of a training step and the buffers between them: a pre-norm decoder with RMSNorm,
// rotary embedding, causal grouped-query attention, SwiGLU and AdamW as a list of calls on numbered
// buffers. The host executes it in double precision, a GPU with its kernels.
//
//   layer   x1 = x + O attention(rotary(QKV norm(x)))      x2 = x1 + down(swiglu(up norm(x1)))
//   loss    mean over tokens of cross entropy(head norm(x)) of the given targets
//   update  gradients start at 0; norm of all; AdamW on all, without clipping
//
// operation         | reads                             | writes
// ------------------|-----------------------------------|------------------
// copy              | -                                 | gradients, set to 0
// embedding         | table, ids                        | y
//   backward        | dy, ids, dtable                   | dtable
// rms_norm          | x, w                              | y, scale
//   backward        | x, w, dy, scale                   | dx, dw
// gemm fprop        | X, W                              | Y = X W^T
//   dgrad           | dY, W                             | dX = dY W
//   wgrad_accumulate| dY, X, dW                         | dW = dW + dY^T X
// grouped_gemm      | as gemm, rows in the order of the experts
// rotary            | qkv, angles                       | q, k, v
//   backward        | dq, dk, dv, angles                | dqkv
// attention         | q, k, v                           | o, log_sum
//   backward        | q, k, v, o, log_sum, do           | dq, dk, dv
// residual_add      | a, b                              | y
// swiglu            | gate_up                           | y
//   backward        | gate_up, dy                       | dgate_up
// permute           | x, places                         | y
//   backward        | dy, places                        | dx
// unpermute         | y, places, weights                | x
//   backward        | dx, y, places, weights            | dy, dweights
// cross_entropy     | logits, targets                   | loss, log_sum
//   backward        | logits, targets, log_sum          | dlogits
// quantize_transpose| x                                 | codes, transposed codes
// gradient_norm     | gradients                         | norm
// adamw             | gradients, master, m, v           | master, m, v, narrow
//
// symbol   | meaning                                                       | unit | origin
// ---------|---------------------------------------------------------------|------|--------
// narrow   | the parameters that are multiplied; each a view into one      | -    | state
//          | array, as are their fp32 gradients                            |      |
// shared   | a buffer that every layer uses again; others are of one layer | -    | builder
//
// FP8 per tensor: inputs, weights and output gradients of the linear layers of a layer are cast
// with a transposed copy: fprop and dgrad read the codes of tokens and gradients, wgrad the
// transposed ones, dgrad the transposed weights. Logits and attention stay in bf16, as in
// sim/step/model. Two cases stand for what has none of its own: the pass that rotates queries and
// keys and splits off the values is a rotary of heads + 2 groups heads (it moves the same bytes);
// clearing B bytes is a copy of B / 2. The norm is not applied as a clip, so that no step waits for
// the host.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/step/kernels/kernel_case.hpp"
#include "sim/step/model/model_spec.hpp"

namespace orrery::calibrate {

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

  [[nodiscard]] std::int64_t tokens() const { return sequences * sequence_length; }

  [[nodiscard]] std::int64_t query_width() const { return heads * head_dim; }

  [[nodiscard]] std::int64_t key_width() const { return groups * head_dim; }

  [[nodiscard]] std::int64_t qkv_width() const { return query_width() + 2 * key_width(); }

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

enum class BufferType { fp32, bf16, e4m3, e5m2, int32, int64 };

enum class BufferKind {
  input,      // ids, targets, angles, routing: given
  parameter,  // multiplied: given, and written by the update
  state,      // master and moments of the optimizer: given
  gradient,   // of parameters
  activation,
  result,  // for the caller: loss, norm, gradients of routing weights
};

struct Buffer {
  std::string name;
  BufferKind kind = BufferKind::activation;
  BufferType type = BufferType::bf16;
  std::int64_t count = 0;  // elements
  int whole = -1;          // a view: of which buffer
  std::int64_t first = 0;  // of the view, in elements of the whole
};

enum class Phase { forward, backward, update };

[[nodiscard]] std::string_view to_string(Phase phase);

struct StepOperation {
  std::string name;  // "qkv", "mlp_norm", ...
  Phase phase = Phase::forward;
  std::int64_t layer = -1;  // -1: outside of the layers
  kernels::KernelCase kernel;
  std::vector<int> reads;
  std::vector<int> writes;

  [[nodiscard]] std::int64_t axis(std::size_t index) const { return kernel.extents[index]; }

  [[nodiscard]] bool is_backward() const { return kernel.role == kernels::Role::backward; }
};

struct Parameter {
  std::string name;
  std::int64_t layer = -1;
  std::int64_t rows = 1;
  std::int64_t columns = 0;
  int narrow = -1;    // buffers
  int gradient = -1;  // of the same count

  [[nodiscard]] std::int64_t count() const { return rows * columns; }

  // A weight of products starts random, that of a norm at 1.
  [[nodiscard]] bool is_norm() const { return rows == 1; }
};

struct StepProgram {
  StepShape shape;
  std::vector<Buffer> buffers;
  std::vector<StepOperation> operations;
  std::vector<Parameter> parameters;
  int ids = -1;  // buffers that the caller fills or reads
  int targets = -1;
  int angles = -1;
  int places = -1;   // of a mixture
  int weights = -1;  // of a mixture
  int narrow = -1;   // the whole arrays of parameters
  int gradients = -1;
  int master = -1;
  int first_moment = -1;
  int second_moment = -1;
  int loss = -1;  // of each token
  int norm = -1;
};

// Parameters start at multiples of this many elements in their arrays.
inline constexpr std::int64_t kParameterAlignment = 64;

// The shape is sound.
[[nodiscard]] StepProgram make_step_program(const StepShape& shape);

// Every call of the step that stands for a training step where one is needed and none is given: the
// first held-out shape.
[[nodiscard]] std::vector<kernels::KernelCase> reference_calls();

[[nodiscard]] Flop flop_of(const StepProgram& program);

[[nodiscard]] std::int64_t element_bytes(BufferType type);

// Of all buffers that are no views.
[[nodiscard]] std::int64_t memory_bytes(const StepProgram& program);

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

[[nodiscard]] ParameterStart start_of(const StepProgram& program, std::size_t parameter,
                                      std::uint64_t seed);

// Expert of every copy, [token][copy].
[[nodiscard]] std::vector<std::int32_t> deal_experts(const StepShape& shape);

}  // namespace orrery::calibrate
