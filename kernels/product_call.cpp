#include "kernels/product_call.hpp"

#include <utility>
#include <vector>

#include "kernels/device/status.hpp"
#include "kernels/device/stream.hpp"
#include "kernels/library_call.hpp"
#include "kernels/product.hpp"

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
  Plan(const KernelCase& kernel, const DeviceBuffer& given)
      : product(dense_product(kernel)), workspace(given) {
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
        arguments.add(group_products.back());
      }
    }
    context = start_blas();
  }

  const DeviceBuffer& workspace;
  BlasContext context;
  std::vector<Product> group_products;  // empty ones too: their weights have a place
  GroupedArguments arguments;
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
  run_grouped(plan_->context, plan_->arguments, addresses, plan_->workspace, stream);
}

}  // namespace orrery::kernels
