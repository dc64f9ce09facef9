// The only file that includes cudnn-frontend: its headers take a minute to compile.
#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <unordered_map>

#include "kernels/attention_case.hpp"
#include "kernels/device/status.hpp"
#include "kernels/device/stream.hpp"
#include "kernels/families.hpp"
#include "sim/base/error.hpp"

namespace orrery::kernels {

namespace {

namespace fe = cudnn_frontend;

using Graph = fe::graph::Graph;
using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;
using Pointers = std::unordered_map<std::int64_t, void*>;

enum Name : std::int64_t { kQ = 1, kK, kV, kO, kLogSum, kOutputGradient, kDq, kDk, kDv };

void check_cudnn(cudnnStatus_t status, std::string_view what) {
  check_status(Library::cudnn, status, cudnnGetErrorString(status), what);
}

// While a plan is made every refusal means that cuDNN does not offer the case; later it is a
// failure.
void check_plan(const fe::error_t& status, std::string_view what) {
  if (status.is_bad()) {
    throw Unsupported(fmt::format("cuDNN cannot {}: {}", what, status.err_msg),
                      fmt::format("cudnn-frontend code {}", static_cast<int>(status.code)));
  }
}

struct ContextDestroyer {
  void operator()(cudnnHandle_t context) const {
    static_cast<void>(cudnnDestroy(context));
  }
};

using Context = std::unique_ptr<std::remove_pointer_t<cudnnHandle_t>, ContextDestroyer>;

// A tensor [sequence, row, head, dim] in the order that cuDNN names: sequence, head, row, dim.
struct Extents {
  std::int64_t sequences;
  std::int64_t heads;
  std::int64_t rows;
  std::int64_t dim;

