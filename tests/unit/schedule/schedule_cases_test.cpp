// Exact reference cases: lists, peaks and times of every schedule, through the real generators, the
// step graph and the engine. Data: tests/published/schedule_cases.yaml (format schedule-cases/1).

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "sim/schedule/layer_overlap.hpp"
#include "sim/yaml/document.hpp"
#include "tests/unit/schedule/run_ticks.hpp"

namespace orrery::schedule {
namespace {

using yaml::Value;

const Value* find(const Value& mapping, std::string_view key) {
  for (const yaml::Entry& entry : mapping.entries) {
    if (entry.key == key) {
      return &entry.value;
    }
  }
  return nullptr;
}

const Value& at(const Value& mapping, std::string_view key) {
  const Value* value = find(mapping, key);
  EXPECT_NE(value, nullptr) << key << " is missing at line " << mapping.where.line;
  static const Value kNothing;
  return value == nullptr ? kNothing : *value;
}

std::int64_t number(const Value& value) {
  std::int64_t result = 0;
  const char* end = value.text.data() + value.text.size();
  const auto [stop, error] = std::from_chars(value.text.data(), end, result);
  EXPECT_TRUE(error == std::errc() && stop == end) << value.text;
  return result;
}

int small_number(const Value& value) {
  return static_cast<int>(number(value));
}

Ticks numbers(const Value& value) {
  Ticks result;
  for (const Value& item : value.items) {
    result.push_back(number(item));
  }
  return result;
}

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

// F3.1+B1.0 and the like, as the cases write lists.
std::vector<PipelineOp> parse_list(std::string_view text) {
  static constexpr std::string_view kLetters = "FBIW";
  std::vector<PipelineOp> list;
  while (!text.empty()) {
    PipelineOp op;
    op.kind = static_cast<OpKind>(kLetters.find(text.front()));
    const std::size_t end = text.find_first_of(" +");
    std::string_view token = text.substr(1, end == std::string_view::npos ? end : end - 1);
    const std::size_t dot = token.find('.');
    std::from_chars(token.data(), token.data() + std::min(dot, token.size()), op.micro_batch);
    if (dot != std::string_view::npos) {
      std::from_chars(token.data() + dot + 1, token.data() + token.size(), op.chunk);
    }
    op.with_next = end != std::string_view::npos && text[end] == '+';
    list.push_back(op);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return list;
}

Schedule explicit_schedule(const Value& entry) {
  static const std::map<std::string, Placement> kPlacements = {
      {"linear", Placement::linear}, {"loop", Placement::loop}, {"vee", Placement::vee}};
  Schedule schedule;
  schedule.devices = small_number(at(entry, "p"));
  schedule.chunks = small_number(at(entry, "v"));
  schedule.micro_batches = small_number(at(entry, "m"));
  schedule.placement = kPlacements.at(at(entry, "placement").text);
  for (const Value& list : at(entry, "order").items) {
    schedule.lists.push_back(parse_list(list.text));
  }
  return schedule;
}

ScheduleRequest request_of(const Value& entry) {
  ScheduleRequest request;
  const std::string& name = at(entry, "schedule").text;
  const auto kind = name == "combined_no_pipelining"
                        ? std::optional(ScheduleKind::interleaved_combined)
                        : named<ScheduleKind>(kScheduleNames, name);
  EXPECT_TRUE(kind.has_value()) << name;
  request.kind = kind.value_or(ScheduleKind::none);
  request.devices = small_number(at(entry, "p"));
  request.chunks = small_number(at(entry, "v"));
  request.micro_batches = small_number(at(entry, "m"));
  if (const Value* group = find(entry, "group_size")) {
    request.group_size = small_number(*group);
  }
  if (const Value* order = find(entry, "backward_order")) {
    request.backward_order = order->text == "lifo" ? BackwardOrder::lifo : BackwardOrder::fifo;
  }
  return request;
}

Ticks per_stage(const Value& entry, std::string_view key, int stages) {
  const Value* value = find(entry, key);
  if (value == nullptr) {
    return {};
  }
  return value->kind == Value::Kind::sequence ? numbers(*value) : uniform(stages, number(*value));
}

TickCosts costs_of(const Value& entry, const Schedule& schedule) {
  const int stages = stage_count(schedule.stage_map());
  TickCosts costs;
  costs.forward = per_stage(entry, "tF", stages);
  costs.backward = per_stage(entry, "tB", stages);
  costs.input = per_stage(entry, "tI", stages);
  costs.weight = per_stage(entry, "tW", stages);
  if (costs.backward.empty()) {
    for (std::size_t g = 0; g < costs.input.size(); ++g) {
      costs.backward.push_back(costs.input[g] + costs.weight[g]);
    }
  }
  if (const Value* overlapped = find(entry, "tFB")) {
    costs.overlapped = number(*overlapped);
  }
  costs.message = number(at(at(entry, "p2p"), "t"));
  return costs;
}

// Collects what differs between a case and its run.
class Comparison {
 public:
  explicit Comparison(const Value& expect) : expect_(expect) {}

  void equal(std::string_view key, std::int64_t actual) {
    if (const Value* value = find(expect_, key)) {
      ++fields_;
      if (number(*value) != actual) {
        mismatches_ += fmt::format(" {}: {} instead of {};", key, actual, value->text);
      }
    }
  }

  void equal(std::string_view key, const Ticks& actual) {
    if (const Value* value = find(expect_, key)) {
      ++fields_;
      if (numbers(*value) != actual) {
        mismatches_ += fmt::format(" {} differs;", key);
      }
    }
  }

  void equal(std::string_view key, const std::vector<std::string>& actual) {
    if (const Value* value = find(expect_, key)) {
      ++fields_;
      for (std::size_t i = 0; i < actual.size(); ++i) {
        if (i >= value->items.size() || value->items[i].text != actual[i]) {
          mismatches_ += fmt::format(" {} of device {}: {};", key, i, actual[i]);
        }
      }
    }
  }

  // Every expected field must have been compared, or the case is not reproduced.
  [[nodiscard]] std::string verdict(std::size_t flags = 0) const {
    if (fields_ + flags != expect_.entries.size()) {
      return mismatches_ +
             fmt::format(" {} of {} fields compared;", fields_ + flags, expect_.entries.size());
    }
    return mismatches_;
  }

 private:
  const Value& expect_;
  std::size_t fields_ = 0;
  std::string mismatches_;
};

Ticks widened(const std::vector<int>& values) {
  return {values.begin(), values.end()};
}

std::string compare_exact(const Value& entry, const Schedule& schedule, P2pMode mode) {
  const TickRun run = run_ticks(schedule, mode, costs_of(entry, schedule));
  Comparison compare(at(entry, "expect"));
  compare.equal("makespan", run.makespan);
  compare.equal("span", run.span);
  compare.equal("busy", run.busy);
  compare.equal("idle", run.idle);
  compare.equal("inner_idle", run.inner_idle);
  compare.equal("first_start", run.first_start);
  compare.equal("last_end", run.last_end);
  compare.equal("comm_blocked", run.blocked);
  compare.equal("peak_in_flight", widened(peak_in_flight(schedule)));
  compare.equal("peak_until_w", widened(peak_until_weight(schedule)));
  std::vector<std::string> order;
  for (const std::vector<PipelineOp>& list : schedule.lists) {
    order.push_back(to_string(list, schedule.chunks));
  }
  compare.equal("order", order);
  return compare.verdict();
}

std::string compare_deadlock(const Value& entry, const Schedule& schedule, P2pMode mode) {
  StepGraphOptions options;
  options.p2p = mode;
  const auto graph = build_step_graph(schedule, options);
  const auto* deadlock = std::get_if<Deadlock>(&graph);
  if (deadlock == nullptr) {
    return " no deadlock;";
  }
  Comparison compare(at(entry, "expect"));
  Ticks completed;
  std::vector<std::string> stuck_at;
  for (const Deadlock::Stop& stop : deadlock->stops) {
    completed.push_back(stop.completed_ops);
    stuck_at.push_back(stop.waiting_at);
  }
  compare.equal("completed_ops", completed);
  compare.equal("stuck_at", stuck_at);
  return compare.verdict(1);
}

std::string compare_refusal(const Value& entry) {
  const std::string& reason = at(at(entry, "expect"), "reason").text;
  std::string given;
  if (at(entry, "schedule").text == "explicit") {
    given = find_list_fault(explicit_schedule(entry)).value_or("");
    given = given.substr(std::min(given.size(), std::string_view("device 0: ").size()));
  } else {
    const auto made = generate(request_of(entry));
    if (const auto* refusal = std::get_if<ScheduleRefusal>(&made)) {
      given = refusal->message;
    }
  }
  return given.rfind(reason, 0) == 0 ? "" : fmt::format(" refused because \"{}\";", given);
}

// Inside one combined step: compute and all-to-all of the layers on two streams.
std::string compare_layer_overlap(const Value& entry) {
  static constexpr std::array<std::string_view, kLayerNodes> kNames = {"attn_f",
                                                                       "dispatch_f",
                                                                       "mlp_f",
                                                                       "combine_f",
                                                                       "combine_b",
                                                                       "mlp_b",
                                                                       "mlp_w",
                                                                       "dispatch_b",
                                                                       "attn_b",
                                                                       "attn_w"};
  const LayerOverlap step = build_layer_overlap(
      {.forward_layers = small_number(at(entry, "layers_forward")),
       .backward_layers = small_number(at(entry, "layers_backward")),
       .early_attention_release = at(entry, "early_attn_release").text == "true"});
  std::vector<SimTime> durations;
  std::int64_t compute = 0;
  std::int64_t comm = 0;
  for (const LayerNode node : step.nodes) {
    const std::string_view name = kNames[static_cast<std::size_t>(node)];
    durations.push_back({number(at(at(entry, "durations"), name))});
    (is_all_to_all(node) ? comm : compute) += durations.back().ns;
  }
  engine::Timing timing;
  engine::replay_linear(step.graph, durations, {}, timing);
  Comparison compare(at(entry, "expect"));
  compare.equal("chunk_time", timing.makespan.ns);
  compare.equal("forward_output_ready", timing.end[step.forward_output->index()].ns);
  compare.equal("backward_output_ready", timing.end[step.backward_output->index()].ns);
  compare.equal("serial_time", compute + comm);
  compare.equal("compute_total", compute);
  compare.equal("comm_total", comm);
  compare.equal("exposed", timing.makespan.ns - compute);
  return compare.verdict();
}

std::string mismatches_of(const Value& entry) {
  const std::string& kind = at(entry, "kind").text;
  if (at(entry, "schedule").text == "moe_layer_overlap") {
    return compare_layer_overlap(entry);
  }
  if (kind == "invalid") {
    return compare_refusal(entry);
  }
  const bool is_explicit = at(entry, "schedule").text == "explicit";
  const Schedule schedule = is_explicit ? explicit_schedule(entry) : generated(request_of(entry));
  if (auto fault = find_list_fault(schedule)) {
    return *fault;
  }
  const auto mode = named<P2pMode>(kP2pModeNames, at(at(entry, "p2p"), "mode").text);
  return kind == "deadlock" ? compare_deadlock(entry, schedule, *mode)
                            : compare_exact(entry, schedule, *mode);
}

TEST(ScheduleCases, AllReferenceCasesAreReproducedExactly) {
  Diagnostics diagnostics;
  const auto document = yaml::parse_file(
      std::string(ORRERY_SOURCE_DIR) + "/tests/published/schedule_cases.yaml", {}, diagnostics);
  ASSERT_TRUE(document.has_value()) << to_string(diagnostics);
  std::map<std::string, std::pair<int, int>> counts;  // by schedule: matched, all
  for (const Value& entry : at(*document, "cases").items) {
    const std::string& name = at(entry, "schedule").text;
    const std::string mismatches = mismatches_of(entry);
    EXPECT_EQ(mismatches, "") << at(entry, "id").text;
    auto& [matched, all] = counts[name];
    matched += mismatches.empty() ? 1 : 0;
    ++all;
  }
  int sum = 0;
  for (const auto& [name, count] : counts) {
    RecordProperty(name, fmt::format("{} of {}", count.first, count.second));
    fmt::print("{}: {} of {}\n", name, count.first, count.second);
    sum += count.second;
  }
  EXPECT_EQ(sum, 206);
}

}  // namespace
}  // namespace orrery::schedule
