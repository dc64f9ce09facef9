#pragma once

// Runs a product on operands that the caller owns: the call that gemm.cpp measures, with the
// library's first choice, for whole training steps and for groups of products.
//
// symbol  | meaning                                                    | unit | origin
// --------|------------------------------------------------------------|------|--------------
// a, b, d | as in product.hpp: weights or tokens, tokens or gradients, | -    | caller
//         | result                                                     |      |
// scales  | of a and b, one fp32 each; fp8_tensor only                 | -    | caller
//
// Throws Unsupported where the library does not offer the product, and only enqueues when it is
// launched.

#include <cublasLt.h>
#include <cublas_v2.h>
#include <library_types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kernels/device/element.hpp"
#include "kernels/device/runnable.hpp"
#include "kernels/device/runtime.hpp"
#include "kernels/products/product.hpp"
#include "sim/base/units.hpp"
#include "sim/step/kernels/kernel_case.hpp"

namespace orrery::kernels {

// Describes products to cuBLAS and cuBLASLt. Shared by the measured products (gemm.cpp,
// grouped_call.cpp) and those of a whole step (product_call.cpp), so that the step calls the
// library exactly as its measurement does.
//
// quantity  | meaning                                                    | unit | origin
// ----------|------------------------------------------------------------|------|------------------
// workspace | scratch memory that a call may use: what frameworks give   | byte | convention
//           | on Hopper                                                  |      |
//
// The library is column-major: a view's contiguous dimension is its rows, so a product of m x n is
// asked for as its transpose.

inline constexpr int kCandidates = 16;  // that the library is asked for
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

template <typename T>
void set(const LtDescription& description, cublasLtMatmulDescAttributes_t attribute, T value) {
  check_described(
      cublasLtMatmulDescSetAttribute(description.get(), attribute, &value, sizeof(value)),
      "describe the product");
}

// One product as cuBLASLt sees it.
struct LtPlan {
  explicit LtPlan(const Product& product);

  // Without scales.
  [[nodiscard]] LtDescription describe() const;

  // Up to `most` algorithms, best first by the library's own estimate; throws Unsupported where
  // there is none.
  [[nodiscard]] std::vector<cublasLtMatmulHeuristicResult_t> candidates(
      const LtDescription& description, int most) const;

  void run(const LtDescription& description, const void* in_a, const void* in_b, void* out,
           const cublasLtMatmulAlgo_t& algorithm, const DeviceBuffer& workspace,
           Stream stream) const;

  Product product;
  LtContext context;
  LtLayout a;
  LtLayout b;
  LtLayout d;
};

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
void run_grouped(const BlasContext& context, const GroupedArguments& arguments,
                 const DeviceBuffer& pointers, const DeviceBuffer& workspace, Stream stream);

// Describes the algorithm that cuBLASLt chose, for samples: number, tile, stages, split, cluster.
//
// name           | meaning                                                       | unit
// ---------------|---------------------------------------------------------------|------
// algorithm      | number of the algorithm                                       | -
// tile, cluster  | rows x columns of the library's column-major result           | 1
// stages         | depth of reduced elements x buffers                           | 1
// split_k        | blocks that share one tile of the result                      | 1
// waves          | tiles / tiles that fit on the GPU at once, as the library says | 1
// workspace      | bytes taken                                                   | byte

[[nodiscard]] std::vector<Detail> algorithm_details(const cublasLtMatmulAlgo_t& algorithm,
                                                    std::size_t workspace, float waves);

// "128x256" of 23; the number itself when this header does not know it.
[[nodiscard]] std::string tile_name(int tile);
[[nodiscard]] std::string stages_name(int stages);
[[nodiscard]] std::string cluster_name(int cluster);

struct ProductPointers {
  const void* a = nullptr;
  const void* b = nullptr;
  void* d = nullptr;
  const float* a_scale = nullptr;
  const float* b_scale = nullptr;
};

// One gemm of bf16, fp16 or fp8_tensor; several may share a workspace on one stream.
class ProductCall {
 public:
  ProductCall(const KernelCase& kernel, const DeviceBuffer& workspace);
  ProductCall(const Product& product, const DeviceBuffer& workspace);

  void launch(const ProductPointers& pointers, Stream stream) const;

  // Takes the library's next choice where the first fails when it runs on these operands, whose
  // result it spoils. Waits for the stream.
  void choose(const ProductPointers& pointers, Stream stream);

 private:
  void set_scales(const void* a, const void* b) const;

  [[nodiscard]] bool scaled() const { return plan_.product.a.scales == ScaleMode::tensor; }

  LtPlan plan_;
  const DeviceBuffer& workspace_;
  LtDescription description_;
  std::vector<cublasLtMatmulHeuristicResult_t> candidates_;
  cublasLtMatmulHeuristicResult_t chosen_ = {};
};

[[nodiscard]] std::int64_t product_workspace_bytes();

// Picks the fastest of a library's candidates for a call, skipping those that fail to run.
//
//   time of a candidate = median over rounds; a round times each candidate once, so that a clock
//                         that moves meanwhile moves all of them
//
// symbol | meaning                                                             | unit | origin
// -------|---------------------------------------------------------------------|------|--------
// rounds | 9                                                                   | 1    | a choice
// most   | 1 s: the calls of all candidates together; after that there is no   | s    | a choice
//        | other call. The largest products take 50 ms each                    |      |
//
// The first call of a candidate loads its kernel, and does not count. A candidate that the library
// offers and that fails when it runs loses only itself; one that the time did not reach is unknown,
// and the library gives its best ones first. Only a device that stops answering ends it.

// Whether the device still answers.
using Usable = std::function<bool()>;

// Why it failed; nothing when it went well. What fails is Unsupported or Error(device); the error
// is thrown on when the device answers no more, any other always.
[[nodiscard]] std::optional<std::string> trouble_of(const std::function<void()>& attempt,
                                                    const Usable& usable);

// The first candidate that runs, 0 for the library's own choice. Throws what the last one threw
// when none does.
[[nodiscard]] std::size_t first_that_runs(std::size_t candidates,
                                          const std::function<void(std::size_t)>& run,
                                          const Usable& usable);

struct SearchRule {
  std::size_t rounds = 9;
  Seconds most = seconds(1.0);
};

struct CandidateTimes {
  std::vector<std::optional<double>> seconds;  // absent: it does not run, or nobody knows
  std::optional<std::size_t> fastest;          // of those that were timed; absent: there are none
};

// `seconds_of` times one call of a candidate.
[[nodiscard]] CandidateTimes time_candidates(std::size_t candidates, const SearchRule& rule,
                                             const std::function<double(std::size_t)>& seconds_of,
                                             const Usable& usable);

}  // namespace orrery::kernels
