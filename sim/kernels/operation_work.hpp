#pragma once

// The work of one call of each operation: FLOP and bytes. One formula per row of operation_table(),
// which spells it out; kernel_case.hpp states what is counted. Used inside sim/kernels only.

#include "sim/kernels/kernel_case.hpp"

namespace orrery::kernels {

[[nodiscard]] Work gemm_work(const KernelCase& kernel);
[[nodiscard]] Work grouped_gemm_work(const KernelCase& kernel);
[[nodiscard]] Work attention_work(const KernelCase& kernel);
[[nodiscard]] Work norm_work(const KernelCase& kernel);
[[nodiscard]] Work residual_work(const KernelCase& kernel);
[[nodiscard]] Work rotary_work(const KernelCase& kernel);
[[nodiscard]] Work swiglu_work(const KernelCase& kernel);
[[nodiscard]] Work cross_entropy_work(const KernelCase& kernel);
[[nodiscard]] Work embedding_work(const KernelCase& kernel);
[[nodiscard]] Work quantize_work(const KernelCase& kernel);
[[nodiscard]] Work quantize_transpose_work(const KernelCase& kernel);
[[nodiscard]] Work permute_work(const KernelCase& kernel);
[[nodiscard]] Work unpermute_work(const KernelCase& kernel);
[[nodiscard]] Work gradient_norm_work(const KernelCase& kernel);
[[nodiscard]] Work adamw_work(const KernelCase& kernel);
[[nodiscard]] Work copy_work(const KernelCase& kernel);
[[nodiscard]] Work to_device_work(const KernelCase& kernel);
[[nodiscard]] Work to_host_work(const KernelCase& kernel);
[[nodiscard]] Work exchange_work(const KernelCase& kernel);
[[nodiscard]] Work gather_work(const KernelCase& kernel);
[[nodiscard]] Work scatter_work(const KernelCase& kernel);

}  // namespace orrery::kernels
