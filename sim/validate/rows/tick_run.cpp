#include "sim/validate/rows/tick_run.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "sim/step/engine/replay.hpp"

namespace orrery::validate {

namespace {

using schedule::PipelineOp;
using schedule::Placement;
using schedule::Schedule;
using schedule::StepTask;
using schedule::TaskKind;

std::int64_t ticks_of(const Schedule& schedule, const StepTask& task, const TickCosts& costs) {
  if (task.kind == TaskKind::send_receive) {
    return costs.message;
  }
  const int stage = schedule::virtual_stage(schedule.stage_map(), {task.device, task.chunk});
  const auto g = static_cast<std::size_t>(stage);
  const auto at = [g](const Ticks& list) { return g < list.size() ? list[g] : 0; };
  switch (task.kind) {
    case TaskKind::forward:
      return at(costs.forward);
    case TaskKind::backward:
      return at(costs.backward);
    case TaskKind::backward_input:
      return at(costs.input);
    case TaskKind::backward_weight:
      return at(costs.weight);
    case TaskKind::overlapped:
      return costs.overlapped;
    default:
      return 0;
  }
}

TickRun summarize(const Schedule& schedule, const schedule::StepGraph& graph,
                  const engine::Timing& timing) {
  const auto devices = static_cast<std::size_t>(schedule.devices);
  TickRun run;
  Ticks left(devices, 0);  // when the device leaves its last task or transfer
  run.busy.assign(devices, 0);
  run.first_start.assign(devices, std::numeric_limits<std::int64_t>::max());
  run.last_end.assign(devices, 0);
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    const StepTask& task = graph.tasks[i];
    const auto device = static_cast<std::size_t>(task.device);
    const std::int64_t end = timing.end[i].ns;
    left[device] = std::max(left[device], end);
    if (task.kind == TaskKind::send_receive) {
      const schedule::Message& message = graph.messages[static_cast<std::size_t>(task.message)];
      std::int64_t& receiver = left[static_cast<std::size_t>(message.to)];
      receiver = std::max(receiver, end);
      continue;
    }
    run.busy[device] += end - timing.start[i].ns;
    run.first_start[device] = std::min(run.first_start[device], timing.start[i].ns);
    run.last_end[device] = std::max(run.last_end[device], end);
  }
  run.makespan = *std::ranges::max_element(run.last_end);
  for (std::size_t d = 0; d < devices; ++d) {
    const std::int64_t own = run.last_end[d] - run.first_start[d];
    run.span = std::max(run.span, own);
    run.idle.push_back(run.makespan - run.busy[d]);
    run.inner_idle.push_back(own - run.busy[d]);
    run.blocked.push_back(left[d] - run.busy[d]);
  }
  return run;
}

// F3.1+B1.0 and the like.
std::optional<std::vector<PipelineOp>> parse_list(std::string_view text) {
  static constexpr std::string_view kLetters = "FBIW";
  std::vector<PipelineOp> list;
  while (!text.empty()) {
    const std::size_t letter = kLetters.find(text.front());
    if (letter == std::string_view::npos) {
      return std::nullopt;
    }
    PipelineOp op;
    op.kind = static_cast<schedule::OpKind>(letter);
    const std::size_t end = text.find_first_of(" +");
    const std::string_view token = text.substr(1, end == std::string_view::npos ? end : end - 1);
    const std::size_t dot = std::min(token.find('.'), token.size());
    std::from_chars(token.data(), token.data() + dot, op.micro_batch);
    if (dot < token.size()) {
      std::from_chars(token.data() + dot + 1, token.data() + token.size(), op.chunk);
    }
    op.with_next = end != std::string_view::npos && text[end] == '+';
    list.push_back(op);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return list;
}

}  // namespace

Ticks uniform(int count, std::int64_t ticks) {
  return Ticks(static_cast<std::size_t>(std::max(count, 0)), ticks);
}

std::variant<TickRun, schedule::Deadlock> run_ticks(const Schedule& schedule,
                                                    schedule::P2pMode mode,
                                                    const TickCosts& costs) {
  schedule::StepGraphOptions options;
  options.p2p = mode;
  auto built = schedule::build_step_graph(schedule, options);
  if (auto* deadlock = std::get_if<schedule::Deadlock>(&built)) {
    return std::move(*deadlock);
  }
  const schedule::StepGraph& graph = std::get<schedule::StepGraph>(built);
  std::vector<SimTime> durations;
  for (const StepTask& task : graph.tasks) {
    durations.push_back({ticks_of(schedule, task, costs)});
  }
  const std::vector<SimTime> delays(graph.messages.size(), SimTime{costs.message});
  engine::Timing timing;
  engine::replay_linear(graph.graph, durations, delays, timing);
  return summarize(schedule, graph, timing);
}

std::optional<Schedule> explicit_schedule(const DataRow& row) {
  constexpr std::array<std::pair<std::string_view, Placement>, 3> kPlacements = {
      {{"linear", Placement::loop}, {"loop", Placement::loop}, {"vee", Placement::vee}}};
  Schedule schedule;
  schedule.devices = static_cast<int>(row.integer("p").value_or(0));
  schedule.chunks = static_cast<int>(row.integer("v").value_or(1));
  schedule.micro_batches = static_cast<int>(row.integer("m").value_or(0));
  const std::string name = row.text("placement");
  const auto placement =
      std::ranges::find_if(kPlacements, [&name](const auto& p) { return p.first == name; });
  const std::vector<std::string> lists = row.texts("order");
  if (placement == kPlacements.end() || schedule.devices < 1 || schedule.chunks < 1 ||
      lists.size() != static_cast<std::size_t>(schedule.devices)) {
    return std::nullopt;
  }
  schedule.placement = placement->second;
  for (const std::string& text : lists) {
    auto list = parse_list(text);
    if (!list) {
      return std::nullopt;
    }
    schedule.lists.push_back(*std::move(list));
  }
  return schedule;
}

}  // namespace orrery::validate
