#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/attention/attention_case.hpp"
#include "kernels/attention/attention_graphs.hpp"
#include "kernels/device/runtime.hpp"
#include "kernels/families.hpp"
#include "sim/base/error.hpp"

namespace orrery::kernels {

namespace {

namespace fe = cudnn_frontend;

using Graph = AttentionGraph;
using Pointers = std::unordered_map<std::int64_t, void*>;

void check_cudnn(cudnnStatus_t status, std::string_view what) {
  check_status(Library::cudnn, status, cudnnGetErrorString(status), what);
}

// Its own words, which may be many lines, as the start of one.
std::string one_line(std::string text) {
  constexpr std::size_t kMost = 240;
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text.size() > kMost ? text.substr(0, kMost) + "..." : text;
}

[[noreturn]] void refuse(std::string_view what, const std::string& words, std::string_view code) {
  static_cast<void>(cudaGetLastError());  // what was only asked fails no later launch
  const std::string line = one_line(words);
  throw Unsupported(fmt::format("cuDNN cannot {}: {}", what, line),
                    fmt::format("cudnn-frontend {}: {}", code, line));
}

// While a plan is made every refusal means that cuDNN does not offer the case; later it is a
// failure.
void check_plan(const fe::error_t& status, std::string_view what) {
  if (status.is_bad()) {
    refuse(what, status.err_msg, fmt::format("code {}", static_cast<int>(status.code)));
  }
}

struct ContextDestroyer {
  void operator()(cudnnHandle_t context) const { static_cast<void>(cudnnDestroy(context)); }
};

using Context = std::unique_ptr<std::remove_pointer_t<cudnnHandle_t>, ContextDestroyer>;

// The numbers of an 8-bit kernel, each aligned as a tensor is.
class Numbers {
 public:
  explicit Numbers(const AttentionFormats& formats);

  // Adds their addresses to those of the operands.
  void add_to(Pointers& pointers) const;

 private:
  DeviceBuffer memory_;
};

Numbers::Numbers(const AttentionFormats& formats) {
  if (!formats.narrow()) {
    return;
  }
  const std::array<double, kFirstLargest - kUnscaleQ> values = {1.0 / formats.operand.scale,
                                                                1.0 / formats.operand.scale,
                                                                1.0 / formats.operand.scale,
                                                                1.0 / formats.operand.scale,
                                                                1.0 / formats.probability.scale,
                                                                1.0 / formats.output_gradient.scale,
                                                                1.0 / formats.score_gradient.scale,
                                                                formats.operand.scale,
                                                                formats.probability.scale,
                                                                formats.score_gradient.scale,
                                                                formats.gradient.scale,
                                                                formats.gradient.scale,
                                                                formats.gradient.scale};
  constexpr std::size_t kStep = kMemoryAlignment / sizeof(float);
  std::vector<float> host(kNumbers * kStep);  // the largest magnitudes start at 0
  for (std::size_t i = 0; i < values.size(); ++i) {
    host[i * kStep] = static_cast<float>(values[i]);
  }
  const auto bytes = static_cast<std::int64_t>(host.size() * sizeof(float));
  memory_ = DeviceBuffer(bytes);
  const OwnedStream stream;
  copy_to_device(memory_.data(), host.data(), bytes, stream.get());
}

void Numbers::add_to(Pointers& pointers) const {
  if (memory_.bytes() == 0) {
    return;
  }
  for (std::size_t i = 0; i < kNumbers; ++i) {
    pointers.emplace(kUnscaleQ + static_cast<std::int64_t>(i),
                     memory_.as<char>() + i * static_cast<std::size_t>(kMemoryAlignment));
  }
}

// Plans by the library's first choice; returns the bytes of workspace that it wants.
std::int64_t build(Graph& graph, cudnnHandle_t context) {
  check_plan(graph.validate(), "describe this attention");
  check_plan(graph.build_operation_graph(context), "describe this attention");
  check_plan(graph.create_execution_plans({fe::HeurMode_t::A}), "plan this attention");
  check_plan(graph.build_plans(), "build a plan of this attention");
  std::int64_t workspace = 0;
  check_plan(graph.get_workspace_size(workspace), "size its workspace");
  return workspace;
}

struct Planned {
  std::unique_ptr<Graph> graph;
  std::int64_t workspace = 0;
};

// The frontend is C++ of its own and throws where no kernel suits what is described, already while
// it is described: that too is a refusal, and costs this case only.
Planned planned(std::unique_ptr<Graph> (*describe)(const AttentionShape& shape),
                const AttentionShape& shape, cudnnHandle_t context) {
  try {
    Planned plan{.graph = describe(shape)};
    plan.workspace = build(*plan.graph, context);
    return plan;
  } catch (const Unsupported&) {
    throw;
  } catch (const std::exception& error) {
    refuse("plan this attention", error.what(), "exception");
  }
}

class CudnnAttention final : public AttentionRunnable {
 public:
  CudnnAttention(const AttentionShape& shape, const PrepareOptions& options);

