#include "kernels/products/library_call.hpp"

#include <fmt/format.h>

#include "kernels/device/status.hpp"
#include "kernels/device/stream.hpp"

namespace orrery::kernels {

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
  check_described(cublasLtMatrixLayoutCreate(&layout,
                                             type,
                                             static_cast<std::uint64_t>(rows),
                                             static_cast<std::uint64_t>(columns),
                                             rows),
                  "describe a matrix");
  return LtLayout(layout);
}

LtLayout layout_of(const ProductOperand& operand) {
  const cudaDataType_t type = library_type(operand.element);
  return operand.reduced_contiguous ? layout_of(type, operand.reduced, operand.outer)
                                    : layout_of(type, operand.outer, operand.reduced);
}

LtPreference workspace_preference() {
  cublasLtMatmulPreference_t raw = nullptr;
  check(cublasLtMatmulPreferenceCreate(&raw), "state a preference");
  LtPreference preference(raw);
  const auto bytes = static_cast<std::uint64_t>(kWorkspaceBytes);
  check(cublasLtMatmulPreferenceSetAttribute(
            preference.get(), CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof(bytes)),
        "state a preference");
  return preference;
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

void run_grouped(const BlasContext& context,
                 const GroupedArguments& arguments,
                 const DeviceBuffer& pointers,
                 const DeviceBuffer& workspace,
                 Stream stream) {
  const std::size_t groups = arguments.rows.size();
  auto* const first = pointers.as<void*>();
  check(cublasSetStream(context.get(), stream), "set the stream of cuBLAS");
  // cublasSetStream gives back the library's own workspace, which a captured graph may not use.
  check(cublasSetWorkspace(
            context.get(), workspace.data(), static_cast<std::size_t>(workspace.bytes())),
        "set the workspace of cuBLAS");
  check(cublasGemmGroupedBatchedEx_64(context.get(),
                                      arguments.transpose_a.data(),
                                      arguments.transpose_b.data(),
                                      arguments.rows.data(),
                                      arguments.columns.data(),
                                      arguments.reduced.data(),
                                      arguments.alpha.data(),
                                      first,
                                      arguments.type_a,
                                      arguments.stride_a.data(),
                                      first + groups,
                                      arguments.type_b,
                                      arguments.stride_b.data(),
                                      arguments.beta.data(),
                                      first + 2 * groups,
                                      arguments.type_d,
                                      arguments.stride_d.data(),
                                      static_cast<std::int64_t>(groups),
                                      arguments.products.data(),
                                      CUBLAS_COMPUTE_32F),
        "run cublasGemmGroupedBatchedEx");
}

}  // namespace orrery::kernels
