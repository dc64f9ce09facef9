#pragma once

// Storage formats and scales of the tensors of attention, and the tolerances of its results.
//
//   value = element / scale
//
// tensor      | 8 bit        | scale      | why that scale
// ------------|--------------|------------|---------------------------------------------------
// Q, K, V     | E4M3         | 64         | N(0, 1) ends near 6: below 448
// O           | E4M3         | 64         | a mean of V: never above it
// P (inside)  | E4M3         | 256        | at most 1
// dO          | E5M2 or E4M3 | 4096 or 64 | N(0, 1)
// dS (inside) | E5M2 or E4M3 | 1024 or 32 | below 14: p (1 - p) of a product
// dQ, dK, dV  | E5M2 or E4M3 | 512 or 8   | below 56, also where 64 query heads share a key
//
// In 16 bits all are of the case's type, with scale 1.
//
// A recipe takes such scales from the largest magnitudes it has seen; here they are fixed, so that
// runs repeat. The kernel still computes the largest magnitudes (cuDNN's amax outputs), since a
// recipe pays for them.
//
//   tolerance(result) = relative |expected| + step + 8 sqrt(terms) a m + 2 o m + floor
//   floor = 2 smallest(inner) / scale(inner) sqrt(terms)
//
// symbol | meaning                                                        | unit | origin
// -------|----------------------------------------------------------------|------|---------------
// m      | root of the sum of the squares of the terms; of a gradient     | -    | reference
//        | twice the root mean square of its row                          |      |
// o      | rounding of P or dS before the second product: 2 u in 16 bits, | 1    | number_format
//        | 1.5 u in 8 bits                                                |      |
// a      | 2^-24, in 8 bits 2^-13 (tolerance.hpp)                         | 1    | hardware
// floor  | P and dS below the smallest normal number lose an absolute     | -    | computed
//        | amount; the other factor is about 1, four times the sum's root |      |
// step   | smallest subnormal of the result / its scale                   | -    | number_format
//
// In 8 bits u is 1/16 (E4M3) or 1/8 (E5M2), so that the worst of thousands of results reaches
// half the tolerance; a wrong mask, head or scale is off by the size of a row's elements, several
// times the tolerance (attention_formats_test.cpp).
//
// Source: cudnn-frontend, sdpa_fp8 and sdpa_fp8_backward: O in the type of Q, P in the type of Q,
// dS in the type of dO; OCP 8-bit Floating Point Specification 1.0.

#include <cstdint>
#include <span>

#include "kernels/device/element.hpp"
#include "kernels/reference/tolerance.hpp"
#include "sim/kernels/kernel_case.hpp"

namespace orrery::kernels {

struct Stored {
  Element element = Element::bf16;
  double scale = 1.0;
};

struct AttentionFormats {
  Stored operand;          // Q, K, V, O
  Stored probability;      // P
  Stored output_gradient;  // dO
  Stored score_gradient;   // dS
  Stored gradient;         // dQ, dK, dV

  [[nodiscard]] bool narrow() const {
    return bits_of(operand.element) == 8;
  }
};

// `gradients`: what fp8_tensor stores them in, e5m2 or e4m3. Throws Unsupported for precisions that
// no attention is run in.
[[nodiscard]] AttentionFormats attention_formats(Precision precision,
                                                 Element gradients = Element::e5m2);

// Of an element of O: a sum over `keys` of p v whose terms have the magnitude m.
[[nodiscard]] reference::Tolerance output_tolerance(const AttentionFormats& formats,
                                                    double magnitude,
                                                    std::int64_t keys);

[[nodiscard]] reference::Tolerance log_sum_tolerance(const AttentionFormats& formats);

// Of dQ and dK (`inner`: the score gradient) or of dV (the probability).
[[nodiscard]] reference::Tolerance gradient_tolerance(const AttentionFormats& formats,
                                                      const Stored& inner,
                                                      std::span<const double> row,
                                                      std::int64_t terms);

}  // namespace orrery::kernels
