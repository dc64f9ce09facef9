#include "sim/step/fabric/flow_replay.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/base/check.hpp"

namespace orrery::step {

using schedule::StepTask;
using schedule::Stream;
using schedule::TaskKind;

Successors::Successors(const engine::TaskGraph& graph)
    : begin(graph.task_count() + 1, 0), predecessors(graph.task_count()) {
  const auto tasks = static_cast<std::uint32_t>(graph.task_count());
  for (std::uint32_t task = 0; task < tasks; ++task) {
    const auto before = graph.predecessors({static_cast<std::int32_t>(task)});
    predecessors[task] = static_cast<std::uint32_t>(before.size());
    for (const engine::Predecessor& edge : before) {
      ++begin[edge.task.index() + 1];
    }
  }
  for (std::size_t task = 0; task < tasks; ++task) {
    begin[task + 1] += begin[task];
  }
  edges.resize(begin[tasks]);
  std::vector<std::uint32_t> cursor(begin.begin(), begin.end() - 1);
  for (std::uint32_t task = 0; task < tasks; ++task) {
    for (const engine::Predecessor& edge : graph.predecessors({static_cast<std::int32_t>(task)})) {
      edges[cursor[edge.task.index()]++] = {task, edge.delay};
    }
  }
}

FlowReplay::FlowReplay(const FoldedFabric& fabric,
                       std::span<const FlowJob> jobs,
                       fabric::Comparison comparison)
    : fabric_(fabric), flows_(fabric.capacities, comparison) {
  std::uint32_t tasks = 0;
  std::uint32_t paths = 0;
  for (const FlowJob& job : jobs) {
    std::size_t devices = 0;
    for (const StepTask& task : job.graph.tasks) {
      devices = std::max(devices, static_cast<std::size_t>(task.device + 1));
    }
    jobs_.push_back({.of = &job,
                     .successors = Successors(job.graph.graph),
                     .first_task = tasks,
                     .first_path = paths,
                     .first_device = devices_.size(),
                     .pace = {job.slowdown},
                     .steps_left = job.steps});
    tasks += static_cast<std::uint32_t>(job.graph.tasks.size());
    paths += static_cast<std::uint32_t>(job.work.paths.size());
    devices_.resize(devices_.size() + devices);
  }
  ORRERY_CHECK(
      paths == fabric.paths.size(), "{} paths of {} in the fabric", paths, fabric.paths.size());
  missing_.resize(tasks);
  running_.resize(tasks);
  const std::size_t kinds = jobs.size() * kTraffics;
  run_.jobs.resize(jobs.size());
  run_.lost.assign(kinds, std::vector<Seconds>(kinds + 1));
  run_.lost_on_link.assign(fabric.capacities.size(), std::vector<Seconds>(kinds));
  on_link_.resize(fabric.capacities.size() * kinds);
}

std::uint32_t FlowReplay::job_of(std::uint32_t task) const {
  const auto behind =
      std::upper_bound(jobs_.begin(), jobs_.end(), task, [](std::uint32_t wanted, const Job& job) {
        return wanted < job.first_task;
      });
  return static_cast<std::uint32_t>(behind - jobs_.begin() - 1);
}

const StepTask& FlowReplay::task_of(const Job& job, std::uint32_t task) const {
  return job.of->graph.tasks[task - job.first_task];
}

const TaskNetwork& FlowReplay::network_of(const Job& job, std::uint32_t task) const {
  return job.of->work.of_class[job.of->graph.class_of[task - job.first_task]];
}

FlowReplay::Device& FlowReplay::device_of(const Job& job, std::uint32_t task) {
  return devices_[job.first_device + static_cast<std::size_t>(task_of(job, task).device)];
}

bool FlowReplay::is_paced(const Job& job, const StepTask& task) {
  return job.pace.slowdown > 0.0 && task.stream == Stream::compute && task.kind != TaskKind::join;
}

FlowRun FlowReplay::run() {
  unfinished_ = jobs_.size();
  for (std::uint32_t job = 0; job < jobs_.size(); ++job) {
    jobs_[job].left = SIZE_MAX;
    queue_.push(jobs_[job].of->start, kGapOver, jobs_[job].first_task);
  }
  while (unfinished_ > 0) {
    const SimTime event = queue_.empty() ? kForever : queue_.top().time;
    const SimTime end = living_.empty() ? kForever : flows_.next_end();
    const SimTime change =
        next_change_ < fabric_.changes.size() ? fabric_.changes[next_change_].at : kForever;
    ORRERY_CHECK(std::min({event, end, change}) < kForever, "the flows of a step stand still");
    if (end <= std::min(event, change)) {
      end_flows(end);
    } else if (change <= event) {
      change_links(change);
    } else {
      now_ = event;
      while (!queue_.empty() && queue_.top().time == event) {
        handle(queue_.pop());
      }
    }
  }
  for (std::size_t link = 0; link < fabric_.capacities.size(); ++link) {
    run_.carried.push_back(flows_.carried({static_cast<std::int32_t>(link)}));
  }
  return std::move(run_);
}

void FlowReplay::handle(const engine::Event& event) {
  if (event.priority == kMessageStarts) {
    start_message(event.payload);
    return;
  }
  const std::uint32_t index = job_of(event.payload);
  Job& job = jobs_[index];
  if (job.left == SIZE_MAX) {  // the only event of a job that has not begun
    begin_step(index);
    return;
  }
  if (event.priority == kEdgeArrives) {
    arrive(job, event.payload);
    return;
  }
  Running& running = running_[event.payload];
  if (running.due != event.time || running.what != event.priority) {
    return;
  }
  running.due = kNever;
  if (is_paced(job, task_of(job, event.payload))) {
    device_of(job, event.payload).task = kNoTask;
  }
  switch (event.priority) {
    case kTaskEnds:
      end_task(job, event.payload);
      break;
    case kPieceStarts:
      start_piece(job, event.payload);
      break;
    default:
      end_piece(job, event.payload);
  }
}

void FlowReplay::begin_step(std::uint32_t index) {
  Job& job = jobs_[index];
  JobRun& run = run_.jobs[index];
  const std::size_t tasks = job.of->graph.tasks.size();
  if (job.left == SIZE_MAX) {
    run.timing.start.resize(tasks);
    run.timing.end.resize(tasks);
  }
  job.begun = now_;
  job.left = tasks;
  std::copy(job.successors.predecessors.begin(),
            job.successors.predecessors.end(),
            missing_.begin() + job.first_task);
  for (std::uint32_t task = 0; task < tasks; ++task) {
    if (job.successors.predecessors[task] == 0) {
      begin_task(job, job.first_task + task);
    }
  }
}

void FlowReplay::begin_task(Job& job, std::uint32_t task) {
  run_.jobs[job_of(task)].timing.start[task - job.first_task] = now_ - job.begun;
  running_[task] = {};
  communicate(job, task, 1);
  go_on(job, task);
}

// To the next piece, or to the end.
void FlowReplay::go_on(Job& job, std::uint32_t task) {
  const TaskNetwork& network = network_of(job, task);
  const std::uint32_t piece = running_[task].piece;
  if (piece < network.pieces.size()) {
    const NetworkPiece& next = network.pieces[piece];
    wait(job, task, next.before - next.lead, kPieceStarts);
  } else {
    wait(job, task, network.behind, kTaskEnds);
  }
}

// Lets a fixed time pass; its end is an event, made anew when the pace of the device changes.
void FlowReplay::wait(Job& job, std::uint32_t task, SimTime time, Priority what) {
  SimTime due = now_ + time;
  if (is_paced(job, task_of(job, task))) {
    Device& device = device_of(job, task);
    device.task = task;
    device.alone = due;
    device.shared = SimTime{};
    device.from = now_;
    if (device.collectives > 0) {
      due = job.pace.end_beside(due, SimTime{}, now_);
    }
  }
  running_[task].due = due;
  running_[task].what = what;
  if (due < kForever) {
    queue_.push(due, what, task);
  }
}

void FlowReplay::communicate(Job& job, std::uint32_t task, int change) {
  const StepTask& what = task_of(job, task);
  const bool collective =
      what.stream == Stream::data_parallel_comm && what.kind != TaskKind::join &&
      job.of->parts[job.of->graph.class_of[task - job.first_task]]->total > SimTime{};
  if (job.pace.slowdown <= 0.0 || !collective) {
    return;
  }
  Device& device = device_of(job, task);
  const bool before = device.collectives > 0;
  device.collectives += change;
  const bool after = device.collectives > 0;
  if (before == after || device.task == kNoTask) {
    return;
  }
  Running& running = running_[device.task];
  if (after) {
    device.from = now_;
    running.due = job.pace.end_beside(device.alone, device.shared, now_);
  } else {
    device.shared += now_ - device.from;
    running.due = device.alone + job.pace.stretch(device.shared);
  }
  if (running.due < kForever) {
    queue_.push(running.due, running.what, device.task);
  }
}

void FlowReplay::start_piece(Job& job, std::uint32_t task) {
  Running& running = running_[task];
  const NetworkPiece& piece = network_of(job, task).pieces[running.piece++];
  running.holds = piece.lead > SimTime{} ? 2 : 1;
  if (piece.lead > SimTime{}) {
    wait(job, task, piece.lead, kGapOver);
  }
  start_flow(job, piece, traffic_of(task_of(job, task)), {.owner = task});
}

void FlowReplay::end_piece(Job& job, std::uint32_t task) {
  if (--running_[task].holds == 0) {
    go_on(job, task);
  }
}

void FlowReplay::end_task(Job& job, std::uint32_t task) {
  const std::uint32_t index = job_of(task);
  JobRun& run = run_.jobs[index];
  run.timing.end[task - job.first_task] = now_ - job.begun;
  communicate(job, task, -1);
  for (const Successors::Edge edge : job.successors.of(task - job.first_task)) {
    if (edge.delay == engine::kNoDelay) {
      arrive(job, job.first_task + edge.task);
    } else {
      send(index, job.first_task + edge.task, static_cast<std::uint32_t>(edge.delay));
    }
  }
  if (--job.left == 0) {
    run.timing.makespan = now_ - job.begun;
    run.step_ends.push_back(now_);
    if (--job.steps_left > 0) {
      begin_step(index);
    } else {
      --unfinished_;
    }
  }
}

void FlowReplay::arrive(Job& job, std::uint32_t task) {
  if (--missing_[task] == 0) {
    begin_task(job, task);
  }
}

void FlowReplay::send(std::uint32_t job, std::uint32_t receiver, std::uint32_t message) {
  const TaskNetwork& network = jobs_[job].of->work.of_message[message];
  if (network.pieces.empty()) {
    if (network.behind == SimTime{}) {
      arrive(jobs_[job], receiver);
    } else {
      queue_.push(now_ + network.behind, kEdgeArrives, receiver);
    }
    return;
  }
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(sending_.size()));
    sending_.emplace_back();
  }
  const std::uint32_t token = free_.back();
  free_.pop_back();
  sending_[token] = {job, receiver, message};
  queue_.push(now_ + network.pieces.front().before, kMessageStarts, token);
}

