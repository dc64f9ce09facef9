#include <algorithm>

#include "kernels/own/norm_body.hpp"
#include "kernels/own/team.cuh"

namespace orrery::kernels {

namespace {

constexpr int kBlocks = 2;  // at least, on a multiprocessor
constexpr int kNarrowThreads = 256;
constexpr int kReduceThreads = 1024;

template <typename T, int kPacks, bool kLayer>
__global__ void __launch_bounds__(kMostNormThreads) forward_kernel(NormForward<T> norm) {
  DeviceTeam team;
  norm_forward_body<T, kPacks, kLayer>(team, norm);
}

template <typename T, int kPacks, bool kLayer>
__global__ void __launch_bounds__(kMostNormThreads, kBlocks) backward_kernel(NormBackward<T> norm) {
  extern __shared__ float shared[];
  DeviceTeam team;
  norm_backward_body<T, kPacks, kLayer>(team, norm, shared);
}

template <typename T, bool kLayer>
__global__ void __launch_bounds__(kNarrowThreads)
    narrow_forward_kernel(NormForward<T> norm, int width) {
  DeviceTeam team;
  narrow_forward_body<T, kLayer>(team, norm, width);
}

template <typename T, bool kLayer>
__global__ void __launch_bounds__(kNarrowThreads)
    narrow_backward_kernel(NormBackward<T> norm, int width) {
  __shared__ float shared[kNarrowThreads * kLanes];
  DeviceTeam team;
  narrow_backward_body<T, kLayer>(team, norm, width, shared);
}

__global__ void __launch_bounds__(kReduceThreads) column_sum_kernel(ColumnSum sum) {
  __shared__ float shared[kReduceThreads];
  DeviceTeam team;
  column_sum_body(team, sum, shared);
}

// Threads of a block that hold a row in `packs_each` packs each.
int threads_for(std::int64_t columns, int packs_each) {
  const std::int64_t packs = columns / kLanes;
  const std::int64_t wanted = (packs + packs_each - 1) / packs_each;
  return static_cast<int>((wanted + kWarp - 1) / kWarp * kWarp);
}

void require_shape(std::int64_t rows, std::int64_t columns) {
  require(rows > 0 && columns > 0 && columns % kLanes == 0 && columns <= kMostNormColumns,
          "a norm has columns in multiples of 8 up to 16384");
}

// Calls function.template operator()<packs>() with the fewest packs per thread.
template <typename Function>
auto with_packs(std::int64_t columns, Function function) {
  if (threads_for(columns, 1) <= kMostNormThreads) {
    return function.template operator()<1>();
  }
  if (threads_for(columns, 2) <= kMostNormThreads) {
    return function.template operator()<2>();
  }
  if (threads_for(columns, 3) <= kMostNormThreads) {
    return function.template operator()<3>();
  }
  return function.template operator()<4>();
}

// Blocks that take `rows` rows, a few at once, and are on the GPU at once.
template <typename Kernel>
unsigned narrow_blocks(Kernel* kernel, std::int64_t rows, int width) {
  const std::int64_t at_once = kNarrowThreads / width;
  const std::int64_t wanted = (rows + at_once - 1) / at_once;
  return static_cast<unsigned>(
      std::min<std::int64_t>(wanted, resident_blocks(kernel, kNarrowThreads)));
}

template <int kPacks, bool kLayer>
constexpr int kSharedBytes = static_cast<int>(norm_shared_words(kPacks, kLayer)) *
                             static_cast<int>(sizeof(float));

// Lets the backward have the shared memory that it needs; small GPUs have less than a LayerNorm of
// the widest rows asks for.
template <typename T, int kPacks, bool kLayer>
int allowed_bytes() {
  constexpr int bytes = kSharedBytes<kPacks, kLayer>;
  int device = 0;
  int most = 0;
  check(cudaGetDevice(&device), "ask which GPU is current");
  check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        "ask for the shared memory of a block");
  if (bytes > most) {
    throw Unsupported("this GPU has too little shared memory for rows of this width", "too wide");
  }
  check(cudaFuncSetAttribute(backward_kernel<T, kPacks, kLayer>,
                             cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
        "ask for the shared memory of a norm");
  return bytes;
}

template <typename T, bool kLayer>
void launch_forward(const NormForward<T>& norm, Stream stream) {
  if (norm.columns <= kNarrowColumns) {
    const int width = narrow_group(norm.columns);
    const auto kernel = narrow_forward_kernel<T, kLayer>;
    kernel<<<narrow_blocks(kernel, norm.rows, width), kNarrowThreads, 0, stream>>>(norm, width);
    return;
  }
  with_packs(norm.columns, [&]<int kPacks>() {
    const int threads = threads_for(norm.columns, kPacks);
    const auto kernel = forward_kernel<T, kPacks, kLayer>;
    const auto blocks = std::min<std::int64_t>(norm.rows, resident_blocks(kernel, threads));
    kernel<<<static_cast<unsigned>(blocks), threads, 0, stream>>>(norm);
  });
}

template <typename T, bool kLayer>
int backward_blocks(const NormBackward<T>& norm) {
  if (norm.columns <= kNarrowColumns) {
    return static_cast<int>(
        narrow_blocks(narrow_backward_kernel<T, kLayer>, norm.rows, narrow_group(norm.columns)));
  }
  return with_packs(norm.columns, [&]<int kPacks>() {
    const int threads = threads_for(norm.columns, kPacks);
    const int resident = resident_blocks(backward_kernel<T, kPacks, kLayer>, threads,
                                         allowed_bytes<T, kPacks, kLayer>());
    return static_cast<int>(std::min<std::int64_t>(norm.rows, resident));
  });
}

template <typename T, bool kLayer>
void launch_backward(const NormBackward<T>& norm, int blocks, Stream stream) {
  if (norm.columns <= kNarrowColumns) {
    narrow_backward_kernel<T, kLayer><<<static_cast<unsigned>(blocks), kNarrowThreads, 0, stream>>>(
        norm, narrow_group(norm.columns));
  } else {
    with_packs(norm.columns, [&]<int kPacks>() {
      const int threads = threads_for(norm.columns, kPacks);
      backward_kernel<T, kPacks, kLayer>
          <<<static_cast<unsigned>(blocks), threads, kSharedBytes<kPacks, kLayer>, stream>>>(norm);
    });
  }
  check_launch("the backward of a norm");
  const std::int64_t width = norm.columns * (kLayer ? 2 : 1);
  const auto columns = static_cast<unsigned>((norm.columns + kReduceColumns - 1) / kReduceColumns);
  const auto reduce = [&](const float* partial, float* result) {
    column_sum_kernel<<<columns, kReduceThreads, 0, stream>>>(
        ColumnSum{partial, result, blocks, width, norm.columns});
    check_launch("the gradient of a norm's weight");
  };
  reduce(norm.partial, norm.weight_gradient);
  if constexpr (kLayer) {
    reduce(norm.partial + norm.columns, norm.bias_gradient);
  }
}

}  // namespace

template <typename T>
int norm_backward_blocks(const NormBackward<T>& norm) {
  require_shape(norm.rows, norm.columns);
  return norm.mean != nullptr ? backward_blocks<T, true>(norm) : backward_blocks<T, false>(norm);
}

template <typename T>
void launch_norm_forward(const NormForward<T>& norm, Stream stream) {
  require_shape(norm.rows, norm.columns);
  if (norm.mean != nullptr) {
    launch_forward<T, true>(norm, stream);
  } else {
    launch_forward<T, false>(norm, stream);
  }
  check_launch("the forward of a norm");
}

template <typename T>
void launch_norm_backward(const NormBackward<T>& norm, int blocks, Stream stream) {
  require_shape(norm.rows, norm.columns);
  if (norm.mean != nullptr) {
    launch_backward<T, true>(norm, blocks, stream);
  } else {
    launch_backward<T, false>(norm, blocks, stream);
  }
}

template int norm_backward_blocks(const NormBackward<__nv_bfloat16>&);
template int norm_backward_blocks(const NormBackward<__half>&);
template void launch_norm_forward(const NormForward<__nv_bfloat16>&, Stream);
template void launch_norm_forward(const NormForward<__half>&, Stream);
template void launch_norm_backward(const NormBackward<__nv_bfloat16>&, int, Stream);
template void launch_norm_backward(const NormBackward<__half>&, int, Stream);

}  // namespace orrery::kernels
