#include "kernels/own/launch.cuh"
#include "kernels/own/rotary_parts.hpp"
#include "kernels/own/rotary_parts_body.hpp"
#include "kernels/own/team.cuh"

namespace orrery::kernels {

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

void launch_rotary_parts(const RotaryParts& parts, Stream stream) {
  launch<false>(parts, stream);
}

void launch_rotary_join(const RotaryParts& parts, Stream stream) {
  launch<true>(parts, stream);
}

}  // namespace orrery::kernels
