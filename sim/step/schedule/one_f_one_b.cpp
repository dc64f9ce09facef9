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

namespace {

void append_pass(std::vector<PipelineOp>& list, OpKind kind, int chunk, int micro_batches,
                 bool reversed) {
  for (int i = 0; i < micro_batches; ++i) {
    const int micro_batch = reversed ? micro_batches - 1 - i : i;
    list.push_back({kind, false, static_cast<std::int16_t>(chunk), micro_batch});
  }
}

// All devices run the same list: chunk by chunk forward, then chunk by chunk backward.
Schedule flush(const ScheduleRequest& request, BackwardOrder order) {
  Schedule schedule = empty_schedule(request);
  const int m = request.micro_batches;
  std::vector<PipelineOp> list;
  for (int c = 0; c < request.chunks; ++c) {
    append_pass(list, OpKind::forward, c, m, false);
  }
  for (int c = request.chunks - 1; c >= 0; --c) {
    append_pass(list, OpKind::backward, c, m, order == BackwardOrder::lifo);
  }
  const auto devices = static_cast<std::size_t>(request.devices);
  schedule.lists.assign(devices, list);
  schedule.warm_up.assign(devices, m * request.chunks);
  return schedule;
}

}  // namespace

Schedule generate_gpipe(const ScheduleRequest& request) {
  return flush(request, request.backward_order.value_or(BackwardOrder::fifo));
}

Schedule generate_looped_bfs(const ScheduleRequest& request) {
  return flush(request, request.backward_order.value_or(BackwardOrder::lifo));
}

}  // namespace orrery::schedule
