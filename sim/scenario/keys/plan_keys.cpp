// Keys of `plan`: what `orrery plan` searches, what counts and what must hold. No other command
// reads them.

#include <fmt/core.h>

#include <array>
#include <optional>

#include "sim/base/yaml/flow_text.hpp"
#include "sim/scenario/plan_spec.hpp"
#include "sim/scenario/table/key_makers.hpp"
#include "sim/scenario/table/key_table.hpp"

namespace orrery::scenario {

namespace {

using plan::AxisChoice;
using plan::PlanSpec;
using yaml::Value;
namespace kind = yaml::kind;

constexpr std::size_t kMostValues = 4096;

PlanSpec& spec_of(Draft& draft) {
  if (!draft.scenario.plan) {
    draft.scenario.plan.emplace();
  }
  return *draft.scenario.plan;
}

// auto, or the values: which of them a scenario takes is checked where the search is made.
void read_axis(const Value& value, const std::string& path, AxisChoice& choice,
               Diagnostics& diagnostics) {
  choice.where = value.where;
  choice.key = path;
  if (yaml::is_word(value, "auto")) {
    choice.mode = AxisChoice::Mode::automatic;
    choice.values.clear();
    return;
  }
  const bool list = value.kind == Value::Kind::sequence;
  if (!list || value.items.empty() || value.items.size() > kMostValues) {
    yaml::report(diagnostics, value.where, path,
                 list ? (value.items.empty() ? std::string("has no values")
                                             : fmt::format("has {} values", value.items.size()))
                      : fmt::format("is {} where a list is needed",
                                    value.kind == Value::Kind::scalar ? yaml::display(value.text)
                                                                      : yaml::describe(value.kind)),
                 "auto, or a list of values such as [1, 2, 4]");
    return;
  }
  choice.mode = AxisChoice::Mode::listed;
  choice.values.clear();
  for (const Value& item : value.items) {
    choice.values.push_back(item.kind == Value::Kind::scalar ? item.text : yaml::flow_text(item));
  }
}

// A word or a mapping.
Form recompute_form() {
  Form form;
  form.kind = FormKind::any;
  form.name = "a recomputation";
  form.example = "{layers: 4}";
  return form;
}

// Items of the list of an axis, for the schema.
Form item_form(plan::Axis axis) {
  switch (axis) {
    case plan::Axis::gpu:
    case plan::Axis::schedule:
    case plan::Axis::expert_dispatcher:
    case plan::Axis::sharding:
    case plan::Axis::offload:
      return text_form();
    case plan::Axis::recompute:
      return recompute_form();
    case plan::Axis::sequence_parallel:
    case plan::Axis::expert_overlap:
      return form_of<kind::Boolean>({});
    default:
      return form_of<kind::Count>(yaml::at_least<std::int64_t>(1));
  }
}

// The same of the run.
Form item_form(plan::RunAxis axis) {
  switch (axis) {
    case plan::RunAxis::spares:
      return form_of<kind::Count>(yaml::at_least<std::int64_t>(0));
    case plan::RunAxis::spot_share:
      return form_of<kind::Fraction>(yaml::between(0.0, 1.0));
    default:
      return text_form();
  }
}

struct AxisText {
  plan::Axis axis;
  std::string_view searches;
  std::string_view automatic;  // what auto, or nothing, means
  std::string_view example;
};

constexpr std::array<AxisText, plan::kAxes> kAxisTexts = {{
    {plan::Axis::gpu, "cluster.gpu", "as the scenario states it", "[h100-sxm-80gb, h200-sxm]"},
    {plan::Axis::nodes, "cluster.nodes", "as the scenario states it", "[8, 16, 32]"},
    {plan::Axis::global_batch, "batch.global", "as the scenario states it", "[1024, 2048]"},
    {plan::Axis::pipeline, "layout.pipeline", "auto: every depth that the layers fill",
     "[1, 2, 4, 8]"},
    {plan::Axis::schedule, "layout.schedule",
     "auto: none, 1f1b, interleaved and the scenario's own", "[1f1b, interleaved]"},
    {plan::Axis::virtual_stages, "layout.virtual_stages", "auto: what the schedule takes",
     "[1, 2, 4]"},
    {plan::Axis::tensor, "layout.tensor", "auto: the divisors of the heads", "[1, 2, 4, 8]"},
    {plan::Axis::context, "layout.context", "auto: the divisors of the sequence", "[1, 2]"},
    {plan::Axis::expert, "layout.expert", "auto: the divisors of the experts", "[8, 16]"},
    {plan::Axis::expert_tensor, "layout.expert_tensor", "auto: 1 and the tensor degree", "[1]"},
    {plan::Axis::expert_dispatcher, "software_options.expert_dispatcher",
     "auto: the scenario's own and what the stack offers", "[alltoall, deepep, hybridep]"},
    {plan::Axis::expert_overlap, "overlap.expert",
     "auto: the scenario's own, and on where the stack offers it", "[false, true]"},
    {plan::Axis::sequence_parallel, "layout.sequence_parallel", "auto: on and off", "[true]"},
    {plan::Axis::micro, "batch.micro", "auto: every size that divides the batch", "[1, 2, 4]"},
    {plan::Axis::recompute, "recompute", "auto: none, selective, full and layers in powers of two",
     "[none, selective, full, {layers: 4}]"},
    {plan::Axis::sharding, "layout.sharding", "auto: all", "[zero1, zero3]"},
    {plan::Axis::shard_group, "layout.shard_group", "auto: whole groups, of hsdp every part",
     "[8]"},
    {plan::Axis::offload,
     "what waits in host memory (optimizer, parameters, activations, joined by +)",
     "auto: none and what the scenario offloads", "[none, optimizer]"},
}};

void add_axes(Rows& keys) {
  keys.section("plan.search", "Which values are searched, by axis: auto or a list.",
               "{tensor: [4, 8], micro: [1, 2]}", {.note = "every axis of the layout is searched"});
  for (const AxisText& text : kAxisTexts) {
    const plan::Axis axis = text.axis;
    Key& key = keys.add(fmt::format("plan.search.{}", plan::to_string(axis)),
                        fmt::format("Values of {} that are searched.", text.searches), text.example,
                        {.note = std::string(text.automatic)});
    key.forms = {words_form({"auto"}), item_form(axis)};
    key.forms.back().list = true;
    key.read = [axis](const Value& value, const std::string& path, Reading& reading) {
      read_axis(value, path, spec_of(reading.draft)[axis], reading.diagnostics);
    };
  }
  constexpr std::array<std::string_view, plan::kRunAxes> kExamples = {"[30min, 1h, 2h]",
                                                                      "[0, 8, 16]", "[0.5, 1]"};
  for (std::size_t i = 0; i < plan::kRunAxes; ++i) {
    Key& key = keys.add(fmt::format("plan.search.{}", plan::kRunAxisNames[i]),
                        fmt::format("Values of {} that are searched, each simulated with failures.",
                                    plan::kRunAxisKeys[i]),
                        kExamples[i], {.note = "as the scenario states it"});
    key.forms = {item_form(static_cast<plan::RunAxis>(i))};
    key.forms.back().list = true;
    key.read = [i](const Value& value, const std::string& path, Reading& reading) {
      read_axis(value, path, spec_of(reading.draft).run[i], reading.diagnostics);
    };
  }
}

void read_fix(const Value& value, const std::string& path, Reading& reading) {
  std::vector<std::string_view> words(plan::kAxisNames.begin(), plan::kAxisNames.end());
  words.push_back(plan::kSwitches);
  if (value.kind != Value::Kind::sequence) {
    yaml::report(reading.diagnostics, value.where, path,
                 fmt::format("is {} where a list is needed", yaml::describe(value.kind)),
                 "a list of axes such as [tensor, context]");
    return;
  }
  PlanSpec& spec = spec_of(reading.draft);
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    const std::string item = fmt::format("{}[{}]", path, i);
    const auto index = yaml::read_word(value.items[i], item, words, reading.diagnostics);
    if (!index) {
      continue;
    }
    if (words[*index] == plan::kSwitches) {
      spec.keeps_switches = true;
      continue;
    }
    AxisChoice& choice = spec.search[*index];
    if (choice.mode == AxisChoice::Mode::listed) {
      yaml::report(reading.diagnostics, value.items[i].where, item,
                   fmt::format("{} is fixed, and {} lists values of it", words[*index], choice.key),
                   "one of the two");
      continue;
    }
    choice.mode = AxisChoice::Mode::fixed;
    choice.where = value.items[i].where;
    choice.key = item;
  }
}

void add_goal(Rows& keys) {
  Key& fix = keys.add("plan.fix",
                      "Axes that stay as the scenario states them; `switches` keeps those of the "
                      "stack's recipes as they are.",
                      "[tensor, context]", {.note = "nothing is fixed"});
  std::vector<std::string> words(plan::kAxisNames.begin(), plan::kAxisNames.end());
  words.emplace_back(plan::kSwitches);
  fix.forms = {words_form(std::move(words))};
  fix.forms.front().list = true;
  fix.read = read_fix;
  keys.choice<plan::Objective>("plan.objective", "The figure to minimise.", "cost",
                               choices_of<plan::Objective>(plan::kObjectiveNames),
                               ORRERY_AT(scenario.plan->objective), {.fallback = "step_time"});
  keys.value<kind::Time>(
      "plan.deadline", "Time after the start by which 9 of 10 trials must be done.", "60d",
      yaml::above(seconds(0.0)), ORRERY_AT(scenario.plan->deadline), {.note = "none"});
  keys.value<kind::Date>("plan.done_by", "The same as a date (UTC), counted from training.start.",
                         "2027-06-30", {},
                         {[](Draft& draft, const yaml::DateTime& value) {
                            draft.scenario.plan->done_by = value.unix_seconds;
                          },
                          [](Draft& draft) -> std::optional<yaml::DateTime> {
                            const auto& date = draft.scenario.plan->done_by;
                            return date ? std::optional(yaml::DateTime{*date}) : std::nullopt;
                          }},
                         {.note = "none"});
  keys.count("plan.finalists", "How many of the best estimates are simulated in full and ranked.",
             "16", {1, 1000}, ORRERY_AT(scenario.plan->finalists), {.fallback = "8"});
  keys.flag(
      "plan.any_stack",
      "Search schedules, sharding and recomputation, too, that the training stack does not offer.",
      "true", ORRERY_AT(scenario.plan->any_stack), {.fallback = "false"});
  constexpr double kLargestTie = 0.5;
  keys.value<kind::Fraction>("plan.tie",
                             "Relative difference below which two plans are called a tie: the "
                             "model does not tell them apart.",
                             "1%", yaml::between(0.0, kLargestTie), ORRERY_AT(scenario.plan->tie),
                             {.fallback = "0.5%"});
}

void add_clusters(Rows& keys) {
  keys.list(
      "plan.clusters",
      "Machines to choose from, each planned by itself, at its own price where its preset has one.",
      "[{preset: dgx-h100, gpus: 1024}, {preset: gb300-nvl72, gpus: 256}]",
      ORRERY_AT(scenario.plan->clusters), {.note = "the cluster of the scenario"});
  keys.preset("plan.clusters[].preset", "A machine, as `cluster.preset` names it.", "dgx-h100",
              PresetKind::clusters,
              {[](Draft& draft, const PresetPtr& preset) {
                 draft.scenario.plan->clusters.back().preset = preset->name;
               },
               [](Draft& draft) { return draft.scenario.plan->clusters.back().preset; }},
              {.required = true});
  keys.count("plan.clusters[].gpus", "GPUs of the job.", "1024", {1, 10'000'000},
             ORRERY_AT(scenario.plan->clusters.back().gpus), {.required = true});
}

void read_batch_range(const Value& value, const std::string& path, Reading& reading) {
  const bool list = value.kind == Value::Kind::sequence && value.items.size() == 2;
  if (!list) {
    yaml::report(reading.diagnostics, value.where, path, "is no list of two numbers",
                 "the least and the most sequences of a step, such as [1024, 4096]");
    return;
  }
  std::array<std::optional<std::int64_t>, 2> bounds;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    bounds[i] = yaml::read_value<kind::Count>(value.items[i], fmt::format("{}[{}]", path, i),
                                              reading.diagnostics, yaml::at_least<std::int64_t>(1));
  }
  if (bounds[0] && bounds[1] && *bounds[0] > *bounds[1]) {
    yaml::report(reading.diagnostics, value.where, path,
                 fmt::format("{} is above {}", *bounds[0], *bounds[1]), "the least first");
    return;
  }
  plan::Constraints& constraints = spec_of(reading.draft).constraints;
  constraints.least_batch = bounds[0];
  constraints.most_batch = bounds[1];
}

