#include <algorithm>

#include "kernels/own/launch.cuh"
#include "kernels/own/optimizer_body.hpp"
#include "kernels/own/team.cuh"

namespace orrery::kernels {

namespace {

constexpr int kThreads = 512;

template <typename G>
__global__ void __launch_bounds__(kThreads) gradient_norm_kernel(GradientNorm<G> norm) {
  DeviceTeam team;
  gradient_norm_body(team, norm);
}

__global__ void __launch_bounds__(kThreads)
    norm_of_parts_kernel(const float* partial, int count, float* norm) {
  DeviceTeam team;
  norm_of_parts_body(team, partial, count, norm);
}

template <typename G>
__global__ void __launch_bounds__(kStreamingThreads) adamw_kernel(AdamwUpdate<G> update) {
  adamw_body(DeviceTeam(), update);
}

}  // namespace

template <typename G>
int gradient_norm_blocks(const GradientNorm<G>& norm) {
  const std::int64_t packs = (norm.elements + kLanes - 1) / kLanes;
  const auto wanted = static_cast<std::int64_t>(streaming_blocks(packs, kThreads));
  return static_cast<int>(
      std::min<std::int64_t>(wanted, resident_blocks(gradient_norm_kernel<G>, kThreads)));
}

template <typename G>
void launch_gradient_norm(const GradientNorm<G>& norm, int blocks, Stream stream) {
  gradient_norm_kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(norm);
  check_launch("the sums of squares of a gradient");
  norm_of_parts_kernel<<<1, kThreads, 0, stream>>>(norm.partial, blocks, norm.norm);
  check_launch("the norm of a gradient");
}

template <typename G>
void launch_adamw(const AdamwUpdate<G>& update, Stream stream) {
  const std::int64_t quads = (update.elements + kQuad - 1) / kQuad;
  adamw_kernel<<<streaming_blocks(quads), kStreamingThreads, 0, stream>>>(update);
  check_launch("the AdamW update");
}

template int gradient_norm_blocks(const GradientNorm<float>&);
template int gradient_norm_blocks(const GradientNorm<__nv_bfloat16>&);
template void launch_gradient_norm(const GradientNorm<float>&, int, Stream);
template void launch_gradient_norm(const GradientNorm<__nv_bfloat16>&, int, Stream);
template void launch_adamw(const AdamwUpdate<float>&, Stream);
template void launch_adamw(const AdamwUpdate<__nv_bfloat16>&, Stream);

}  // namespace orrery::kernels
