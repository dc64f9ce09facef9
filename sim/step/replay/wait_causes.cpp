#include "sim/step/replay/wait_causes.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/base/check.hpp"

namespace orrery::step {

namespace {

using schedule::StepTask;
using schedule::Stream;
using schedule::TaskKind;

constexpr std::array<StepCategory, 3> kOwnCollectives = {
    StepCategory::exposed_tensor, StepCategory::exposed_context, StepCategory::exposed_expert};

std::size_t cell_of(StepCategory category) {
  return static_cast<std::size_t>(category);
}

SimTime own_collectives(const CategoryTimes& parts) {
  SimTime sum;
  for (const StepCategory category : kOwnCollectives) {
    sum += parts[cell_of(category)];
  }
  return sum;
}

SimTime work_of(const TaskParts& task) {
  return task.total - own_collectives(task.parts) - task.parts[cell_of(StepCategory::idle)];
}

// What stages do alike: passes of one kind, whole or in buckets; the optimizer.
using PassKind = std::pair<TaskKind, schedule::OpKind>;

struct PassSum {
  double time = 0.0;
  double passes = 0.0;

  [[nodiscard]] double mean() const {
    return passes > 0.0 ? time / passes : 0.0;
  }
};

class Replays {
 public:
  explicit Replays(const ExecutedStep& step)
      : step_(step),
        no_delays_(step.delays.size()),
        causes_{std::vector<CategoryTimes>(static_cast<std::size_t>(step.devices)), {}},
        waits_(static_cast<std::size_t>(step.devices)) {}

  WaitCauses find() {
    const std::vector<SimTime> work = times([](const TaskParts& task) { return work_of(task); });
    const std::vector<SimTime> ideal = alike(work);
    const SimTime ideal_end = replay(ideal, no_delays_);
    const SimTime stages_end = replay(work, no_delays_);
    start(busy(ideal), ideal_end, busy(work), stages_end);

    const std::vector<SimTime> with_gpus =
        times([](const TaskParts& task) { return task.total - own_collectives(task.parts); });
    causes_.without_communication = replay(with_gpus, no_delays_);
    add(StepCategory::idle, causes_.without_communication, busy(with_gpus));

    std::vector<SimTime> passes = times([](const TaskParts& task) { return task.total; });
    add_collectives(replay(passes, no_delays_), busy(passes));

    for (std::size_t i = 0; i < passes.size(); ++i) {
      if (step_.graph.tasks[i].kind == TaskKind::send_receive && step_.parts[i] != nullptr) {
        passes[i] = step_.parts[i]->total;
      }
    }
    add(StepCategory::exposed_pipeline, replay(passes, step_.delays), busy(passes));

    for (std::size_t i = 0; i < step_.stretch.size(); ++i) {
      passes[i] += step_.stretch[i];
    }
    add(StepCategory::exposed_data, step_.timing.makespan, busy(passes));
    return std::move(causes_);
  }

 private:
  // Passes and the optimizer take what `of` says of them, everything else nothing.
  template <typename Function>
  [[nodiscard]] std::vector<SimTime> times(Function of) const {
    std::vector<SimTime> durations(step_.graph.tasks.size());
    for (std::size_t i = 0; i < durations.size(); ++i) {
      if (is_compute(step_.graph.tasks[i])) {
        ORRERY_CHECK(step_.parts[i] != nullptr, "compute task {} has no cost", i);
        durations[i] = of(*step_.parts[i]);
      }
    }
    return durations;
  }

  // Every pass as long as the mean of its kind over devices and chunks.
  [[nodiscard]] std::vector<SimTime> alike(std::vector<SimTime> work) const {
    std::map<PassKind, PassSum> all;
    std::map<std::tuple<PassKind, int, int, int>, PassSum> own;
    const auto place = [](const StepTask& task) {
      const bool both = task.kind == TaskKind::overlapped;
      const PassKind kind(task.kind, both ? task.backward_kind : schedule::OpKind::forward);
      return std::tuple(
          kind, int{task.device}, int{task.chunk}, both ? int{task.backward_chunk} : 0);
    };
    const auto for_each_pass = [this](auto&& function) {
      for (std::size_t i = 0; i < step_.graph.tasks.size(); ++i) {
        if (is_compute(step_.graph.tasks[i])) {
          function(step_.graph.tasks[i], i);
        }
      }
    };
    for_each_pass([&](const StepTask& task, std::size_t i) {
      // A pass in buckets counts once.
      const double passes = task.bucket <= 0 ? 1.0 : 0.0;
      const auto time = static_cast<double>(work[i].ns);
      PassSum& here = own[place(task)];
      here = {here.time + time, here.passes + passes};
      PassSum& sum = all[std::get<0>(place(task))];
      sum = {sum.time + time, sum.passes + passes};
    });
    for_each_pass([&](const StepTask& task, std::size_t i) {
      const double here = own[place(task)].mean();
      const double mean = all[std::get<0>(place(task))].mean();
      if (here > 0.0) {
        work[i] = to_sim_time(to_seconds(work[i]) * (mean / here));
      }
    });
    return work;
  }