void add_constraints(Rows& keys) {
  keys.section("plan.constraints", "What every plan must keep.",
               "{memory_headroom: 4GiB, budget: $3M}", {.note = "everything that fits in memory"});
  keys.value<kind::Size>(
      "plan.constraints.memory_headroom", "Memory that stays free on the fullest GPU.", "4GiB",
      yaml::at_least(bytes(0.0)), ORRERY_AT(scenario.plan->constraints.memory_headroom),
      {.note = "as far as the stack's peaks may be above the prediction"});
  keys.flag("plan.constraints.tensor_within_nvlink", "Tensor groups stay within one NVLink domain.",
            "true", ORRERY_AT(scenario.plan->constraints.tensor_within_nvlink),
            {.fallback = "false"});
  keys.value<kind::Money>("plan.constraints.budget", "Cost that 9 of 10 trials must keep.", "$3M",
                          yaml::above(dollars(0.0)), ORRERY_AT(scenario.plan->constraints.budget),
                          {.note = "none"});
  Key& batch = keys.add("plan.constraints.global_batch",
                        "The least and the most sequences of one optimizer step.", "[1024, 4096]",
                        {.note = "any that is searched"});
  batch.forms = {form_of<kind::Count>(yaml::at_least<std::int64_t>(1))};
  batch.forms.front().list = true;
  batch.read = read_batch_range;
  keys.count("plan.constraints.gpus_at_most", "GPUs of the job, spares apart.", "16384",
             yaml::at_least<std::int64_t>(1), ORRERY_AT(scenario.plan->constraints.most_gpus),
             {.note = "none"});
}

