#include "kernels/product_call.hpp"

#include <cublasLt.h>
#include <cublas_v2.h>

#include <type_traits>
#include <utility>

#include "kernels/device/status.hpp"
#include "kernels/device/stream.hpp"
#include "kernels/product.hpp"

namespace orrery::kernels {

namespace {

constexpr std::int64_t kWorkspaceBytes = std::int64_t{32} << 20;  // as gemm.cpp

template <auto kDestroy>
struct Destroyer {
  template <typename T>
  void operator()(T* handle) const {
    static_cast<void>(kDestroy(handle));
  }
};

template <typename Handle, auto kDestroy>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroyer<kDestroy>>;

using LtContext = Owned<cublasLtHandle_t, cublasLtDestroy>;
using Description = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;
using Context = Owned<cublasHandle_t, cublasDestroy>;

[[noreturn]] void throw_unsupported() {
  throw Unsupported("the library has no algorithm for this product",
                    status_text(Library::cublas,
                                CUBLAS_STATUS_NOT_SUPPORTED,
                                cublasLtGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED)));
}

cudaDataType_t data_type(Element element) {
  switch (element) {
    case Element::bf16:
      return CUDA_R_16BF;
    case Element::fp16:
      return CUDA_R_16F;
    case Element::e4m3:
      return CUDA_R_8F_E4M3;
    case Element::e5m2:
      return CUDA_R_8F_E5M2;
    default:
      return CUDA_R_32F;
  }
}

Layout layout_of(cudaDataType_t type, std::int64_t rows, std::int64_t columns) {
  cublasLtMatrixLayout_t layout = nullptr;
  check(cublasLtMatrixLayoutCreate(&layout,
                                   type,
                                   static_cast<std::uint64_t>(rows),
                                   static_cast<std::uint64_t>(columns),
                                   rows),
        "describe a matrix");
  return Layout(layout);
}

Layout layout_of(const ProductOperand& operand) {
  const cudaDataType_t type = data_type(operand.element);
  return operand.reduced_contiguous ? layout_of(type, operand.reduced, operand.outer)
                                    : layout_of(type, operand.outer, operand.reduced);
}

template <typename T>
void set(const Description& description, cublasLtMatmulDescAttributes_t attribute, T value) {
  check(cublasLtMatmulDescSetAttribute(description.get(), attribute, &value, sizeof(value)),
        "describe the product");
}

Product dense_product(const KernelCase& kernel) {
  return product_of(
      kernel.role, kernel.precision, extent(kernel, "m"), extent(kernel, "n"), extent(kernel, "k"));
}

}  // namespace

std::int64_t product_workspace_bytes() {
  return kWorkspaceBytes;
}

struct ProductCall::Plan {
  Plan(const KernelCase& kernel, const DeviceBuffer& given)
      : product(dense_product(kernel)), workspace(given) {
    if (product.a.scales != ScaleMode::none && product.a.scales != ScaleMode::tensor) {
      throw_unsupported();
    }
    cublasLtHandle_t handle = nullptr;
    check(cublasLtCreate(&handle), "start cuBLASLt");
    context.reset(handle);
    a = layout_of(product.a);
    b = layout_of(product.b);
    d = layout_of(data_type(product.result), product.n, product.m);
    describe();
    choose();
  }

  void describe() {
    cublasLtMatmulDesc_t raw = nullptr;
    const auto compute = product.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    check(cublasLtMatmulDescCreate(&raw, compute, CUDA_R_32F), "describe the product");
    description.reset(raw);
    set(description,
        CUBLASLT_MATMUL_DESC_TRANSA,
        std::int32_t{product.a.reduced_contiguous ? CUBLAS_OP_T : CUBLAS_OP_N});
    set(description,
        CUBLASLT_MATMUL_DESC_TRANSB,
        std::int32_t{product.b.reduced_contiguous ? CUBLAS_OP_N : CUBLAS_OP_T});
    if (product.fast) {
      set(description, CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{1});
    }
    if (scaled()) {
      // The heuristic looks at the alignment of these pointers and reads nothing through them.
      const void* any = workspace.data();
      set(description, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, any);
      set(description, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, any);
    }
  }

