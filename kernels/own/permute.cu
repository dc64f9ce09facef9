#include <algorithm>

#include "kernels/own/launch.cuh"
#include "kernels/own/routing_body.hpp"
#include "kernels/own/team.cuh"

namespace orrery::kernels {

namespace {

constexpr int kMostWarps = 8;

template <typename T>
__global__ void __launch_bounds__(kStreamingThreads) scatter_kernel(Scatter<T> scatter) {
  scatter_body(DeviceTeam(), scatter);
}

template <typename T>
__global__ void __launch_bounds__(kStreamingThreads) combine_kernel(Combine<T> combine) {
  combine_body(DeviceTeam(), combine);
}

template <typename T>
__global__ void __launch_bounds__(kMostWarps* kWarp)
    combine_backward_kernel(CombineBackward<T> combine) {
  combine_backward_body(DeviceTeam(), combine);
}

void require_shape(std::int64_t columns, std::int64_t copies) {
  require(columns % kLanes == 0, "permuted rows have columns in multiples of 8");
  require(copies > 0 && copies <= kMostCopies, "a token goes to 1 to 64 experts");
}

}  // namespace

template <typename T>
void launch_scatter(const Scatter<T>& scatter, Stream stream) {
  require_shape(scatter.columns, scatter.copies);
  const std::int64_t packs = scatter.rows * (scatter.columns / kLanes);
  scatter_kernel<<<streaming_blocks(packs), kStreamingThreads, 0, stream>>>(scatter);
  check_launch("the permutation");
}

template <typename T>
void launch_combine(const Combine<T>& combine, Stream stream) {
  require_shape(combine.columns, combine.copies);
  const std::int64_t packs = combine.rows * (combine.columns / kLanes);
  combine_kernel<<<streaming_blocks(packs), kStreamingThreads, 0, stream>>>(combine);
  check_launch("the sum of permuted rows");
}

template <typename T>
void launch_combine_backward(const CombineBackward<T>& combine, Stream stream) {
  require_shape(combine.columns, combine.copies);
  require(combine.rows > 0, "a permutation has rows");
  const int threads = kWarp * static_cast<int>(std::min<std::int64_t>(combine.copies, kMostWarps));
  const auto kernel = combine_backward_kernel<T>;
  const auto blocks = std::min<std::int64_t>(combine.rows, resident_blocks(kernel, threads));
  kernel<<<static_cast<unsigned>(blocks), threads, 0, stream>>>(combine);
  check_launch("the backward of the weighted sum");
}

template void launch_scatter(const Scatter<__nv_bfloat16>&, Stream);
template void launch_scatter(const Scatter<__half>&, Stream);
template void launch_combine(const Combine<__nv_bfloat16>&, Stream);
template void launch_combine(const Combine<__half>&, Stream);
template void launch_combine_backward(const CombineBackward<__nv_bfloat16>&, Stream);
template void launch_combine_backward(const CombineBackward<__half>&, Stream);

}  // namespace orrery::kernels
