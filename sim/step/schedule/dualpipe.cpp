#include <fmt/core.h>

#include <algorithm>

#include "sim/step/schedule/families.hpp"
#include "sim/step/schedule/list_writer.hpp"

namespace orrery::schedule {

namespace {

// One device of DualPipe and of its folded form.
struct DualDevice {
  int half = 1;           // devices from the end to the middle (dualpipev: all of them)
  int distance = 0;       // from the nearer end
  int near_chunk = 0;     // whose first stage is nearer
  int micro_batches = 0;  // per chunk
};

// Steps 6 to 8: the backwards that are left, turned half way from full ones to split ones, whose
// weight gradients fill the drain.
void append_drain(ListWriter& list, const DualDevice& device) {
  const int near_chunk = device.near_chunk;
  const int rounds = device.distance + 1;
  bool split = false;
  const auto backward = [&](int chunk) {
    split ? list.backward_input(chunk) : list.backward(chunk);
  };
  for (int k = 0; k < rounds; ++k) {
    split = split || (k == rounds / 2 && device.distance % 2 == 1);
    backward(1 - near_chunk);
    split = split || (k == rounds / 2 && device.distance % 2 == 0);
    backward(near_chunk);
  }
  for (int k = 0; k < device.half - device.distance - 1; ++k) {
    list.backward_weight();
    list.backward_input(near_chunk);
  }
  for (int k = 0; k < rounds; ++k) {
    list.backward_weight();
  }
}

std::vector<PipelineOp> dual_list(const DualDevice& device) {
  ListWriter list(2);
  const int near_chunk = device.near_chunk;
  const int far_chunk = 1 - near_chunk;
  const int beyond = device.half - device.distance - 1;  // devices between this one and the middle
  for (int k = 0; k < 2 * beyond; ++k) {
    list.forward(near_chunk);
  }
  for (int k = 0; k < device.distance + 1; ++k) {
    list.forward(near_chunk);
    list.forward(far_chunk);
  }
  for (int k = 0; k < beyond; ++k) {
    list.backward_input(far_chunk);
    list.backward_weight();
    list.forward(far_chunk);
  }
  const int steady = device.micro_batches - 2 * device.half + device.distance + 1;
  for (int k = 0; k < steady; ++k) {
    if (k == 0 && beyond == 0) {  // the middle: this forward is what the backward waits for
      list.forward(near_chunk);
      list.backward(far_chunk);
    } else {
      list.overlapped(near_chunk, far_chunk);
    }
    list.overlapped(far_chunk, near_chunk);
  }
  for (int k = 0; k < beyond; ++k) {
    list.backward(far_chunk);
    list.overlapped(far_chunk, near_chunk);
  }
  append_drain(list, device);
  return list.take();
}

Refusal check_two_chunks(const ScheduleRequest& request) {
  if (Refusal refusal = check_sizes(request)) {
    return refusal;
  }
  if (request.chunks != 2) {
    return ScheduleRefusal{fmt::format("{} holds two chunks per rank: v = {}",
                                       to_string(request.kind), request.chunks),
                           "v = 2"};
  }
  return std::nullopt;
}

}  // namespace

Refusal validate_dualpipe(const ScheduleRequest& request) {
  if (Refusal refusal = check_two_chunks(request)) {
    return refusal;
  }
  const int p = request.devices;
  const int m = request.micro_batches;
  if (p % 2 != 0) {
    return ScheduleRefusal{
        fmt::format("p must be even: p = {}", p),
        p == 1 ? std::string("p = 2") : fmt::format("p = {} or {}", p - 1, p + 1)};
  }
  if (m < 2 * p) {
    return ScheduleRefusal{fmt::format("m must be at least 2p: m = {}, 2 * {} = {}", m, p, 2 * p),
                           fmt::format("m = {}", 2 * p)};
  }
  if (m % 2 != 0) {
    return ScheduleRefusal{fmt::format("m must be even: m = {}", m),
                           fmt::format("m = {} or {}", m - 1, m + 1)};
  }
  return std::nullopt;
}

Schedule generate_dualpipe(const ScheduleRequest& request) {
  Schedule schedule = empty_schedule(request);
  const int p = request.devices;
  for (int r = 0; r < p; ++r) {
    schedule.lists.push_back(dual_list({.half = p / 2,
                                        .distance = std::min(r, p - 1 - r),
                                        .near_chunk = r < p / 2 ? 0 : 1,
                                        .micro_batches = request.micro_batches / 2}));
  }
  return schedule;
}

Refusal validate_dualpipev(const ScheduleRequest& request) {
  if (Refusal refusal = check_two_chunks(request)) {
    return refusal;
  }
  const int p = request.devices;
  if (request.micro_batches < 2 * p) {
    return ScheduleRefusal{fmt::format("m must be at least 2p (ranks): m = {}, 2 * {} = {}",
                                       request.micro_batches, p, 2 * p),
                           fmt::format("m = {}", 2 * p)};
  }
  return std::nullopt;
}

Schedule generate_dualpipev(const ScheduleRequest& request) {
  Schedule schedule = empty_schedule(request);
  for (int r = 0; r < request.devices; ++r) {
    schedule.lists.push_back(dual_list({.half = request.devices,
                                        .distance = r,
                                        .near_chunk = 0,
                                        .micro_batches = request.micro_batches}));
  }
  return schedule;
}

}  // namespace orrery::schedule
