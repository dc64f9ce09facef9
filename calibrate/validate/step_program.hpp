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
// sim/model. Two cases stand for what has none of its own: the pass that rotates queries and
// keys and splits off the values is a rotary of heads + 2 groups heads (it moves the same bytes);
// clearing B bytes is a copy of B / 2. The norm is not applied as a clip, so that no step waits for
// the host.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/validate/step_shape.hpp"
#include "sim/kernels/kernel_case.hpp"

namespace orrery::calibrate {

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

  [[nodiscard]] std::int64_t axis(std::size_t index) const {
    return kernel.extents[index];
  }

  [[nodiscard]] bool is_backward() const {
    return kernel.role == kernels::Role::backward;
  }
};

struct Parameter {
  std::string name;
  std::int64_t layer = -1;
  std::int64_t rows = 1;
  std::int64_t columns = 0;
  int narrow = -1;    // buffers
  int gradient = -1;  // of the same count

  [[nodiscard]] std::int64_t count() const {
    return rows * columns;
  }

  // A weight of products starts random, that of a norm at 1.
  [[nodiscard]] bool is_norm() const {
    return rows == 1;
  }
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

}  // namespace orrery::calibrate
