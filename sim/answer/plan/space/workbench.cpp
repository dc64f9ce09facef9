#include "sim/answer/plan/space/workbench.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/scenario/recipes/recipe.hpp"
#include "sim/scenario/variant.hpp"

namespace orrery::plan {

namespace {

using model::Recompute;
using step::OffloadTarget;

constexpr std::string_view kRecomputeWords =
    "none, selective, selective_operations, full, {layers: N}, {modules: [...]}, "
    "{memory_budget: 0.5}";
constexpr std::string_view kOffloadWords =
    "none, or optimizer, parameters and activations or the names of modules joined by +";

constexpr std::string_view kRecompute = "recompute";

// {modules: [a, b], layers: 2} is a+bx2.
std::string tag_of(const step::RecomputeSpec& spec, const std::string& text) {
  const std::string layers = spec.layers ? fmt::format("{}", *spec.layers) : "";
  if (spec.policy != Recompute::modules) {
    return spec.layers ? "full" + layers : spec.policy == Recompute::none ? "norec" : text;
  }
  const std::size_t begin = text.find('[') + 1;
  std::string tag = text.substr(begin, text.find(']') - begin);
  for (std::size_t at = tag.find(", "); at != std::string::npos; at = tag.find(", ")) {
    tag.replace(at, 2, "+");
  }
  return spec.layers ? tag + "x" + layers : tag;
}

RecomputeChoice recompute_choice(const step::RecomputeSpec& spec) {
  scenario::Scenario holder;
  holder.step.recompute = spec;
  const std::string text = scenario::value_of(holder, kRecompute).value_or("");
  return {.text = text, .tag = tag_of(spec, text), .spec = spec};
}

std::optional<step::RecomputeSpec> parse_recompute(const std::string& text) {
  Diagnostics ignored;
  const auto read = scenario::with_value({}, {std::string(kRecompute), text, {}}, ignored);
  return read ? std::optional(read->step.recompute) : std::nullopt;
}

void add_recompute(std::vector<RecomputeChoice>& choices, const step::RecomputeSpec& spec) {
  RecomputeChoice choice = recompute_choice(spec);
  const bool known = std::any_of(choices.begin(), choices.end(), [&choice](const auto& other) {
    return other.text == choice.text;
  });
  if (!known) {
    choices.push_back(std::move(choice));
  }
}

// Layers of a chunk that are recomputed: powers of two; covering a whole chunk is `full`.
void add_automatic(Workbench& bench) {
  std::vector<RecomputeChoice>& choices = bench.recomputes;
  const scenario::Scenario& scenario = bench.base;
  for (const Recompute policy : {Recompute::none, Recompute::selective, Recompute::full}) {
    if (policy != Recompute::selective || !bench.offer || bench.offer->selective) {
      add_recompute(choices, {.policy = policy});
    }
  }
  const bool some = !bench.offer || bench.offer->layers;
  for (std::int64_t layers = 1; some && layers < scenario.model.num_layers; layers *= 2) {
    add_recompute(choices, {.policy = Recompute::full, .layers = layers});
  }
  for (const scenario::OfferedValue& offered : scenario::offered_values(scenario)) {
    const auto spec = offered.key == kRecompute ? parse_recompute(offered.value) : std::nullopt;
    const bool of_mla = offered.value.find("mla_") != std::string::npos;
    if (spec && (scenario.model.mla || scenario.model.compressed_attention ||
                 !of_mla)) {  // else it is another value over again
      add_recompute(choices, *spec);
    }
  }
  if (bench.published && bench.runs_published) {
    if (const auto published = with_published(scenario, *bench.published)) {
      add_recompute(choices, published->step.recompute);
    }
  }
  add_recompute(choices, scenario.step.recompute);
}

bool is_alike(const hardware::StackOffers& one, const hardware::StackOffers& other) {
  return one.splits == other.splits && one.exchange == other.exchange &&
         one.shardings == other.shardings && one.beside_pipeline == other.beside_pipeline;
}

// Of stacks on one core each runs what the others publish: Megatron Bridge and NeMo on Megatron
// Core.
void add_published(Workbench& bench, const hardware::ProfileSearch& search,
                   Diagnostics& diagnostics) {
  bench.published = published_layout(bench.base, search, diagnostics);
  if (!bench.published) {
    return;
  }
  Diagnostics unused;
  const auto stack =
      hardware::load_software_profile(bench.published->stack, search, {}, "software", unused);
  bench.runs_published = stack && stack->offers && bench.software.offers &&
                         is_alike(*stack->offers, *bench.software.offers);
}

bool add_recomputes(Workbench& bench, const AxisChoice& axis, Diagnostics& diagnostics) {
  switch (axis.mode) {
    case AxisChoice::Mode::fixed:
      add_recompute(bench.recomputes, bench.base.step.recompute);
      return true;
    case AxisChoice::Mode::automatic:
      add_automatic(bench);
      return true;
    case AxisChoice::Mode::listed:
      break;
  }
  for (const std::string& text : axis.values) {
    const auto spec = parse_recompute(text);
    if (!spec) {
      diagnostics.error(axis.where, axis.key, fmt::format("`{}` is no recomputation", text),
                        kRecomputeWords);
      return false;
    }
    add_recompute(bench.recomputes, *spec);
  }
  return true;
}

// What the scenario offloads, in the words of the axis; empty where words cannot say it.
std::string offload_text(const step::OffloadSpec& spec) {
  if (!spec.any()) {
    return "none";
  }
  std::vector<std::string_view> words;
  if (spec.optimizer == OffloadTarget::cpu) {
    words.emplace_back("optimizer");
  }
  if (spec.parameters == OffloadTarget::cpu) {
    words.emplace_back("parameters");
  }
  if (spec.activations == 1.0) {
    words.emplace_back("activations");
  }
  for (const model::OffloadModuleWord& word : model::kOffloadModuleWords) {
    if (spec.modules.*word.member) {
      words.push_back(word.name);
    }
  }
  const bool sayable = spec.optimizer != OffloadTarget::nvme &&
                       spec.parameters != OffloadTarget::nvme &&
                       (spec.activations == 0.0 || spec.activations == 1.0);
  return sayable ? fmt::format("{}", fmt::join(words, "+")) : "as_stated";
}

// Rates and limits stay as the scenario has them.
std::optional<step::OffloadSpec> parse_offload(std::string_view text, step::OffloadSpec spec) {
  spec.optimizer = OffloadTarget::none;
  spec.parameters = OffloadTarget::none;
  spec.activations = 0.0;
  spec.modules = {};
  if (text == "none") {
    return spec;
  }
  while (!text.empty()) {
    const std::size_t plus = std::min(text.find('+'), text.size());
    const std::string_view word = text.substr(0, plus);
    const auto module =
        std::ranges::find(model::kOffloadModuleWords, word, &model::OffloadModuleWord::name);
    if (word == "optimizer") {
      spec.optimizer = OffloadTarget::cpu;
    } else if (word == "parameters") {
      spec.parameters = OffloadTarget::cpu;
    } else if (word == "activations") {
      spec.activations = 1.0;
    } else if (module != model::kOffloadModuleWords.end()) {
      spec.modules.*module->member = true;
    } else {
      return std::nullopt;
    }
    text.remove_prefix(std::min(plus + 1, text.size()));
  }
  const bool twice = spec.activations > 0.0 && spec.modules != model::OffloadModules{};
  return spec.any() && !twice ? std::optional(spec) : std::nullopt;
}

bool add_offloads(Workbench& bench, const AxisChoice& axis, Diagnostics& diagnostics) {
  const step::OffloadSpec& stated = bench.base.step.offload;
  const auto add = [&bench](std::string text, const step::OffloadSpec& spec) {
    const bool known = std::any_of(bench.offloads.begin(), bench.offloads.end(),
                                   [&text](const auto& other) { return other.text == text; });
    if (!known) {
      bench.offloads.push_back({std::move(text), spec});
    }
  };
  if (axis.mode == AxisChoice::Mode::automatic) {
    add("none", *parse_offload("none", stated));
  }
  if (axis.mode != AxisChoice::Mode::listed) {
    add(offload_text(stated), stated);
    return true;
  }
  for (const std::string& text : axis.values) {
    const auto spec = parse_offload(text, stated);
    if (!spec) {
      diagnostics.error(axis.where, axis.key, fmt::format("`{}` is nothing to offload", text),
                        kOffloadWords);
      return false;
    }
    add(text, *spec);
  }
  return true;
}

bool add_machine(Workbench& bench, const std::string& name, const SourceLocation& where,
                 std::string_view key, const hardware::ProfileSearch& search,
                 Diagnostics& diagnostics) {
  auto gpu = hardware::load_gpu_profile(name, search, where, key, diagnostics);
  if (!gpu) {
    return false;
  }
  hardware::NetworkSpec network = bench.base.cluster.network;
  const std::array gpus = {&std::as_const(*gpu)};
  if (!hardware::load_collective_tables(network, search,
                                        bench.base.where("cluster.network.collectives"),
                                        "cluster.network.collectives", diagnostics, gpus)) {
    return false;
  }
  const Bytes headroom = bench.headroom.value_or(usual_headroom(*gpu, bench.software));
  bench.machines.push_back({name, *std::move(gpu), std::move(network), headroom});
  return true;
}

bool add_machines(Workbench& bench, const AxisChoice& axis, const hardware::ProfileSearch& search,
                  Diagnostics& diagnostics) {
  const std::string& stated = bench.base.cluster.gpu;
  if (!add_machine(bench, stated, bench.base.where("cluster.gpu"), "cluster.gpu", search,
                   diagnostics)) {
    return false;
  }
  if (axis.mode != AxisChoice::Mode::listed) {
    return true;
  }
  for (const std::string& name : axis.values) {
    const bool known =
        std::any_of(bench.machines.begin(), bench.machines.end(),
                    [&name](const Machine& machine) { return machine.name == name; });
    if (!known && !add_machine(bench, name, axis.where, axis.key, search, diagnostics)) {
      return false;
    }
  }
  return true;
}

void check_base(const scenario::Scenario& scenario, Diagnostics& diagnostics) {
  if (scenario.step.given_time) {
    diagnostics.error(scenario.where("step.time"), "step.time",
                      "a stated step time leaves no layout to search", "leave it out");
  }
  if (!scenario.cluster.mixed.empty()) {
    diagnostics.error(scenario.where("cluster.mixed"), "cluster.mixed",
                      "a plan is for a cluster of one GPU type", "leave it out");
  }
}

}  // namespace

Bytes usual_headroom(const hardware::GpuProfile& gpu, const hardware::SoftwareProfile& software) {
  const double error = software.memory_error.value();
  return gpu.memory.value() * (error / (1.0 + error));
}

std::optional<Workbench> make_workbench(const scenario::Scenario& scenario, const PlanSpec& spec,
                                        const std::optional<hardware::ProfileSearch>& search,
                                        Diagnostics& diagnostics) {
  check_base(scenario, diagnostics);
  const hardware::ProfileSearch where = search ? *search : hardware::default_search(scenario.file);
  auto software = hardware::load_software_profile(
      scenario.software, where, scenario.where("software"), "software", diagnostics);
  if (!software || diagnostics.has_errors()) {
    return std::nullopt;
  }
  std::optional<StackOffer> offer;
  if (software->offers && !spec.any_stack) {
    offer = StackOffer{*software->offers};
  }
  Workbench bench{scenario,
                  *std::move(software),
                  {},
                  {},
                  {},
                  std::move(offer),
                  spec.constraints.memory_headroom};
  // Where nothing is searched there is nothing to start from, and no table to read.
  const bool searches = std::any_of(spec.search.begin(), spec.search.end(), [](const auto& axis) {
    return axis.mode != AxisChoice::Mode::fixed;
  });
  if (searches) {
    add_published(bench, where, diagnostics);
  }
  const bool made = add_machines(bench, spec[Axis::gpu], where, diagnostics) &&
                    add_recomputes(bench, spec[Axis::recompute], diagnostics) &&
                    add_offloads(bench, spec[Axis::offload], diagnostics);
  return made && !diagnostics.has_errors() ? std::optional(std::move(bench)) : std::nullopt;
}

}  // namespace orrery::plan
