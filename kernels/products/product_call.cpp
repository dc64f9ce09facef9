#include "kernels/products/product_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "kernels/device/device_info.hpp"
#include "kernels/device/runtime.hpp"
#include "sim/base/check.hpp"
#include "sim/base/error.hpp"

namespace orrery::kernels {

namespace {

[[noreturn]] void throw_no_algorithm() {
  throw Unsupported("cuBLASLt has no algorithm for this product",
                    status_text(Library::cublas, CUBLAS_STATUS_NOT_SUPPORTED,
                                cublasLtGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED)));
}

}  // namespace

void check_described(cublasStatus_t status, std::string_view what) {
  if (status == CUBLAS_STATUS_INVALID_VALUE) {
    throw Unsupported(fmt::format("cuBLASLt refuses to {}", what),
                      status_text(Library::cublas, status, cublasLtGetStatusName(status)));
  }
  check(status, what);
}

cudaDataType_t library_type(Element element) {
  switch (element) {
    case Element::fp32:
      return CUDA_R_32F;
    case Element::bf16:
      return CUDA_R_16BF;
    case Element::fp16:
      return CUDA_R_16F;
    case Element::e4m3:
      return CUDA_R_8F_E4M3;
    case Element::e5m2:
      return CUDA_R_8F_E5M2;
    case Element::e8m0:
      return CUDA_R_8F_UE8M0;
    case Element::e2m1:
      return CUDA_R_4F_E2M1;
  }
  return CUDA_R_32F;
}

LtContext start_lt() {
  cublasLtHandle_t handle = nullptr;
  check(cublasLtCreate(&handle), "start cuBLASLt");
  return LtContext(handle);
}

BlasContext start_blas() {
  cublasHandle_t handle = nullptr;
  check(cublasCreate(&handle), "start cuBLAS");
  BlasContext context(handle);
  check(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST), "set the pointer mode");
  return context;
}

LtLayout layout_of(cudaDataType_t type, std::int64_t rows, std::int64_t columns) {
  cublasLtMatrixLayout_t layout = nullptr;
  check_described(cublasLtMatrixLayoutCreate(&layout, type, static_cast<std::uint64_t>(rows),
                                             static_cast<std::uint64_t>(columns), rows),
                  "describe a matrix");
  return LtLayout(layout);
}

LtLayout layout_of(const ProductOperand& operand) {
  const cudaDataType_t type = library_type(operand.element);
  return operand.reduced_contiguous ? layout_of(type, operand.reduced, operand.outer)
                                    : layout_of(type, operand.outer, operand.reduced);
}

LtPlan::LtPlan(const Product& asked)
    : product(asked),
      context(start_lt()),
      a(layout_of(product.a)),
      b(layout_of(product.b)),
      d(layout_of(library_type(product.result), product.n, product.m)) {}

LtDescription LtPlan::describe() const {
  cublasLtMatmulDesc_t raw = nullptr;
  const auto compute = product.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  check_described(cublasLtMatmulDescCreate(&raw, compute, CUDA_R_32F), "describe the product");
  LtDescription description(raw);
  set(description, CUBLASLT_MATMUL_DESC_TRANSA,
      std::int32_t{product.a.reduced_contiguous ? CUBLAS_OP_T : CUBLAS_OP_N});
  set(description, CUBLASLT_MATMUL_DESC_TRANSB,
      std::int32_t{product.b.reduced_contiguous ? CUBLAS_OP_N : CUBLAS_OP_T});
  if (product.fast) {
    set(description, CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{1});
  }
  return description;
}

std::vector<cublasLtMatmulHeuristicResult_t> LtPlan::candidates(const LtDescription& description,
                                                                int most) const {
  cublasLtMatmulPreference_t raw = nullptr;
  check(cublasLtMatmulPreferenceCreate(&raw), "state a preference");
  const LtPreference preference(raw);
  const auto bytes = static_cast<std::uint64_t>(kWorkspaceBytes);
  check(cublasLtMatmulPreferenceSetAttribute(
            preference.get(), CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof(bytes)),
        "state a preference");
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(most));
  int count = 0;
  check_described(
      cublasLtMatmulAlgoGetHeuristic(context.get(), description.get(), a.get(), b.get(), d.get(),
                                     d.get(), preference.get(), most, results.data(), &count),
      "choose an algorithm");
  results.resize(static_cast<std::size_t>(count));
  std::erase_if(results, [](const auto& result) { return result.state != CUBLAS_STATUS_SUCCESS; });
  if (results.empty()) {
    throw_no_algorithm();
  }
  return results;
}

