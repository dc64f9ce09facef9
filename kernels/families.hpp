#pragma once

// Factories of runnable cases, one per operation, that prepare() chooses from. Each allocates and
// fills the operands of a case, or throws Unsupported.

#include <memory>

#include "kernels/device/element.hpp"
#include "kernels/device/runnable.hpp"
#include "kernels/reference/number_format.hpp"
#include "sim/base/check.hpp"
#include "sim/step/kernels/kernel_case.hpp"

namespace orrery::kernels {

// Precisions as device elements, and elements as formats of the CPU references. They meet only
// here: device code knows elements, references know formats.

// Of bf16, fp16 and fp32 operands.
[[nodiscard]] inline Element element_of(Precision precision) {
  switch (precision) {
    case Precision::bf16:
      return Element::bf16;
    case Precision::fp16:
      return Element::fp16;
    default:
      ORRERY_CHECK(precision == Precision::fp32, "{} is no wide type", to_string(precision));
      return Element::fp32;
  }
}

[[nodiscard]] inline reference::NumberFormat format_of(Element element) {
  switch (element) {
    case Element::fp32:
      return reference::NumberFormat::fp32;
    case Element::bf16:
      return reference::NumberFormat::bf16;
    case Element::fp16:
      return reference::NumberFormat::fp16;
    case Element::e4m3:
      return reference::NumberFormat::e4m3;
    case Element::e5m2:
      return reference::NumberFormat::e5m2;
    case Element::e8m0:
      return reference::NumberFormat::e8m0;
    case Element::e2m1:
      return reference::NumberFormat::e2m1;
  }
  return reference::NumberFormat::fp32;  // not reached: every enumerator returns above
}

// Products and attention, by libraries of the toolkit where they offer them.
[[nodiscard]] std::unique_ptr<Runnable> make_gemm(const KernelCase& kernel,
                                                  const PrepareOptions& options);
[[nodiscard]] std::unique_ptr<Runnable> make_grouped_gemm(const KernelCase& kernel,
                                                          const PrepareOptions& options);

// cuDNN where it is compiled in and offers the case, else the own kernels.
[[nodiscard]] std::unique_ptr<Runnable> make_attention(const KernelCase& kernel,
                                                       const PrepareOptions& options);
[[nodiscard]] std::unique_ptr<Runnable> make_cudnn_attention(const KernelCase& kernel,
                                                             const PrepareOptions& options);
[[nodiscard]] std::unique_ptr<Runnable> make_own_attention(const KernelCase& kernel,
                                                           const PrepareOptions& options);

// Own kernels, bound by memory: each of these takes the operations that its file launches.
[[nodiscard]] std::unique_ptr<Runnable> make_norm(const KernelCase& kernel,
                                                  const PrepareOptions& options);
[[nodiscard]] std::unique_ptr<Runnable> make_residual_add(const KernelCase& kernel,
                                                          const PrepareOptions& options);
[[nodiscard]] std::unique_ptr<Runnable> make_rotary(const KernelCase& kernel,
                                                    const PrepareOptions& options);
[[nodiscard]] std::unique_ptr<Runnable> make_swiglu(const KernelCase& kernel,
                                                    const PrepareOptions& options);
[[nodiscard]] std::unique_ptr<Runnable> make_cross_entropy(const KernelCase& kernel,
                                                           const PrepareOptions& options);
[[nodiscard]] std::unique_ptr<Runnable> make_embedding(const KernelCase& kernel,
                                                       const PrepareOptions& options);
[[nodiscard]] std::unique_ptr<Runnable> make_cast(const KernelCase& kernel,
                                                  const PrepareOptions& options);
[[nodiscard]] std::unique_ptr<Runnable> make_permute(const KernelCase& kernel,
                                                     const PrepareOptions& options);
[[nodiscard]] std::unique_ptr<Runnable> make_optimizer(const KernelCase& kernel,
                                                       const PrepareOptions& options);
// The CUDA run time's own copies.
[[nodiscard]] std::unique_ptr<Runnable> make_copy(const KernelCase& kernel,
                                                  const PrepareOptions& options);

}  // namespace orrery::kernels