  SimTime replay(std::span<const SimTime> durations, std::span<const SimTime> delays) {
    engine::replay_linear(step_.graph.graph, durations, delays, timing_);
    return timing_.makespan;
  }

  [[nodiscard]] std::vector<SimTime> busy(std::span<const SimTime> durations) const {
    std::vector<SimTime> sums(waits_.size());
    for (std::size_t i = 0; i < durations.size(); ++i) {
      const StepTask& task = step_.graph.tasks[i];
      if (occupies(task)) {
        sums[static_cast<std::size_t>(task.device)] += durations[i];
      }
    }
    return sums;
  }

  void start(const std::vector<SimTime>& ideal_busy,
             SimTime ideal_end,
             const std::vector<SimTime>& busy,
             SimTime end) {
    for (std::size_t d = 0; d < waits_.size(); ++d) {
      waits_[d] = end - busy[d];
      CategoryTimes& cells = causes_.of_device[d];
      SimTime& bubble = cells[cell_of(StepCategory::bubble)];
      bubble = std::min(ideal_end - ideal_busy[d], waits_[d]);
      cells[cell_of(StepCategory::stage_imbalance)] = waits_[d] - bubble;
    }
  }

  // Takes `time` from what the device was found to wait for before.
  static void take(CategoryTimes& cells, SimTime time) {
    for (const StepCategory category : {StepCategory::stage_imbalance,
                                        StepCategory::exposed_pipeline,
                                        StepCategory::exposed_expert,
                                        StepCategory::exposed_context,
                                        StepCategory::exposed_tensor,
                                        StepCategory::idle,
                                        StepCategory::bubble}) {
      SimTime& cell = cells[cell_of(category)];
      const SimTime part = std::min(cell, time);
      cell -= part;
      time -= part;
    }
    ORRERY_CHECK(time == SimTime{}, "a device waits {} ns less than nothing", time.ns);
  }

  // What device d waits more than in the replay before; where it is less, that is taken.
  SimTime grown(std::size_t d, SimTime end, const std::vector<SimTime>& busy) {
    const SimTime wait = end - busy[d];
    const SimTime before = waits_[d];
    waits_[d] = wait;
    if (wait < before) {
      take(causes_.of_device[d], before - wait);
      return {};
    }
    return wait - before;
  }

  void add(StepCategory category, SimTime end, const std::vector<SimTime>& busy) {
    for (std::size_t d = 0; d < waits_.size(); ++d) {
      causes_.of_device[d][cell_of(category)] += grown(d, end, busy);
    }
  }

  void add_collectives(SimTime end, const std::vector<SimTime>& busy) {
    std::array<SimTime, kOwnCollectives.size()> times{};
    for (std::size_t i = 0; i < step_.graph.tasks.size(); ++i) {
      for (std::size_t c = 0; is_compute(step_.graph.tasks[i]) && c < times.size(); ++c) {
        times[c] += step_.parts[i]->parts[cell_of(kOwnCollectives[c])];
      }
    }
    const SimTime all = times[0] + times[1] + times[2];
    const auto largest =
        static_cast<std::size_t>(std::max_element(times.begin(), times.end()) - times.begin());
    for (std::size_t d = 0; d < waits_.size(); ++d) {
      const SimTime more = grown(d, end, busy);
      SimTime rest = more;
      for (std::size_t c = 0; c < times.size() && all > SimTime{}; ++c) {
        if (c != largest) {
          const double share = to_seconds(times[c]) / to_seconds(all);
          const SimTime part = std::min(rest, to_sim_time(to_seconds(more) * share));
          causes_.of_device[d][cell_of(kOwnCollectives[c])] += part;
          rest -= part;
        }
      }
      causes_.of_device[d][cell_of(kOwnCollectives[largest])] += rest;
    }
  }

  const ExecutedStep& step_;
  std::vector<SimTime> no_delays_;
  WaitCauses causes_;
  std::vector<SimTime> waits_;  // by device, in the latest replay
  engine::Timing timing_;
};

}  // namespace

bool occupies(const StepTask& task) {
  return task.stream == Stream::compute && task.kind != TaskKind::join;
}

bool is_compute(const StepTask& task) {
  return occupies(task) && task.kind != TaskKind::send_receive;
}

WaitCauses find_wait_causes(const ExecutedStep& step) {
  return Replays(step).find();
}

}  // namespace orrery::step