void LtPlan::run(const LtDescription& description, const void* in_a, const void* in_b, void* out,
                 const cublasLtMatmulAlgo_t& algorithm, const DeviceBuffer& workspace,
                 Stream stream) const {
  const float alpha = 1.0F;
  const float beta = product.accumulates ? 1.0F : 0.0F;
  check(cublasLtMatmul(context.get(), description.get(), &alpha, in_a, a.get(), in_b, b.get(),
                       &beta, out, d.get(), out, d.get(), &algorithm, workspace.data(),
                       static_cast<std::size_t>(workspace.bytes()), stream),
        "run cublasLtMatmul");
}

void GroupedArguments::add(const Product& product) {
  const auto stride_of = [](const ProductOperand& operand) {
    return operand.reduced_contiguous ? operand.reduced : operand.outer;
  };
  transpose_a.push_back(product.a.reduced_contiguous ? CUBLAS_OP_T : CUBLAS_OP_N);
  transpose_b.push_back(product.b.reduced_contiguous ? CUBLAS_OP_N : CUBLAS_OP_T);
  rows.push_back(product.n);
  columns.push_back(product.m);
  reduced.push_back(product.k);
  stride_a.push_back(stride_of(product.a));
  stride_b.push_back(stride_of(product.b));
  stride_d.push_back(product.n);
  products.push_back(1);
  alpha.push_back(1.0F);
  beta.push_back(product.accumulates ? 1.0F : 0.0F);
  type_a = library_type(product.a.element);
  type_b = library_type(product.b.element);
  type_d = library_type(product.result);
}

void run_grouped(const BlasContext& context, const GroupedArguments& arguments,
                 const DeviceBuffer& pointers, const DeviceBuffer& workspace, Stream stream) {
  const std::size_t groups = arguments.rows.size();
  auto* const first = pointers.as<void*>();
  check(cublasSetStream(context.get(), stream), "set the stream of cuBLAS");
  // cublasSetStream gives back the library's own workspace, which a captured graph may not use.
  check(cublasSetWorkspace(context.get(), workspace.data(),
                           static_cast<std::size_t>(workspace.bytes())),
        "set the workspace of cuBLAS");
  check(cublasGemmGroupedBatchedEx_64(
            context.get(), arguments.transpose_a.data(), arguments.transpose_b.data(),
            arguments.rows.data(), arguments.columns.data(), arguments.reduced.data(),
            arguments.alpha.data(), first, arguments.type_a, arguments.stride_a.data(),
            first + groups, arguments.type_b, arguments.stride_b.data(), arguments.beta.data(),
            first + 2 * groups, arguments.type_d, arguments.stride_d.data(),
            static_cast<std::int64_t>(groups), arguments.products.data(), CUBLAS_COMPUTE_32F),
        "run cublasGemmGroupedBatchedEx");
}

namespace {

enum class Kind { TILE, STAGES, CLUSTER_SHAPE };

struct Name {
  Kind kind;
  int number;
  std::string_view text;
};

constexpr Name kNames[] = {
#include <orrery_cublaslt_names.inc>
};

std::string name_of(Kind kind, int number) {
  const auto* found = std::find_if(
      std::begin(kNames), std::end(kNames),
      [kind, number](const Name& name) { return name.kind == kind && name.number == number; });
  return found == std::end(kNames) ? std::to_string(number) : std::string(found->text);
}

// Attributes have 2 or 4 bytes; one that the library does not answer reads 0.
template <typename T>
int attribute(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t which) {
  T value = 0;
  std::size_t written = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoConfigGetAttribute(&algorithm, which, &value, sizeof(value), &written);
  return status == CUBLAS_STATUS_SUCCESS ? static_cast<int>(value) : 0;
}

}  // namespace

std::string tile_name(int tile) { return name_of(Kind::TILE, tile); }

std::string stages_name(int stages) { return name_of(Kind::STAGES, stages); }

std::string cluster_name(int cluster) {
  return cluster == CUBLASLT_CLUSTER_SHAPE_AUTO ? "auto" : name_of(Kind::CLUSTER_SHAPE, cluster);
}

