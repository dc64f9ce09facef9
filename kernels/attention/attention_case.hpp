#pragma once

// What all implementations of attention share: operands, their layout, and the check of the
// results.
//
//   Q, O, dO, dQ   [sequence, query, head, dim]          K, V, dK, dV  [sequence, key, group, dim]
//   log_sum        [sequence, head, query], fp32: log of the sum of exp(scale q . k)
//
// symbol | meaning                                              | unit | origin
// -------|------------------------------------------------------|------|--------------
// group  | key and value head, shared by heads / groups heads   | -    | case
// scale  | 1 / sqrt(dim_qk)                                     | -    | computed
//
// A causal mask lets query i see keys j <= i; such a case has as many keys as queries. In
// 8 bits values have scales (above). A backward case runs the forward pass of the
// same implementation once per operand set, because it reads O and log_sum.

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/device/element.hpp"
#include "kernels/device/runnable.hpp"
#include "kernels/device/runtime.hpp"
#include "kernels/reference/number_format.hpp"
#include "sim/step/kernels/kernel_case.hpp"

namespace orrery::kernels {

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
// a      | 2^-24, in 8 bits 2^-13 (number_format.hpp)                         | 1    | hardware
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

  [[nodiscard]] bool narrow() const { return bits_of(operand.element) == 8; }
};

// `gradients`: what fp8_tensor stores them in, e5m2 or e4m3. Throws Unsupported for precisions that
// no attention is run in.
[[nodiscard]] AttentionFormats attention_formats(Precision precision,
                                                 Element gradients = Element::e5m2);

// Of an element of O: a sum over `keys` of p v whose terms have the magnitude m.
[[nodiscard]] reference::Tolerance output_tolerance(const AttentionFormats& formats,
                                                    double magnitude, std::int64_t keys);

[[nodiscard]] reference::Tolerance log_sum_tolerance(const AttentionFormats& formats);

// Of dQ and dK (`inner`: the score gradient) or of dV (the probability).
[[nodiscard]] reference::Tolerance gradient_tolerance(const AttentionFormats& formats,
                                                      const Stored& inner,
                                                      std::span<const double> row,
                                                      std::int64_t terms);

struct AttentionShape {
  std::int64_t sequences = 0;
  std::int64_t heads = 0;
  std::int64_t groups = 0;
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t dim_qk = 0;
  std::int64_t dim_v = 0;
  bool causal = false;
  bool backward = false;
  AttentionFormats formats;

  [[nodiscard]] std::int64_t query_elements() const { return sequences * queries * heads * dim_qk; }

  [[nodiscard]] std::int64_t key_elements() const { return sequences * keys * groups * dim_qk; }

  [[nodiscard]] std::int64_t value_elements() const { return sequences * keys * groups * dim_v; }

  [[nodiscard]] std::int64_t output_elements() const { return sequences * queries * heads * dim_v; }

  [[nodiscard]] std::int64_t rows() const { return sequences * heads * queries; }
};

// Throws Unsupported for precisions that attention_formats() does not know.
[[nodiscard]] AttentionShape attention_shape(const KernelCase& kernel);

// Bytes of one set; a forward case has no gradients.
[[nodiscard]] std::int64_t set_bytes(const AttentionShape& shape);

struct AttentionSet {
  DeviceBuffer q;
  DeviceBuffer k;
  DeviceBuffer v;
  DeviceBuffer o;
  DeviceBuffer log_sum;
  DeviceBuffer d_o;  // from here on backward only
  DeviceBuffer d_q;
  DeviceBuffer d_k;
  DeviceBuffer d_v;
  DeviceBuffer delta;  // sum over dim of dO O, one per row
};

class AttentionRunnable : public Runnable {
 public:
  void launch(Stream stream, int copy) final;

  [[nodiscard]] int copies() const final { return static_cast<int>(sets_.size()); }

  [[nodiscard]] Verification verify(Stream stream) final;

  // The same call on operands of the caller, for whole training steps.
  void launch_on(const AttentionSet& set, Stream stream) {
    shape_.backward ? backward(set, stream) : forward(set, stream);
  }

 protected:
  explicit AttentionRunnable(const AttentionShape& shape) : shape_(shape) {}

  // After the constructor of the implementation is ready to run; `workspace`: its own bytes.
  void allocate(const PrepareOptions& options, std::int64_t workspace);

  virtual void forward(const AttentionSet& set, Stream stream) = 0;
  virtual void backward(const AttentionSet& set, Stream stream) = 0;

  [[nodiscard]] const AttentionShape& shape() const { return shape_; }

 private:
  void add_set(std::uint64_t seed, Stream stream);

  AttentionShape shape_;
  std::vector<AttentionSet> sets_;
};

// Values of device memory as doubles: `count` rows of `width`, `stride` elements apart.
[[nodiscard]] std::vector<double> read_rows(const void* data, const Stored& stored,
                                            std::int64_t first, std::int64_t stride,
                                            std::int64_t width, std::int64_t count, Stream stream);

// Sampled rows of the outputs of `set` against the reference.
[[nodiscard]] Verification check_forward(const AttentionShape& shape, const AttentionSet& set,
                                         Stream stream);
[[nodiscard]] Verification check_backward(const AttentionShape& shape, const AttentionSet& set,
                                          Stream stream);

// Attention without cuDNN: three kernels that keep the scores in registers.
//
//   forward    a block takes 64 queries and walks over tiles of 64 keys with a running softmax
//   delta      d_i = sum over dim of dO_i O_i
//   dQ         a block takes 64 queries and walks over tiles of 32 keys: P from log_sum, then
//              dS = P (dO V^T - d), dQ = scale dS K
//   dK, dV     a block takes 64 keys and walks over tiles of 32 queries of all heads of its group
//
// symbol | meaning                                             | unit | origin
// -------|-----------------------------------------------------|------|-------
// tile   | rows of an operand in shared memory                 | 1    | chosen
// P, dS  | probabilities and their gradients, rounded to T     | -    | computed
//
// Products are mma.m16n8k16 with fp32 sums, one warp to 16 rows. Backward computes seven products
// where the fastest kernels compute five, and needs no atomics: results do not change from run to
// run. It is correct but not fast: samples are marked with the implementation `own`.
// Source: Dao 2023 (arXiv 2307.08691); fragments as in the PTX manual, mma.m16n8k16.

// Head dimensions that are compiled, of keys and values: 64 and 64, 128 and 128, 192 and 128.
[[nodiscard]] bool own_attention_offers(const AttentionShape& shape);

// Raises the limit of shared memory of the kernels of a shape; once before a launch.
void prepare_own_attention(const AttentionShape& shape);

void own_attention_forward(const AttentionShape& shape, const AttentionSet& set, Stream stream);
void own_attention_backward(const AttentionShape& shape, const AttentionSet& set, Stream stream);

}  // namespace orrery::kernels
