#include <fmt/core.h>

#include <algorithm>

#include "sim/step/schedule/families.hpp"
#include "sim/step/schedule/list_writer.hpp"

namespace orrery::schedule {

namespace {

// `depth` forwards of warm-up per device that lies behind: 1 is 1F1B, 2 the eager variant.
Schedule one_f_one_b(const ScheduleRequest& request, int depth) {
  Schedule schedule = empty_schedule(request);
  const auto pass = [](int k) { return Pass{0, k}; };
  for (int r = 0; r < request.devices; ++r) {
    const int warm_up = std::min(request.micro_batches, depth * (request.devices - 1 - r));
    schedule.lists.push_back(alternate(request.micro_batches, warm_up, false, pass, pass));
    schedule.warm_up.push_back(warm_up);
  }
  return schedule;
}

}  // namespace

Refusal validate_none(const ScheduleRequest& request) {
  if (Refusal refusal = check_one_chunk(request)) {
    return refusal;
  }
  if (request.devices != 1) {
    return ScheduleRefusal{fmt::format("none runs on one device: p = {}", request.devices),
                           fmt::format("p = 1, or 1f1b for p = {}", request.devices)};
  }
  return std::nullopt;
}

// Two versions suffice while no micro-batch is in flight over two updates.
Refusal validate_2bw(const ScheduleRequest& request) {
  if (Refusal refusal = check_one_chunk(request)) {
    return refusal;
  }
  if (request.micro_batches < request.devices) {
    return ScheduleRefusal{fmt::format("pipedream-2bw needs m >= p: m = {}, p = {}",
                                       request.micro_batches, request.devices),
                           fmt::format("m = {}, or pipedream", request.devices)};
  }
  return std::nullopt;
}

Schedule generate_1f1b(const ScheduleRequest& request) { return one_f_one_b(request, 1); }

Schedule generate_eager_1f1b(const ScheduleRequest& request) { return one_f_one_b(request, 2); }

}  // namespace orrery::schedule