void read_gpu_hours(const Value& value, const std::string& path, Reading& reading) {
  if (value.kind != Value::Kind::sequence) {
    yaml::report(reading.diagnostics, value.where, path, "is no list",
                 "a price for each GPU of plan.search.gpu, such as [$2.50/h, $3.20/h]");
    return;
  }
  std::vector<DollarsPerSecond> prices;
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    const auto price = yaml::read_value<kind::PriceRate>(
        value.items[i], fmt::format("{}[{}]", path, i), reading.diagnostics,
        yaml::at_least(dollars_per_second(0.0)));
    if (!price) {
      return;
    }
    prices.push_back(*price);
  }
  spec_of(reading.draft).gpu_hours = std::move(prices);
}

void add_prices(Rows& keys) {
  Key& prices = keys.add("plan.gpu_hours",
                         "Price of a GPU-hour of each type in plan.search.gpu, in its order.",
                         "[$2.50/h, $3.20/h]", {.note = "prices.gpu_hour for all"});
  prices.forms = {form_of<kind::PriceRate>(yaml::at_least(dollars_per_second(0.0)))};
  prices.forms.front().list = true;
  prices.read = read_gpu_hours;
}

}  // namespace

void plan_keys(Rows& keys) {
  keys.part("plan", "What `orrery plan` searches and what counts; nothing else reads it.",
            "{objective: cost, finalists: 8}", ORRERY_AT(scenario.plan),
            {.note = "orrery plan searches every axis for the shortest step"});
  add_axes(keys);
  add_goal(keys);
  add_clusters(keys);
  add_constraints(keys);
  add_prices(keys);
}

}  // namespace orrery::scenario