  [[nodiscard]] std::vector<std::int64_t> extents() const {
    return {sequences, heads, rows, dim};
  }

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

Tensor input(Graph& graph, Name name, const Extents& extents) {
  return graph.tensor(fe::graph::Tensor_attributes()
                          .set_uid(name)
                          .set_dim(extents.extents())
                          .set_stride(extents.strides()));
}

void output(const Tensor& tensor, Name name, const Extents& extents) {
  tensor->set_output(true).set_uid(name).set_dim(extents.extents()).set_stride(extents.strides());
}

std::unique_ptr<Graph> new_graph(const AttentionShape& shape) {
  auto graph = std::make_unique<Graph>();
  graph
      ->set_io_data_type(shape.element == Element::bf16 ? fe::DataType_t::BFLOAT16
                                                        : fe::DataType_t::HALF)
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

std::unique_ptr<Graph> forward_graph(const AttentionShape& shape) {
  auto graph = new_graph(shape);
  const Tensor q = input(*graph, kQ, query_extents(shape, shape.dim_qk));
  const Tensor k = input(*graph, kK, key_extents(shape, shape.dim_qk));
  const Tensor v = input(*graph, kV, key_extents(shape, shape.dim_v));
  auto attributes = fe::graph::SDPA_attributes().set_name("attention").set_generate_stats(true);
  mask(attributes, shape);
  const auto results = graph->sdpa(q, k, v, attributes);
  output(results[0], kO, query_extents(shape, shape.dim_v));
  results[1]
      ->set_output(true)
      .set_uid(kLogSum)
      .set_data_type(fe::DataType_t::FLOAT)
      .set_dim(row_extents(shape))
      .set_stride(row_strides(shape));
  return graph;
}

std::unique_ptr<Graph> backward_graph(const AttentionShape& shape) {
  auto graph = new_graph(shape);
  const Tensor q = input(*graph, kQ, query_extents(shape, shape.dim_qk));
  const Tensor k = input(*graph, kK, key_extents(shape, shape.dim_qk));
  const Tensor v = input(*graph, kV, key_extents(shape, shape.dim_v));
  const Tensor o = input(*graph, kO, query_extents(shape, shape.dim_v));
  const Tensor d_o = input(*graph, kOutputGradient, query_extents(shape, shape.dim_v));
  const Tensor log_sum = graph->tensor(fe::graph::Tensor_attributes()
                                           .set_uid(kLogSum)
                                           .set_data_type(fe::DataType_t::FLOAT)
                                           .set_dim(row_extents(shape))
                                           .set_stride(row_strides(shape)));
  auto attributes = fe::graph::SDPA_backward_attributes().set_name("attention_backward");
  mask(attributes, shape);
  const auto results = graph->sdpa_backward(q, k, v, o, d_o, log_sum, attributes);
  output(results[0], kDq, query_extents(shape, shape.dim_qk));
  output(results[1], kDk, key_extents(shape, shape.dim_qk));
  output(results[2], kDv, key_extents(shape, shape.dim_v));
  return graph;
}

// Makes the plan of the library's first choice; returns the bytes of workspace that it wants.
std::int64_t build(Graph& graph, cudnnHandle_t context) {
  check_plan(graph.validate(), "describe this attention");
  check_plan(graph.build_operation_graph(context), "describe this attention");
  check_plan(graph.create_execution_plans({fe::HeurMode_t::A}), "plan this attention");
  check_plan(graph.build_plans(), "build a plan of this attention");
  std::int64_t workspace = 0;
  check_plan(graph.get_workspace_size(workspace), "size its workspace");
  return workspace;
}

class CudnnAttention final : public AttentionRunnable {
 public:
  CudnnAttention(const AttentionShape& shape, const PrepareOptions& options);

  [[nodiscard]] std::string_view implementation() const override {
    return "cudnn";
  }

  [[nodiscard]] std::vector<Detail> details() const override {
    return details_;
  }

 private:
  void forward(const AttentionSet& set, Stream stream) override;
  void backward(const AttentionSet& set, Stream stream) override;
  void execute(const Graph& graph, Pointers& pointers, Stream stream) const;

  Context context_;
  std::unique_ptr<Graph> forward_;
  std::unique_ptr<Graph> backward_;
  DeviceBuffer workspace_;
  std::vector<Detail> details_;
};

CudnnAttention::CudnnAttention(const AttentionShape& shape, const PrepareOptions& options)
    : AttentionRunnable(shape) {
  cudnnHandle_t handle = nullptr;
  // Also where parts of the library are missing: then there are the own kernels.
  if (const cudnnStatus_t status = cudnnCreate(&handle); status != CUDNN_STATUS_SUCCESS) {
    const std::string text = status_text(Library::cudnn, status, cudnnGetErrorString(status));
    throw Unsupported(fmt::format("cuDNN does not start: {}", text), text);
  }
  context_.reset(handle);
  forward_ = forward_graph(shape);
  std::int64_t workspace = build(*forward_, handle);
  const Graph* measured = forward_.get();
  if (shape.backward) {
    backward_ = backward_graph(shape);
    workspace = std::max(workspace, build(*backward_, handle));
    measured = backward_.get();
  }
  // Deterministic backward has asked for more than 64 GB: it must fit beside one operand set.
  if (const std::int64_t budget = memory_budget(options); workspace > budget - set_bytes(shape)) {
    throw Unsupported(
        fmt::format("cuDNN wants {} bytes of workspace, {} are free", workspace, budget),
        "workspace");
  }
  workspace_ = DeviceBuffer(workspace);
  std::string plan;
  if (measured->get_plan_name(plan).is_good()) {
    details_.push_back({"plan", plan});
  }
  details_.push_back({"workspace", std::to_string(workspace)});
  allocate(options, workspace);
}

void CudnnAttention::execute(const Graph& graph, Pointers& pointers, Stream stream) const {
  check_cudnn(cudnnSetStream(context_.get(), stream), "set the stream of cuDNN");
  const fe::error_t status = graph.execute(context_.get(), pointers, workspace_.data());
  if (status.is_bad()) {
    throw Error(ErrorKind::device,
                fmt::format("the GPU failed to run cuDNN's attention: {}", status.err_msg));
  }
}

void CudnnAttention::forward(const AttentionSet& set, Stream stream) {
  Pointers pointers = {{kQ, set.q.data()},
                       {kK, set.k.data()},
                       {kV, set.v.data()},
                       {kO, set.o.data()},
                       {kLogSum, set.log_sum.data()}};
  execute(*forward_, pointers, stream);
}

void CudnnAttention::backward(const AttentionSet& set, Stream stream) {
  Pointers pointers = {{kQ, set.q.data()},
                       {kK, set.k.data()},
                       {kV, set.v.data()},
                       {kO, set.o.data()},
                       {kLogSum, set.log_sum.data()},
                       {kOutputGradient, set.d_o.data()},
                       {kDq, set.d_q.data()},
                       {kDk, set.d_k.data()},
                       {kDv, set.d_v.data()}};
  execute(*backward_, pointers, stream);
}

}  // namespace

std::unique_ptr<Runnable> make_cudnn_attention(const KernelCase& kernel,
                                               const PrepareOptions& options) {
  return std::make_unique<CudnnAttention>(attention_shape(kernel), options);
}

}  // namespace orrery::kernels
