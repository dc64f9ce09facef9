#include "kernels/own/elementwise_body.hpp"
#include "kernels/own/launch.cuh"
#include "kernels/own/team.cuh"

namespace orrery::kernels {

namespace {

template <typename T>
__global__ void __launch_bounds__(kStreamingThreads) residual_add_kernel(ResidualAdd<T> add) {
  residual_add_body(DeviceTeam(), add);
}

template <typename T>
__global__ void __launch_bounds__(kStreamingThreads) rotary_kernel(Rotary<T> rotary) {
  rotary_body(DeviceTeam(), rotary);
}

template <typename T>
__global__ void __launch_bounds__(kStreamingThreads)
    swiglu_forward_kernel(SwigluForward<T> swiglu) {
  swiglu_forward_body(DeviceTeam(), swiglu);
}

template <typename T>
__global__ void __launch_bounds__(kStreamingThreads)
    swiglu_backward_kernel(SwigluBackward<T> swiglu) {
  swiglu_backward_body(DeviceTeam(), swiglu);
}

void require_packs(std::int64_t extent) {
  require(extent > 0 && extent % kLanes == 0, "elementwise kernels want multiples of 8");
}

}  // namespace

template <typename T>
void launch_residual_add(const ResidualAdd<T>& add, Stream stream) {
  require_packs(add.elements);
  residual_add_kernel<<<streaming_blocks(add.elements / kLanes), kStreamingThreads, 0, stream>>>(
      add);
  check_launch("the residual addition");
}

template <typename T>
void launch_rotary(const Rotary<T>& rotary, Stream stream) {
  require(rotary.dim % (2 * kLanes) == 0, "rotary embedding wants a dimension in multiples of 16");
  require(rotary.positions > 0, "rotary embedding wants angles");
  const std::int64_t packs = rotary.tokens * rotary.heads * (rotary.dim / 2 / kLanes);
  rotary_kernel<<<streaming_blocks(packs), kStreamingThreads, 0, stream>>>(rotary);
  check_launch("the rotary embedding");
}

template <typename T>
void launch_swiglu_forward(const SwigluForward<T>& swiglu, Stream stream) {
  require_packs(swiglu.columns);
  const std::int64_t packs = swiglu.rows * (swiglu.columns / kLanes);
  swiglu_forward_kernel<<<streaming_blocks(packs), kStreamingThreads, 0, stream>>>(swiglu);
  check_launch("the forward of SwiGLU");
}

template <typename T>
void launch_swiglu_backward(const SwigluBackward<T>& swiglu, Stream stream) {
  require_packs(swiglu.columns);
  const std::int64_t packs = swiglu.rows * (swiglu.columns / kLanes);
  swiglu_backward_kernel<<<streaming_blocks(packs), kStreamingThreads, 0, stream>>>(swiglu);
  check_launch("the backward of SwiGLU");
}

template void launch_residual_add(const ResidualAdd<__nv_bfloat16>&, Stream);
template void launch_residual_add(const ResidualAdd<__half>&, Stream);
template void launch_rotary(const Rotary<__nv_bfloat16>&, Stream);
template void launch_rotary(const Rotary<__half>&, Stream);
template void launch_swiglu_forward(const SwigluForward<__nv_bfloat16>&, Stream);
template void launch_swiglu_forward(const SwigluForward<__half>&, Stream);
template void launch_swiglu_backward(const SwigluBackward<__nv_bfloat16>&, Stream);
template void launch_swiglu_backward(const SwigluBackward<__half>&, Stream);

}  // namespace orrery::kernels