void FlowReplay::start_message(std::uint32_t token) {
  const Sending& sending = sending_[token];
  const Job& job = jobs_[sending.job];
  start_flow(job,
             job.of->work.of_message[sending.message].pieces.front(),
             Traffic::messages,
             {.owner = token, .message = true});
}

void FlowReplay::start_flow(const Job& job,
                            const NetworkPiece& piece,
                            Traffic traffic,
                            Moving moving) {
  account(now_);
  if (flows_.now() < now_) {
    flows_.advance_to(now_);
  }
  const auto index = static_cast<std::uint32_t>(&job - jobs_.data());
  moving.kind = index * static_cast<std::uint32_t>(kTraffics) + static_cast<std::uint32_t>(traffic);
  moving.path = job.first_path + piece.path;
  moving.bound = piece.alone > SimTime{} ? piece.bytes / in_seconds(to_seconds(piece.alone))
                                         : in_bytes_per_second(fabric::kUnbounded);
  moving.place = living_.size();
  const fabric::FlowId id = flows_.start(fabric_.paths[moving.path],
                                         piece.alone > SimTime{} ? bytes(piece.bytes) : Bytes{},
                                         bytes_per_second(moving.bound));
  moving_.resize(std::max(moving_.size(), id.index() + 1));
  moving_[id.index()] = moving;
  living_.push_back(id);
  ++run_.flows;
}

