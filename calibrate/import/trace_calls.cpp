#include "calibrate/import/trace_calls.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <vector>

namespace orrery::calibration_import {

namespace {

using kernels::KernelCase;
using kernels::Precision;
using kernels::Role;
using Sizes = std::vector<std::int64_t>;

// Where an operation keeps what a case needs.
struct KnownCall {
  std::string_view name;
  std::size_t first = 0;   // of the two matrices, or Q
  std::size_t causal = 0;  // of attention
  Role role = Role::none;  // of attention; none: a product
};

constexpr std::array<KnownCall, 9> kCalls = {{
    {"aten::mm"},
    {"aten::addmm", 1},
    {"aten::_scaled_mm"},
    {"aten::_scaled_dot_product_flash_attention", 0, 4, Role::forward},
    {"aten::_scaled_dot_product_flash_attention_backward", 1, 11, Role::backward},
    {"aten::_scaled_dot_product_efficient_attention", 0, 6, Role::forward},
    {"aten::_scaled_dot_product_efficient_attention_backward", 1, 11, Role::backward},
    {"aten::_scaled_dot_product_cudnn_attention", 0, 6, Role::forward},
    {"aten::_scaled_dot_product_cudnn_attention_backward", 1, 14, Role::backward},
}};

const KnownCall* find_call(std::string_view name) {
  const auto* at = std::find_if(
      kCalls.begin(), kCalls.end(), [name](const KnownCall& known) { return known.name == name; });
  return at == kCalls.end() ? nullptr : at;
}

TracedCall refused(std::string why) {
  return {.kernel = {}, .refusal = std::move(why)};
}

TracedCall sound(const KernelCase& kernel) {
  if (const auto problem = kernels::problem_of(kernel)) {
    return refused("its extents are no case");
  }
  return {.kernel = kernel, .refusal = {}};
}

std::optional<Precision> precision_of(std::string_view type) {
  if (type == "c10::BFloat16") {
    return Precision::bf16;
  }
  if (type == "c10::Half") {
    return Precision::fp16;
  }
  return type.starts_with("c10::Float8") ? std::optional(Precision::fp8_tensor) : std::nullopt;
}

bool is_turned(const Sizes& strides) {
  return strides[0] == 1 && strides[1] != 1;
}

std::int64_t elements(const Sizes& sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) {
    count *= size;
  }
  return count;
}

TracedCall product_of(const KnownCall& known, const trace::Operands& operands) {
  const std::size_t a = known.first;
  const std::size_t b = a + 1;
  const auto& sizes = operands.sizes;
  const auto& strides = operands.strides;
  if (sizes.size() <= b || sizes[a].size() != 2 || sizes[b].size() != 2 ||
      sizes[a][1] != sizes[b][0]) {
    return refused("the sizes of its two matrices are not recorded (record_shapes=True)");
  }
  if (strides.size() <= b || strides[a].size() != 2 || strides[b].size() != 2) {
    return refused("strides are not recorded, so that a product and its gradients look the same");
  }
  const auto precision = operands.types.size() > b ? precision_of(operands.types[a]) : std::nullopt;
  if (!precision) {
    return refused("its element type is not one of 16 or 8 bits");
  }
  const bool scaled = known.name == "aten::_scaled_mm";
  if (scaled != (*precision == Precision::fp8_tensor)) {
    return refused("its element type does not go with the call");
  }
  if (scaled &&
      (sizes.size() < b + 3 || elements(sizes[b + 1]) != 1 || elements(sizes[b + 2]) != 1)) {
    return refused("its scales are not one per tensor");
  }
  const bool left = is_turned(strides[a]);
  const bool right = is_turned(strides[b]);
  // 8-bit products are always row by column: their roles cannot be told, and do not differ.
  if (left && right) {
    return refused("both of its matrices are turned, as no pass of training has them");
  }
  const Role role = scaled || right ? Role::fprop : left ? Role::wgrad : Role::dgrad;
  return sound({.operation = kernels::Operation::gemm,
                .role = role,
                .precision = *precision,
                .extents = {sizes[a][0], sizes[b][1], sizes[a][1]}});
}

TracedCall attention_of(const KnownCall& known, const trace::Operands& operands) {
  constexpr std::size_t kAxes = 4;  // sequences, heads, tokens, width
  const auto& sizes = operands.sizes;
  const std::size_t q = known.first;
  if (sizes.size() <= q + 2) {
    return refused("the sizes of Q, K and V are not recorded (record_shapes=True)");
  }
  for (std::size_t i = q; i < q + 3; ++i) {
    if (sizes[i].size() != kAxes) {
      return refused("the sizes of Q, K and V are not recorded (record_shapes=True)");
    }
  }
  const std::string causal =
      operands.values.size() > known.causal ? operands.values[known.causal] : std::string();
  if (causal != "True" && causal != "False") {
    return refused("whether it is causal is not recorded (Concrete Inputs)");
  }
  const auto precision = operands.types.size() > q ? precision_of(operands.types[q]) : std::nullopt;
  if (!precision) {
    return refused("its element type is not one of 16 or 8 bits");
  }
  return sound({.operation = kernels::Operation::attention,
                .role = known.role,
                .precision = *precision,
                .extents = {sizes[q][0],
                            sizes[q][1],
                            sizes[q + 1][1],
                            sizes[q][2],
                            sizes[q + 1][2],
                            sizes[q][3],
                            sizes[q + 2][3],
                            causal == "True" ? 1 : 0}});
}

}  // namespace

bool is_known_call(std::string_view name) {
  return find_call(name) != nullptr;
}

TracedCall call_of(std::string_view name, const trace::Operands& operands) {
  const KnownCall* known = find_call(name);
  if (known == nullptr) {
    return refused("no case is known for it");
  }
  return known->role == Role::none ? product_of(*known, operands) : attention_of(*known, operands);
}

}  // namespace orrery::calibration_import
