#pragma once

// Factories of runnable cases, one per operation, that prepare() chooses from. Each allocates and
// fills the operands of a case, or throws Unsupported.

#include <memory>

#include "kernels/device/element.hpp"
#include "kernels/device/runnable.hpp"
#include "sim/base/check.hpp"
#include "sim/step/kernels/kernel_case.hpp"

namespace orrery::kernels {

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
