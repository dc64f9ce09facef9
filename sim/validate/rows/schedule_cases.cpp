// Rows of schedule-cases/1: exact reference cases of pipeline schedules, through the real
// generators, the step graph and the engine. One tick is one nanosecond.

#include <fmt/core.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "sim/step/engine/replay.hpp"
#include "sim/step/schedule/layer_overlap.hpp"
#include "sim/validate/data_sets.hpp"
#include "sim/validate/rows/data_row.hpp"
#include "sim/validate/rows/tick_run.hpp"

namespace orrery::validate {

namespace {

using schedule::PipelineOp;
using schedule::Schedule;
using schedule::ScheduleKind;

// What differs between a case and its run.
class Comparison {
 public:
  explicit Comparison(const DataRow& expect) : expect_(expect) {}

  void equal(std::string_view key, std::int64_t actual) {
    if (expect_.has(key)) {
      ++fields_;
      if (expect_.integer(key) != actual) {
        differ(fmt::format("{}: {} instead of {}", key, actual, expect_.text(key)));
      }
    }
  }

  void equal(std::string_view key, const Ticks& actual) {
    if (expect_.has(key)) {
      ++fields_;
      if (expect_.integers(key) != actual) {
        differ(fmt::format("{} differs", key));
      }
    }
  }

  void equal(std::string_view key, const std::vector<std::string>& actual) {
    if (!expect_.has(key)) {
      return;
    }
    ++fields_;
    const std::vector<std::string> wanted = expect_.texts(key);
    for (std::size_t i = 0; i < std::max(actual.size(), wanted.size()); ++i) {
      if (i >= wanted.size() || i >= actual.size() || wanted[i] != actual[i]) {
        differ(fmt::format("{} of device {}: {}", key, i, i < actual.size() ? actual[i] : "none"));
      }
    }
  }

  void differ(std::string what) { mismatches_.push_back(std::move(what)); }

  // Every expected field must have been compared, `flags` of them by the caller.
  [[nodiscard]] std::vector<std::string> mismatches(std::size_t flags = 0) {
    const std::size_t expected = expect_.value().entries.size();
    if (fields_ + flags != expected) {
      differ(fmt::format("{} of {} fields compared", fields_ + flags, expected));
    }
    return std::move(mismatches_);
  }

