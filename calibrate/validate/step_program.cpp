#include "calibrate/validate/step_program.hpp"

#include <utility>

#include "sim/base/check.hpp"

namespace orrery::calibrate {

namespace {

using kernels::KernelCase;
using kernels::Operation;
using kernels::Precision;
using kernels::Role;

// What the backward of a layer reads again, and its parameters.
struct Layer {
  int attention_norm = -1;  // parameters
  int mlp_norm = -1;
  Linear qkv;
  Linear output;
  Linear up;
  Linear down;
  int input = -1;  // buffers from here on
  int attention_scale = -1;
  int attention_normed = -1;
  int q = -1;
  int k = -1;
  int v = -1;
  int o = -1;
  int log_sum = -1;
  int middle = -1;  // after the attention's residual
  int mlp_scale = -1;
  int mlp_normed = -1;
  int mlp_input = -1;  // of a mixture in the order of the experts
  int gate_up = -1;
  int inner = -1;  // result of SwiGLU
  int expert_output = -1;
};

struct Ends {
  int table = -1;  // parameters
  int final_norm = -1;
  Linear head;
  int normed = -1;  // buffers
  int scale = -1;
  int logits = -1;
  int log_sum = -1;
};

class Writer {
 public:
  explicit Writer(const StepShape& shape) : step_(shape), shape_(step_.shape()) {}

  StepProgram write();

 private:
  void add_inputs();
  void add_parameters();
  Linear linear(std::string name, std::int64_t outputs, std::int64_t inputs, bool grouped);
  int residual(std::string_view name);
  int kept(std::string_view name, std::int64_t count);
  int forward(Layer& layer, int input);
  void attention_forward(Layer& layer);
  int mlp_forward(Layer& layer);
  void loss_forward(int input);
  void loss_backward(int input);
  void backward(const Layer& layer);
  void mlp_backward(const Layer& layer, int gradient, int normed_gradient);
  void attention_backward(const Layer& layer, int gradient, int normed_gradient);
  void update();

  // That the products of the MLP have: of a mixture those of all experts.
  [[nodiscard]] std::int64_t mlp_rows() const {
    return shape_.experts ? shape_.expert_rows() : shape_.tokens();
  }

  [[nodiscard]] KernelCase attention_case(Role role) const;
  [[nodiscard]] KernelCase rotary_case(Role role) const;
  [[nodiscard]] KernelCase rows_case(Operation operation, Role role, std::int64_t rows) const;
  [[nodiscard]] KernelCase routed_case(Operation operation, Role role) const;

