#include "kernels/own/launch.cuh"
#include "kernels/own/routing_body.hpp"
#include "kernels/own/team.cuh"

namespace orrery::kernels {

namespace {

template <typename T>
__global__ void __launch_bounds__(kStreamingThreads) forward_kernel(EmbeddingForward<T> embedding) {
  embedding_forward_body(DeviceTeam(), embedding);
}

template <typename T>
__global__ void __launch_bounds__(kStreamingThreads)
    backward_kernel(EmbeddingBackward<T> embedding) {
  embedding_backward_body(DeviceTeam(), embedding);
}

unsigned blocks_of(std::int64_t rows, std::int64_t columns) {
  require(columns % kLanes == 0, "an embedding has columns in multiples of 8");
  return streaming_blocks(rows * (columns / kLanes));
}

}  // namespace

template <typename T>
void launch_embedding_forward(const EmbeddingForward<T>& embedding, Stream stream) {
  const unsigned blocks = blocks_of(embedding.rows, embedding.columns);
  forward_kernel<<<blocks, kStreamingThreads, 0, stream>>>(embedding);
  check_launch("the forward of the embedding");
}

template <typename T>
void launch_embedding_backward(const EmbeddingBackward<T>& embedding, Stream stream) {
  const unsigned blocks = blocks_of(embedding.rows, embedding.columns);
  backward_kernel<<<blocks, kStreamingThreads, 0, stream>>>(embedding);
  check_launch("the backward of the embedding");
}

template void launch_embedding_forward(const EmbeddingForward<__nv_bfloat16>&, Stream);
template void launch_embedding_forward(const EmbeddingForward<__half>&, Stream);
template void launch_embedding_backward(const EmbeddingBackward<__nv_bfloat16>&, Stream);
template void launch_embedding_backward(const EmbeddingBackward<__half>&, Stream);

}  // namespace orrery::kernels
