#include <algorithm>

#include "kernels/own/norm_body.hpp"
#include "kernels/own/team.cuh"

namespace orrery::kernels {

namespace {

constexpr int kThreads = 512;

template <int kWidth, typename T>
__global__ void __launch_bounds__(kThreads) forward_kernel(CrossEntropyForward<T> loss) {
  DeviceTeam team;
  cross_entropy_forward_body<kWidth>(team, loss);
}

template <int kWidth, typename T>
__global__ void __launch_bounds__(kThreads) backward_kernel(CrossEntropyBackward<T> loss) {
  cross_entropy_backward_body<kWidth>(DeviceTeam(), loss);
}

template <typename Kernel, typename Loss>
void launch(Kernel* kernel, const Loss& loss, Stream stream) {
  const auto blocks = std::min<std::int64_t>(loss.rows, resident_blocks(kernel, kThreads));
  kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(loss);
}

}  // namespace

template <typename T>
void launch_cross_entropy_forward(const CrossEntropyForward<T>& loss, Stream stream) {
  require(loss.rows > 0 && loss.columns > 0, "cross entropy wants logits");
  if (loss.columns % kLanes == 0) {
    launch(forward_kernel<kLanes, T>, loss, stream);
  } else {
    launch(forward_kernel<1, T>, loss, stream);
  }
  check_launch("the forward of cross entropy");
}

template <typename T>
void launch_cross_entropy_backward(const CrossEntropyBackward<T>& loss, Stream stream) {
  require(loss.rows > 0 && loss.columns > 0, "cross entropy wants logits");
  if (loss.columns % kLanes == 0) {
    launch(backward_kernel<kLanes, T>, loss, stream);
  } else {
    launch(backward_kernel<1, T>, loss, stream);
  }
  check_launch("the backward of cross entropy");
}

template void launch_cross_entropy_forward(const CrossEntropyForward<__nv_bfloat16>&, Stream);
template void launch_cross_entropy_forward(const CrossEntropyForward<__half>&, Stream);
template void launch_cross_entropy_backward(const CrossEntropyBackward<__nv_bfloat16>&, Stream);
template void launch_cross_entropy_backward(const CrossEntropyBackward<__half>&, Stream);

}  // namespace orrery::kernels
