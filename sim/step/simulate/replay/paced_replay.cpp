#include "sim/step/simulate/replay/paced_replay.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"

namespace orrery::step {

namespace {

using schedule::StepTask;
using schedule::Stream;
using schedule::TaskKind;

}  // namespace

PacedReplay::PacedReplay(const schedule::StepGraph& graph, double slowdown)
    : graph_(graph), pace_{slowdown}, classes_(graph.classes.size() + 1) {
  ORRERY_CHECK(slowdown >= 0.0, "communication slows compute by {}", slowdown);
  bool communicates = false;
  for (std::size_t c = 0; c < graph.classes.size(); ++c) {
    const StepTask& task = graph.classes[c].task;
    if (task.kind == TaskKind::join || task.stream == Stream::p2p) {
      continue;
    }
    const auto device = static_cast<std::uint32_t>(task.device);
    const bool collective = task.stream == Stream::data_parallel_comm;
    classes_[c].role = collective ? Role::collective : Role::compute;
    classes_[c].device = device;
    communicates = communicates || collective;
    if (device >= devices_.size()) {
      devices_.resize(std::size_t{device} + 1);
    }
  }
  slows_ = slowdown > 0.0 && communicates;
}

SimTime Pace::end_beside(SimTime alone, SimTime shared, SimTime from) const {
  // Beside a collective the rest takes 1 / pace as long; rounding is off by a few ns.
  const SimTime rest = alone + stretch(shared) - from;
  const SimTime most = kForever - from;
  SimTime beside = slowdown < 1.0 ? to_sim_time(to_seconds(rest) / (1.0 - slowdown)) : most;
  if (beside >= most) {
    return kForever;
  }
  const auto done = [&](SimTime after) { return from + after >= alone + stretch(shared + after); };
  while (!done(beside)) {
    beside.ns += 1;
  }
  while (beside > SimTime{} && done(beside - SimTime{1})) {
    beside.ns -= 1;
  }
  return from + beside;
}

SimTime PacedReplay::end_beside(Class& of, SimTime alone, SimTime shared, SimTime from) const {
  if (of.rest != alone - from || of.shared != shared) {
    of.rest = alone - from;
    of.shared = shared;
    of.beside = pace_.end_beside(of.rest, shared, SimTime{});
  }
  return of.beside < kForever - from ? from + of.beside : kForever;
}

SimTime PacedReplay::paced_end(Class& of, SimTime start, SimTime duration) {
  Device& device = devices_[of.device];
  const std::vector<Span>& spans = device.collectives;
  while (device.first < spans.size() && spans[device.first].end <= start) {
    ++device.first;
  }
  const SimTime alone = start + duration;
  SimTime end = alone;
  SimTime shared;
  for (std::size_t i = device.first; i < spans.size() && spans[i].start < end; ++i) {
    const SimTime from = std::max(start, spans[i].start);
    if (alone <= spans[i].end) {  // else no stretch ends before the collective does
      const SimTime beside = end_beside(of, alone, shared, from);
      if (beside <= spans[i].end) {
        return beside;
      }
    }
    shared += spans[i].end - from;
    end = alone + pace_.stretch(shared);
  }
  return end;
}

SimTime PacedReplay::last_end(std::span<const SimTime> end) const {
  SimTime makespan;
  for (const std::uint32_t node : graph_.graph.last_nodes()) {
    makespan = std::max(makespan, end[node]);
  }
  return makespan;
}

SimTime PacedReplay::run(const TaskTimes& times, engine::Timing::Packed& packed) {
  const std::span<const engine::PackedNode> nodes = graph_.graph.nodes();
  const std::span<const std::uint32_t> class_of = graph_.class_of_node;
  engine::pack_delays(graph_.graph, times.delays(), packed.delays);
  packed.durations.resize(nodes.size());
  packed.end.resize(nodes.size());
  packed.durations[0] = SimTime{};
  std::vector<SimTime> durations(classes_.size());
  for (std::size_t c = 0; c < times.parts().size(); ++c) {
    durations[c] = times.parts()[c]->total;
    ORRERY_CHECK(durations[c].ns >= 0, "a task takes {} ns", durations[c].ns);
  }
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    packed.durations[i] = durations[class_of[i]];
  }
  if (!slows_) {
    return engine::replay_packed(graph_.graph, packed.durations, packed.delays, packed.end);
  }
  for (Device& device : devices_) {
    device.collectives.clear();
    device.first = 0;
  }
  std::vector<SimTime>& end = packed.end;
  end[0] = SimTime{};
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    const engine::PackedNode& node = nodes[i];
    const SimTime start = std::max(end[node.plain], end[node.delayed] + packed.delays[node.delay]);
    Class& of = classes_[class_of[i]];
    SimTime duration = packed.durations[i];
    if (of.role == Role::collective && duration > SimTime{}) {
      devices_[of.device].collectives.push_back({start, start + duration});
    } else if (of.role == Role::compute) {
      duration = paced_end(of, start, duration) - start;
      packed.durations[i] = duration;
    }
    end[i] = start + duration;
  }
  return last_end(end);
}

void PacedReplay::run(TaskTimes& times, engine::Timing& out) {
  out.makespan = run(times, out.packed);
  if (slows_) {
    times.take_stretch(out.packed.durations);
  }
  engine::unpack(graph_.graph, times.durations(), out);
}

}  // namespace orrery::step