  void choose() {
    cublasLtMatmulPreference_t raw = nullptr;
    check(cublasLtMatmulPreferenceCreate(&raw), "state a preference");
    const Preference preference(raw);
    const auto bytes = static_cast<std::uint64_t>(kWorkspaceBytes);
    check(cublasLtMatmulPreferenceSetAttribute(
              preference.get(), CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof(bytes)),
          "state a preference");
    int count = 0;
    check(cublasLtMatmulAlgoGetHeuristic(context.get(),
                                         description.get(),
                                         a.get(),
                                         b.get(),
                                         d.get(),
                                         d.get(),
                                         preference.get(),
                                         1,
                                         &chosen,
                                         &count),
          "choose an algorithm");
    if (count == 0 || chosen.state != CUBLAS_STATUS_SUCCESS) {
      throw_unsupported();
    }
  }

  [[nodiscard]] bool scaled() const {
    return product.a.scales == ScaleMode::tensor;
  }

  Product product;
  const DeviceBuffer& workspace;
  LtContext context;
  Description description;
  Layout a;
  Layout b;
  Layout d;
  cublasLtMatmulHeuristicResult_t chosen = {};
};

ProductCall::ProductCall(const KernelCase& kernel, const DeviceBuffer& workspace)
    : plan_(std::make_unique<Plan>(kernel, workspace)) {}

ProductCall::ProductCall(ProductCall&& other) noexcept = default;

ProductCall::~ProductCall() = default;

void ProductCall::launch(const ProductPointers& pointers, Stream stream) const {
  if (plan_->scaled()) {
    set(plan_->description,
        CUBLASLT_MATMUL_DESC_A_SCALE_POINTER,
        static_cast<const void*>(pointers.a_scale));
    set(plan_->description,
        CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
        static_cast<const void*>(pointers.b_scale));
  }
  const float alpha = 1.0F;
  const float beta = plan_->product.accumulates ? 1.0F : 0.0F;
  check(cublasLtMatmul(plan_->context.get(),
                       plan_->description.get(),
                       &alpha,
                       pointers.a,
                       plan_->a.get(),
                       pointers.b,
                       plan_->b.get(),
                       &beta,
                       pointers.d,
                       plan_->d.get(),
                       pointers.d,
                       plan_->d.get(),
                       &plan_->chosen.algo,
                       plan_->workspace.data(),
                       static_cast<std::size_t>(plan_->workspace.bytes()),
                       stream),
        "run cublasLtMatmul");
}

struct GroupedCall::Plan {
  Plan(const KernelCase& kernel, const DeviceBuffer& given) : workspace(given) {
    if (kernel.precision != Precision::bf16 && kernel.precision != Precision::fp16) {
      throw_unsupported();
    }
    const bool weight = kernel.role == Role::wgrad || kernel.role == Role::wgrad_accumulate;
    for (const std::int64_t tokens : group_rows(kernel)) {
      group_products.push_back(product_of(kernel.role,
                                          kernel.precision,
                                          weight ? extent(kernel, "m") : tokens,
                                          extent(kernel, "n"),
                                          weight ? tokens : extent(kernel, "k")));
      // The library takes no empty product; an expert without tokens has none.
      if (tokens > 0) {
        add(group_products.back());
      }
    }
    cublasHandle_t handle = nullptr;
    check(cublasCreate(&handle), "start cuBLAS");
    context.reset(handle);
    check(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST), "set the pointer mode");
  }

  void add(const Product& product) {
    transpose_a.push_back(product.a.reduced_contiguous ? CUBLAS_OP_T : CUBLAS_OP_N);
    transpose_b.push_back(product.b.reduced_contiguous ? CUBLAS_OP_N : CUBLAS_OP_T);
    rows.push_back(product.n);
    columns.push_back(product.m);
    reduced.push_back(product.k);
    stride_a.push_back(product.a.reduced_contiguous ? product.a.reduced : product.a.outer);
    stride_b.push_back(product.b.reduced_contiguous ? product.b.reduced : product.b.outer);
    stride_d.push_back(product.n);
    products.push_back(1);
    alpha.push_back(1.0F);
    beta.push_back(product.accumulates ? 1.0F : 0.0F);
  }

  const DeviceBuffer& workspace;
  Context context;
  std::vector<Product> group_products;  // empty ones too: their weights have a place
  std::vector<cublasOperation_t> transpose_a;
  std::vector<cublasOperation_t> transpose_b;
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> columns;
  std::vector<std::int64_t> reduced;
  std::vector<std::int64_t> stride_a;
  std::vector<std::int64_t> stride_b;
  std::vector<std::int64_t> stride_d;
  std::vector<std::int64_t> products;
  std::vector<float> alpha;
  std::vector<float> beta;
};

