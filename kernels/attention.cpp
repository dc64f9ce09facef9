#include <fmt/format.h>

#include <memory>

#include "kernels/attention_case.hpp"
#include "kernels/attention_own.hpp"
#include "kernels/families.hpp"

namespace orrery::kernels {

namespace {

class OwnAttention final : public AttentionRunnable {
 public:
  OwnAttention(const AttentionShape& shape, const PrepareOptions& options)
      : AttentionRunnable(shape) {
    prepare_own_attention(shape);
    allocate(options, 0);
  }

  [[nodiscard]] std::string_view implementation() const override {
    return "own";
  }

 private:
  void forward(const AttentionSet& set, Stream stream) override {
    own_attention_forward(shape(), set, stream);
  }

  void backward(const AttentionSet& set, Stream stream) override {
    own_attention_backward(shape(), set, stream);
  }
};

}  // namespace

std::unique_ptr<Runnable> make_own_attention(const KernelCase& kernel,
                                             const PrepareOptions& options) {
  const AttentionShape shape = attention_shape(kernel);
  if (!own_attention_offers(shape)) {
    throw Unsupported(fmt::format("the own attention has head dimensions 64 and 128, not {} and {}",
                                  shape.dim_qk,
                                  shape.dim_v),
                      "not offered");
  }
  return std::make_unique<OwnAttention>(shape, options);
}

std::unique_ptr<Runnable> make_attention(const KernelCase& kernel, const PrepareOptions& options) {
#if defined(ORRERY_CUDNN_ATTENTION)
  try {
    return make_cudnn_attention(kernel, options);
  } catch (const Unsupported&) {
    // What cuDNN does not offer the own kernels may; otherwise its reason stands.
    if (!own_attention_offers(attention_shape(kernel))) {
      throw;
    }
  }
#endif
  return make_own_attention(kernel, options);
}

}  // namespace orrery::kernels
