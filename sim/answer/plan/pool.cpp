#include "sim/answer/plan/pool.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/base/yaml/kinds.hpp"
#include "sim/step/layout/layout_spec.hpp"
#include "sim/step/schedule/schedule.hpp"

namespace orrery::plan {

namespace {

// Kept per cluster: enough for fronts and for the check of stability.
constexpr std::int64_t kKept = 256;
constexpr std::int64_t kMisses = 16;

std::string sharding_name(const Candidate& candidate) {
  return std::string(name_of(candidate.sharding));
}

// Sharded over a part of the ranks that could share.
bool is_part(const Candidate& candidate) {
  return candidate.sharding != layout::Sharding::none &&
         candidate.shard_group != candidate.data * candidate.context;
}

// Values of the run, all combinations, the last axis fastest; one empty one without any.
std::vector<std::vector<scenario::KeyValue>> run_combinations(const PlanSpec& spec) {
  std::vector<std::vector<scenario::KeyValue>> combinations = {{}};
  for (std::size_t i = 0; i < kRunAxes; ++i) {
    const AxisChoice& choice = spec.run[i];
    if (choice.mode != AxisChoice::Mode::listed) {
      continue;
    }
    std::vector<std::vector<scenario::KeyValue>> longer;
    for (const auto& combination : combinations) {
      for (const std::string& value : choice.values) {
        longer.push_back(combination);
        longer.back().push_back({std::string(kRunAxisKeys[i]), value, choice.where});
      }
    }
    combinations = std::move(longer);
  }
  return combinations;
}

std::string_view short_name(std::string_view key) {
  for (std::size_t i = 0; i < kRunAxes; ++i) {
    if (key == kRunAxisKeys[i]) {
      constexpr std::array<std::string_view, kRunAxes> kShort = {"interval", "spares", "spot"};
      return kShort[i];
    }
  }
  return key;
}

// The price of the GPU type where the plan states one for each.
void add_price(const PlanSpec& spec, const Workbench& bench, Proposal& proposal) {
  const AxisChoice& gpus = spec[Axis::gpu];
  const std::string& name = bench.machines[proposal.candidate.gpu].name;
  for (std::size_t i = 0; i < std::min(gpus.values.size(), spec.gpu_hours.size()); ++i) {
    if (gpus.values[i] == name) {
      proposal.changes.push_back(
          {"prices.gpu_hour", yaml::kind::PriceRate::format(spec.gpu_hours[i]), gpus.where});
    }
  }
}

Proposal with_run(Proposal proposal, const std::vector<scenario::KeyValue>& run) {
  for (const scenario::KeyValue& change : run) {
    proposal.tag += fmt::format("-{}={}", short_name(change.key), change.value);
    proposal.words += fmt::format(", {} {}", short_name(change.key), change.value);
    proposal.traits.push_back({std::string(short_name(change.key)), change.value});
    proposal.changes.push_back(change);
  }
  return proposal;
}

bool shards_states(const Candidate& candidate) {
  return candidate.sharding == layout::Sharding::zero1 ||
         candidate.sharding == layout::Sharding::zero2;
}

// zero1 and zero2 share the same states for the same checkpoints: where their steps take
// equally long, only memory tells them apart.
bool is_alike(const Ranked& one, const Ranked& other) {
  Candidate same = other.candidate;
  same.sharding = one.candidate.sharding;
  return same == one.candidate && shards_states(one.candidate) && shards_states(other.candidate) &&
         one.estimate.step_time == other.estimate.step_time;
}

// Schedules that differ in the number of chunks only: without a pipeline, with one, with several.
bool is_chunked(schedule::ScheduleKind schedule) {
  return schedule == schedule::ScheduleKind::none ||
         schedule == schedule::ScheduleKind::one_f_one_b ||
         schedule == schedule::ScheduleKind::interleaved;
}

// One plan for whoever chooses: only what is recomputed or the number of chunks is another.
bool is_near(const Candidate& one, const Candidate& other) {
  Candidate same = other;
  same.recompute = one.recompute;
  if (is_chunked(one.schedule) && is_chunked(other.schedule)) {
    same.schedule = one.schedule;
    same.virtual_stages = one.virtual_stages;
  }
  if (shards_states(one) && shards_states(other)) {
    same.sharding = one.sharding;
  }
  return same == one;
}

void add_alike(const Candidate& other, const Workbench& bench, Proposal& choice) {
  const std::string other_name = sharding_name(other);
  const std::string name = sharding_name(choice.candidate);
  choice.alike.push_back({"sharding", other_name, propose(other, bench).changes});
  choice.words.replace(choice.words.find(name), name.size(),
                       fmt::format("{} and {} alike", name, other_name));
}

void add_near(const Ranked& best, const Ranked& other, const Workbench& bench, Proposal& choice) {
  NearLayout near;
  const Proposal proposal = propose(other.candidate, bench);
  for (std::size_t i = 0; i < proposal.traits.size(); ++i) {
    if (proposal.traits[i].value != choice.traits[i].value) {
      near.differs.push_back(proposal.traits[i]);
    }
  }
  near.slower = to_seconds(other.estimate.step_time) / to_seconds(best.estimate.step_time) - 1.0;
  near.changes = proposal.changes;
  choice.near.push_back(std::move(near));
}

// The best `most` choices of a cluster; layouts alike, or nearly so, are one.
std::vector<Proposal> best_choices(const std::vector<Ranked>& best, std::size_t most,
                                   const Workbench& bench) {
  std::vector<Proposal> choices;
  std::vector<const Ranked*> first;
  for (const Ranked& ranked : best) {
    const auto known = std::find_if(first.begin(), first.end(), [&](const Ranked* other) {
      return is_near(other->candidate, ranked.candidate);
    });
    if (known != first.end()) {
      Proposal& choice = choices[static_cast<std::size_t>(known - first.begin())];
      if (is_alike(**known, ranked)) {
        add_alike(ranked.candidate, bench, choice);
      } else {
        add_near(**known, ranked, bench, choice);
      }
    } else if (choices.size() < most) {
      first.push_back(&ranked);
      choices.push_back(propose(ranked.candidate, bench));
    }
  }
  return choices;
}

std::size_t layouts_per_cluster(const PlanSpec& spec, std::size_t clusters) {
  const auto finalists = static_cast<std::size_t>(spec.finalists);
  if (clusters <= 1) {
    return finalists;
  }
  return std::max<std::size_t>(2, (2 * finalists + clusters - 1) / clusters);
}

}  // namespace

std::vector<ClusterSearch> search_clusters(const Workbench& bench, const Space& space,
                                           const PlanSpec& spec, const PoolOptions& options) {
  std::vector<ClusterSearch> clusters;
  const auto all = static_cast<std::int64_t>(space[Axis::gpu].size() * space[Axis::nodes].size());
  std::int64_t before = 0;
  for (const std::int64_t gpu : space[Axis::gpu]) {
    for (const std::int64_t nodes : space[Axis::nodes]) {
      // All processes of a team stop at the same cluster.
      if (!clusters.empty() && !clusters.back().found.complete) {
        return clusters;
      }
      Space one = space;
      one.values[static_cast<std::size_t>(Axis::gpu)] = {gpu};
      one.values[static_cast<std::size_t>(Axis::nodes)] = {nodes};
      SearchOptions request;
      request.threads = options.threads;
      request.keep = std::max(kKept, spec.finalists);
      request.misses = kMisses;
      request.gpu_hour = options.gpu_hours;
      request.sequences = options.sequences;
      request.stop = options.stop;
      request.team = options.team;
      request.found = options.found;
      std::int64_t size = 0;
      const std::int64_t left = all - static_cast<std::int64_t>(clusters.size());
      request.progress = [&](std::int64_t done, std::int64_t of) {
        size = of;
        if (options.progress) {
          options.progress(before + done, before + of * left);
        }
      };
      clusters.push_back({static_cast<std::size_t>(gpu), nodes, search(bench, one, spec, request)});
      before += size;
    }
  }
  return clusters;
}

SearchCounts total(const std::vector<ClusterSearch>& clusters) {
  SearchCounts sum;
  for (const ClusterSearch& cluster : clusters) {
    const SearchCounts& counts = cluster.found.counts;
    sum.grid += counts.grid;
    sum.layouts += counts.layouts;
    sum.seen += counts.seen;
    sum.estimated += counts.estimated;
    sum.bounded += counts.bounded;
    sum.fits += counts.fits;
    sum.over_memory += counts.over_memory;
    sum.over_host_memory += counts.over_host_memory;
    sum.breaks_rule += counts.breaks_rule;
  }
  return sum;
}

std::vector<Trait> traits_of(const Candidate& candidate, const Workbench& bench) {
  std::vector<Trait> traits;
  const auto add = [&traits](std::string_view name, std::string value) {
    traits.push_back({std::string(name), std::move(value)});
  };
  const auto number = [&add](std::string_view name, std::int64_t value) {
    add(name, fmt::format("{}", value));
  };
  if (bench.machines.size() > 1) {
    add("gpu", bench.machines[candidate.gpu].name);
  }
  number("gpus", gpus_of(candidate, bench));
  number("tp", candidate.tensor);
  add("sp", candidate.sequence_parallel ? "yes" : "no");
  number("cp", candidate.context);
  number("pp", candidate.pipeline);
  number("vpp", candidate.virtual_stages);
  if (bench.base.model.moe) {
    number("ep", candidate.expert);
    number("etp", candidate.expert_tensor);
    add("exchange",
        candidate.expert > 1 ? std::string(hardware::name_of(candidate.dispatcher)) : "-");
    add("hidden", candidate.expert > 1 ? (candidate.hides_exchange ? "yes" : "no") : "-");
  }
  number("dp", candidate.data);
  number("batch", candidate.global_batch);
  number("micro", candidate.micro);
  add("recompute", bench.recomputes[candidate.recompute].text);
  add("sharding", sharding_name(candidate));
  add("group", is_part(candidate) ? fmt::format("{}", candidate.shard_group) : "all");
  add("schedule", std::string(schedule::to_string(candidate.schedule)));
  if (bench.offloads.size() > 1 || bench.offloads.front().text != "none") {
    add("offload", bench.offloads[candidate.offload].text);
  }
  return traits;
}

std::string words_of(const Candidate& candidate, const Workbench& bench) {
  std::string words;
  const auto add = [&words](const std::string& word) {
    words += words.empty() ? word : ", " + word;
  };
  const auto degree = [&add](std::string_view name, std::int64_t value) {
    if (value > 1) {
      add(fmt::format("{} {}", name, value));
    }
  };
  if (bench.machines.size() > 1) {
    add(bench.machines[candidate.gpu].name);
  }
  degree("tensor", candidate.tensor);
  if (candidate.sequence_parallel) {
    add("sequence parallel");
  }
  degree("context", candidate.context);
  if (candidate.pipeline > 1 || candidate.virtual_stages > 1) {
    const std::string chunks =
        candidate.virtual_stages > 1 ? fmt::format(", {} chunks", candidate.virtual_stages) : "";
    add(fmt::format("pipeline {} ({}{})", candidate.pipeline,
                    schedule::to_string(candidate.schedule), chunks));
  }
  degree("expert", candidate.expert);
  if (candidate.expert > 1) {
    add(fmt::format("{} exchange{}", hardware::name_of(candidate.dispatcher),
                    candidate.hides_exchange ? " behind compute" : ""));
  }
  if (bench.base.model.moe && candidate.expert_tensor != candidate.tensor) {
    add(fmt::format("expert tensor {}", candidate.expert_tensor));
  }
  add(fmt::format("data {}", candidate.data));
  if (is_part(candidate)) {
    add(fmt::format("{} in groups of {}", sharding_name(candidate), candidate.shard_group));
  } else {
    add(candidate.sharding == layout::Sharding::none ? "not sharded" : sharding_name(candidate));
  }
  add(fmt::format("micro-batch {}", candidate.micro));
  const std::string& recompute = bench.recomputes[candidate.recompute].text;
  add(recompute == "none" ? "no recomputation" : fmt::format("recompute {}", recompute));
  const std::string& offload = bench.offloads[candidate.offload].text;
  if (offload != "none") {
    add(fmt::format("offload {}", offload));
  }
  return words;
}

Proposal propose(const Candidate& candidate, const Workbench& bench) {
  std::vector<scenario::KeyValue> changes = bench.switches;
  const std::vector<scenario::KeyValue> layout = key_values(candidate, bench);
  changes.insert(changes.end(), layout.begin(), layout.end());
  return {.candidate = candidate,
          .tag = tag(candidate, bench),
          .words = words_of(candidate, bench),
          .traits = traits_of(candidate, bench),
          .changes = std::move(changes),
          .gpus = gpus_of(candidate, bench)};
}

Pool make_pool(const std::vector<ClusterSearch>& clusters, const Space& space,
               const Workbench& bench, const Workbench& stated, const PlanSpec& spec) {
  Pool pool;
  if (const auto own = candidate_of(bench.base, bench)) {
    pool.current = 0;
    pool.proposals.push_back(propose(*own, bench));
    pool.proposals.back().changes.clear();
  }
  const auto filled = static_cast<std::size_t>(
      std::count_if(clusters.begin(), clusters.end(),
                    [](const ClusterSearch& cluster) { return !cluster.found.best.empty(); }));
  const std::size_t each = layouts_per_cluster(spec, filled);
  const auto combinations = run_combinations(spec);
  for (const ClusterSearch& cluster : clusters) {
    for (Proposal& layout : best_choices(cluster.found.best, each, bench)) {
      add_price(spec, bench, layout);
      for (const auto& run : combinations) {
        pool.proposals.push_back(with_run(layout, run));
      }
    }
  }
  if (const auto candidate = published_candidate(stated)) {
    pool.published = pool.proposals.size();
    pool.searches_published = stated.runs_published && allows(space, *candidate, stated);
    pool.proposals.push_back(propose(*candidate, stated));
    pool.proposals.back().changes = published_changes(
        stated.base, *with_published(stated.base, *stated.published), *stated.published);
  }
  return pool;
}

}  // namespace orrery::plan