GroupedCall::GroupedCall(const KernelCase& kernel, const DeviceBuffer& workspace)
    : plan_(std::make_unique<Plan>(kernel, workspace)) {}

GroupedCall::GroupedCall(GroupedCall&& other) noexcept = default;

GroupedCall::~GroupedCall() = default;

DeviceBuffer GroupedCall::addresses(const ProductPointers& pointers, Stream stream) const {
  std::vector<const void*> a;
  std::vector<const void*> b;
  std::vector<const void*> d;
  const auto* next_a = static_cast<const char*>(pointers.a);
  const auto* next_b = static_cast<const char*>(pointers.b);
  const auto* next_d = static_cast<const char*>(pointers.d);
  for (const Product& product : plan_->group_products) {
    if (product.m > 0 && product.k > 0) {
      a.push_back(next_a);
      b.push_back(next_b);
      d.push_back(next_d);
    }
    next_a += bytes_of(product.a.element, product.a.count());
    next_b += bytes_of(product.b.element, product.b.count());
    next_d += bytes_of(product.result, product.m * product.n);
  }
  std::vector<const void*> all = std::move(a);
  all.insert(all.end(), b.begin(), b.end());
  all.insert(all.end(), d.begin(), d.end());
  const auto bytes = static_cast<std::int64_t>(all.size() * sizeof(void*));
  DeviceBuffer buffer(bytes);
  copy_to_device(buffer.data(), all.data(), bytes, stream);
  return buffer;
}

void GroupedCall::launch(const DeviceBuffer& addresses, Stream stream) const {
  const Plan& plan = *plan_;
  const std::size_t groups = plan.rows.size();
  auto* const pointers = addresses.as<void*>();
  const Product& first = plan.group_products.front();
  check(cublasSetStream(plan.context.get(), stream), "set the stream of cuBLAS");
  // cublasSetStream gives back the library's own workspace, which a captured graph may not use.
  check(cublasSetWorkspace(plan.context.get(),
                           plan.workspace.data(),
                           static_cast<std::size_t>(plan.workspace.bytes())),
        "set the workspace of cuBLAS");
  check(cublasGemmGroupedBatchedEx_64(plan.context.get(),
                                      plan.transpose_a.data(),
                                      plan.transpose_b.data(),
                                      plan.rows.data(),
                                      plan.columns.data(),
                                      plan.reduced.data(),
                                      plan.alpha.data(),
                                      pointers,
                                      data_type(first.a.element),
                                      plan.stride_a.data(),
                                      pointers + groups,
                                      data_type(first.b.element),
                                      plan.stride_b.data(),
                                      plan.beta.data(),
                                      pointers + 2 * groups,
                                      data_type(first.result),
                                      plan.stride_d.data(),
                                      static_cast<std::int64_t>(groups),
                                      plan.products.data(),
                                      CUBLAS_COMPUTE_32F),
        "run cublasGemmGroupedBatchedEx");
}

}  // namespace orrery::kernels
