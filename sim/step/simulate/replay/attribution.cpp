#include "sim/step/simulate/replay/attribution.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace orrery::step {

namespace {

using schedule::StepTask;
using schedule::Stream;
using schedule::TaskKind;

StepCategory own_nature(const StepTask& task) {
  return task.stream == Stream::data_parallel_comm ? StepCategory::exposed_data
                                                   : StepCategory::exposed_pipeline;
}

// Where in time devices wait, and what for as far as that is known of a moment.
class WaitList {
 public:
  explicit WaitList(const ExecutedStep& step) : step_(step), arrivals_(step.graph.tasks.size()) {
    for (const std::int32_t id : step.graph.graph.tasks_of_nodes()) {
      if (id != engine::TaskGraph::kHidden) {
        find_arrival(TaskId{id});
      }
    }
  }

  // Waits of one device after another, with the sums of `causes`.
  [[nodiscard]] std::vector<DeviceWait> list(const std::vector<CategoryTimes>& causes) const {
    std::vector<std::vector<DeviceWait>> by_device(causes.size());
    std::vector<SimTime> cursor(causes.size());
    const auto note = [&](std::size_t device, StepCategory category, SimTime end) {
      if (end > cursor[device]) {
        by_device[device].push_back(
            {static_cast<std::int32_t>(device), category, cursor[device], end});
        cursor[device] = end;
      }
    };
    // Tasks of one stream run in the order of their ids.
    for (std::size_t i = 0; i < step_.graph.tasks.size(); ++i) {
      const StepTask& task = step_.graph.tasks[i];
      if (occupies(task)) {
        const auto device = static_cast<std::size_t>(task.device);
        const SimTime start = step_.timing.start[i];
        note(device, StepCategory::bubble, std::min(arrivals_[i].ready, start));
        note(device, arrivals_[i].nature, start);
        cursor[device] = step_.timing.end[i];
      }
    }
    std::vector<DeviceWait> waits;
    for (std::size_t d = 0; d < by_device.size(); ++d) {
      note(d, StepCategory::bubble, step_.timing.makespan);
      deal_out(by_device[d], causes[d], waits);
    }
    return waits;
  }

 private:
  // What a task waited for, known once all its predecessors are.
  struct Arrival {
    SimTime ready;                                         // end of the latest compute upstream
    StepCategory nature = StepCategory::exposed_pipeline;  // of the last thing to arrive
  };

  [[nodiscard]] SimTime arrival(const engine::Predecessor& edge) const {
    const SimTime end = step_.timing.end[edge.task.index()];
    return edge.delay == engine::kNoDelay
               ? end
               : end + step_.delays[static_cast<std::size_t>(edge.delay)];
  }

  // For compute tasks the arrival is that of their waiting, not their own end.
  void find_arrival(TaskId id) {
    const StepTask& task = step_.graph.tasks[id.index()];
    Arrival found;
    SimTime latest{-1};
    for (const engine::Predecessor& edge : step_.graph.graph.predecessors(id)) {
      if (edge.is_order && is_compute(task)) {
        continue;
      }
      const StepTask& before = step_.graph.tasks[edge.task.index()];
      const Arrival& upstream = arrivals_[edge.task.index()];
      const SimTime ready =
          is_compute(before) ? step_.timing.end[edge.task.index()] : upstream.ready;
      found.ready = std::max(found.ready, ready);
      const SimTime at = arrival(edge);
      if (at > latest) {
        latest = at;
        found.nature = is_compute(before)              ? StepCategory::exposed_pipeline
                       : before.kind == TaskKind::join ? upstream.nature
                                                       : own_nature(before);
      }
    }
    arrivals_[id.index()] = found;
  }

  // Each wait gets its own category while that lasts, then what is left of the others.
  static void deal_out(const std::vector<DeviceWait>& found, CategoryTimes left,
                       std::vector<DeviceWait>& waits) {
    std::vector<SimTime> own;
    for (const DeviceWait& wait : found) {
      SimTime& cell = left[static_cast<std::size_t>(wait.category)];
      own.push_back(std::min(cell, wait.end - wait.start));
      cell -= own.back();
    }
    std::size_t next = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      DeviceWait piece = found[i];
      piece.end = piece.start + own[i];
      if (piece.end > piece.start) {
        waits.push_back(piece);
      }
      while (piece.end < found[i].end) {
        while (left[next] == SimTime{}) {
          ++next;
        }
        const SimTime part = std::min(left[next], found[i].end - piece.end);
        left[next] -= part;
        piece = {piece.device, static_cast<StepCategory>(next), piece.end, piece.end + part};
        waits.push_back(piece);
      }
    }
  }

  const ExecutedStep& step_;
  std::vector<Arrival> arrivals_;
};

// In ns of one GPU: less than the makespan, so 64 bits hold it.
std::vector<CategoryTimes> busy_times(const ExecutedStep& step) {
  std::vector<CategoryTimes> cells(static_cast<std::size_t>(step.devices));
  const std::vector<schedule::TaskClass>& classes = step.graph.classes;
  for (std::size_t k = 0; k < classes.size(); ++k) {
    if (!occupies(classes[k].task)) {
      continue;
    }
    CategoryTimes& of_device = cells[static_cast<std::size_t>(classes[k].task.device)];
    for (std::size_t c = 0; c < kStepCategories; ++c) {
      of_device[c] += SimTime{classes[k].tasks * step.parts[k]->parts[c].ns};
    }
  }
  for (std::size_t i = 0; i < step.stretch.size(); ++i) {
    const StepTask& task = step.graph.tasks[i];
    if (occupies(task)) {
      cells[static_cast<std::size_t>(task.device)]
           [static_cast<std::size_t>(StepCategory::exposed_data)] += step.stretch[i];
    }
  }
  return cells;
}

}  // namespace

Attribution attribute_step(const AttributionInput& input) {
  const std::vector<CategoryTimes> busy = busy_times(input.step);
  const WaitCauses causes = find_wait_causes(input.step);
  Attribution result{{}, causes.without_communication};
  for (std::size_t d = 0; d < busy.size(); ++d) {
    StepLedger ledger;
    for (std::size_t c = 0; c < kStepCategories; ++c) {
      ledger.book(static_cast<StepCategory>(c), input.gpus_per_device,
                  busy[d][c] + causes.of_device[d][c]);
    }
    const Int128 expected = static_cast<Int128>(input.gpus_per_device) *
                            static_cast<Int128>(input.step.timing.makespan.ns);
    ORRERY_CHECK(ledger.total() == expected,
                 "the step ledger of pipeline device {} does not add up: {} of {} GPU seconds", d,
                 in_seconds(ledger.total_gpu_time()), static_cast<double>(expected) * kNano);
    result.ledgers.push_back(ledger);
  }
  if (input.waits != nullptr) {
    *input.waits = WaitList(input.step).list(causes.of_device);
  }
  return result;
}

}  // namespace orrery::step
