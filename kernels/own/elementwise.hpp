#pragma once

// Launches residual additions, rotary embedding and SwiGLU. Formulas:
// kernels/reference/elementwise.hpp.
//
// symbol     | meaning                                                     | unit | origin
// -----------|-------------------------------------------------------------|------|---------
// T          | __nv_bfloat16 or __half; arithmetic is fp32                 | -    | operands
// elements   | a multiple of 8                                             | 1    | operands
// x, y       | rotary: [tokens, heads, dim]; dim a multiple of 16          | -    | operands
// angles     | [positions, 2, dim / 2] cosines, then sines                 | -    | operands
//            | token t has position t mod positions                        |      |
// gate_up    | [rows, 2, columns]: gate, then up; columns a multiple of 8  | -    | operands
//
// One pack of eight per thread and operand.

#include <cstdint>

#include "kernels/device/runnable.hpp"

namespace orrery::kernels {

template <typename T>
struct ResidualAdd {
  const T* a = nullptr;
  const T* b = nullptr;
  T* y = nullptr;
  std::int64_t elements = 0;
};

template <typename T>
struct Rotary {
  const T* x = nullptr;
  const float* angles = nullptr;
  T* y = nullptr;
  std::int64_t tokens = 0;
  std::int64_t heads = 0;
  std::int64_t dim = 0;
  std::int64_t positions = 0;
  bool back = false;  // turned the other way: the gradient
};

template <typename T>
struct SwigluForward {
  const T* gate_up = nullptr;
  T* y = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

template <typename T>
struct SwigluBackward {
  const T* gate_up = nullptr;
  const T* gradient = nullptr;    // of y
  T* gate_up_gradient = nullptr;  // laid out as gate_up
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

template <typename T>
void launch_residual_add(const ResidualAdd<T>& add, Stream stream);
template <typename T>
void launch_rotary(const Rotary<T>& rotary, Stream stream);
template <typename T>
void launch_swiglu_forward(const SwigluForward<T>& swiglu, Stream stream);
template <typename T>
void launch_swiglu_backward(const SwigluBackward<T>& swiglu, Stream stream);

}  // namespace orrery::kernels
