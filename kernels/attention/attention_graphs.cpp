#include "kernels/attention/attention_graphs.hpp"

#include <array>
#include <cmath>
#include <vector>

namespace orrery::kernels {

namespace {

namespace fe = cudnn_frontend;

using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;

// A tensor [sequence, row, head, dim] in the order that cuDNN names: sequence, head, row, dim.
struct Extents {
  std::int64_t sequences;
  std::int64_t heads;
  std::int64_t rows;
  std::int64_t dim;

  [[nodiscard]] std::vector<std::int64_t> extents() const { return {sequences, heads, rows, dim}; }

  [[nodiscard]] std::vector<std::int64_t> strides() const {
    return {rows * heads * dim, dim, heads * dim, 1};
  }
};

Extents query_extents(const AttentionShape& shape, std::int64_t dim) {
  return {shape.sequences, shape.heads, shape.queries, dim};
}

Extents key_extents(const AttentionShape& shape, std::int64_t dim) {
  return {shape.sequences, shape.groups, shape.keys, dim};
}

// One value per row, [sequence, head, query].
std::vector<std::int64_t> row_extents(const AttentionShape& shape) {
  return {shape.sequences, shape.heads, shape.queries, 1};
}

std::vector<std::int64_t> row_strides(const AttentionShape& shape) {
  return {shape.heads * shape.queries, shape.queries, 1, 1};
}

Tensor input(AttentionGraph& graph, Name name, const Extents& extents) {
  return graph.tensor(fe::graph::Tensor_attributes()
                          .set_uid(name)
                          .set_dim(extents.extents())
                          .set_stride(extents.strides()));
}

void output(const Tensor& tensor, Name name, const Extents& extents) {
  tensor->set_output(true).set_uid(name).set_dim(extents.extents()).set_stride(extents.strides());
}

std::array<Tensor, 3> inputs(AttentionGraph& graph, const AttentionShape& shape) {
  return {input(graph, kQ, query_extents(shape, shape.dim_qk)),
          input(graph, kK, key_extents(shape, shape.dim_qk)),
          input(graph, kV, key_extents(shape, shape.dim_v))};
}

// What a backward needs of its forward: the output, and the gradient of it.
std::array<Tensor, 2> results_of_forward(AttentionGraph& graph, const AttentionShape& shape) {
  return {input(graph, kO, query_extents(shape, shape.dim_v)),
          input(graph, kOutputGradient, query_extents(shape, shape.dim_v))};
}

// Results begin with the gradients of q, k and v.
template <typename Results>
void gradients(const Results& results, const AttentionShape& shape) {
  output(results[0], kDq, query_extents(shape, shape.dim_qk));
  output(results[1], kDk, key_extents(shape, shape.dim_qk));
  output(results[2], kDv, key_extents(shape, shape.dim_v));
}

fe::DataType_t type_of(Element element) {
  switch (element) {
    case Element::fp16:
      return fe::DataType_t::HALF;
    case Element::e4m3:
      return fe::DataType_t::FP8_E4M3;
    case Element::e5m2:
      return fe::DataType_t::FP8_E5M2;
    default:
      return fe::DataType_t::BFLOAT16;
  }
}

std::unique_ptr<AttentionGraph> new_graph(const AttentionShape& shape) {
  auto graph = std::make_unique<AttentionGraph>();
  graph->set_io_data_type(type_of(shape.formats.operand.element))
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  return graph;
}

float scale_of(const AttentionShape& shape) {
  return 1.0F / std::sqrt(static_cast<float>(shape.dim_qk));
}

// The diagonal starts at the top left; causal cases have as many keys as queries.
template <typename Attributes>
void mask(Attributes& attributes, const AttentionShape& shape) {
  attributes.set_attn_scale(scale_of(shape));
  if (shape.causal) {
    attributes.set_causal_mask(true);
  }
}

void log_sum_output(const Tensor& tensor, const AttentionShape& shape) {
  tensor->set_output(true)
      .set_uid(kLogSum)
      .set_data_type(fe::DataType_t::FLOAT)
      .set_dim(row_extents(shape))
      .set_stride(row_strides(shape));
}

Tensor log_sum_input(AttentionGraph& graph, const AttentionShape& shape) {
  return graph.tensor(fe::graph::Tensor_attributes()
                          .set_uid(kLogSum)
                          .set_data_type(fe::DataType_t::FLOAT)
                          .set_dim(row_extents(shape))
                          .set_stride(row_strides(shape)));
}

const std::vector<std::int64_t> kOne = {1, 1, 1, 1};

Tensor number(AttentionGraph& graph, NumberName name) {
  return graph.tensor(fe::graph::Tensor_attributes()
                          .set_uid(name)
                          .set_data_type(fe::DataType_t::FLOAT)
                          .set_dim(kOne)
                          .set_stride(kOne));
}

// The result `index` of the largest magnitudes.
void largest(const Tensor& tensor, std::size_t index) {
  tensor->set_output(true)
      .set_uid(kFirstLargest + static_cast<std::int64_t>(index))
      .set_data_type(fe::DataType_t::FLOAT)
      .set_dim(kOne)
      .set_stride(kOne);
}

std::unique_ptr<AttentionGraph> wide_forward_graph(const AttentionShape& shape) {
  auto graph = new_graph(shape);
  const auto [q, k, v] = inputs(*graph, shape);
  auto attributes = fe::graph::SDPA_attributes().set_name("attention").set_generate_stats(true);
  mask(attributes, shape);
  const auto results = graph->sdpa(q, k, v, attributes);
  output(results[0], kO, query_extents(shape, shape.dim_v));
  log_sum_output(results[1], shape);
  return graph;
}

std::unique_ptr<AttentionGraph> wide_backward_graph(const AttentionShape& shape) {
  auto graph = new_graph(shape);
  const auto [q, k, v] = inputs(*graph, shape);
  const auto [o, d_o] = results_of_forward(*graph, shape);
  const Tensor log_sum = log_sum_input(*graph, shape);
  auto attributes = fe::graph::SDPA_backward_attributes().set_name("attention_backward");
  mask(attributes, shape);
  const auto results = graph->sdpa_backward(q, k, v, o, d_o, log_sum, attributes);
  gradients(results, shape);
  return graph;
}

std::unique_ptr<AttentionGraph> narrow_forward_graph(const AttentionShape& shape) {
  auto graph = new_graph(shape);
  const auto [q, k, v] = inputs(*graph, shape);
  auto attributes = fe::graph::SDPA_fp8_attributes().set_name("attention").set_generate_stats(true);
  mask(attributes, shape);
  const auto results = graph->sdpa_fp8(
      q, k, v, number(*graph, kUnscaleQ), number(*graph, kUnscaleK), number(*graph, kUnscaleV),
      number(*graph, kUnscaleP), number(*graph, kScaleP), number(*graph, kScaleO), attributes);
  output(results[0], kO, query_extents(shape, shape.dim_v));
  log_sum_output(results[1], shape);
  largest(results[2], 0);
  largest(results[3], 1);
  return graph;
}

std::unique_ptr<AttentionGraph> narrow_backward_graph(const AttentionShape& shape) {
  auto graph = new_graph(shape);
  const auto [q, k, v] = inputs(*graph, shape);
  const auto [o, d_o] = results_of_forward(*graph, shape);
  d_o->set_data_type(type_of(shape.formats.output_gradient.element));
  auto attributes = fe::graph::SDPA_fp8_backward_attributes().set_name("attention_backward");
  mask(attributes, shape);
  const auto results = graph->sdpa_fp8_backward(
      q, k, v, o, d_o, log_sum_input(*graph, shape), number(*graph, kUnscaleQ),
      number(*graph, kUnscaleK), number(*graph, kUnscaleV), number(*graph, kUnscaleO),
      number(*graph, kUnscaleDo), number(*graph, kUnscaleP), number(*graph, kUnscaleDs),
      number(*graph, kScaleP), number(*graph, kScaleDq), number(*graph, kScaleDk),
      number(*graph, kScaleDv), number(*graph, kScaleDs), attributes);
  const fe::DataType_t gradient = type_of(shape.formats.gradient.element);
  gradients(results, shape);
  for (std::size_t i = 0; i < 3; ++i) {
    results[i]->set_data_type(gradient);
  }
  for (std::size_t i = 3; i < results.size(); ++i) {
    largest(results[i], i - 1);
  }
  return graph;
}

}  // namespace

std::unique_ptr<AttentionGraph> describe_forward(const AttentionShape& shape) {
  return shape.formats.narrow() ? narrow_forward_graph(shape) : wide_forward_graph(shape);
}

std::unique_ptr<AttentionGraph> describe_backward(const AttentionShape& shape) {
  return shape.formats.narrow() ? narrow_backward_graph(shape) : wide_backward_graph(shape);
}

}  // namespace orrery::kernels
