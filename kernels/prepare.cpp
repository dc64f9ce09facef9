#include <fmt/format.h>

#include <string>

#include "kernels/device/runnable.hpp"
#include "kernels/families.hpp"
#include "sim/base/check.hpp"

namespace orrery::kernels {

namespace {

[[noreturn]] void throw_collective(const KernelCase& kernel) {
  throw Unsupported(fmt::format("{} takes one process per GPU", to_string(kernel.operation)),
                    "collective");
}

}  // namespace

std::unique_ptr<Runnable> prepare(const KernelCase& kernel, const PrepareOptions& options) {
  const std::string problem = problem_of(kernel).value_or("");
  ORRERY_CHECK(problem.empty(), "a case is checked before it is prepared: {}", problem);
  switch (kernel.operation) {
    case Operation::gemm:
      return make_gemm(kernel, options);
    case Operation::grouped_gemm:
      return make_grouped_gemm(kernel, options);
    case Operation::attention:
      return make_attention(kernel, options);
    case Operation::rms_norm:
    case Operation::layer_norm:
      return make_norm(kernel, options);
    case Operation::residual_add:
      return make_residual_add(kernel, options);
    case Operation::rotary:
      return make_rotary(kernel, options);
    case Operation::swiglu:
      return make_swiglu(kernel, options);
    case Operation::cross_entropy:
      return make_cross_entropy(kernel, options);
    case Operation::embedding:
      return make_embedding(kernel, options);
    case Operation::quantize:
    case Operation::quantize_transpose:
      return make_cast(kernel, options);
    case Operation::permute:
    case Operation::unpermute:
      return make_permute(kernel, options);
    case Operation::gradient_norm:
    case Operation::adamw:
      return make_optimizer(kernel, options);
    case Operation::copy:
    case Operation::host_to_device:
    case Operation::device_to_host:
      return make_copy(kernel, options);
    case Operation::all_reduce:
    case Operation::all_gather:
    case Operation::reduce_scatter:
    case Operation::all_to_all:
    case Operation::send_receive:
      throw_collective(kernel);
  }
  throw_collective(kernel);  // not reached: every enumerator returns or throws above
}

}  // namespace orrery::kernels
