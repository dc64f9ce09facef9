#include "kernels/products/product_call.hpp"

#include "kernels/device/status.hpp"
#include "kernels/device/stream.hpp"
#include "kernels/products/library_call.hpp"
#include "kernels/products/product.hpp"

namespace orrery::kernels {

namespace {

[[noreturn]] void throw_unsupported() {
  throw Unsupported("the library has no algorithm for this product",
                    status_text(Library::cublas,
                                CUBLAS_STATUS_NOT_SUPPORTED,
                                cublasLtGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED)));
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
  Plan(const Product& asked, const DeviceBuffer& given) : product(asked), workspace(given) {
    if (product.a.scales != ScaleMode::none && product.a.scales != ScaleMode::tensor) {
      throw_unsupported();
    }
    context = start_lt();
    a = layout_of(product.a);
    b = layout_of(product.b);
    d = layout_of(library_type(product.result), product.n, product.m);
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
    const LtPreference preference = workspace_preference();
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
  LtDescription description;
  LtLayout a;
  LtLayout b;
  LtLayout d;
  cublasLtMatmulHeuristicResult_t chosen = {};
};

ProductCall::ProductCall(const KernelCase& kernel, const DeviceBuffer& workspace)
    : ProductCall(dense_product(kernel), workspace) {}

ProductCall::ProductCall(const Product& product, const DeviceBuffer& workspace)
    : plan_(std::make_unique<Plan>(product, workspace)) {}

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

}  // namespace orrery::kernels