  [[nodiscard]] std::string_view implementation() const override { return "cudnn"; }

  [[nodiscard]] std::vector<Detail> details() const override { return details_; }

 private:
  void forward(const AttentionSet& set, Stream stream) override;
  void backward(const AttentionSet& set, Stream stream) override;
  void execute(const Graph& graph, Pointers& pointers, Stream stream) const;

  Context context_;
  std::unique_ptr<Graph> forward_;
  std::unique_ptr<Graph> backward_;
  DeviceBuffer workspace_;
  Numbers numbers_;
  std::vector<Detail> details_;
};

CudnnAttention::CudnnAttention(const AttentionShape& shape, const PrepareOptions& options)
    : AttentionRunnable(shape), numbers_(AttentionFormats()) {
  if (const std::string absence = absence_of(LateLibrary::cudnn); !absence.empty()) {
    throw Unsupported(fmt::format("no cuDNN: {}", absence), "library missing");
  }
  cudnnHandle_t handle = nullptr;
  // Also where parts of the library are missing: then there are the own kernels.
  if (const cudnnStatus_t status = cudnnCreate(&handle); status != CUDNN_STATUS_SUCCESS) {
    const std::string text = status_text(Library::cudnn, status, cudnnGetErrorString(status));
    throw Unsupported(fmt::format("cuDNN does not start: {}", text), text);
  }
  context_.reset(handle);
  const bool narrow = shape.formats.narrow();
  Planned forward = planned(describe_forward, shape, handle);
  forward_ = std::move(forward.graph);
  std::int64_t workspace = forward.workspace;
  const Graph* measured = forward_.get();
  if (shape.backward) {
    Planned backward = planned(describe_backward, shape, handle);
    backward_ = std::move(backward.graph);
    workspace = std::max(workspace, backward.workspace);
    measured = backward_.get();
  }
  // Deterministic backward has asked for more than 64 GB: it must fit beside one operand set.
  if (const std::int64_t budget = memory_budget(options); workspace > budget - set_bytes(shape)) {
    throw Unsupported(
        fmt::format("cuDNN wants {} bytes of workspace, {} are free", workspace, budget),
        "workspace");
  }
  workspace_ = DeviceBuffer(workspace);
  numbers_ = Numbers(shape.formats);
  std::string plan;
  if (measured->get_plan_name(plan).is_good()) {
    details_.push_back({"plan", plan});
  }
  details_.push_back({"workspace", std::to_string(workspace)});
  if (narrow && shape.backward) {
    const bool wider_range = shape.formats.gradient.element == Element::e5m2;
    details_.push_back({"gradients", wider_range ? "e5m2" : "e4m3"});
  }
  allocate(options, workspace);
}

void CudnnAttention::execute(const Graph& graph, Pointers& pointers, Stream stream) const {
  check_cudnn(cudnnSetStream(context_.get(), stream), "set the stream of cuDNN");
  numbers_.add_to(pointers);
  std::string trouble;
  try {
    const fe::error_t status = graph.execute(context_.get(), pointers, workspace_.data());
    trouble = status.is_bad() ? one_line(status.err_msg) : std::string();
  } catch (const std::exception& error) {
    trouble = one_line(error.what());
  }
  if (!trouble.empty()) {
    throw Error(ErrorKind::device,
                fmt::format("the GPU failed to run cuDNN's attention: {}", trouble));
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
  AttentionShape shape = attention_shape(kernel);
  if (!shape.backward || !shape.formats.narrow()) {
    return std::make_unique<CudnnAttention>(shape, options);
  }
  // E5M2 is what a hybrid recipe keeps gradients in; cuDNN's own samples keep them in E4M3.
  std::optional<Unsupported> refusal;
  for (const Element gradients : {Element::e5m2, Element::e4m3}) {
    shape.formats = attention_formats(kernel.precision, gradients);
    try {
      return std::make_unique<CudnnAttention>(shape, options);
    } catch (const Unsupported& unsupported) {
      refusal = refusal.value_or(unsupported);
    }
  }
  throw Unsupported(*refusal);
}

}  // namespace orrery::kernels
