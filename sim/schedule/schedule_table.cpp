#include <fmt/core.h>

#include <array>
#include <cstdint>
#include <limits>

#include "sim/schedule/families.hpp"

namespace orrery::schedule {

namespace {

// Passes of one chunk over one micro-batch in a step: more would need gigabytes for the graph.
constexpr std::int64_t kMostPasses = std::int64_t{1} << 22U;
constexpr int kMostDevices = std::numeric_limits<std::int16_t>::max();

constexpr std::array<ScheduleFamily, kScheduleKinds> kFamilies = {{
    {ScheduleKind::none,
     to_string(ScheduleKind::none),
     "one device, micro-batch after micro-batch",
     validate_none,
     generate_1f1b},
    {ScheduleKind::gpipe,
     to_string(ScheduleKind::gpipe),
     "all forwards, then all backwards",
     check_one_chunk,
     generate_gpipe},
    {ScheduleKind::one_f_one_b,
     to_string(ScheduleKind::one_f_one_b),
     "one forward, one backward in turn after a short warm-up (PipeDream-flush, Megatron-LM)",
     check_one_chunk,
     generate_1f1b},
    {ScheduleKind::interleaved,
     to_string(ScheduleKind::interleaved),
     "1F1B over several chunks per device, depth first (Megatron-LM)",
     validate_interleaved,
     generate_interleaved},
    {ScheduleKind::looped_bfs,
     to_string(ScheduleKind::looped_bfs),
     "all micro-batches through one chunk after the other, breadth first",
     check_sizes,
     generate_looped_bfs},
    {ScheduleKind::zb_h1,
     to_string(ScheduleKind::zb_h1),
     "1F1B with split backward, weight gradients fill the drain; memory of 1F1B",
     validate_zb_h1,
     generate_zb_h1},
    {ScheduleKind::zb_h2,
     to_string(ScheduleKind::zb_h2),
     "as zb-h1 with twice the warm-up: less bubble, twice the memory",
     validate_zb_h2,
     generate_zb_h2},
    {ScheduleKind::zb_v,
     to_string(ScheduleKind::zb_v),
     "split backward over two chunks per device that turn at the last device",
     validate_zb_v,
     generate_zb_v},
    {ScheduleKind::dualpipe,
     to_string(ScheduleKind::dualpipe),
     "two pipelines in opposite directions, forward and backward overlapped (DeepSeek-V3)",
     validate_dualpipe,
     generate_dualpipe},
    {ScheduleKind::dualpipev,
     to_string(ScheduleKind::dualpipev),
     "DualPipe folded onto half the devices: two chunks that turn at the last device",
     validate_dualpipev,
     generate_dualpipev},
    {ScheduleKind::interleaved_combined,
     to_string(ScheduleKind::interleaved_combined),
     "interleaved with forward and backward merged to hide expert all-to-all (Megatron-LM)",
     validate_combined,
     generate_combined},
    {ScheduleKind::eager_1f1b,
     to_string(ScheduleKind::eager_1f1b),
     "1F1B with twice the warm-up, which hides the latency of messages",
     check_one_chunk,
     generate_eager_1f1b},
}};

}  // namespace

std::span<const ScheduleFamily> schedule_families() {
  return kFamilies;
}

std::variant<Schedule, ScheduleRefusal> generate(const ScheduleRequest& request) {
  const ScheduleFamily& family = kFamilies[static_cast<std::size_t>(request.kind)];
  if (Refusal refusal = family.validate(request)) {
    return *std::move(refusal);
  }
  return family.generate(request);
}

Refusal check_sizes(const ScheduleRequest& request) {
  if (request.micro_batches < 1) {
    return ScheduleRefusal{fmt::format("m must be positive: m = {}", request.micro_batches), "1"};
  }
  if (request.devices < 1 || request.devices > kMostDevices) {
    return ScheduleRefusal{
        fmt::format("p must lie in [1, {}]: p = {}", kMostDevices, request.devices),
        request.devices < 1 ? "1" : fmt::format("{}", kMostDevices)};
  }
  if (request.chunks < 1 || request.chunks > kMostDevices) {
    return ScheduleRefusal{
        fmt::format("v must lie in [1, {}]: v = {}", kMostDevices, request.chunks),
        request.chunks < 1 ? "1" : fmt::format("{}", kMostDevices)};
  }
  const std::int64_t stages = std::int64_t{request.devices} * request.chunks;
  if (stages * request.micro_batches > kMostPasses) {
    return ScheduleRefusal{fmt::format("p v m must not exceed {}: {} * {} * {} = {}",
                                       kMostPasses,
                                       request.devices,
                                       request.chunks,
                                       request.micro_batches,
                                       stages * request.micro_batches),
                           fmt::format("m = {}", kMostPasses / stages)};
  }
  return std::nullopt;
}

Refusal check_one_chunk(const ScheduleRequest& request) {
  if (Refusal refusal = check_sizes(request)) {
    return refusal;
  }
  if (request.chunks != 1) {
    return ScheduleRefusal{
        fmt::format(
            "{} runs one chunk per device: v = {}", to_string(request.kind), request.chunks),
        fmt::format("v = 1, or interleaved for v = {}", request.chunks)};
  }
  return std::nullopt;
}

Schedule empty_schedule(const ScheduleRequest& request, Placement placement) {
  Schedule schedule;
  schedule.kind = request.kind;
  schedule.devices = request.devices;
  schedule.chunks = request.chunks;
  schedule.micro_batches = request.micro_batches;
  schedule.placement = placement;
  schedule.lists.reserve(static_cast<std::size_t>(request.devices));
  return schedule;
}

}  // namespace orrery::schedule