  StepBuilder step_;
  const StepShape& shape_;
  std::vector<Layer> layers_;
  Ends ends_;
  int dx_ = -1;  // gradient of the residual stream
};

KernelCase Writer::attention_case(Role role) const {
  return {.operation = Operation::attention,
          .role = role,
          .extents = {shape_.sequences, shape_.heads, shape_.groups, shape_.sequence_length,
                      shape_.sequence_length, shape_.head_dim, shape_.head_dim, 1}};
}

KernelCase Writer::rotary_case(Role role) const {
  return {.operation = Operation::rotary,
          .role = role,
          .extents = {shape_.tokens(), shape_.heads + 2 * shape_.groups, shape_.head_dim}};
}

KernelCase Writer::rows_case(Operation operation, Role role, std::int64_t rows) const {
  const bool loss = operation == Operation::cross_entropy;
  return {.operation = operation,
          .role = role,
          .extents = {rows, loss ? shape_.vocabulary : shape_.ffn}};
}

KernelCase Writer::routed_case(Operation operation, Role role) const {
  return {.operation = operation,
          .role = role,
          .extents = {shape_.tokens(), shape_.hidden, shape_.experts->copies}};
}

void Writer::add_inputs() {
  StepProgram& program = step_.program();
  const auto given = [this](std::string_view name, std::int64_t count, BufferType type) {
    return step_.own(name, count, type, BufferKind::input);
  };
  program.ids = given("ids", shape_.tokens(), BufferType::int64);
  program.targets = given("targets", shape_.tokens(), BufferType::int64);
  program.angles = given("angles", shape_.sequence_length * shape_.head_dim, BufferType::fp32);
  if (shape_.experts) {
    program.places = given("places", shape_.expert_rows(), BufferType::int32);
    program.weights = given("weights", shape_.expert_rows(), BufferType::fp32);
  }
}

Linear Writer::linear(std::string name, std::int64_t outputs, std::int64_t inputs, bool grouped) {
  const std::int64_t copies = grouped ? shape_.experts->experts : 1;
  const int weight = step_.parameter(name + ".weight", copies * outputs, inputs);
  return {.name = std::move(name),
          .weight = weight,
          .outputs = outputs,
          .inputs = inputs,
          .grouped = grouped,
          .narrow = shape_.precision != Precision::bf16};
}

void Writer::add_parameters() {
  ends_.table = step_.parameter("embedding", shape_.vocabulary, shape_.hidden);
  const bool mixture = shape_.experts.has_value();
  for (step_.layer = 0; step_.layer < shape_.layers; ++step_.layer) {
    Layer& layer = layers_.emplace_back();
    layer.attention_norm = step_.parameter("attention_norm", 1, shape_.hidden);
    layer.qkv = linear("qkv", shape_.qkv_width(), shape_.hidden, false);
    layer.output = linear("attention_output", shape_.hidden, shape_.query_width(), false);
    layer.mlp_norm = step_.parameter("mlp_norm", 1, shape_.hidden);
    layer.up = linear(mixture ? "expert_up" : "mlp_up", 2 * shape_.ffn, shape_.hidden, mixture);
    layer.down = linear(mixture ? "expert_down" : "mlp_down", shape_.hidden, shape_.ffn, mixture);
  }
  step_.layer = -1;
  ends_.final_norm = step_.parameter("final_norm", 1, shape_.hidden);
  ends_.head = linear("logits", shape_.vocabulary, shape_.hidden, false);
  ends_.head.narrow = false;
  step_.finish_parameters();
}

int Writer::residual(std::string_view name) {
  return step_.own(name, shape_.tokens() * shape_.hidden);
}

// The input of a linear layer: its weight gradient reads it again, or in FP8 its codes.
int Writer::kept(std::string_view name, std::int64_t count) {
  return shape_.precision == Precision::bf16 ? step_.own(name, count) : step_.shared(name, count);
}

void Writer::attention_forward(Layer& layer) {
  const std::int64_t tokens = shape_.tokens();
  const std::int64_t stream = tokens * shape_.hidden;
  layer.attention_normed = kept("attention_normed", stream);
  layer.attention_scale = step_.norm_forward("attention_norm", layer.attention_norm, layer.input,
                                             layer.attention_normed);
  const int qkv = step_.shared("qkv.output", tokens * shape_.qkv_width());
  step_.product_forward(layer.qkv, layer.attention_normed, qkv);
  layer.q = step_.own("q", tokens * shape_.query_width());
  layer.k = step_.own("k", tokens * shape_.key_width());
  layer.v = step_.own("v", tokens * shape_.key_width());
  step_.call("rotary", rotary_case(Role::forward), {qkv, step_.program().angles},
             {layer.q, layer.k, layer.v});
  layer.o = step_.own("o", tokens * shape_.query_width());
  layer.log_sum = step_.own("log_sum", tokens * shape_.heads, BufferType::fp32);
  step_.call("attention", attention_case(Role::forward), {layer.q, layer.k, layer.v},
             {layer.o, layer.log_sum});
  const int branch = step_.shared("branch", stream);
  step_.product_forward(layer.output, layer.o, branch);
  layer.middle = residual("middle");
  step_.add("attention_residual", layer.input, branch, layer.middle);
}

// The branch's result. The experts of a mixture read the tokens in their order.
int Writer::mlp_forward(Layer& layer) {
  const StepProgram& program = step_.program();
  const std::int64_t rows = mlp_rows();
  layer.mlp_input = layer.mlp_normed;
  if (shape_.experts) {
    layer.mlp_input = kept("permuted", rows * shape_.hidden);
    step_.call("permute", routed_case(Operation::permute, Role::forward),
               {layer.mlp_normed, program.places}, {layer.mlp_input});
  }
  layer.gate_up = step_.own("gate_up", rows * 2 * shape_.ffn);
  step_.product_forward(layer.up, layer.mlp_input, layer.gate_up);
  layer.inner = kept("inner", rows * shape_.ffn);
  step_.call("swiglu", rows_case(Operation::swiglu, Role::forward, rows), {layer.gate_up},
             {layer.inner});
  if (shape_.experts) {
    layer.expert_output = step_.own("expert_output", rows * shape_.hidden);
    step_.product_forward(layer.down, layer.inner, layer.expert_output);
  }
  const int branch = step_.shared("branch", shape_.tokens() * shape_.hidden);
  if (shape_.experts) {
    step_.call("unpermute", routed_case(Operation::unpermute, Role::forward),
               {layer.expert_output, program.places, program.weights}, {branch});
    return branch;
  }
  return step_.product_forward(layer.down, layer.inner, branch);
}

int Writer::forward(Layer& layer, int input) {
  layer.input = input;
  attention_forward(layer);
  const std::int64_t stream = shape_.tokens() * shape_.hidden;
  // The permutation reads it at once: a mixture need not keep it.
  layer.mlp_normed =
      shape_.experts ? step_.shared("mlp_normed", stream) : kept("mlp_normed", stream);
  layer.mlp_scale = step_.norm_forward("mlp_norm", layer.mlp_norm, layer.middle, layer.mlp_normed);
  const int branch = mlp_forward(layer);
  const int result = residual("result");
  step_.add("mlp_residual", layer.middle, branch, result);
  return result;
}

void Writer::loss_forward(int input) {
  StepProgram& program = step_.program();
  const std::int64_t tokens = shape_.tokens();
  ends_.normed = step_.own("final_normed", tokens * shape_.hidden);
  ends_.scale = step_.norm_forward("final_norm", ends_.final_norm, input, ends_.normed);
  ends_.logits = step_.own("logits.output", tokens * shape_.vocabulary);
  step_.product_forward(ends_.head, ends_.normed, ends_.logits);
  program.loss = step_.own("loss", tokens, BufferType::fp32, BufferKind::result);
  ends_.log_sum = step_.own("logits.log_sum", tokens, BufferType::fp32);
  step_.call("cross_entropy", rows_case(Operation::cross_entropy, Role::forward, tokens),
             {ends_.logits, program.targets}, {program.loss, ends_.log_sum});
}

void Writer::loss_backward(int input) {
  const std::int64_t tokens = shape_.tokens();
  const std::int64_t stream = tokens * shape_.hidden;
  const int dlogits = step_.own("logits.gradient", tokens * shape_.vocabulary);
  step_.call("cross_entropy_backward", rows_case(Operation::cross_entropy, Role::backward, tokens),
             {ends_.logits, step_.program().targets, ends_.log_sum}, {dlogits});
  const int dnormed = step_.shared("normed.gradient", stream);
  step_.product_backward(ends_.head, ends_.normed, dlogits, dnormed);
  dx_ = step_.shared("stream.gradient", stream);
  step_.norm_backward("final_norm", ends_.final_norm, input, ends_.scale, dnormed, dx_);
}

void Writer::mlp_backward(const Layer& layer, int gradient, int normed_gradient) {
  const StepProgram& program = step_.program();
  const std::int64_t rows = mlp_rows();
  if (shape_.experts) {
    const int doutput = step_.shared("expert_output.gradient", rows * shape_.hidden);
    const int dweights = step_.own("weights.gradient", rows, BufferType::fp32, BufferKind::result);
    step_.call("unpermute_backward", routed_case(Operation::unpermute, Role::backward),
               {gradient, layer.expert_output, program.places, program.weights},
               {doutput, dweights});
    gradient = doutput;
  }
  const int dinner = step_.shared("inner.gradient", rows * shape_.ffn);
  step_.product_backward(layer.down, layer.inner, gradient, dinner);
  const int dgate_up = step_.shared("gate_up.gradient", rows * 2 * shape_.ffn);
  step_.call("swiglu_backward", rows_case(Operation::swiglu, Role::backward, rows),
             {layer.gate_up, dinner}, {dgate_up});
  const int dinput =
      shape_.experts ? step_.shared("permuted.gradient", rows * shape_.hidden) : normed_gradient;
  step_.product_backward(layer.up, layer.mlp_input, dgate_up, dinput);
  if (shape_.experts) {
    step_.call("permute_backward", routed_case(Operation::permute, Role::backward),
               {dinput, program.places}, {normed_gradient});
  }
}

void Writer::attention_backward(const Layer& layer, int gradient, int normed_gradient) {
  const std::int64_t tokens = shape_.tokens();
  const auto like = [this, tokens](std::string_view name, std::int64_t width) {
    return step_.shared(name, tokens * width);
  };
  const int d_o = like("o.gradient", shape_.query_width());
  step_.product_backward(layer.output, layer.o, gradient, d_o);
  const int dq = like("q.gradient", shape_.query_width());
  const int dk = like("k.gradient", shape_.key_width());
  const int dv = like("v.gradient", shape_.key_width());
  step_.call("attention_backward", attention_case(Role::backward),
             {layer.q, layer.k, layer.v, layer.o, layer.log_sum, d_o}, {dq, dk, dv});
  const int dqkv = like("qkv.gradient", shape_.qkv_width());
  step_.call("rotary_backward", rotary_case(Role::backward), {dq, dk, dv, step_.program().angles},
             {dqkv});
  step_.product_backward(layer.qkv, layer.attention_normed, dqkv, normed_gradient);
}

// The gradient of the stream is dx_ before and after.
void Writer::backward(const Layer& layer) {
  const std::int64_t stream = shape_.tokens() * shape_.hidden;
  const int dnormed = step_.shared("normed.gradient", stream);
  const int dbranch = step_.shared("norm_input.gradient", stream);
  const int dmiddle = step_.shared("middle.gradient", stream);
  mlp_backward(layer, dx_, dnormed);
  step_.norm_backward("mlp_norm", layer.mlp_norm, layer.middle, layer.mlp_scale, dnormed, dbranch);
  step_.add("mlp_residual_backward", dx_, dbranch, dmiddle);
  attention_backward(layer, dmiddle, dnormed);
  step_.norm_backward("attention_norm", layer.attention_norm, layer.input, layer.attention_scale,
                      dnormed, dbranch);
  step_.add("attention_residual_backward", dmiddle, dbranch, dx_);
}

void Writer::update() {
  StepProgram& program = step_.program();
  const std::int64_t all = program.buffers[static_cast<std::size_t>(program.gradients)].count;
  program.norm = step_.own("norm", 1, BufferType::fp32, BufferKind::result);
  step_.call(
      "gradient_norm",
      {.operation = Operation::gradient_norm, .precision = Precision::fp32, .extents = {all}},
      {program.gradients}, {program.norm});
  step_.call("adamw",
             {.operation = Operation::adamw, .precision = Precision::fp32, .extents = {all}},
             {program.gradients, program.master, program.first_moment, program.second_moment},
             {program.master, program.first_moment, program.second_moment, program.narrow});
}

StepProgram Writer::write() {
  add_inputs();
  add_parameters();
  StepProgram& program = step_.program();
  const std::int64_t tokens = shape_.tokens();
  const Parameter table = step_.parameter(ends_.table);
  const std::int64_t gradient_bytes =
      program.buffers[static_cast<std::size_t>(program.gradients)].count *
      element_bytes(BufferType::fp32);
  step_.phase = Phase::update;
  step_.call("clear_gradients", {.operation = Operation::copy, .extents = {gradient_bytes / 2}}, {},
             {program.gradients});
  step_.phase = Phase::forward;
  int stream = residual("embedding.output");
  const KernelCase lookup{.operation = Operation::embedding,
                          .role = Role::forward,
                          .extents = {tokens, shape_.hidden, shape_.vocabulary}};
  step_.call("embedding", lookup, {table.narrow, program.ids}, {stream});
  for (step_.layer = 0; step_.layer < shape_.layers; ++step_.layer) {
    stream = forward(layers_[static_cast<std::size_t>(step_.layer)], stream);
  }
  step_.layer = -1;
  loss_forward(stream);
  step_.phase = Phase::backward;
  loss_backward(stream);
  for (step_.layer = shape_.layers - 1; step_.layer >= 0; --step_.layer) {
    backward(layers_[static_cast<std::size_t>(step_.layer)]);
  }
  KernelCase gather = lookup;
  gather.role = Role::backward;
  step_.call("embedding_backward", gather, {dx_, program.ids, table.gradient}, {table.gradient});
  step_.phase = Phase::update;
  update();
  return step_.take();
}

}  // namespace

std::string_view to_string(Phase phase) {
  switch (phase) {
    case Phase::forward:
      return "forward";
    case Phase::backward:
      return "backward";
    case Phase::update:
      break;
  }
  return "update";
}

StepProgram make_step_program(const StepShape& shape) {
  ORRERY_CHECK(!problem_of(shape), "the shape of a step is sound");
  return Writer(shape).write();
}

Flop flop_of(const StepProgram& program) {
  Flop all;
  for (const StepOperation& operation : program.operations) {
    all += kernels::work_of(operation.kernel).flop;
  }
  return all;
}

std::vector<kernels::KernelCase> reference_calls() {
  std::vector<kernels::KernelCase> calls;
  for (const StepOperation& operation : make_step_program(held_out_shapes().front()).operations) {
    calls.push_back(operation.kernel);
  }
  return calls;
}

std::int64_t element_bytes(BufferType type) {
  switch (type) {
    case BufferType::int64:
      return 8;
    case BufferType::fp32:
    case BufferType::int32:
      return 4;
    case BufferType::bf16:
      return 2;
    case BufferType::e4m3:
    case BufferType::e5m2:
      break;
  }
  return 1;
}

std::int64_t memory_bytes(const StepProgram& program) {
  std::int64_t bytes = 0;
  for (const Buffer& buffer : program.buffers) {
    bytes += buffer.whole < 0 ? buffer.count * element_bytes(buffer.type) : 0;
  }
  return bytes;
}

}  // namespace orrery::calibrate