std::vector<Detail> algorithm_details(const cublasLtMatmulAlgo_t& algorithm, std::size_t workspace,
                                      float waves) {
  const auto number = [&algorithm](cublasLtMatmulAlgoConfigAttributes_t which) {
    return attribute<std::int32_t>(algorithm, which);
  };
  return {{"algorithm", std::to_string(number(CUBLASLT_ALGO_CONFIG_ID))},
          {"tile", tile_name(number(CUBLASLT_ALGO_CONFIG_TILE_ID))},
          {"stages", stages_name(number(CUBLASLT_ALGO_CONFIG_STAGES_ID))},
          {"split_k", std::to_string(number(CUBLASLT_ALGO_CONFIG_SPLITK_NUM))},
          {"cluster", cluster_name(attribute<std::uint16_t>(
                          algorithm, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID))},
          {"waves", fmt::format("{:.3f}", static_cast<double>(waves))},
          {"workspace", std::to_string(workspace)}};
}

namespace {

Product dense_product(const KernelCase& kernel) {
  return product_of(kernel.role, kernel.precision, extent(kernel, "m"), extent(kernel, "n"),
                    extent(kernel, "k"));
}

}  // namespace

std::int64_t product_workspace_bytes() { return kWorkspaceBytes; }

ProductCall::ProductCall(const KernelCase& kernel, const DeviceBuffer& workspace)
    : ProductCall(dense_product(kernel), workspace) {}

ProductCall::ProductCall(const Product& product, const DeviceBuffer& workspace)
    : plan_(product), workspace_(workspace) {
  if (product.a.scales != ScaleMode::none && !scaled()) {
    throw_no_algorithm();
  }
  description_ = plan_.describe();
  if (scaled()) {
    // The heuristic looks at the alignment of these pointers and reads nothing through them.
    set_scales(workspace.data(), workspace.data());
  }
  candidates_ = plan_.candidates(description_, kCandidates);
  chosen_ = candidates_.front();
}

void ProductCall::set_scales(const void* a, const void* b) const {
  set(description_, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, a);
  set(description_, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, b);
}

void ProductCall::launch(const ProductPointers& pointers, Stream stream) const {
  if (scaled()) {
    set_scales(pointers.a_scale, pointers.b_scale);
  }
  plan_.run(description_, pointers.a, pointers.b, pointers.d, chosen_.algo, workspace_, stream);
}

void ProductCall::choose(const ProductPointers& pointers, Stream stream) {
  const std::size_t index = first_that_runs(
      candidates_.size(),
      [&](std::size_t i) {
        chosen_ = candidates_[i];
        launch(pointers, stream);
        check(cudaStreamSynchronize(stream), "finish a product");
      },
      device_answers);
  chosen_ = candidates_[index];
}

std::optional<std::string> trouble_of(const std::function<void()>& attempt, const Usable& usable) {
  try {
    attempt();
    return std::nullopt;
  } catch (const Unsupported& unsupported) {
    return unsupported.what();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::device || !usable()) {
      throw;
    }
    return error.what();
  }
}

std::size_t first_that_runs(std::size_t candidates, const std::function<void(std::size_t)>& run,
                            const Usable& usable) {
  ORRERY_CHECK(candidates > 0, "there is a candidate");
  for (std::size_t i = 0; i + 1 < candidates; ++i) {
    if (!trouble_of([&] { run(i); }, usable)) {
      return i;
    }
  }
  run(candidates - 1);
  return candidates - 1;
}

CandidateTimes time_candidates(std::size_t candidates, const SearchRule& rule,
                               const std::function<double(std::size_t)>& seconds_of,
                               const Usable& usable) {
  ORRERY_CHECK(rule.rounds > 0, "candidates are timed in a round at least");
  std::vector<std::vector<double>> times(candidates);
  std::vector<bool> failed(candidates, false);
  Seconds spent;
  const auto call = [&](std::size_t i) {
    const double time = seconds_of(i);
    spent += seconds(time);
    return time;
  };
  for (std::size_t round = 0; round < rule.rounds && spent < rule.most; ++round) {
    for (std::size_t i = 0; i < candidates && spent < rule.most; ++i) {
      failed[i] = failed[i] || trouble_of(
                                   [&] {
                                     if (round == 0) {
                                       (void)call(i);
                                     }
                                     times[i].push_back(call(i));
                                   },
                                   usable)
                                   .has_value();
    }
  }
  CandidateTimes found;
  for (std::size_t i = 0; i < candidates; ++i) {
    std::vector<double>& own = times[i];
    std::optional<double>& seconds = found.seconds.emplace_back();
    if (!failed[i] && !own.empty()) {
      const auto middle = own.begin() + static_cast<std::ptrdiff_t>(own.size() / 2);
      std::nth_element(own.begin(), middle, own.end());
      seconds = *middle;
      if (!found.fastest || *seconds < *found.seconds[*found.fastest]) {
        found.fastest = i;
      }
    }
  }
  return found;
}

}  // namespace orrery::kernels
