#include <algorithm>

#include "kernels/own/quantize_body.hpp"
#include "kernels/own/team.cuh"

namespace orrery::kernels {

namespace {

constexpr int kRowThreads = 512;
constexpr int kMagnitudeThreads = 512;
constexpr int kTileThreads = 256;
constexpr int kColumnThreads = 128;

__global__ void __launch_bounds__(kMagnitudeThreads) magnitude_kernel(Cast cast) {
  DeviceTeam team;
  magnitude_body(team, cast);
}

template <CastRecipe kRecipe>
__global__ void __launch_bounds__(kStreamingThreads) cast_kernel(Cast cast) {
  DeviceTeam team;
  cast_body<kRecipe>(team, cast);
}

template <int kPacks>
__global__ void __launch_bounds__(kRowThreads) cast_row_kernel(Cast cast) {
  DeviceTeam team;
  cast_row_body<kPacks>(team, cast);
}

__global__ void __launch_bounds__(kColumnThreads) column_magnitude_kernel(Cast cast) {
  column_magnitude_body(DeviceTeam(), cast);
}

template <CastRecipe kRecipe>
__global__ void __launch_bounds__(kTileThreads) cast_tile_kernel(Cast cast) {
  __shared__ std::uint32_t tile[kCastTile * kTileWords];
  DeviceTeam team;
  cast_tile_body<kRecipe>(team, cast, tile);
}

std::int64_t packs_of(const Cast& cast) { return cast.rows * cast.columns / kLanes; }

void clear(std::uint32_t* magnitude, std::int64_t count, Stream stream) {
  check(cudaMemsetAsync(magnitude, 0, static_cast<std::size_t>(count) * sizeof(std::uint32_t),
                        stream),
        "clear the largest magnitudes");
}

void launch_magnitude(const Cast& cast, Stream stream) {
  clear(cast.magnitude, 1, stream);
  const std::int64_t resident = resident_blocks(magnitude_kernel, kMagnitudeThreads);
  const std::int64_t wanted = streaming_blocks(packs_of(cast), kMagnitudeThreads);
  magnitude_kernel<<<static_cast<unsigned>(std::min(resident, wanted)), kMagnitudeThreads, 0,
                     stream>>>(cast);
  check_launch("the largest magnitude of a tensor");
}

template <CastRecipe kRecipe>
void launch_plain(const Cast& cast, Stream stream) {
  const auto kernel = cast_kernel<kRecipe>;
  std::int64_t blocks = streaming_blocks(packs_of(cast));
  if constexpr (kRecipe == CastRecipe::tensor) {  // one atomic operation per block
    blocks = std::min<std::int64_t>(blocks, resident_blocks(kernel, kStreamingThreads));
  }
  kernel<<<static_cast<unsigned>(blocks), kStreamingThreads, 0, stream>>>(cast);
  check_launch("a cast");
}

template <CastRecipe kRecipe>
void launch_tiles(const Cast& cast, Stream stream) {
  const std::int64_t tiles = (cast.rows / kCastTile) * (cast.columns / kCastTile);
  cast_tile_kernel<kRecipe><<<static_cast<unsigned>(tiles), kTileThreads, 0, stream>>>(cast);
  check_launch("a cast with its transpose");
}

template <CastRecipe kRecipe>
void launch_either(const Cast& cast, Stream stream) {
  if constexpr (kRecipe == CastRecipe::nvfp4) {
    launch_magnitude(cast, stream);
  }
  if (cast.transposed != nullptr) {
    launch_tiles<kRecipe>(cast, stream);
  } else {
    launch_plain<kRecipe>(cast, stream);
  }
}

template <int kPacks>
void launch_rows(const Cast& cast, Stream stream) {
  const std::int64_t packs = cast.columns / kLanes;
  const std::int64_t each = (packs + kPacks - 1) / kPacks;
  const int threads = static_cast<int>((each + kWarp - 1) / kWarp * kWarp);
  const auto kernel = cast_row_kernel<kPacks>;
  const auto blocks = std::min<std::int64_t>(cast.rows, resident_blocks(kernel, threads));
  kernel<<<static_cast<unsigned>(blocks), threads, 0, stream>>>(cast);
  check_launch("a cast by rows");
}

void launch_row_recipe(const Cast& cast, Stream stream) {
  require(cast.columns <= kMostCastColumns, "a cast by rows takes up to 32768 columns");
  const std::int64_t packs = cast.columns / kLanes;
  if (packs <= kRowThreads) {
    launch_rows<1>(cast, stream);
  } else if (packs <= 2 * kRowThreads) {
    launch_rows<2>(cast, stream);
  } else if (packs <= 4 * kRowThreads) {
    launch_rows<4>(cast, stream);
  } else {
    launch_rows<8>(cast, stream);
  }
  if (cast.transposed == nullptr) {
    return;
  }
  clear(cast.magnitude, cast.columns, stream);
  const std::int64_t chunks = (packs + kColumnThreads - 1) / kColumnThreads;
  const auto blocks = static_cast<unsigned>(chunks * (cast.rows / kCastTile));
  column_magnitude_kernel<<<blocks, kColumnThreads, 0, stream>>>(cast);
  check_launch("the largest magnitudes of columns");
  launch_tiles<CastRecipe::row>(cast, stream);
}

}  // namespace

void launch_cast(const Cast& cast, Stream stream) {
  require(cast.rows > 0 && cast.columns > 0 && cast.columns % kCastTile == 0,
          "a cast takes columns in multiples of 128");
  require(cast.transposed == nullptr || cast.rows % kCastTile == 0,
          "a transposed copy takes rows in multiples of 128");
  require(packs_of(cast) <= kMostPacks, "a cast moves at most 3 x 2^30 packs");
  switch (cast.recipe) {
    case CastRecipe::tensor:
      return launch_either<CastRecipe::tensor>(cast, stream);
    case CastRecipe::row:
      return launch_row_recipe(cast, stream);
    case CastRecipe::block:
      return launch_either<CastRecipe::block>(cast, stream);
    case CastRecipe::mx:
      return launch_either<CastRecipe::mx>(cast, stream);
    case CastRecipe::nvfp4:
      return launch_either<CastRecipe::nvfp4>(cast, stream);
  }
}

}  // namespace orrery::kernels
