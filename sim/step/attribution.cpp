#include "sim/step/attribution.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace orrery::step {

namespace {

using schedule::StepTask;
using schedule::Stream;
using schedule::TaskKind;

// Does the task occupy its device: a pass, the optimizer, or a message that its sender copies?
bool occupies(const StepTask& task) {
  return task.stream == Stream::compute && task.kind != TaskKind::join;
}

bool is_compute(const StepTask& task) {
  return occupies(task) && task.kind != TaskKind::send_receive;
}

StepCategory own_nature(const StepTask& task) {
  return task.stream == Stream::data_parallel_comm ? StepCategory::exposed_data
                                                   : StepCategory::exposed_pipeline;
}

// What a task waited for, known once all its predecessors are.
struct Cause {
  SimTime ready;                                         // end of the latest compute upstream
  StepCategory nature = StepCategory::exposed_pipeline;  // of the last thing to arrive
};

class Attribution {
 public:
  explicit Attribution(const AttributionInput& input)
      : input_(input), causes_(input.graph.tasks.size()) {
    find_causes();
  }

  // Tasks of one stream run in the order of their ids, so one pass over the ids serves all devices.
  [[nodiscard]] std::vector<StepLedger> book() const {
    std::vector<Account> accounts(static_cast<std::size_t>(input_.devices));
    for (std::size_t i = 0; i < input_.graph.tasks.size(); ++i) {
      const StepTask& task = input_.graph.tasks[i];
      if (occupies(task)) {
        Account& account = accounts[static_cast<std::size_t>(task.device)];
        const TaskId id{static_cast<std::int32_t>(i)};
        book_wait(account, id, input_.timing.start[i]);
        book_busy(account, id);
        account.cursor = input_.timing.end[i];
      }
    }
    std::vector<StepLedger> ledgers;
    ledgers.reserve(accounts.size());
    for (const Account& account : accounts) {
      ledgers.push_back(close(account, ledgers.size()));
    }
    return ledgers;
  }

 private:
  [[nodiscard]] SimTime arrival(const engine::Predecessor& edge) const {
    const SimTime end = input_.timing.end[edge.task.index()];
    return edge.delay == engine::kNoDelay
               ? end
               : end + input_.delays[static_cast<std::size_t>(edge.delay)];
  }

  void find_causes() {
    for (const std::int32_t id : input_.graph.graph.tasks_of_nodes()) {
      if (id != engine::TaskGraph::kHidden) {
        find_cause(TaskId{id});
      }
    }
  }

  // For compute tasks the cause is that of their waiting, not their own end.
  void find_cause(TaskId id) {
    const StepTask& task = input_.graph.tasks[id.index()];
    Cause cause;
    SimTime latest{-1};
    for (const engine::Predecessor& edge : input_.graph.graph.predecessors(id)) {
      if (edge.is_order && is_compute(task)) {
        continue;
      }
      const StepTask& before = input_.graph.tasks[edge.task.index()];
      const Cause& upstream = causes_[edge.task.index()];
      const SimTime ready =
          is_compute(before) ? input_.timing.end[edge.task.index()] : upstream.ready;
      cause.ready = std::max(cause.ready, ready);
      const SimTime at = arrival(edge);
      if (at > latest) {
        latest = at;
        cause.nature = is_compute(before)              ? StepCategory::exposed_pipeline
                       : before.kind == TaskKind::join ? upstream.nature
                                                       : own_nature(before);
      }
    }
    causes_[id.index()] = cause;
  }

  // Booked so far on one device, in ns of one GPU: less than the makespan, so 64 bits hold it.
  struct Account {
    std::array<SimTime, kStepCategories> cells{};
    SimTime cursor;

    void book(StepCategory category, SimTime time) {
      cells[static_cast<std::size_t>(category)] += time;
    }
  };

  [[nodiscard]] StepLedger close(const Account& account, std::size_t device) const {
    StepLedger ledger;
    for (std::size_t c = 0; c < kStepCategories; ++c) {
      ledger.book(static_cast<StepCategory>(c), input_.gpus_per_device, account.cells[c]);
    }
    ledger.book(
        StepCategory::idle, input_.gpus_per_device, input_.timing.makespan - account.cursor);
    list_wait(device, StepCategory::idle, account.cursor, input_.timing.makespan);
    const Int128 expected = static_cast<Int128>(input_.gpus_per_device) *
                            static_cast<Int128>(input_.timing.makespan.ns);
    ORRERY_CHECK(ledger.total() == expected,
                 "the step ledger of pipeline device {} does not add up: {} of {} GPU seconds",
                 device,
                 in_seconds(ledger.total_gpu_time()),
                 static_cast<double>(expected) * kNano);
    return ledger;
  }

  void book_wait(Account& account, TaskId id, SimTime until) const {
    const Cause& cause = causes_[id.index()];
    const SimTime ready = std::clamp(cause.ready, account.cursor, until);
    const StepCategory waiting = input_.devices > 1 ? StepCategory::bubble : StepCategory::idle;
    account.book(waiting, ready - account.cursor);
    account.book(cause.nature, until - ready);
    if (input_.waits != nullptr) {
      const auto device = static_cast<std::size_t>(input_.graph.tasks[id.index()].device);
      list_wait(device, waiting, account.cursor, ready);
      list_wait(device, cause.nature, ready, until);
    }
  }

  void list_wait(std::size_t device, StepCategory category, SimTime start, SimTime end) const {
    if (input_.waits != nullptr && end > start) {
      input_.waits->push_back({static_cast<std::int32_t>(device), category, start, end});
    }
  }

  void book_busy(Account& account, TaskId id) const {
    const TaskParts* parts = input_.parts[id.index()];
    ORRERY_CHECK(parts != nullptr, "compute task {} has no cost", id.value);
    for (std::size_t c = 0; c < kStepCategories; ++c) {
      account.cells[c] += parts->parts[c];
    }
    if (!input_.stretch.empty()) {
      account.book(StepCategory::exposed_data, input_.stretch[id.index()]);
    }
  }

  const AttributionInput& input_;
  std::vector<Cause> causes_;
};

}  // namespace

std::vector<StepLedger> attribute_step(const AttributionInput& input) {
  return Attribution(input).book();
}

}  // namespace orrery::step
