#include <fmt/core.h>

#include <algorithm>

#include "sim/step/schedule/families.hpp"
#include "sim/step/schedule/list_writer.hpp"

namespace orrery::schedule {

namespace {

Refusal check_least(const ScheduleRequest& request, std::string_view bound, int least) {
  if (request.micro_batches >= least) {
    return std::nullopt;
  }
  return ScheduleRefusal{fmt::format("m must be at least {}: m = {}, p = {}, {} = {}", bound,
                                     request.micro_batches, request.devices, bound, least),
                         fmt::format("m = {}", least)};
}

// H1 (depth 1) and H2 (depth 2): weight gradients wait until depth * r micro-batches went by, so
// that every device holds as many activations as the first.
Schedule zb_h(const ScheduleRequest& request, int depth) {
  Schedule schedule = empty_schedule(request);
  for (int r = 0; r < request.devices; ++r) {
    const int warm_up = depth * (request.devices - 1 - r);
    ListWriter list(1);
    for (int k = 0; k < warm_up; ++k) {
      list.forward(0);
    }
    for (int i = 0; i < request.micro_batches; ++i) {
      if (list.forwards(0) < request.micro_batches) {
        list.forward(0);
      }
      list.backward_input(0);
      if (i >= depth * r) {
        list.backward_weight();
      }
    }
    while (list.owed() > 0) {
      list.backward_weight();
    }
    schedule.lists.push_back(list.take());
    schedule.warm_up.push_back(warm_up);
  }
  return schedule;
}

void round_trip(ListWriter& list, int chunk) {
  list.forward(chunk);
  list.backward_input(chunk);
  list.backward_weight(chunk);
}

// The list of device r for n >= 2p - 1 micro-batches.
std::vector<PipelineOp> zb_v_list(int p, int r, int n) {
  ListWriter list(2);
  for (int k = 0; k < 2 * (p - r) - 1; ++k) {
    list.forward(0);
  }
  for (int k = 0; k < r; ++k) {
    list.forward(1);
    list.forward(0);
  }
  for (int k = 0; k < p - r; ++k) {
    round_trip(list, 1);
  }
  while (list.forwards(1) < n) {
    if (list.forwards(0) < n) {
      list.forward(0);
    }
    list.backward_input(0);
    list.backward_weight(0);
    round_trip(list, 1);
  }
  for (int k = 0; k < r; ++k) {
    list.backward_input(0);
    list.backward_input(1);
  }
  for (int k = 0; k < p - r; ++k) {
    list.backward_input(0);
    list.backward_weight(0);
  }
  for (const int chunk : {1, 0}) {
    while (list.owed(chunk) > 0) {
      list.backward_weight(chunk);
    }
  }
  return list.take();
}

}  // namespace

Refusal validate_zb_h1(const ScheduleRequest& request) {
  if (Refusal refusal = check_one_chunk(request)) {
    return refusal;
  }
  return check_least(request, "p", request.devices);
}

Schedule generate_zb_h1(const ScheduleRequest& request) { return zb_h(request, 1); }

Refusal validate_zb_h2(const ScheduleRequest& request) {
  if (Refusal refusal = check_one_chunk(request)) {
    return refusal;
  }
  return check_least(request, "2p - 1", 2 * request.devices - 1);
}

Schedule generate_zb_h2(const ScheduleRequest& request) { return zb_h(request, 2); }

Refusal validate_zb_v(const ScheduleRequest& request) {
  if (Refusal refusal = check_sizes(request)) {
    return refusal;
  }
  if (request.chunks != 2) {
    return ScheduleRefusal{fmt::format("exactly two chunks per rank: v = {}", request.chunks),
                           "v = 2"};
  }
  return std::nullopt;
}

// Below 2p - 1 micro-batches the list of 2p - 1 runs without those that do not exist.
Schedule generate_zb_v(const ScheduleRequest& request) {
  Schedule schedule = empty_schedule(request);
  const int p = request.devices;
  const int m = request.micro_batches;
  for (int r = 0; r < p; ++r) {
    std::vector<PipelineOp> list = zb_v_list(p, r, std::max(2 * p - 1, m));
    list.erase(std::remove_if(list.begin(), list.end(),
                              [m](const PipelineOp& op) { return op.micro_batch >= m; }),
               list.end());
    schedule.lists.push_back(std::move(list));
  }
  return schedule;
}

}  // namespace orrery::schedule
