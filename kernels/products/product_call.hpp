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

#include <cstdint>
#include <memory>

#include "kernels/device/memory.hpp"
#include "kernels/device/runnable.hpp"
#include "kernels/products/product.hpp"
#include "sim/kernels/kernel_case.hpp"

namespace orrery::kernels {

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
  ProductCall(ProductCall&& other) noexcept;
  ~ProductCall();

  void launch(const ProductPointers& pointers, Stream stream) const;

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

[[nodiscard]] std::int64_t product_workspace_bytes();

}  // namespace orrery::kernels