void FlowReplay::end_flows(SimTime time) {
  now_ = time;
  account(time);
  ended_.clear();  // by value: the next start gives the ids again
  for (const fabric::FlowId id : flows_.advance_to(time)) {
    const std::size_t place = moving_[id.index()].place;
    living_[place] = living_.back();
    moving_[living_[place].index()].place = place;
    living_.pop_back();
    ended_.push_back(moving_[id.index()]);
  }
  for (const Moving& moving : ended_) {
    if (!moving.message) {
      end_piece(jobs_[job_of(moving.owner)], moving.owner);
      continue;
    }
    const Sending sending = sending_[moving.owner];
    free_.push_back(moving.owner);
    arrive(jobs_[sending.job], sending.receiver);
  }
}

void FlowReplay::change_links(SimTime time) {
  now_ = time;
  account(time);
  flows_.advance_to(time);
  for (; next_change_ < fabric_.changes.size() && fabric_.changes[next_change_].at == time;
       ++next_change_) {
    const LinkChange& change = fabric_.changes[next_change_];
    flows_.set_capacity(change.link, fabric_.capacities[change.link.index()] * change.share);
  }
}

void FlowReplay::keep_loads_from(SimTime time) {
  const std::size_t kinds = run_.lost.size();
  for (std::size_t link = 0; link < run_.loads.size(); ++link) {
    const double* const of = &on_link_[link * kinds];
    const double load =
        std::accumulate(of, of + kinds, 0.0) / in_bytes_per_second(fabric_.capacities[link]);
    std::vector<LinkLoad>& loads = run_.loads[link];
    if (loads.empty() ? load != 0.0 : loads.back().load != load) {
      loads.push_back({time, load});
    }
  }
}

