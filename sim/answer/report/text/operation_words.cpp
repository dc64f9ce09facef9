#include "sim/answer/report/text/operation_words.hpp"

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

}  // namespace orrery::report
