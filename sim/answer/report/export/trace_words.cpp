#include "sim/answer/report/export/trace_words.hpp"

#include <fmt/format.h>

#include <string_view>

#include "sim/base/text/format.hpp"

namespace orrery::report {

namespace {

using step::Operation;
using step::OperationKind;
using step::PlacedOperation;

std::string members(const Operation& operation) {
  const std::string ranks = format_integer(operation.ranks);
  return operation.nodes > 1
             ? fmt::format("{} ranks on {} nodes", ranks, format_integer(operation.nodes))
             : fmt::format("{} ranks of one node", ranks);
}

std::string sent(const Operation& operation, Seconds time) {
  return fmt::format("each sends {} at {}", format_bytes(operation.bytes),
                     format_bandwidth(operation.bytes / time));
}

}  // namespace

std::vector<std::string> operation_lines(const step::OperationTimeline& timeline,
                                         const PlacedOperation& placed, double runs,
                                         SimTime step_time) {
  const Operation& operation = timeline.operations[placed.operation];
  const Seconds time = to_seconds(placed.end - placed.start);
  const Seconds booked = to_seconds(placed.booked);
  std::vector<std::string> lines;
  if (time <= Seconds{}) {
    return lines;
  }
  if (operation.flop > 0.0) {
    std::string work = format_flop_rate(flop(operation.flop) / seconds(1.0));
    work.resize(work.size() - std::string_view("/s").size());
    lines.push_back(fmt::format("{} at {}", work, format_flop_rate(flop(operation.flop) / time)));
  }
  const bool carries = operation.bytes > Bytes{};
  if (operation.kind == OperationKind::collective) {
    lines.push_back(carries ? fmt::format("{}, {}", members(operation), sent(operation, time))
                            : members(operation));
    if (placed.booked > SimTime{} && time > booked) {
      lines.push_back(fmt::format("compute waits {} for it, {} are hidden", format_time(booked),
                                  format_time(time - booked)));
    } else {
      lines.push_back(placed.booked > SimTime{} ? "nothing hides it" : "hidden");
    }
  } else if (operation.kind == OperationKind::message) {
    lines.push_back(sent(operation, time));
  } else if (carries) {
    lines.push_back(fmt::format("{} through memory at {}", format_bytes(operation.bytes),
                                format_bandwidth(operation.bytes / time)));
  }
  if (placed.slowed > SimTime{}) {
    lines.push_back(fmt::format("slowed {} by the experts' all-to-all beside it",
                                format_time(to_seconds(placed.slowed))));
  }
  if (step_time > SimTime{} && placed.booked > SimTime{}) {
    const auto count = static_cast<std::int64_t>(runs);
    lines.push_back(fmt::format("{} of the step in {} run{}",
                                format_percent(booked * runs / to_seconds(step_time)),
                                format_integer(count), count == 1 ? "" : "s"));
  }
  return lines;
}

using schedule::Stream;
using schedule::TaskKind;

namespace {

constexpr std::array<std::string_view, 3> kStreamNames = {"compute", "data communication",
                                                          "pipeline messages"};

std::string_view kind_name(TaskKind kind) {
  switch (kind) {
    case TaskKind::forward:
      return "forward";
    case TaskKind::backward:
      return "backward";
    case TaskKind::backward_input:
      return "backward of the inputs";
    case TaskKind::backward_weight:
      return "backward of the weights";
    case TaskKind::overlapped:
      return "forward and backward together";
    case TaskKind::send_receive:
      return "send";
    case TaskKind::gradient_reduce:
      return "reduce gradients";
    case TaskKind::parameter_gather:
      return "gather parameters";
    case TaskKind::parameter_gather_again:
      return "gather parameters for the backward";
    case TaskKind::optimizer:
      return "optimizer";
    case TaskKind::join:
      return "gradient norm of all stages";
  }
  return {};
}

}  // namespace

bool has_micro_batch(TaskKind kind) {
  return kind != TaskKind::optimizer && kind != TaskKind::join &&
         kind != TaskKind::gradient_reduce && kind != TaskKind::parameter_gather &&
         kind != TaskKind::parameter_gather_again;
}

std::string task_name(const schedule::StepTask& task) {
  const std::string_view name = kind_name(task.kind);
  return has_micro_batch(task.kind) ? fmt::format("{} {}", name, task.micro_batch)
                                    : std::string(name);
}

std::optional<schedule::TaskKind> task_named(std::string_view name) {
  if (const std::size_t last = name.find_last_not_of("0123456789");
      last + 1 < name.size() && name[last] == ' ') {
    name = name.substr(0, last);
  }
  for (auto i = static_cast<int>(TaskKind::forward); i <= static_cast<int>(TaskKind::join); ++i) {
    if (kind_name(static_cast<TaskKind>(i)) == name) {
      return static_cast<TaskKind>(i);
    }
  }
  return std::nullopt;
}

std::optional<run::RunActivity> activity_named(std::string_view name) {
  for (std::size_t i = 0; i < run::kRunActivityCount; ++i) {
    if (to_string(static_cast<run::RunActivity>(i)) == name) {
      return static_cast<run::RunActivity>(i);
    }
  }
  return std::nullopt;
}

std::string_view stream_name(Stream stream) {
  return kStreamNames[static_cast<std::size_t>(stream)];
}

RunLane lane_of(run::RunActivity activity) {
  using run::RunActivity;
  switch (activity) {
    case RunActivity::training:
    case RunActivity::lost_training:
    case RunActivity::discarded_training:
      return RunLane::training;
    case RunActivity::checkpoint:
    case RunActivity::evaluation:
    case RunActivity::planned_maintenance:
    case RunActivity::unitemised:
    case RunActivity::rework:
      return RunLane::planned_stop;
    case RunActivity::detection:
    case RunActivity::diagnosis:
    case RunActivity::waiting_for_capacity:
    case RunActivity::scheduling:
    case RunActivity::communicator_init:
    case RunActivity::load:
    case RunActivity::warm_up:
      return RunLane::recovery;
    case RunActivity::failure:
      return RunLane::failure;
  }
  return RunLane::training;
}

}  // namespace orrery::report
