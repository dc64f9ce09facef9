#include "sim/step/simulate/shared_links/flow_replay.hpp"

#include <algorithm>
#include <cmath>
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

FlowReplay::FlowReplay(const FoldedFabric& fabric, std::span<const FlowJob> jobs,
                       fabric::SolveWatch watch)
    : fabric_(fabric), flows_(fabric.capacities, watch) {
  std::uint32_t tasks = 0;
  std::uint32_t paths = 0;
  for (const FlowJob& job : jobs) {
    std::size_t devices = 0;
    for (const StepTask& task : job.graph.tasks) {
      devices = std::max(devices, static_cast<std::size_t>(task.device + 1));
    }
    const bool joins = job.joins && !jobs_.empty();
    const std::size_t first = joins ? jobs_.back().first : jobs_.size();
    jobs_.push_back({.of = &job,
                     .successors = joins ? jobs_.back().successors
                                         : std::make_shared<const Successors>(job.graph.graph),
                     .first = first,
                     .number = static_cast<std::uint32_t>(unfinished_) - (joins ? 1 : 0),
                     .first_task = tasks,
                     .first_path = paths,
                     .first_device = devices_.size(),
                     .pace = {job.slowdown},
                     .steps_left = job.steps});
    ++jobs_[first].classes;
    unfinished_ += joins ? 0 : 1;
    tasks += static_cast<std::uint32_t>(job.graph.tasks.size());
    paths += static_cast<std::uint32_t>(job.work.paths.size());
    devices_.resize(devices_.size() + devices);
  }
  ORRERY_CHECK(paths == fabric.paths.size(), "{} paths of {} in the fabric", paths,
               fabric.paths.size());
  for (const Job& job : jobs_) {
    job_of_.insert(job_of_.end(), job.of->graph.tasks.size(),
                   static_cast<std::uint32_t>(index_of(job)));
  }
  missing_.resize(tasks);
  running_.resize(tasks);
  arrived_.resize(tasks);
  kinds_ = unfinished_ * kTraffics;
  run_.jobs.resize(jobs.size());
  run_.lost.assign(kinds_, std::vector<Seconds>(kinds_ + 1));
  run_.lost_on_link.assign(fabric.capacities.size(), std::vector<Seconds>(kinds_));
  on_link_.resize(fabric.capacities.size() * kinds_);
  looked_at_.resize(fabric.capacities.size());
}

