#include "sim/answer/evaluate/doubts/fitting_changes.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "sim/answer/evaluate/doubts/recipe_effects.hpp"
#include "sim/answer/evaluate/inputs/resolve.hpp"
#include "sim/base/text/format.hpp"
#include "sim/scenario/recipes/recipe.hpp"
#include "sim/scenario/variant.hpp"
#include "sim/step/simulate/step_simulator.hpp"

namespace orrery::evaluate {

namespace {

using Changes = std::vector<std::pair<std::string, std::string>>;

struct Fitting {
  Changes changes;
  scenario::Scenario scenario;
  SimTime least;  // the step takes no less
  Bytes headroom;
};

// Nothing where a rule forbids them, the stack does not run them or the step does not fit all the
// same. No graph is built.
std::optional<Fitting> tried(const scenario::Scenario& scenario, const Changes& changes,
                             const std::optional<hardware::ProfileSearch>& search,
                             step::StepSimulator& simulator) {
  Diagnostics unused;
  std::optional<scenario::Scenario> changed = scenario;
  for (const auto& [key, value] : changes) {
    changed = scenario::with_value(*changed, {key, value, {}}, unused);
    if (!changed) {
      return std::nullopt;
    }
  }
  changed->layout.data = {};  // follows from the other degrees
  const std::optional<Resolved> resolved = resolve(*changed, search, unused);
  if (!resolved || unused.has_errors() ||
      !runs(resolved->costs.software(), changed->layout, scenario.layout)) {
    return std::nullopt;
  }
  const auto bound = simulator.bound(step_input(*changed, *resolved), resolved->costs);
  const auto* found = std::get_if<step::StepBound>(&bound);
  if (found == nullptr || !found->feasibility.fits || !found->feasibility.fits_host) {
    return std::nullopt;
  }
  return Fitting{changes, *std::move(changed), found->least, found->feasibility.headroom};
}

// One key each; what is as it is already changes nothing and is found not to fit.
std::vector<Changes> single_changes(const scenario::Scenario& scenario) {
  std::vector<Changes> all;
  for (const char* sharding : {"zero1", "zero2", "zero3"}) {
    all.push_back({{"layout.sharding", sharding}});
  }
  for (const char* recompute : {"selective", "full"}) {
    all.push_back({{"recompute", recompute}});
  }
  // The modules that the stack's recipes recompute, of latent attention only where there is some.
  for (const scenario::OfferedValue& offered : scenario::offered_values(scenario)) {
    if (offered.key == "recompute" &&
        (scenario.model.mla || offered.value.find("mla_") == std::string::npos)) {
      all.push_back({{offered.key, offered.value}});
    }
  }
  for (const int factor : {2, 4, 8}) {
    const std::int64_t tensor = scenario.layout.tensor * factor;
    if (tensor <= scenario.cluster.gpus_per_node) {
      all.push_back(
          {{"layout.tensor", fmt::format("{}", tensor)}, {"layout.sequence_parallel", "true"}});
    }
    all.push_back({{"layout.pipeline", fmt::format("{}", scenario.layout.pipeline * factor)}});
    all.push_back({{"layout.context", fmt::format("{}", scenario.layout.context * factor)}});
  }
  if (scenario.model.moe) {
    const std::int64_t experts = scenario.model.moe->num_experts;
    const std::int64_t gpus = scenario.cluster.nodes * scenario.cluster.gpus_per_node;
    for (std::int64_t expert = scenario.layout.expert * 2; expert <= std::min(experts, gpus);
         expert *= 2) {
      all.push_back({{"layout.expert", fmt::format("{}", expert)}});
    }
  }
  if (scenario.layout.tensor > 1 && !scenario.layout.sequence_parallel) {
    all.push_back({{"layout.sequence_parallel", "true"}});
  }
  if (scenario.batch.micro > 1) {
    all.push_back({{"batch.micro", "1"}});
  }
  return all;
}

// The smallest number of nodes, doubled from today's, on which it fits with as much sharded as the
// stack runs and everything recomputed. A network is not asked for: memory does not depend on it.
std::optional<Fitting> on_more_nodes(scenario::Scenario scenario,
                                     const std::optional<hardware::ProfileSearch>& search,
                                     step::StepSimulator& simulator) {
  constexpr std::int64_t kMostNodes = 4'096;
  std::vector<Changes> all;
  for (const char* sharding : {"zero3", "zero1"}) {
    all.push_back({{"layout.sharding", sharding}, {"recompute", "full"}});
    all.push_back(all.back());
    all.back().emplace_back("layout.tensor", fmt::format("{}", scenario.cluster.gpus_per_node));
    all.back().emplace_back("layout.sequence_parallel", "true");
  }
  const std::int64_t nodes = scenario.cluster.nodes;
  scenario.layout.data = {};
  while (scenario.cluster.nodes * 2 <= std::max(kMostNodes, nodes * 2)) {
    scenario.cluster.nodes *= 2;
    for (const Changes& changes : all) {
      if (auto fitting = tried(scenario, changes, search, simulator)) {
        fitting->changes.emplace(fitting->changes.begin(), "cluster.nodes",
                                 fmt::format("{}", scenario.cluster.nodes));
        return fitting;
      }
    }
  }
  return std::nullopt;
}

std::string sentence(const Fitting& fitting, const std::optional<hardware::ProfileSearch>& search) {
  std::string keys;
  for (const auto& [key, value] : fitting.changes) {
    keys += fmt::format("{}`{}: {}`", keys.empty() ? "" : " and ", key, value);
  }
  // More nodes than one without a stated network: their memory is known, their step is not.
  const scenario::Scenario& scenario = fitting.scenario;
  const bool timed = scenario.cluster.nodes == 1 || !scenario.cluster.preset.empty() ||
                     scenario.locations.contains("cluster.network");
  const auto step = timed ? what_if_step(scenario, search) : std::nullopt;
  return fmt::format("fits with {}: {}{} stay free", keys,
                     step ? format_time(step->time) + " a step, " : "",
                     format_bytes_binary(fitting.headroom));
}

}  // namespace

bool runs(const hardware::SoftwareProfile& software, const layout::LayoutSpec& changed,
          const layout::LayoutSpec& stated) {
  if (!software.offers) {
    return true;
  }
  const auto has = [](const std::vector<std::string>& words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
  };
  const bool pipelined = changed.pipeline > 1;
  const bool as_stated = changed.sharding == stated.sharding && pipelined == (stated.pipeline > 1);
  return (as_stated ||
          has(pipelined ? software.offers->beside_pipeline : software.offers->shardings,
              name_of(changed.sharding))) &&
         (changed.tensor == stated.tensor || has(software.offers->splits, "tensor")) &&
         (changed.context == stated.context || has(software.offers->splits, "context"));
}

std::vector<std::string> fitting_changes(const scenario::Scenario& scenario,
                                         const std::optional<hardware::ProfileSearch>& search) {
  constexpr std::size_t kMost = 3;
  const std::vector<Changes> singles = single_changes(scenario);
  step::StepSimulator simulator;
  std::vector<Fitting> found;
  const auto try_all = [&](const std::vector<Changes>& all) {
    for (const Changes& changes : all) {
      if (auto fitting = tried(scenario, changes, search, simulator)) {
        found.push_back(*std::move(fitting));
      }
    }
  };
  try_all(singles);
  if (found.empty()) {
    std::vector<Changes> pairs;
    for (std::size_t i = 0; i < singles.size(); ++i) {
      for (std::size_t j = i + 1; j < singles.size(); ++j) {
        if (singles[i].front().first != singles[j].front().first) {
          pairs.push_back(singles[i]);
          pairs.back().insert(pairs.back().end(), singles[j].begin(), singles[j].end());
        }
      }
    }
    try_all(pairs);
  }
  if (found.empty()) {
    if (auto fitting = on_more_nodes(scenario, search, simulator)) {
      found.push_back(*std::move(fitting));
    }
  }
  std::ranges::stable_sort(found, {}, &Fitting::least);
  std::vector<std::string> sentences;
  if (found.empty()) {
    sentences.emplace_back(
        "no change of one or two keys fits (sharding, recomputation, degrees), nor do more nodes "
        "with everything sharded and recomputed; `orrery plan` searches whole layouts");
  }
  for (std::size_t i = 0; i < std::min(found.size(), kMost); ++i) {
    sentences.push_back(sentence(found[i], search));
  }
  return sentences;
}

}  // namespace orrery::evaluate
