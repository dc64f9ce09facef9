#pragma once

// Maps a PyTorch call to a kernel case by the operands that the profiler recorded. Nothing is
// guessed: a call whose trace lacks what the case needs is refused, with the reason.
//
// call                                  | case                      | is taken from
// --------------------------------------|---------------------------|------------------------------
// aten::mm, aten::addmm                 | gemm in bf16, fp16        | sizes; the role from strides
// aten::_scaled_mm                      | gemm in fp8_tensor        | the same, of one scale each
// aten::_scaled_dot_product_flash_,     | attention forward and     | sizes of Q, K, V and the
// efficient_ and cudnn_attention        | backward                  | value of is_causal
//
//   role of a product A B, by which operand is transposed in memory (its first stride is 1)
//     y = x W^T: B    dx = dy W: none    dW = dy^T x: A
//
// Signatures: aten/src/ATen/native/native_functions.yaml of PyTorch.

#include <optional>
#include <string>
#include <string_view>

#include "sim/kernels/kernel_case.hpp"
#include "sim/trace/trace_event.hpp"

namespace orrery::calibration_import {

struct TracedCall {
  std::optional<kernels::KernelCase> kernel;
  std::string refusal;  // where there is none
};

// A call whose kernels can become samples.
[[nodiscard]] bool is_known_call(std::string_view name);

[[nodiscard]] TracedCall call_of(std::string_view name, const trace::Operands& operands);

}  // namespace orrery::calibration_import