std::size_t FlowReplay::index_of(const Job& job) const {
  return static_cast<std::size_t>(&job - jobs_.data());
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

bool FlowReplay::meets(const Job& job, std::uint32_t task) const {
  const StepTask& what = task_of(job, task);
  return jobs_[job.first].classes > 1 &&
         (what.stream == Stream::data_parallel_comm || what.kind == TaskKind::join);
}

FlowRun FlowReplay::run() {
  for (Job& job : jobs_) {
    job.left = SIZE_MAX;
    if (job.classes > 0) {
      queue_.push(job.of->start, kGapOver, job.first_task);
    }
  }
  while (unfinished_ > 0) {
    const SimTime event = queue_.empty() ? kForever : queue_.top().time;
    const SimTime end = living_ == 0 ? kForever : flows_.next_end();
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
  Job& job = jobs_[job_of_[event.payload]];
  if (job.left == SIZE_MAX) {  // the only event of a job that has not begun
    begin_step(job.first);
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

void FlowReplay::begin_step(std::size_t first) {
  const std::size_t tasks = jobs_[first].of->graph.tasks.size();
  const std::size_t end = first + jobs_[first].classes;
  for (std::size_t i = first; i < end; ++i) {
    Job& job = jobs_[i];
    if (job.left == SIZE_MAX) {
      run_.jobs[i].timing.start.resize(tasks);
      run_.jobs[i].timing.end.resize(tasks);
    }
    job.begun = now_;
    job.left = tasks * (end - first);
    std::copy(job.successors->predecessors.begin(), job.successors->predecessors.end(),
              missing_.begin() + job.first_task);
  }
  for (std::size_t i = first; i < end; ++i) {
    for (std::uint32_t task = 0; task < tasks; ++task) {
      if (jobs_[i].successors->predecessors[task] == 0) {
        begin_task(jobs_[i], jobs_[i].first_task + task);
      }
    }
  }
}

void FlowReplay::begin_task(Job& job, std::uint32_t task) {
  run_.jobs[index_of(job)].timing.start[task - job.first_task] = now_ - job.begun;
  running_[task] = {};
  communicate(job, task, 1);
  if (!meets(job, task)) {
    go_on(job, task);
    return;
  }
  Job& first = jobs_[job.first];
  const std::uint32_t carrier = task - job.first_task + first.first_task;
  if (++arrived_[carrier] == first.classes) {
    arrived_[carrier] = 0;
    go_on(first, carrier);
  }
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
  if (!meets(job, task)) {
    finish(job, task);
    return;
  }
  const std::uint32_t own = task - job.first_task;
  const std::size_t end = job.first + jobs_[job.first].classes;
  for (std::size_t i = job.first; i < end; ++i) {
    finish(jobs_[i], jobs_[i].first_task + own);
  }
}

void FlowReplay::finish(Job& job, std::uint32_t task) {
  const std::size_t index = index_of(job);
  run_.jobs[index].timing.end[task - job.first_task] = now_ - job.begun;
  communicate(job, task, -1);
  for (const Successors::Edge edge : job.successors->of(task - job.first_task)) {
    if (edge.delay == engine::kNoDelay) {
      arrive(job, job.first_task + edge.task);
    } else {
      send(static_cast<std::uint32_t>(index), job.first_task + edge.task,
           static_cast<std::uint32_t>(edge.delay));
    }
  }
  if (--jobs_[job.first].left == 0) {
    end_step(job.first);
  }
}

void FlowReplay::end_step(std::size_t first) {
  for (std::size_t i = first; i < first + jobs_[first].classes; ++i) {
    run_.jobs[i].timing.makespan = now_ - jobs_[i].begun;
    run_.jobs[i].step_ends.push_back(now_);
  }
  if (--jobs_[first].steps_left > 0) {
    begin_step(first);
  } else {
    --unfinished_;
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
  start_flow(job, job.of->work.of_message[sending.message].pieces.front(), Traffic::messages,
             {.owner = token, .message = true});
}

void FlowReplay::start_flow(const Job& job, const NetworkPiece& piece, Traffic traffic,
                            Moving moving) {
  account(now_);
  if (flows_.now() < now_) {
    flows_.advance_to(now_);
  }
  moving.kind =
      job.number * static_cast<std::uint32_t>(kTraffics) + static_cast<std::uint32_t>(traffic);
  moving.path = job.first_path + piece.path;
  moving.bound = piece.alone > SimTime{} ? piece.bytes / in_seconds(to_seconds(piece.alone))
                                         : in_bytes_per_second(fabric::kUnbounded);
  moving.share = traffic == Traffic::data ? 1.0 : job.of->share;
  moving.living = true;
  moving.since = now_;
  const fabric::FlowId id = flows_.start(fabric_.paths[moving.path],
                                         piece.alone > SimTime{} ? bytes(piece.bytes) : Bytes{},
                                         bytes_per_second(moving.bound));
  if (moving_.size() <= id.index()) {
    moving_.resize(id.index() + 1);
    bytes_at_start_.resize(moving_.size() * kinds_);
  }
  moving_[id.index()] = moving;
  ++living_;
  ++run_.flows;
}

void FlowReplay::end_flows(SimTime time) {
  now_ = time;
  account(time);
  ended_.clear();  // by value: the next start gives the ids again
  for (const fabric::FlowId id : flows_.advance_to(time)) {
    Moving& moving = moving_[id.index()];
    book(id, time);
    change_load(moving, -moving.rate, moving.rate > 0.0 ? -1 : 0, time);
    moving.living = false;
    --living_;
    ended_.push_back(moving);
  }
  for (const Moving& moving : ended_) {
    if (!moving.message) {
      end_piece(jobs_[job_of_[moving.owner]], moving.owner);
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
  constexpr double kRounding = 1e-12;
  for (const std::size_t link : run_.loads.empty() ? std::vector<std::size_t>{} : touched_) {
    double load = 0.0;
    for (std::size_t kind = 0; kind < kinds_; ++kind) {
      load += on_link_[link * kinds_ + kind].load;
    }
    load /= in_bytes_per_second(fabric_.capacities[link]);
    std::vector<LinkLoad>& loads = run_.loads[link];
    if (std::abs(load - (loads.empty() ? 0.0 : loads.back().load)) > kRounding) {
      loads.push_back({time, load});
    }
  }
  touched_.clear();
}

void FlowReplay::look_at(std::size_t link, SimTime time) {
  const double passed = in_seconds(to_seconds(time - looked_at_[link]));
  looked_at_[link] = time;
  for (std::size_t kind = 0; passed > 0.0 && kind < kinds_; ++kind) {
    KindOnLink& on = on_link_[link * kinds_ + kind];
    on.bytes += on.load * passed;
  }
}

void FlowReplay::change_load(const Moving& moving, double change, int flows, SimTime at) {
  for (const fabric::Hop& hop : fabric_.paths[moving.path]) {
    const std::size_t link = hop.link.index();
    look_at(link, at);
    KindOnLink& on = on_link_[link * kinds_ + moving.kind];
    on.flows += static_cast<std::uint32_t>(flows);
    on.load = on.flows == 0 ? 0.0 : on.load + hop.weight * change;
    touched_.push_back(link);
  }
}

// Takes over the rates of the time up to which all is booked; they hold until `time`.
void FlowReplay::account(SimTime time) {
  if (time <= accounted_) {
    return;
  }
  const SimTime from = std::exchange(accounted_, time);
  const std::span<const fabric::FlowId> changed = flows_.changed();
  for (const fabric::FlowId id : changed) {
    Moving& moving = moving_[id.index()];
    if (moving.living) {
      book(id, from);
      const double rate = in_bytes_per_second(flows_.rate(id));
      const int flows = (rate > 0.0 ? 1 : 0) - (moving.rate > 0.0 ? 1 : 0);
      change_load(moving, rate - moving.rate, flows, from);
      moving.rate = rate;
    }
  }
  for (const fabric::FlowId id : changed) {
    Moving& moving = moving_[id.index()];
    moving.since = from;
    moving.bottleneck = moving.living ? flows_.bottleneck(id) : fabric::kNoLink;
    if (moving.bottleneck != fabric::kNoLink) {
      look_at(moving.bottleneck.index(), from);
      for (std::size_t kind = 0; kind < kinds_; ++kind) {
        bytes_at_start_[id.index() * kinds_ + kind] =
            on_link_[moving.bottleneck.index() * kinds_ + kind].bytes;
      }
    }
  }
  keep_loads_from(from);
}

// Books what a flow has lost since its rate changed.
void FlowReplay::book(fabric::FlowId id, SimTime until) {
  const Moving& victim = moving_[id.index()];
  const double passed = in_seconds(to_seconds(until - victim.since));
  if (passed <= 0.0 || victim.bottleneck == fabric::kNoLink) {
    return;
  }
  const std::size_t at = victim.bottleneck.index();
  look_at(at, until);
  const Seconds missing = seconds(passed * (1.0 - victim.rate / victim.bound) * victim.share);
  run_.lost_on_link[at][victim.kind] += missing;
  double own = 0.0;
  for (const fabric::Hop& hop : fabric_.paths[victim.path]) {
    own += hop.link == victim.bottleneck ? hop.weight * victim.rate * passed : 0.0;
  }
  constexpr double kRounding = 1e-9;
  const auto sent = [&](std::size_t kind) {
    const double all =
        on_link_[at * kinds_ + kind].bytes - bytes_at_start_[id.index() * kinds_ + kind];
    const double of_others = kind == victim.kind ? all - own : all;
    return of_others > kRounding * own ? of_others : 0.0;
  };
  double others = 0.0;
  for (std::size_t kind = 0; kind < kinds_; ++kind) {
    others += sent(kind);
  }
  if (others == 0.0) {
    run_.lost[victim.kind][kinds_] += missing;
    return;
  }
  for (std::size_t kind = 0; kind < kinds_; ++kind) {
    run_.lost[victim.kind][kind] += missing * (sent(kind) / others);
  }
}

}  // namespace orrery::step