// Books what the flows have lost since the last time; their rates were the same all the while.
void FlowReplay::account(SimTime time) {
  const double passed = in_seconds(to_seconds(time - accounted_));
  const SimTime from = accounted_;
  accounted_ = std::max(accounted_, time);
  if (passed <= 0.0) {
    return;
  }
  if (living_.empty()) {
    keep_loads_from(from);
    return;
  }
  const std::size_t kinds = run_.lost.size();
  bool lost = false;
  for (const fabric::FlowId id : living_) {
    const Moving& moving = moving_[id.index()];
    const double rate = in_bytes_per_second(flows_.rate(id));
    for (const fabric::Hop& hop : fabric_.paths[moving.path]) {
      on_link_[hop.link.index() * kinds + moving.kind] += hop.weight * rate;
    }
    lost = lost || flows_.bottleneck(id) != fabric::kNoLink;
  }
  keep_loads_from(from);
  for (std::size_t i = 0; lost && i < living_.size(); ++i) {
    const fabric::LinkId at = flows_.bottleneck(living_[i]);
    if (at == fabric::kNoLink) {
      continue;
    }
    const Moving& victim = moving_[living_[i].index()];
    const double rate = in_bytes_per_second(flows_.rate(living_[i]));
    const Seconds missing = seconds(passed * (1.0 - rate / victim.bound));
    run_.lost_on_link[at.index()][victim.kind] += missing;
    const double* const loads = &on_link_[at.index() * kinds];
    double own = 0.0;
    for (const fabric::Hop& hop : fabric_.paths[victim.path]) {
      own += hop.link == at ? hop.weight * rate : 0.0;
    }
    double others = -own;
    for (std::size_t kind = 0; kind < kinds; ++kind) {
      others += loads[kind];
    }
    constexpr double kRounding = 1e-9;
    if (others <= kRounding * own) {
      run_.lost[victim.kind][kinds] += missing;
      continue;
    }
    for (std::size_t kind = 0; kind < kinds; ++kind) {
      const double load = kind == victim.kind ? loads[kind] - own : loads[kind];
      run_.lost[victim.kind][kind] += missing * (std::max(load, 0.0) / others);
    }
  }
  for (const fabric::FlowId id : living_) {
    const Moving& moving = moving_[id.index()];
    for (const fabric::Hop& hop : fabric_.paths[moving.path]) {
      on_link_[hop.link.index() * kinds + moving.kind] = 0.0;
    }
  }
}

}  // namespace orrery::step
