#include <fmt/core.h>

#include <array>
#include <cstdint>
#include <limits>

#include "sim/step/schedule/families.hpp"

namespace orrery::schedule {

namespace {

// Passes of one chunk over one micro-batch in a step: more would need gigabytes for the graph.
constexpr std::int64_t kMostPasses = std::int64_t{1} << 22U;
constexpr int kMostDevices = std::numeric_limits<std::int16_t>::max();

constexpr std::array<ScheduleFamily, kScheduleKinds> kFamilies = {{
    {ScheduleKind::none, validate_none, generate_1f1b},
    {ScheduleKind::gpipe, check_one_chunk, generate_gpipe},
    {ScheduleKind::one_f_one_b, check_one_chunk, generate_1f1b},
    {ScheduleKind::interleaved, validate_interleaved, generate_interleaved},
    {ScheduleKind::looped_bfs, check_sizes, generate_looped_bfs},
    {ScheduleKind::zb_h1, validate_zb_h1, generate_zb_h1},
    {ScheduleKind::zb_h2, validate_zb_h2, generate_zb_h2},
    {ScheduleKind::zb_v, validate_zb_v, generate_zb_v},
    {ScheduleKind::dualpipe, validate_dualpipe, generate_dualpipe},
    {ScheduleKind::dualpipev, validate_dualpipev, generate_dualpipev},
    {ScheduleKind::interleaved_combined, validate_combined, generate_combined},
    {ScheduleKind::eager_1f1b, check_one_chunk, generate_eager_1f1b},
    {ScheduleKind::pipedream, check_one_chunk, generate_1f1b},
    {ScheduleKind::pipedream_2bw, validate_2bw, generate_1f1b},
}};

}  // namespace

std::span<const ScheduleFamily> schedule_families() { return kFamilies; }

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
    return ScheduleRefusal{
        fmt::format("p v m must not exceed {}: {} * {} * {} = {}", kMostPasses, request.devices,
                    request.chunks, request.micro_batches, stages * request.micro_batches),
        fmt::format("m = {}", kMostPasses / stages)};
  }
  return std::nullopt;
}

Refusal check_one_chunk(const ScheduleRequest& request) {
  if (Refusal refusal = check_sizes(request)) {
    return refusal;
  }
  if (request.chunks != 1) {
    return ScheduleRefusal{fmt::format("{} runs one chunk per device: v = {}",
                                       to_string(request.kind), request.chunks),
                           fmt::format("v = 1, or interleaved for v = {}", request.chunks)};
  }
  return std::nullopt;
}

Schedule empty_schedule(const ScheduleRequest& request) {
  Schedule schedule;
  schedule.kind = request.kind;
  schedule.devices = request.devices;
  schedule.chunks = request.chunks;
  schedule.micro_batches = request.micro_batches;
  schedule.placement = traits_of(request.kind).placement;
  schedule.lists.reserve(static_cast<std::size_t>(request.devices));
  return schedule;
}

}  // namespace orrery::schedule
