// Keys of `plan`: each reaches its field of the spec and no other.

#include <fmt/core.h>
#include <fmt/format.h>

#include "sim/scenario/plan_spec.hpp"
#include "tests/unit/scenario/dump_lines.hpp"
#include "tests/unit/scenario/key_effect.hpp"

namespace orrery::scenario {

namespace {

const ScenarioText::Pairs kPlan = {{"plan.finalists", "9"}};

std::string show_choice(const plan::AxisChoice& choice) {
  switch (choice.mode) {
    case plan::AxisChoice::Mode::automatic:
      return "auto";
    case plan::AxisChoice::Mode::fixed:
      return "fixed";
    case plan::AxisChoice::Mode::listed:
      break;
  }
  return fmt::format("{}", fmt::join(choice.values, " | "));
}

void add_axis_effects(std::vector<Effect>& effects) {
  for (const std::string_view name : plan::kAxisNames) {
    const std::string key = fmt::format("plan.search.{}", name);
    effects.push_back({key, "[2, 4]", fmt::format("{} = 2 | 4", key), kPlan});
    effects.push_back({key,
                       "auto",
                       fmt::format("{} = auto", key),
                       {{"plan.search." + std::string(name), "[3]"}}});
  }
  effects.push_back({"plan.search.recompute", "[none, {layers: 4}]",
                     "plan.search.recompute = none | {layers: 4}", kPlan});
  for (const std::string_view name : plan::kRunAxisNames) {
    const std::string key = fmt::format("plan.search.{}", name);
    effects.push_back({key, "[1, 2]", fmt::format("{} = 1 | 2", key), kPlan});
  }
}

}  // namespace

void dump_plan(Lines& lines, const plan::PlanSpec& spec) {
  for (std::size_t i = 0; i < plan::kAxes; ++i) {
    lines.add(fmt::format("plan.search.{}", plan::kAxisNames[i]), show_choice(spec.search[i]));
  }
  for (std::size_t i = 0; i < plan::kRunAxes; ++i) {
    lines.add(fmt::format("plan.search.{}", plan::kRunAxisNames[i]), show_choice(spec.run[i]));
  }
  lines.add("plan.objective", spec.objective);
  lines.add("plan.deadline", spec.deadline);
  lines.add("plan.done_by", spec.done_by);
  lines.add("plan.finalists", spec.finalists);
  lines.add("plan.any_stack", spec.any_stack);
  lines.add("plan.keeps_switches", spec.keeps_switches);
  lines.add("plan.tie", spec.tie);
  lines.add("plan.memory_headroom", spec.constraints.memory_headroom);
  lines.add("plan.tensor_within_nvlink", spec.constraints.tensor_within_nvlink);
  lines.add("plan.budget", spec.constraints.budget);
  lines.add("plan.least_batch", spec.constraints.least_batch);
  lines.add("plan.most_batch", spec.constraints.most_batch);
  lines.add("plan.most_gpus", spec.constraints.most_gpus);
  for (std::size_t i = 0; i < spec.clusters.size(); ++i) {
    lines.add(fmt::format("plan.clusters[{}].preset", i), spec.clusters[i].preset);
    lines.add(fmt::format("plan.clusters[{}].gpus", i), spec.clusters[i].gpus);
  }
  for (const DollarsPerSecond price : spec.gpu_hours) {
    lines.add("plan.gpu_hours", price);
  }
}

const std::vector<Effect>& plan_effects() {
  static const std::vector<Effect> effects = [] {
    std::vector<Effect> all = {
        {"plan.fix", "[tensor]", "plan.search.tensor = fixed", kPlan},
        {"plan.fix", "[switches]", "plan.keeps_switches = true", kPlan},
        {"plan.objective", "cost", "plan.objective = #2", kPlan},
        {"plan.done_by",
         "2027-03-02",
         "plan.deadline = 5184000 s; plan.done_by = 1803945600",
         {{"plan.finalists", "9"}, {"training.start", "2027-01-01"}}},
        {"plan.deadline", "60d", "plan.deadline = 5184000 s", kPlan},
        {"plan.finalists", "3", "plan.finalists = 3", {{"plan.objective", "cost"}}},
        {"plan.any_stack", "true", "plan.any_stack = true", kPlan},
        {"plan.tie", "2%", "plan.tie = 0.02", kPlan},
        {"plan.constraints.memory_headroom", "4GiB", "plan.memory_headroom = 4294967296 B", kPlan},
        {"plan.constraints.tensor_within_nvlink", "true", "plan.tensor_within_nvlink = true",
         kPlan},
        {"plan.clusters[].preset",
         "[{preset: dgx-h200, gpus: 64}]",
         "plan.clusters[0].preset = dgx-h200",
         {{"plan.clusters", "[{preset: dgx-h100, gpus: 64}]"}},
         "plan.clusters"},
        {"plan.clusters[].gpus",
         "[{preset: dgx-h100, gpus: 128}]",
         "plan.clusters[0].gpus = 128",
         {{"plan.clusters", "[{preset: dgx-h100, gpus: 64}]"}},
         "plan.clusters"},
        {"plan.constraints.budget", "$3M", "plan.budget = 3000000 $", kPlan},
        {"plan.constraints.global_batch", "[128, 512]",
         "plan.least_batch = 128; plan.most_batch = 512", kPlan},
        {"plan.constraints.gpus_at_most", "64", "plan.most_gpus = 64", kPlan},
        {"plan.gpu_hours", "[$2/h, $3/h]", "plan.gpu_hours = 2 $/h; plan.gpu_hours = 3 $/h",
         kPlan}};
    add_axis_effects(all);
    return all;
  }();
  return effects;
}

}  // namespace orrery::scenario
