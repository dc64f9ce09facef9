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
// 8 bits values have scales (attention_formats.hpp). A backward case runs the forward pass of the
// same implementation once per operand set, because it reads O and log_sum.

#include <cstdint>
#include <vector>

#include "kernels/attention/attention_formats.hpp"
#include "kernels/device/element.hpp"
#include "kernels/device/memory.hpp"
#include "kernels/device/runnable.hpp"
#include "sim/kernels/kernel_case.hpp"

namespace orrery::kernels {

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

  [[nodiscard]] std::int64_t query_elements() const {
    return sequences * queries * heads * dim_qk;
  }

  [[nodiscard]] std::int64_t key_elements() const {
    return sequences * keys * groups * dim_qk;
  }

  [[nodiscard]] std::int64_t value_elements() const {
    return sequences * keys * groups * dim_v;
  }

  [[nodiscard]] std::int64_t output_elements() const {
    return sequences * queries * heads * dim_v;
  }

  [[nodiscard]] std::int64_t rows() const {
    return sequences * heads * queries;
  }
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

  [[nodiscard]] int copies() const final {
    return static_cast<int>(sets_.size());
  }

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

  [[nodiscard]] const AttentionShape& shape() const {
    return shape_;
  }

 private:
  void add_set(std::uint64_t seed, Stream stream);

  AttentionShape shape_;
  std::vector<AttentionSet> sets_;
};

// Values of device memory as doubles: `count` rows of `width`, `stride` elements apart.
[[nodiscard]] std::vector<double> read_rows(const void* data,
                                            const Stored& stored,
                                            std::int64_t first,
                                            std::int64_t stride,
                                            std::int64_t width,
                                            std::int64_t count,
                                            Stream stream);

// Sampled rows of the outputs of `set` against the reference.
[[nodiscard]] Verification check_forward(const AttentionShape& shape,
                                         const AttentionSet& set,
                                         Stream stream);
[[nodiscard]] Verification check_backward(const AttentionShape& shape,
                                          const AttentionSet& set,
                                          Stream stream);

}  // namespace orrery::kernels
