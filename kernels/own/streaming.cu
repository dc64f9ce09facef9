#include <algorithm>
#include <string_view>

#include "kernels/own/own_kernels.hpp"
#include "kernels/own/streaming_body.hpp"
#include "kernels/own/team.cuh"

namespace orrery::kernels {

namespace {

template <typename Call>
__global__ void __launch_bounds__(kStreamingThreads) streaming_kernel(Call call) {
  streaming_body(DeviceTeam(), call);
}

template <typename Call>
void stream_packs(const Call& call, std::int64_t packs, Stream stream, std::string_view what) {
  streaming_kernel<<<streaming_blocks(packs), kStreamingThreads, 0, stream>>>(call);
  check_launch(what);
}

void require_packs(std::int64_t extent) {
  require(extent > 0 && extent % kLanes == 0, "elementwise kernels want multiples of 8");
}

}  // namespace

template <typename T>
void launch_residual_add(const ResidualAdd<T>& add, Stream stream) {
  require_packs(add.elements);
  stream_packs(add, add.elements / kLanes, stream, "the residual addition");
}

template <typename T>
void launch_rotary(const Rotary<T>& rotary, Stream stream) {
  require(rotary.dim % (2 * kLanes) == 0, "rotary embedding wants a dimension in multiples of 16");
  require(rotary.positions > 0, "rotary embedding wants angles");
  const std::int64_t packs = rotary.tokens * rotary.heads * (rotary.dim / 2 / kLanes);
  stream_packs(rotary, packs, stream, "the rotary embedding");
}

template <typename T>
void launch_swiglu_forward(const SwigluForward<T>& swiglu, Stream stream) {
  require_packs(swiglu.columns);
  stream_packs(swiglu, swiglu.rows * (swiglu.columns / kLanes), stream, "the forward of SwiGLU");
}

template <typename T>
void launch_swiglu_backward(const SwigluBackward<T>& swiglu, Stream stream) {
  require_packs(swiglu.columns);
  stream_packs(swiglu, swiglu.rows * (swiglu.columns / kLanes), stream, "the backward of SwiGLU");
}

template void launch_residual_add(const ResidualAdd<__nv_bfloat16>&, Stream);
template void launch_residual_add(const ResidualAdd<__half>&, Stream);
template void launch_rotary(const Rotary<__nv_bfloat16>&, Stream);
template void launch_rotary(const Rotary<__half>&, Stream);
template void launch_swiglu_forward(const SwigluForward<__nv_bfloat16>&, Stream);
template void launch_swiglu_forward(const SwigluForward<__half>&, Stream);
template void launch_swiglu_backward(const SwigluBackward<__nv_bfloat16>&, Stream);
template void launch_swiglu_backward(const SwigluBackward<__half>&, Stream);

namespace {

template <bool kJoin>
__global__ void __launch_bounds__(kStreamingThreads) rotary_parts_kernel(RotaryParts parts) {
  rotary_parts_body<kJoin>(DeviceTeam(), parts);
}

template <bool kJoin>
void launch(const RotaryParts& parts, Stream stream) {
  require(parts.dim % (2 * kLanes) == 0, "rotary embedding wants a dimension in multiples of 16");
  require(parts.positions > 0, "rotary embedding wants angles");
  rotary_parts_kernel<kJoin>
      <<<streaming_blocks(rotary_parts_packs(parts)), kStreamingThreads, 0, stream>>>(parts);
  check_launch(kJoin ? "the gradient of queries, keys and values"
                     : "the parts of queries, keys and values");
}

}  // namespace

void launch_rotary_parts(const RotaryParts& parts, Stream stream) { launch<false>(parts, stream); }

void launch_rotary_join(const RotaryParts& parts, Stream stream) { launch<true>(parts, stream); }

namespace {

std::int64_t packs_of(std::int64_t rows, std::int64_t columns) {
  require(columns % kLanes == 0, "an embedding has columns in multiples of 8");
  return rows * (columns / kLanes);
}

}  // namespace

template <typename T>
void launch_embedding_forward(const EmbeddingForward<T>& embedding, Stream stream) {
  stream_packs(embedding, packs_of(embedding.rows, embedding.columns), stream,
               "the forward of the embedding");
}

template <typename T>
void launch_embedding_backward(const EmbeddingBackward<T>& embedding, Stream stream) {
  stream_packs(embedding, packs_of(embedding.rows, embedding.columns), stream,
               "the backward of the embedding");
}

template void launch_embedding_forward(const EmbeddingForward<__nv_bfloat16>&, Stream);
template void launch_embedding_forward(const EmbeddingForward<__half>&, Stream);
template void launch_embedding_backward(const EmbeddingBackward<__nv_bfloat16>&, Stream);
template void launch_embedding_backward(const EmbeddingBackward<__half>&, Stream);

namespace {

constexpr int kMostWarps = 8;

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
  stream_packs(scatter, scatter.rows * (scatter.columns / kLanes), stream, "the permutation");
}

template <typename T>
void launch_combine(const Combine<T>& combine, Stream stream) {
  require_shape(combine.columns, combine.copies);
  stream_packs(combine, combine.rows * (combine.columns / kLanes), stream,
               "the sum of permuted rows");
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
  stream_packs(update, quads, stream, "the AdamW update");
}

template int gradient_norm_blocks(const GradientNorm<float>&);
template int gradient_norm_blocks(const GradientNorm<__nv_bfloat16>&);
template void launch_gradient_norm(const GradientNorm<float>&, int, Stream);
template void launch_gradient_norm(const GradientNorm<__nv_bfloat16>&, int, Stream);
template void launch_adamw(const AdamwUpdate<float>&, Stream);
template void launch_adamw(const AdamwUpdate<__nv_bfloat16>&, Stream);

}  // namespace orrery::kernels
