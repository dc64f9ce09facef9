#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/attention/attention_case.hpp"
#include "kernels/attention/attention_own.hpp"
#include "kernels/families.hpp"

namespace orrery::kernels {

namespace {

class OwnAttention final : public AttentionRunnable {
 public:
  OwnAttention(const AttentionShape& shape, const PrepareOptions& options, std::string reason)
      : AttentionRunnable(shape), reason_(std::move(reason)) {
    prepare_own_attention(shape);
    allocate(options, 0);
  }

  [[nodiscard]] std::string_view implementation() const override {
    return "own";
  }

  [[nodiscard]] std::vector<Detail> details() const override {
    return {{"without_cudnn", reason_}};
  }

 private:
  void forward(const AttentionSet& set, Stream stream) override {
    own_attention_forward(shape(), set, stream);
  }

  void backward(const AttentionSet& set, Stream stream) override {
    own_attention_backward(shape(), set, stream);
  }

  std::string reason_;  // why cuDNN does not run it
};

std::unique_ptr<Runnable> make_own(const KernelCase& kernel,
                                   const PrepareOptions& options,
                                   std::string reason) {
  const AttentionShape shape = attention_shape(kernel);
  if (shape.formats.narrow()) {
    throw Unsupported(fmt::format("the own attention runs in bf16 and fp16, not {}; cuDNN: {}",
                                  to_string(kernel.precision),
                                  reason),
                      "not offered");
  }
  if (!own_attention_offers(shape)) {
    throw Unsupported(
        fmt::format("the own attention has head dimensions 64 and 64, 128 and 128, 192 and 128, "
                    "not {} and {}",
                    shape.dim_qk,
                    shape.dim_v),
        "not offered");
  }
  return std::make_unique<OwnAttention>(shape, options, std::move(reason));
}

}  // namespace

std::unique_ptr<Runnable> make_own_attention(const KernelCase& kernel,
                                             const PrepareOptions& options) {
  return make_own(kernel, options, "not asked");
}

std::unique_ptr<Runnable> make_attention(const KernelCase& kernel, const PrepareOptions& options) {
#if defined(ORRERY_CUDNN_ATTENTION)
  try {
    return make_cudnn_attention(kernel, options);
  } catch (const Unsupported& unsupported) {
    // What cuDNN does not offer the own kernels may; otherwise its reason stands.
    if (!own_attention_offers(attention_shape(kernel))) {
      throw;
    }
    return make_own(kernel, options, unsupported.what());
  }
#else
  return make_own(kernel, options, "not compiled in");
#endif
}

}  // namespace orrery::kernels
