#include "sim/step/schedule/families.hpp"

namespace orrery::schedule {

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
