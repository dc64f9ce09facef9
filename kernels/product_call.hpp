#pragma once

// How is a product run on operands that the caller owns? The calls that gemm.cpp and
// grouped_gemm.cpp measure, with the library's first choice, for whole training steps.
//
// symbol  | meaning                                                    | unit | origin
// --------|------------------------------------------------------------|------|--------------
// a, b, d | as in product.hpp: weights or tokens, tokens or gradients, | -    | caller
//         | result                                                     |      |
// scales  | of a and b, one fp32 each; fp8_tensor only                 | -    | caller
//
// Both throw Unsupported where the library does not offer the product, and only enqueue when they
// are launched.

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cases/kernel_case.hpp"
#include "kernels/device/memory.hpp"
#include "kernels/device/runnable.hpp"

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
  ProductCall(ProductCall&& other) noexcept;
  ~ProductCall();

  void launch(const ProductPointers& pointers, Stream stream) const;

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

[[nodiscard]] std::int64_t product_workspace_bytes();

// A grouped_gemm of bf16 or fp16. Groups lie one after another, without gaps: rows of tokens in the
// order of the groups, weights of one group after those of the one before.
class GroupedCall {
 public:
  GroupedCall(const KernelCase& kernel, const DeviceBuffer& workspace);
  GroupedCall(GroupedCall&& other) noexcept;
  ~GroupedCall();

  // Addresses of the parts of every group on the device, for launch(); waits for the stream.
  [[nodiscard]] DeviceBuffer addresses(const ProductPointers& pointers, Stream stream) const;

  void launch(const DeviceBuffer& addresses, Stream stream) const;

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace orrery::kernels
