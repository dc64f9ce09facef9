#pragma once

// Describes products to cuBLAS and cuBLASLt. Shared by the measured products (gemm.cpp,
// grouped_gemm.cpp) and those of a whole step (product_call.cpp), so that the step calls the
// library exactly as its measurement does.
//
// quantity  | meaning                                                    | unit | origin
// ----------|------------------------------------------------------------|------|------------------
// workspace | scratch memory that a call may use: what frameworks give   | byte | convention
//           | on Hopper                                                  |      |
//
// The library is column-major: a view's contiguous dimension is its rows, so a product of m x n is
// asked for as its transpose.

#include <cublasLt.h>
#include <cublas_v2.h>
#include <library_types.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kernels/device/element.hpp"
#include "kernels/device/memory.hpp"
#include "kernels/products/product.hpp"

namespace orrery::kernels {

inline constexpr std::int64_t kWorkspaceBytes = std::int64_t{32} << 20;

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
using LtDescription = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using LtLayout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using LtPreference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;
using BlasContext = Owned<cublasHandle_t, cublasDestroy>;

// What the library refuses while a product is described is a case it does not offer: an older
// run-time library does not know a scale mode and calls it an invalid value.
void check_described(cublasStatus_t status, std::string_view what);

[[nodiscard]] cudaDataType_t library_type(Element element);

[[nodiscard]] LtContext start_lt();
[[nodiscard]] BlasContext start_blas();  // scalars on the host

[[nodiscard]] LtLayout layout_of(cudaDataType_t type, std::int64_t rows, std::int64_t columns);
[[nodiscard]] LtLayout layout_of(const ProductOperand& operand);
[[nodiscard]] LtPreference workspace_preference();

template <typename T>
void set(const LtDescription& description, cublasLtMatmulDescAttributes_t attribute, T value) {
  check_described(
      cublasLtMatmulDescSetAttribute(description.get(), attribute, &value, sizeof(value)),
      "describe the product");
}

// The arguments of one grouped call: every group is one product, none of them empty. Host arrays,
// but for the pointers.
struct GroupedArguments {
  std::vector<cublasOperation_t> transpose_a;
  std::vector<cublasOperation_t> transpose_b;
  std::vector<std::int64_t> rows;     // of the column-major result: n
  std::vector<std::int64_t> columns;  // m
  std::vector<std::int64_t> reduced;
  std::vector<std::int64_t> stride_a;
  std::vector<std::int64_t> stride_b;
  std::vector<std::int64_t> stride_d;
  std::vector<std::int64_t> products;  // of each group: 1
  std::vector<float> alpha;
  std::vector<float> beta;
  cudaDataType_t type_a = CUDA_R_16BF;
  cudaDataType_t type_b = CUDA_R_16BF;
  cudaDataType_t type_d = CUDA_R_16BF;

  void add(const Product& product);
};

// Enqueues one call. `pointers`: device memory with the addresses of a of each group, then b, then
// d.
void run_grouped(const BlasContext& context,
                 const GroupedArguments& arguments,
                 const DeviceBuffer& pointers,
                 const DeviceBuffer& workspace,
                 Stream stream);

}  // namespace orrery::kernels
