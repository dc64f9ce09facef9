#include "sim/answer/plan/space/candidate.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "sim/answer/plan/space/layout_features.hpp"
#include "sim/scenario/recipes/recipe.hpp"
#include "sim/scenario/usual_stack.hpp"
#include "sim/step/layout/layout_spec.hpp"
#include "sim/step/schedule/schedule.hpp"

namespace orrery::plan {

namespace {

using layout::Sharding;
using scenario::Scenario;

bool keeps_stages(const Candidate& candidate, const Scenario& base) {
  return candidate.pipeline == base.layout.pipeline &&
         candidate.virtual_stages == base.layout.virtual_stages &&
         candidate.schedule == base.step.schedule;
}

bool says_group(const Candidate& candidate) {
  return candidate.sharding != Sharding::none &&
         (candidate.sharding == Sharding::hsdp || candidate.shard_group != whole_group(candidate));
}

// What a plan may set, in the order in which it says it.
constexpr std::array<std::string_view, 24> kPlanned = {"cluster.gpu",
                                                       "cluster.gpus",
                                                       "cluster.nodes",
                                                       "batch.global",
                                                       "batch.micro",
                                                       "layout.tensor",
                                                       "layout.sequence_parallel",
                                                       "layout.context",
                                                       "layout.pipeline",
                                                       "layout.virtual_stages",
                                                       "layout.data",
                                                       "layout.expert",
                                                       "layout.expert_tensor",
                                                       "layout.schedule",
                                                       "software_options.expert_dispatcher",
                                                       "overlap.expert",
                                                       "layout.sharding",
                                                       "layout.shard_group",
                                                       "layout.stage_layers",
                                                       "recompute",
                                                       "offload.optimizer",
                                                       "offload.parameters",
                                                       "offload.activations",
                                                       "offload.modules"};

// The scenario of the candidate as a file states it: without what follows from other keys.
Scenario stated(const Candidate& candidate, const Workbench& bench) {
  const layout::LayoutSpec& base = bench.base.layout;
  Scenario scenario = bench.base;
  apply(candidate, bench, scenario);
  if (!base.data) {
    scenario.layout.data.reset();
  }
  const bool follows = !base.expert_tensor && candidate.expert_tensor == base.tensor &&
                       candidate.tensor == base.tensor;
  if (!bench.base.model.moe || follows) {
    scenario.layout.expert_tensor = base.expert_tensor;
  }
  if (base.shard_group && candidate.sharding != Sharding::none) {
    scenario.layout.shard_group = candidate.shard_group;
  }
  return scenario;
}

// The plan was made with what the recipes set for the layout of the scenario: where they would set
// something else for the planned one, the file says it.
void add_recipe_values(const Scenario& planned, std::vector<scenario::KeyValue>& changes) {
  if (planned.recipe.silent == nullptr) {
    return;
  }
  Scenario written = planned;
  for (const scenario::KeyValue& change : changes) {
    written.locations.add(change.key);
  }
  scenario::SilentSpecs silent = *planned.recipe.silent;
  if (written.locations.contains("layout.schedule")) {
    silent.step.schedule = planned.step.schedule;
  }
  if (written.locations.contains("layout.sharding")) {
    silent.sharding = planned.layout.sharding;
  }
  if (written.locations.contains("layout.sequence_parallel")) {
    silent.sequence_parallel = planned.layout.sequence_parallel;
  }
  written.recipe.silent = std::make_shared<const scenario::SilentSpecs>(std::move(silent));
  const std::optional<Scenario> read = scenario::with_recipes(written);
  if (!read) {
    return;
  }
  if (read->step.schedule != planned.step.schedule) {
    for (const char* key : {"layout.schedule", "overlap.expert"}) {
      const auto value = scenario::value_of(planned, key);
      if (value && written.locations.add(key)) {
        changes.push_back({key, *value, {}});
      }
    }
  }
  std::vector<scenario::RecipeSetting> settings = planned.recipe.settings;
  settings.insert(settings.end(), read->recipe.settings.begin(), read->recipe.settings.end());
  for (const scenario::RecipeSetting& setting : settings) {
    const bool said = written.locations.contains(setting.key);
    const auto value = said ? std::nullopt : scenario::value_of(planned, setting.key);
    if (value && value != scenario::value_of(*read, setting.key)) {
      changes.push_back({setting.key, *value, {}});
      written.locations.add(setting.key);
    }
  }
}

}  // namespace

bool is_planned(std::string_view key) {
  return std::find(kPlanned.begin(), kPlanned.end(), key) != kPlanned.end();
}

hardware::ExpertDispatcher stated_dispatcher(const Workbench& bench) {
  return bench.base.step.experts.over(bench.software.experts).dispatcher;
}

bool hides_by_default(schedule::ScheduleKind schedule, const Workbench& bench) {
  return bench.base.step.overlap.expert.value_or(schedule::traits_of(schedule).combines);
}

std::int64_t gpus_of(const Candidate& candidate, const Workbench& bench) {
  return candidate.nodes * bench.base.cluster.gpus_per_node;
}

std::int64_t changes_of(const Candidate& to, const Workbench& bench, Axis last) {
  const Scenario& base = bench.base;
  const layout::LayoutSpec& from = base.layout;
  const auto known = [last](Axis axis) { return axis <= last; };
  std::int64_t changes = 0;
  const auto note = [&](Axis axis, bool differs) { changes += known(axis) && differs ? 1 : 0; };
  const bool pipelined = to.pipeline > 1;
  note(Axis::gpu, bench.machines[to.gpu].name != base.cluster.gpu);
  note(Axis::nodes, to.nodes != base.cluster.nodes);
  note(Axis::global_batch, to.global_batch != base.batch.global);
  note(Axis::pipeline, to.pipeline != from.pipeline);
  // A schedule that cannot run these stages has to go, and so have the chunks of no pipeline.
  const bool runs = pipelined == (base.step.schedule != schedule::ScheduleKind::none) &&
                    schedule::runs_chunks(base.step.schedule, to.virtual_stages, to.pipeline);
  note(Axis::virtual_stages, to.schedule != base.step.schedule && runs);
  note(Axis::virtual_stages,
       to.virtual_stages != from.virtual_stages && (pipelined || to.virtual_stages > 1));
  note(Axis::tensor, to.tensor != from.tensor);
  note(Axis::context, to.context != from.context);
  note(Axis::expert, to.expert != from.expert);
  note(Axis::expert_tensor,
       base.model.moe && to.expert_tensor != from.expert_tensor.value_or(to.tensor));
  note(Axis::expert_dispatcher, to.expert > 1 && to.dispatcher != stated_dispatcher(bench));
  note(Axis::expert_overlap,
       to.expert > 1 && to.hides_exchange != hides_by_default(to.schedule, bench));
  note(Axis::sequence_parallel, to.tensor > 1 && to.sequence_parallel != from.sequence_parallel);
  note(Axis::micro, to.micro != base.batch.micro);
  note(Axis::recompute,
       known(Axis::recompute) && bench.recomputes[to.recompute].spec != base.step.recompute);
  note(Axis::sharding,
       known(Axis::sharding) && whole_group(to) > 1 && to.sharding != from.sharding);
  note(Axis::shard_group, known(Axis::shard_group) && to.sharding != Sharding::none &&
                              to.shard_group != from.shard_group.value_or(whole_group(to)));
  note(Axis::offload,
       known(Axis::offload) && !same_offload(bench.offloads[to.offload].spec, base.step.offload));
  return changes;
}

void apply(const Candidate& candidate, const Workbench& bench, Scenario& scenario) {
  const Scenario& base = bench.base;
  scenario.cluster.gpu = bench.machines[candidate.gpu].name;
  scenario.cluster.nodes = candidate.nodes;
  scenario.batch = {.global = candidate.global_batch, .micro = candidate.micro};
  layout::LayoutSpec& layout = scenario.layout;
  layout.tensor = candidate.tensor;
  layout.sequence_parallel = candidate.sequence_parallel;
  layout.context = candidate.context;
  layout.pipeline = candidate.pipeline;
  layout.virtual_stages = candidate.virtual_stages;
  layout.data = candidate.data;
  layout.expert = candidate.expert;
  layout.expert_tensor = candidate.expert_tensor;
  layout.sharding = candidate.sharding;
  layout.shard_group.reset();
  if (says_group(candidate)) {
    layout.shard_group = candidate.shard_group;
  }
  layout.stage_layers.reset();
  if (keeps_stages(candidate, base)) {
    layout.stage_layers = base.layout.stage_layers;
  }
  scenario.step.schedule = candidate.schedule;
  scenario.step.experts.dispatcher = base.step.experts.dispatcher;
  if (candidate.dispatcher != stated_dispatcher(bench)) {
    scenario.step.experts.dispatcher = candidate.dispatcher;
  }
  scenario.step.overlap.expert = base.step.overlap.expert;
  if (candidate.hides_exchange != hides_by_default(candidate.schedule, bench)) {
    scenario.step.overlap.expert = candidate.hides_exchange;
  }
  scenario.step.recompute = bench.recomputes[candidate.recompute].spec;
  scenario.step.offload = bench.offloads[candidate.offload].spec;
}

std::vector<scenario::KeyValue> key_values(const Candidate& candidate, const Workbench& bench) {
  const Scenario planned = stated(candidate, bench);
  std::vector<scenario::KeyValue> changes;
  for (const std::string_view key : kPlanned) {
    std::optional<std::string> value = scenario::value_of(planned, key);
    if (value && value != scenario::value_of(bench.base, key)) {
      changes.push_back({std::string(key), *std::move(value), {}});
    }
  }
  // A layout that another stack usually runs must name the one that the plan was made for.
  if (!planned.names_stack() && !scenario::is_usual_stack(planned)) {
    const bool says_more = planned.locations.contains("software");
    changes.push_back({says_more ? "software.name" : "software", planned.software, {}});
  }
  add_recipe_values(planned, changes);
  return changes;
}

std::optional<Candidate> candidate_of(const Scenario& scenario, const Workbench& bench) {
  Candidate candidate;
  const auto small = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  const layout::LayoutSpec& layout = scenario.layout;
  const std::int64_t gpus = scenario.cluster.nodes * scenario.cluster.gpus_per_node;
  const std::int64_t replica = layout.tensor * layout.context * layout.pipeline;
  const auto machine = std::find_if(
      bench.machines.begin(), bench.machines.end(),
      [&scenario](const Machine& known) { return known.name == scenario.cluster.gpu; });
  const step::RecomputeSpec& again = scenario.step.recompute;
  const auto recompute = std::find_if(bench.recomputes.begin(), bench.recomputes.end(),
                                      [&again](const auto& known) { return known.spec == again; });
  const step::OffloadSpec& away = scenario.step.offload;
  const auto offload =
      std::find_if(bench.offloads.begin(), bench.offloads.end(),
                   [&away](const auto& known) { return same_offload(known.spec, away); });
  if (machine == bench.machines.end() || recompute == bench.recomputes.end() ||
      offload == bench.offloads.end() || gpus % replica != 0) {
    return std::nullopt;
  }
  candidate.gpu = static_cast<std::uint8_t>(machine - bench.machines.begin());
  candidate.recompute = static_cast<std::uint8_t>(recompute - bench.recomputes.begin());
  candidate.offload = static_cast<std::uint8_t>(offload - bench.offloads.begin());
  candidate.nodes = small(scenario.cluster.nodes);
  candidate.global_batch = small(scenario.batch.global);
  candidate.micro = small(scenario.batch.micro);
  candidate.tensor = small(layout.tensor);
  candidate.context = small(layout.context);
  candidate.pipeline = small(layout.pipeline);
  candidate.virtual_stages = small(layout.virtual_stages);
  candidate.data = small(layout.data.value_or(gpus / replica));
  candidate.expert = small(layout.expert);
  candidate.expert_tensor =
      small(scenario.model.moe ? layout.expert_tensor.value_or(layout.tensor) : layout.tensor);
  candidate.sequence_parallel = layout.sequence_parallel && layout.tensor > 1;
  candidate.schedule = scenario.step.schedule;
  candidate.dispatcher = stated_dispatcher(bench);
  candidate.hides_exchange = hides_by_default(candidate.schedule, bench);
  if (layout.expert > 1) {
    candidate.dispatcher = scenario.step.experts.over(bench.software.experts).dispatcher;
    candidate.hides_exchange =
        scenario.step.overlap.expert.value_or(schedule::traits_of(candidate.schedule).combines);
  }
  candidate.sharding = whole_group(candidate) > 1 ? layout.sharding : Sharding::none;
  candidate.shard_group = candidate.sharding == Sharding::none
                              ? 1
                              : small(layout.shard_group.value_or(whole_group(candidate)));
  return candidate;
}

std::optional<Candidate> published_candidate(const Workbench& bench) {
  const auto published =
      bench.published ? with_published(bench.base, *bench.published) : std::nullopt;
  return published ? candidate_of(*published, bench) : std::nullopt;
}

std::string tag(const Candidate& candidate, const Workbench& bench) {
  std::string text;
  const auto add = [&text](std::string_view part) {
    text += text.empty() ? "" : "-";
    text += part;
  };
  if (bench.machines.size() > 1) {
    add(bench.machines[candidate.gpu].name);
  }
  add(fmt::format("n{}", candidate.nodes));
  add(fmt::format("gbs{}", candidate.global_batch));
  add(fmt::format("tp{}", candidate.tensor));
  if (candidate.sequence_parallel) {
    add("sp");
  }
  add(fmt::format("cp{}", candidate.context));
  add(fmt::format("pp{}", candidate.pipeline));
  add(fmt::format("vpp{}", candidate.virtual_stages));
  add(schedule::to_string(candidate.schedule));
  if (bench.base.model.moe) {
    add(fmt::format("ep{}", candidate.expert));
    add(fmt::format("etp{}", candidate.expert_tensor));
    if (candidate.expert > 1) {
      add(hardware::name_of(candidate.dispatcher));
      add(candidate.hides_exchange ? "hidden" : "exposed");
    }
  }
  add(fmt::format("dp{}", candidate.data));
  add(fmt::format("mbs{}", candidate.micro));
  add(bench.recomputes[candidate.recompute].tag);
  add(name_of(candidate.sharding));
  if (says_group(candidate)) {
    add(fmt::format("of{}", candidate.shard_group));
  }
  if (bench.offloads[candidate.offload].text != "none") {
    add("offload." + bench.offloads[candidate.offload].text);
  }
  return text;
}

Difference difference(const Candidate& one, const Candidate& other, Axis last) {
  Difference found;
  const auto note = [&found, last](Axis axis, bool differs, std::string_view trait) {
    if (axis <= last && differs) {
      ++found.axes;
      found.name = trait;
    }
  };
  const bool depth = one.pipeline != other.pipeline;
  const bool width = one.tensor != other.tensor;
  const bool chunks = one.virtual_stages != other.virtual_stages;
  const bool same_group = one.data == other.data && one.context == other.context;
  note(Axis::gpu, one.gpu != other.gpu, "gpu");
  note(Axis::nodes, one.nodes != other.nodes, "nodes");
  note(Axis::global_batch, one.global_batch != other.global_batch, "batch");
  note(Axis::pipeline, depth, "pp");
  note(Axis::tensor, width, "tp");
  note(Axis::sequence_parallel, !width && one.sequence_parallel != other.sequence_parallel, "sp");
  note(Axis::context, one.context != other.context, "cp");
  const bool experts = one.expert != other.expert;
  note(Axis::expert, experts, "ep");
  note(Axis::expert_tensor, !experts && !width && one.expert_tensor != other.expert_tensor, "ep");
  const bool exchanges = one.expert > 1 && other.expert > 1;
  note(Axis::expert_dispatcher, exchanges && one.dispatcher != other.dispatcher, "exchange");
  note(Axis::expert_overlap,
       exchanges && one.schedule == other.schedule && one.hides_exchange != other.hides_exchange,
       "hidden");
  note(Axis::micro, one.micro != other.micro, "micro");
  note(Axis::recompute, one.recompute != other.recompute, "recompute");
  note(Axis::offload, one.offload != other.offload, "offload");
  note(Axis::sharding, one.sharding != other.sharding, "sharding");
  note(Axis::shard_group,
       one.sharding == other.sharding && same_group && one.shard_group != other.shard_group,
       "group");
  // Chunks and schedule follow the depth; alone they are an axis of their own.
  note(Axis::virtual_stages, !depth && (chunks || one.schedule != other.schedule),
       chunks ? "vpp" : "schedule");
  return found;
}

std::string_view only_difference(const Candidate& one, const Candidate& other) {
  const bool same_cluster =
      one.gpu == other.gpu && one.nodes == other.nodes && one.global_batch == other.global_batch;
  const Difference found = difference(one, other);
  return same_cluster && found.axes == 1 ? found.name : std::string_view();
}

}  // namespace orrery::plan