 private:
  DataRow expect_;
  std::size_t fields_ = 0;
  std::vector<std::string> mismatches_;
};

using Mismatches = std::vector<std::string>;

template <typename Enum, std::size_t kCount>
std::optional<Enum> named(const std::array<std::string_view, kCount>& names,
                          std::string_view name) {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (names[i] == name) {
      return static_cast<Enum>(i);
    }
  }
  return std::nullopt;
}

int small(const DataRow& row, std::string_view key) {
  return static_cast<int>(row.integer(key).value_or(0));
}

std::variant<schedule::ScheduleRequest, std::string> request_of(const DataRow& row) {
  schedule::ScheduleRequest request;
  const std::string name = row.text("schedule");
  const auto kind = name == "combined_no_pipelining"
                        ? std::optional(ScheduleKind::interleaved_combined)
                        : named<ScheduleKind>(schedule::kScheduleNames, name);
  if (!kind) {
    return fmt::format("schedule `{}` is not known", name);
  }
  request.kind = *kind;
  request.devices = small(row, "p");
  request.chunks = small(row, "v");
  request.micro_batches = small(row, "m");
  if (row.has("group_size")) {
    request.group_size = small(row, "group_size");
  }
  if (row.has("backward_order")) {
    request.backward_order = row.text("backward_order") == "lifo" ? schedule::BackwardOrder::lifo
                                                                  : schedule::BackwardOrder::fifo;
  }
  return request;
}

Ticks per_stage(const DataRow& row, std::string_view key, int stages) {
  const auto one = row.integer(key);
  return one ? uniform(stages, *one) : row.integers(key);
}

// Lists of the wrong length would be read past their end.
std::optional<TickCosts> costs_of(const DataRow& row, const Schedule& schedule) {
  const int stages = schedule::stage_count(schedule.stage_map());
  TickCosts costs;
  costs.forward = per_stage(row, "tF", stages);
  costs.backward = per_stage(row, "tB", stages);
  costs.input = per_stage(row, "tI", stages);
  costs.weight = per_stage(row, "tW", stages);
  if (costs.backward.empty() && costs.input.size() == costs.weight.size()) {
    for (std::size_t g = 0; g < costs.input.size(); ++g) {
      costs.backward.push_back(costs.input[g] + costs.weight[g]);
    }
  }
  costs.overlapped = row.integer("tFB").value_or(0);
  costs.message = row.row("p2p").integer("t").value_or(0);
  const auto wanted = static_cast<std::size_t>(stages);
  const bool whole = costs.forward.size() == wanted && costs.backward.size() == wanted &&
                     (costs.input.empty() || costs.input.size() == wanted) &&
                     costs.input.size() == costs.weight.size();
  return whole ? std::optional(std::move(costs)) : std::nullopt;
}

Ticks widened(const std::vector<int>& values) { return {values.begin(), values.end()}; }

Mismatches compare_exact(const DataRow& row, const Schedule& schedule, schedule::P2pMode mode) {
  const auto costs = costs_of(row, schedule);
  if (!costs) {
    return {"the costs do not have one entry per stage"};
  }
  const auto outcome = run_ticks(schedule, mode, *costs);
  if (const auto* deadlock = std::get_if<schedule::Deadlock>(&outcome)) {
    return {deadlock->message};
  }
  const TickRun& run = std::get<TickRun>(outcome);
  Comparison compare(row.row("expect"));
  compare.equal("makespan", run.makespan);
  compare.equal("span", run.span);
  compare.equal("busy", run.busy);
  compare.equal("idle", run.idle);
  compare.equal("inner_idle", run.inner_idle);
  compare.equal("first_start", run.first_start);
  compare.equal("last_end", run.last_end);
  compare.equal("comm_blocked", run.blocked);
  compare.equal("peak_in_flight", widened(schedule::peak_in_flight(schedule)));
  compare.equal("peak_until_w", widened(schedule::peak_until_weight(schedule)));
  std::vector<std::string> order;
  for (const std::vector<PipelineOp>& list : schedule.lists) {
    order.push_back(schedule::to_string(list, schedule.chunks));
  }
  compare.equal("order", order);
  return compare.mismatches();
}

Mismatches compare_deadlock(const DataRow& row, const Schedule& schedule, schedule::P2pMode mode) {
  schedule::StepGraphOptions options;
  options.p2p = mode;
  const auto graph = schedule::build_step_graph(schedule, options);
  const auto* deadlock = std::get_if<schedule::Deadlock>(&graph);
  if (deadlock == nullptr) {
    return {"no deadlock"};
  }
  Ticks completed;
  std::vector<std::string> stuck_at;
  for (const schedule::Deadlock::Stop& stop : deadlock->stops) {
    completed.push_back(stop.completed_ops);
    stuck_at.push_back(stop.waiting_at);
  }
  Comparison compare(row.row("expect"));
  compare.equal("completed_ops", completed);
  compare.equal("stuck_at", stuck_at);
  return compare.mismatches(1);  // `deadlock: true`
}

Mismatches compare_refusal(const DataRow& row) {
  std::string given;
  if (row.text("schedule") == "explicit") {
    const auto schedule = explicit_schedule(row);
    given = schedule ? schedule::find_list_fault(*schedule).value_or("") : "unreadable lists";
  } else {
    const auto request = request_of(row);
    if (const auto* unknown = std::get_if<std::string>(&request)) {
      return {*unknown};
    }
    const auto made = schedule::generate(std::get<schedule::ScheduleRequest>(request));
    if (const auto* refusal = std::get_if<schedule::ScheduleRefusal>(&made)) {
      given = refusal->message;
    }
  }
  return given.empty() ? Mismatches{"not refused"} : Mismatches{};  // whatever its words are
}

// Inside one combined step: compute and all-to-all of the layers on two streams.
Mismatches compare_layer_overlap(const DataRow& row) {
  static constexpr std::array<std::string_view, schedule::kLayerNodes> kNames = {
      "attn_f", "dispatch_f", "mlp_f",      "combine_f", "combine_b",
      "mlp_b",  "mlp_w",      "dispatch_b", "attn_b",    "attn_w"};
  const schedule::LayerOverlap step = schedule::build_layer_overlap(
      {.forward_layers = small(row, "layers_forward"),
       .backward_layers = small(row, "layers_backward"),
       .early_attention_release = row.flag("early_attn_release").value_or(false)});
  std::vector<SimTime> durations;
  std::int64_t compute = 0;
  std::int64_t comm = 0;
  for (const schedule::LayerNode node : step.nodes) {
    const std::string_view name = kNames[static_cast<std::size_t>(node)];
    durations.push_back({row.row("durations").integer(name).value_or(0)});
    (schedule::is_all_to_all(node) ? comm : compute) += durations.back().ns;
  }
  engine::Timing timing;
  engine::replay_linear(step.graph, durations, {}, timing);
  Comparison compare(row.row("expect"));
  compare.equal("chunk_time", timing.makespan.ns);
  if (step.forward_output) {
    compare.equal("forward_output_ready", timing.end[step.forward_output->index()].ns);
  }
  if (step.backward_output) {
    compare.equal("backward_output_ready", timing.end[step.backward_output->index()].ns);
  }
  compare.equal("serial_time", compute + comm);
  compare.equal("compute_total", compute);
  compare.equal("comm_total", comm);
  compare.equal("exposed", timing.makespan.ns - compute);
  return compare.mismatches();
}

std::variant<Schedule, std::string> schedule_of(const DataRow& row) {
  if (row.text("schedule") == "explicit") {
    auto schedule = explicit_schedule(row);
    return schedule ? std::variant<Schedule, std::string>(*std::move(schedule))
                    : std::string("the lists cannot be read");
  }
  const auto request = request_of(row);
  if (const auto* unknown = std::get_if<std::string>(&request)) {
    return *unknown;
  }
  auto made = schedule::generate(std::get<schedule::ScheduleRequest>(request));
  if (const auto* refusal = std::get_if<schedule::ScheduleRefusal>(&made)) {
    return refusal->message;
  }
  return std::get<Schedule>(std::move(made));
}

Mismatches mismatches_of(const DataRow& row) {
  const std::string kind = row.text("kind");
  if (row.text("schedule") == "moe_layer_overlap") {
    return compare_layer_overlap(row);
  }
  if (kind == "invalid") {
    return compare_refusal(row);
  }
  const auto made = schedule_of(row);
  if (const auto* reason = std::get_if<std::string>(&made)) {
    return {*reason};
  }
  const Schedule& schedule = std::get<Schedule>(made);
  if (auto fault = schedule::find_list_fault(schedule)) {
    return {*fault};
  }
  const std::string mode_name = row.row("p2p").text("mode");
  const auto mode = named<schedule::P2pMode>(schedule::kP2pModeNames, mode_name);
  if (!mode) {
    return {fmt::format("p2p mode `{}` is not known", mode_name)};
  }
  if (!schedule::p2p_mode_applies(*mode, schedule.kind) && row.text("schedule") != "explicit") {
    return {fmt::format("p2p mode {} does not apply to {}", mode_name,
                        schedule::to_string(schedule.kind))};
  }
  return kind == "deadlock" ? compare_deadlock(row, schedule, *mode)
                            : compare_exact(row, schedule, *mode);
}

}  // namespace

std::vector<ValidationRow> schedule_case_rows(const DataSet& data) {
  std::vector<ValidationRow> rows;
  for (const DataRow& entry : data_rows(data.document, "cases")) {
    ValidationRow row{
        .id = entry.text("id"), .group = entry.text("schedule"), .quantity = "match", .unit = "1"};
    row.mismatches = mismatches_of(entry);
    row.match = row.mismatches.empty();
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace orrery::validate
