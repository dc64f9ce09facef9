#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cmath>

#include "kernels/attention_kernels.cuh"
#include "kernels/attention_own.hpp"
#include "kernels/device/status.hpp"

namespace orrery::kernels {

namespace {

using namespace attention;  // the kernels, in this file only

template <typename T, int kDim>
constexpr int kForwardMemory = 2 * Tile<T, kDim>::elements(kForwardKeys) * sizeof(T);

template <typename T, int kDim>
constexpr int kBackwardMemory =
    2 * (Tile<T, kDim>::elements(kRows) + Tile<T, kDim>::elements(kBackwardColumns)) * sizeof(T);

template <typename Kernel>
void allow(Kernel* kernel, int bytes) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
        "give a kernel its shared memory");
}

unsigned tiles_of(std::int64_t rows) {
  return static_cast<unsigned>((rows + kRows - 1) / kRows);
}

dim3 grid_of(std::int64_t rows, std::int64_t heads, std::int64_t sequences) {
  return {tiles_of(rows), static_cast<unsigned>(heads), static_cast<unsigned>(sequences)};
}

DeviceAttention device_shape(const AttentionShape& shape) {
  const auto dim = static_cast<float>(shape.dim_qk);
  return {shape.heads, shape.groups, shape.queries, shape.keys, shape.causal, 1.0F / sqrtf(dim)};
}

template <typename T, int kDim>
struct Launcher {
  static void prepare() {
    allow(forward_kernel<T, kDim>, kForwardMemory<T, kDim>);
    allow(query_gradient_kernel<T, kDim>, kBackwardMemory<T, kDim>);
    allow(key_gradient_kernel<T, kDim>, kBackwardMemory<T, kDim>);
  }

  static void forward(const AttentionShape& shape, const AttentionSet& set, Stream stream) {
    forward_kernel<T, kDim><<<grid_of(shape.queries, shape.heads, shape.sequences),
                              kThreads,
                              kForwardMemory<T, kDim>,
                              stream>>>(set.q.template as<const T>(),
                                        set.k.template as<const T>(),
                                        set.v.template as<const T>(),
                                        set.o.template as<T>(),
                                        set.log_sum.template as<float>(),
                                        device_shape(shape));
    check_launch("the own attention");
  }

  static void backward(const AttentionShape& shape, const AttentionSet& set, Stream stream) {
    const DeviceAttention on_device = device_shape(shape);
    const auto blocks = static_cast<unsigned>((shape.rows() + kWarps - 1) / kWarps);
    delta_kernel<T, kDim><<<blocks, kThreads, 0, stream>>>(set.o.template as<const T>(),
                                                           set.d_o.template as<const T>(),
                                                           set.delta.template as<float>(),
                                                           on_device,
                                                           shape.rows());
    check_launch("the row sums of attention");
    const BackwardOperands in = {set.q.data(),
                                 set.k.data(),
                                 set.v.data(),
                                 set.d_o.data(),
                                 set.log_sum.template as<const float>(),
                                 set.delta.template as<const float>()};
    query_gradient_kernel<T, kDim><<<grid_of(shape.queries, shape.heads, shape.sequences),
                                     kThreads,
                                     kBackwardMemory<T, kDim>,
                                     stream>>>(in, set.d_q.template as<T>(), on_device);
    check_launch("the gradient of queries");
    key_gradient_kernel<T, kDim>
        <<<grid_of(shape.keys, shape.groups, shape.sequences),
           kThreads,
           kBackwardMemory<T, kDim>,
           stream>>>(in, set.d_k.template as<T>(), set.d_v.template as<T>(), on_device);
    check_launch("the gradients of keys and values");
  }
};

// Calls `use` with the launcher of a shape.
template <typename Use>
void with_launcher(const AttentionShape& shape, Use use) {
  require(own_attention_offers(shape), "own attention has no kernel for this shape");
  constexpr int kNarrow = 64;
  constexpr int kWide = 128;
  if (shape.element == Element::bf16) {
    shape.dim_qk == kNarrow ? use(Launcher<__nv_bfloat16, kNarrow>())
                            : use(Launcher<__nv_bfloat16, kWide>());
  } else {
    shape.dim_qk == kNarrow ? use(Launcher<__half, kNarrow>()) : use(Launcher<__half, kWide>());
  }
}

}  // namespace

bool own_attention_offers(const AttentionShape& shape) {
  constexpr std::int64_t kMostInGrid = 65535;  // of the second and third dimension
  constexpr std::int64_t kMostRows = std::int64_t{1} << 31;
  const bool dim = shape.dim_qk == shape.dim_v && (shape.dim_qk == 64 || shape.dim_qk == 128);
  const bool element = shape.element == Element::bf16 || shape.element == Element::fp16;
  return dim && element && shape.heads <= kMostInGrid && shape.sequences <= kMostInGrid &&
         shape.rows() < kMostRows;
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
