#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cmath>

#include "kernels/attention/attention_case.hpp"
#include "kernels/attention/attention_kernels.cuh"
#include "kernels/device/runtime.hpp"

namespace orrery::kernels {

namespace {

using namespace attention;  // the kernels, in this file only

template <typename Kernel>
void allow(Kernel* kernel, int bytes) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
        "give a kernel its shared memory");
}

unsigned tiles_of(std::int64_t rows) { return static_cast<unsigned>((rows + kRows - 1) / kRows); }

dim3 grid_of(std::int64_t rows, std::int64_t heads, std::int64_t sequences) {
  return {tiles_of(rows), static_cast<unsigned>(heads), static_cast<unsigned>(sequences)};
}

DeviceAttention device_shape(const AttentionShape& shape) {
  const auto dim = static_cast<float>(shape.dim_qk);
  return {shape.heads, shape.groups, shape.queries, shape.keys, shape.causal, 1.0F / sqrtf(dim)};
}

template <typename T, int kDimQk, int kDimV>
struct Launcher {
  static void prepare() {
    allow(forward_kernel<T, kDimQk, kDimV>, kForwardMemory<T, kDimQk, kDimV>);
    allow(query_gradient_kernel<T, kDimQk, kDimV>, kBackwardMemory<T, kDimQk, kDimV>);
    allow(key_gradient_kernel<T, kDimQk, kDimV>, kBackwardMemory<T, kDimQk, kDimV>);
  }

  static void forward(const AttentionShape& shape, const AttentionSet& set, Stream stream) {
    forward_kernel<T, kDimQk, kDimV><<<grid_of(shape.queries, shape.heads, shape.sequences),
                                       kThreads, kForwardMemory<T, kDimQk, kDimV>, stream>>>(
        set.q.template as<const T>(), set.k.template as<const T>(), set.v.template as<const T>(),
        set.o.template as<T>(), set.log_sum.template as<float>(), device_shape(shape));
    check_launch("the own attention");
  }

  static void backward(const AttentionShape& shape, const AttentionSet& set, Stream stream) {
    const DeviceAttention on_device = device_shape(shape);
    const auto blocks = static_cast<unsigned>((shape.rows() + kWarps - 1) / kWarps);
    delta_kernel<T, kDimV><<<blocks, kThreads, 0, stream>>>(
        set.o.template as<const T>(), set.d_o.template as<const T>(),
        set.delta.template as<float>(), on_device, shape.rows());
    check_launch("the row sums of attention");
    const BackwardOperands<T> in = {
        set.q.template as<const T>(),           set.k.template as<const T>(),
        set.v.template as<const T>(),           set.d_o.template as<const T>(),
        set.log_sum.template as<const float>(), set.delta.template as<const float>()};
    query_gradient_kernel<T, kDimQk, kDimV>
        <<<grid_of(shape.queries, shape.heads, shape.sequences), kThreads,
           kBackwardMemory<T, kDimQk, kDimV>, stream>>>(in, set.d_q.template as<T>(), on_device);
    check_launch("the gradient of queries");
    key_gradient_kernel<T, kDimQk, kDimV><<<grid_of(shape.keys, shape.groups, shape.sequences),
                                            kThreads, kBackwardMemory<T, kDimQk, kDimV>, stream>>>(
        in, set.d_k.template as<T>(), set.d_v.template as<T>(), on_device);
    check_launch("the gradients of keys and values");
  }
};

template <typename T, typename Use>
void with_dimensions(const AttentionShape& shape, Use use) {
  constexpr int kNarrow = 64;
  constexpr int kWide = 128;
  constexpr int kLatent = 192;  // latent attention: 128 and 64 for the position
  if (shape.dim_qk == kNarrow) {
    use(Launcher<T, kNarrow, kNarrow>());
  } else if (shape.dim_qk == kWide) {
    use(Launcher<T, kWide, kWide>());
  } else {
    use(Launcher<T, kLatent, kWide>());
  }
}

// Calls `use` with the launcher of a shape.
template <typename Use>
void with_launcher(const AttentionShape& shape, Use use) {
  require(own_attention_offers(shape), "own attention has no kernel for this shape");
  if (shape.formats.operand.element == Element::bf16) {
    with_dimensions<__nv_bfloat16>(shape, use);
  } else {
    with_dimensions<__half>(shape, use);
  }
}

}  // namespace

bool own_attention_offers(const AttentionShape& shape) {
  constexpr std::int64_t kMostInGrid = 65535;  // of the second and third dimension
  constexpr std::int64_t kMostRows = std::int64_t{1} << 31;
  const bool dim = (shape.dim_qk == 64 && shape.dim_v == 64) ||
                   ((shape.dim_qk == 128 || shape.dim_qk == 192) && shape.dim_v == 128);
  return dim && !shape.formats.narrow() && shape.heads <= kMostInGrid &&
         shape.sequences <= kMostInGrid && shape.rows() < kMostRows;
}

void prepare_own_attention(const AttentionShape& shape) {
  with_launcher(shape, [](auto launcher) { launcher.prepare(); });
}

void own_attention_forward(const AttentionShape& shape, const AttentionSet& set, Stream stream) {
  with_launcher(shape, [&](auto launcher) { launcher.forward(shape, set, stream); });
}

void own_attention_backward(const AttentionShape& shape, const AttentionSet& set, Stream stream) {
  with_launcher(shape, [&](auto launcher) { launcher.backward(shape, set, stream); });
}

}  // namespace orrery::kernels
