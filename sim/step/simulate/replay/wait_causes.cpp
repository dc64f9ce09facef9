#include "sim/step/simulate/replay/wait_causes.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "sim/base/check.hpp"

namespace orrery::step {

namespace {

using schedule::StepTask;
using schedule::Stream;
using schedule::TaskKind;

constexpr std::array<StepCategory, 3> kOwnCollectives = {
    StepCategory::exposed_tensor, StepCategory::exposed_context, StepCategory::exposed_expert};

std::size_t cell_of(StepCategory category) { return static_cast<std::size_t>(category); }

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
struct PassKind {
  TaskKind kind;
  schedule::OpKind backward;

  friend bool operator==(const PassKind&, const PassKind&) = default;
};

// Of one device.
struct Place {
  PassKind kind;
  std::int16_t chunk;
  std::int16_t backward_chunk;

  friend bool operator==(const Place&, const Place&) = default;
};

struct PassSum {
  double time = 0.0;
  double passes = 0.0;

  void add(double more, double count) {
    time += more;
    passes += count;
  }

  [[nodiscard]] double mean() const { return passes > 0.0 ? time / passes : 0.0; }
};

Place place_of(const StepTask& task) {
  const bool both = task.kind == TaskKind::overlapped;
  return {{task.kind, both ? task.backward_kind : schedule::OpKind::forward},
          task.chunk,
          both ? task.backward_chunk : std::int16_t{0}};
}

// A pass in buckets counts once.
std::int64_t passes_of(const schedule::TaskClass& tasks) {
  return tasks.task.bucket <= 0 ? tasks.tasks : 0;
}

// Durations are by class of tasks, with a last one, zero, for the nodes that are no tasks.
class Replays {
 public:
  explicit Replays(const ExecutedStep& step)
      : step_(step),
        classes_(step.graph.classes),
        causes_{std::vector<CategoryTimes>(static_cast<std::size_t>(step.devices)), {}},
        waits_(static_cast<std::size_t>(step.devices)),
        packed_(step.graph.graph.nodes().size()),
        ends_(step.graph.graph.nodes().size()) {
    engine::pack_delays(step.graph.graph, std::vector<SimTime>(step.delays.size()), no_delays_);
    engine::pack_delays(step.graph.graph, step.delays, delays_);
  }

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

    for (std::size_t c = 0; c < classes_.size(); ++c) {
      if (classes_[c].task.kind == TaskKind::send_receive) {
        passes[c] = step_.parts[c]->total;
      }
    }
    std::vector<SimTime> sums = busy(passes);
    add(StepCategory::exposed_pipeline, replay(passes, delays_), sums);

    for (std::size_t i = 0; i < step_.stretch.size(); ++i) {
      const StepTask& task = step_.graph.tasks[i];
      if (occupies(task)) {
        sums[static_cast<std::size_t>(task.device)] += step_.stretch[i];
      }
    }
    add(StepCategory::exposed_data, step_.timing.makespan, sums);
    return std::move(causes_);
  }

 private:
  // Passes and the optimizer take what `of` says of them, everything else nothing.
  template <typename Function>
  [[nodiscard]] std::vector<SimTime> times(Function of) const {
    std::vector<SimTime> durations(classes_.size() + 1);
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      if (is_compute(classes_[c].task)) {
        durations[c] = of(*step_.parts[c]);
      }
    }
    return durations;
  }

  // Every pass as long as the mean of its kind over devices and chunks.
  [[nodiscard]] std::vector<SimTime> alike(std::vector<SimTime> work) const {
    std::vector<std::pair<PassKind, PassSum>> all;  // few
    std::vector<std::vector<std::pair<Place, PassSum>>> own(waits_.size());
    const auto sum_of = [](auto& list, const auto& key) -> PassSum& {
      for (auto& [known, sum] : list) {
        if (known == key) {
          return sum;
        }
      }
      return list.emplace_back(key, PassSum{}).second;
    };
    const auto sum_at = [&](const StepTask& task) -> PassSum& {
      return sum_of(own[static_cast<std::size_t>(task.device)], place_of(task));
    };
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      const schedule::TaskClass& here = classes_[c];
      if (is_compute(here.task)) {
        const double time = static_cast<double>(work[c].ns) * static_cast<double>(here.tasks);
        const auto passes = static_cast<double>(passes_of(here));
        sum_at(here.task).add(time, passes);
        sum_of(all, place_of(here.task).kind).add(time, passes);
      }
    }
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      const StepTask& task = classes_[c].task;
      const double here = is_compute(task) ? sum_at(task).mean() : 0.0;
      if (here > 0.0) {
        const double mean = sum_of(all, place_of(task).kind).mean();
        work[c] = to_sim_time(to_seconds(work[c]) * (mean / here));
      }
    }
    return work;
  }

  // `delays`: packed.
  SimTime replay(std::span<const SimTime> durations, std::span<const SimTime> delays) {
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      ORRERY_CHECK(durations[c].ns >= 0, "a task takes {} ns", durations[c].ns);
    }
    for (std::size_t node = 0; node < packed_.size(); ++node) {
      packed_[node] = durations[step_.graph.class_of_node[node]];
    }
    return engine::replay_packed(step_.graph.graph, packed_, delays, ends_);
  }

  [[nodiscard]] std::vector<SimTime> busy(std::span<const SimTime> durations) const {
    std::vector<SimTime> sums(waits_.size());
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      const schedule::TaskClass& here = classes_[c];
      if (occupies(here.task)) {
        sums[static_cast<std::size_t>(here.task.device)] += SimTime{here.tasks * durations[c].ns};
      }
    }
    return sums;
  }

  void start(const std::vector<SimTime>& ideal_busy, SimTime ideal_end,
             const std::vector<SimTime>& busy, SimTime end) {
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
    for (const StepCategory category :
         {StepCategory::stage_imbalance, StepCategory::exposed_pipeline,
          StepCategory::exposed_expert, StepCategory::exposed_context, StepCategory::exposed_tensor,
          StepCategory::idle, StepCategory::bubble}) {
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
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      for (std::size_t i = 0; is_compute(classes_[c].task) && i < times.size(); ++i) {
        times[i] +=
            SimTime{classes_[c].tasks * step_.parts[c]->parts[cell_of(kOwnCollectives[i])].ns};
      }
    }
    const SimTime all = times[0] + times[1] + times[2];
    const auto largest = static_cast<std::size_t>(std::ranges::max_element(times) - times.begin());
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
  std::span<const schedule::TaskClass> classes_;
  WaitCauses causes_;
  std::vector<SimTime> waits_;  // by device, in the latest replay
  std::vector<SimTime> no_delays_;
  std::vector<SimTime> delays_;
  std::vector<SimTime> packed_;
  std::vector<SimTime> ends_;
};

}  // namespace

bool occupies(const StepTask& task) {
  return task.stream == Stream::compute && task.kind != TaskKind::join;
}

bool is_compute(const StepTask& task) {
  return occupies(task) && task.kind != TaskKind::send_receive;
}

WaitCauses find_wait_causes(const ExecutedStep& step) { return Replays(step).find(); }

}  // namespace orrery::step
