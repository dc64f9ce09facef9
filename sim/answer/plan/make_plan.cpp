#include "sim/answer/plan/make_plan.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/answer/evaluate/inputs/named_files.hpp"
#include "sim/answer/plan/finalists.hpp"
#include "sim/answer/plan/fronts.hpp"
#include "sim/answer/plan/layout_errors.hpp"
#include "sim/answer/plan/neighbours.hpp"
#include "sim/answer/plan/pool.hpp"
#include "sim/answer/plan/question.hpp"
#include "sim/answer/plan/search/switches.hpp"
#include "sim/answer/plan/simulate.hpp"
#include "sim/answer/plan/space/layout_features.hpp"
#include "sim/answer/plan/space/space.hpp"
#include "sim/answer/plan/space/workbench.hpp"
#include "sim/answer/plan/stability.hpp"
#include "sim/answer/sweep/point_evaluator.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files/stop_point.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::plan {

namespace {

// Where the published layout stands beside the winner. Nothing where none is published, or where a
// stop left it out.
std::optional<Published> place_published(const PlanQuestion& question, const Workbench& stated,
                                         const Pool& pool, const SimulatedPool& simulated,
                                         const std::vector<std::size_t>& order,
                                         const Finalist& winner, sweep::PointEvaluator& evaluator) {
  if (!stated.published) {
    return std::nullopt;
  }
  Published published;
  published.from = *stated.published;
  published.shorter = published.from.sequence_length < stated.base.model.sequence_length;
  if (!pool.published) {
    published.problem =
        "its ranks do not divide these GPUs and this batch, or what it recomputes is not searched";
    return published;
  }
  const std::size_t own = stands_for_published(simulated, pool);
  if (!simulated.done[own]) {
    return std::nullopt;
  }
  published.problem = simulated.points[own].problem;
  if (published.problem.empty() && !pool.searches_published) {
    published.problem = stated.runs_published
                            ? std::string("plan.search leaves it out")
                            : fmt::format("{} does not offer all that {} does",
                                          stated.software.name, published.from.stack);
  }
  published.plan = compare_with(winner, own, simulated, question, evaluator);
  if (published.plan && published.problem.empty()) {
    const auto rank =
        static_cast<std::size_t>(std::find(order.begin(), order.end(), own) - order.begin());
    published.winner = rank == 0;
    if (rank < static_cast<std::size_t>(question.spec.finalists)) {
      published.rank = rank + 1;
    }
  }
  return published;
}

constexpr std::size_t kMostNeighbours = 5;

// All that the search leaves for the rest.
struct Searched {
  Workbench stated;  // as the scenario has its switches
  Workbench bench;
  Switches switches;
  Space space;
  std::vector<ClusterSearch> clusters;
  Pool pool;
  bool stopped = false;  // in the search with switches: `clusters` are those without
};

bool is_complete(const std::vector<ClusterSearch>& clusters) {
  return std::all_of(clusters.begin(), clusters.end(),
                     [](const ClusterSearch& cluster) { return cluster.found.complete; });
}

// Of all clusters, by score.
std::vector<Ranked> best_of(const std::vector<ClusterSearch>& clusters) {
  std::vector<Ranked> best;
  for (const ClusterSearch& cluster : clusters) {
    best.insert(best.end(), cluster.found.best.begin(), cluster.found.best.end());
  }
  std::stable_sort(best.begin(), best.end(),
                   [](const Ranked& a, const Ranked& b) { return a.score < b.score; });
  return best;
}

// Once more with what makes the best of the first search faster; kept if the best of it is better.
void search_with_switches(const PlanSpec& spec, PoolOptions options, Searched& searched) {
  const std::vector<Ranked> best = best_of(searched.clusters);
  if (spec.keeps_switches || searched.bench.most_changes || best.empty() ||
      !is_complete(searched.clusters)) {
    return;
  }
  const auto switches = better_switches(searched.bench, best);
  if (switches.empty()) {
    return;
  }
  const std::int64_t before = total(searched.clusters).layouts;
  options.progress = [report = options.progress, before](std::int64_t done, std::int64_t all) {
    report(before + done, before + all);
  };
  Workbench bench = with_switches(searched.bench, switches);
  auto clusters = search_clusters(bench, searched.space, spec, options);
  const std::vector<Ranked> better = best_of(clusters);
  searched.stopped = !is_complete(clusters);
  if (!searched.stopped && !better.empty() && better.front().score < best.front().score) {
    searched.switches = {switches, in_seconds(to_seconds(best.front().estimate.step_time))};
    searched.bench = std::move(bench);
    searched.clusters = std::move(clusters);
  }
}

std::optional<Searched> search_all(const PlanQuestion& question, const scenario::Scenario& scenario,
                                   sweep::Team& team, Diagnostics& diagnostics) {
  auto bench = make_workbench(scenario, question.spec, question.search, diagnostics);
  if (!bench) {
    return std::nullopt;
  }
  bench->most_changes = question.most_changes;
  bench->data = question.keeps_data ? scenario.layout.data : std::nullopt;
  auto space = make_space(*bench, question.spec, diagnostics);
  if (!space) {
    return std::nullopt;
  }
  PoolOptions options;
  options.threads = question.threads;
  options.sequences = sequences_of(scenario);
  options.gpu_hours = gpu_hours_by_machine(question.spec, *bench);
  options.stop = question.search_stop.value_or(question.stop);
  options.team = &team;
  options.progress = [&question](std::int64_t done, std::int64_t all) {
    if (question.progress) {
      question.progress(Stage::search, done, all);
    }
  };
  const auto told = std::make_shared<double>(std::numeric_limits<double>::infinity());
  options.found = [&question, told](const Ranked& best) {
    if (question.found && best.score < *told) {
      *told = best.score;
      question.found(to_seconds(best.estimate.step_time));
    }
  };
  Searched searched{*bench, *bench, {}, *std::move(space), {}, {}, false};
  searched.clusters = search_clusters(searched.bench, searched.space, question.spec, options);
  search_with_switches(question.spec, options, searched);
  searched.pool =
      make_pool(searched.clusters, searched.space, searched.bench, searched.stated, question.spec);
  return searched;
}

// Without a simulation steps are all that is known, and numbers of GPUs.
void rank_by_step(Objective asked, Plan& plan) {
  plan.ranked_by = asked == Objective::fewest_gpus ? asked : Objective::step_time;
}

Headroom headroom_of(const Workbench& bench) {
  const Coefficient<double>& error = bench.software.memory_error;
  return {.bytes = in_bytes(bench.machines.front().headroom),
          .stated = bench.headroom.has_value(),
          .error = error.value(),
          .source = fmt::format("{}: {}", to_string(error.source().kind), error.source().citation)};
}

Plan start_plan(const PlanQuestion& question, const scenario::Scenario& scenario,
                const Searched& searched, bool limited) {
  Plan plan;
  plan.name = scenario.name;
  plan.file = scenario.file;
  plan.sha256 = scenario.sha256;
  for (const Machine& machine : searched.bench.machines) {
    plan.gpu += (plan.gpu.empty() ? "" : " or ") + machine.gpu.full_name;
  }
  plan.spec = question.spec;
  if (scenario.run) {
    plan.trials = question.trials.value_or(scenario.run->simulation.trials);
    plan.seed = question.seed.value_or(scenario.run->simulation.seed);
  }
  plan.counts = total(searched.clusters);
  plan.headroom = headroom_of(searched.bench);
  plan.most_changes = question.most_changes;
  plan.switches = searched.switches;
  if (const auto& offer = searched.bench.offer) {
    plan.not_offered = {searched.bench.software.name,
                        lacks_of(*offer, question.spec, searched.bench.base.model.moe.has_value()),
                        offer->source};
  }
  const std::size_t clusters =
      searched.space[Axis::gpu].size() * searched.space[Axis::nodes].size();
  plan.searched_all =
      searched.clusters.size() == clusters && is_complete(searched.clusters) && !searched.stopped;
  plan.limited = !plan.searched_all && limited;
  plan.ranked_by = question.spec.objective;
  if (!plan.searched_all && !plan.limited) {
    rank_by_step(question.spec.objective, plan);
  }
  plan.pool = static_cast<std::int64_t>(searched.pool.proposals.size());
  return plan;
}

// How often each reason took a plan out, the most frequent first.
std::string why_none(const SimulatedPool& simulated, const Pool& pool) {
  std::string best;
  for (std::size_t i = 0; i < simulated.points.size(); ++i) {
    if (pool.current != i && pool.published != i && simulated.done[i] &&
        !simulated.points[i].problem.empty()) {
      best = simulated.points[i].problem;
      break;
    }
  }
  return best;
}

// The least money and time of the plans that were simulated.
std::string what_it_takes(const SimulatedPool& simulated) {
  std::optional<double> cost;
  std::optional<double> time;
  for (std::size_t i = 0; i < simulated.points.size(); ++i) {
    const PoolPoint& point = simulated.points[i];
    if (simulated.done[i] && point.fits) {
      cost = point.cost ? std::min(cost.value_or(*point.cost), *point.cost) : cost;
      time = point.finish_time ? std::min(time.value_or(*point.finish_time), *point.finish_time)
                               : time;
    }
  }
  std::string words;
  if (cost && *cost > 0.0) {
    words += fmt::format("; the cheapest plan costs {}", format_money(dollars(*cost)));
  }
  if (time) {
    words += fmt::format("; the fastest takes {}", format_time(seconds(*time)));
  }
  return words;
}

// The most memory that a layout leaves free, of those that were found not to fit.
std::optional<Bytes> roomiest(const std::vector<ClusterSearch>& clusters) {
  std::optional<Bytes> most;
  for (const ClusterSearch& cluster : clusters) {
    for (const Ranked& miss : cluster.found.misses) {
      most = std::max(most.value_or(miss.estimate.headroom), miss.estimate.headroom);
    }
  }
  return most;
}

// The GPU is too small, or what must stay free is too much.
std::string none_fits(const Plan& plan, std::optional<Bytes> most) {
  const std::string layouts = format_integer(plan.counts.layouts);
  if (!most || *most < Bytes{} || plan.headroom.bytes <= 0.0) {
    return fmt::format("no plan: none of {} layouts fits in memory", layouts);
  }
  return fmt::format(
      "no plan: none of {} layouts leaves {} of memory free{}; the roomiest fits with {} free",
      layouts, format_bytes_binary(bytes(plan.headroom.bytes)),
      plan.headroom.stated ? ", as the headroom asks (plan.constraints.memory_headroom)"
                           : fmt::format(", and peaks are predicted within {} "
                                         "(plan.constraints.memory_headroom: 0B takes them as they "
                                         "are)",
                                         format_percent(plan.headroom.error, {.trim = true})),
      format_bytes_binary(*most));
}

void note_none(const Searched& searched, const SimulatedPool& simulated, Plan& plan) {
  if (!plan.searched_all) {
    return;  // what fits is not known: note_interruption says how far the search came
  }
  if (plan.counts.layouts == 0) {
    plan.notes.emplace_back(
        "no layout: no combination of the searched values keeps all rules (the degrees divide "
        "layers, heads, experts and GPUs; plan.search and plan.constraints leave none)");
  } else if (plan.counts.fits == 0) {
    plan.notes.push_back(none_fits(plan, roomiest(searched.clusters)));
  } else {
    const std::string why = why_none(simulated, searched.pool);
    plan.notes.push_back(fmt::format("no plan meets the constraints{}{}{}",
                                     why.empty() ? "" : "; the best estimate: ", why,
                                     what_it_takes(simulated)));
  }
}

const ClusterSearch* cluster_of(const Searched& searched, const Candidate& candidate) {
  for (const ClusterSearch& cluster : searched.clusters) {
    if (cluster.gpu == candidate.gpu && cluster.nodes == candidate.nodes) {
      return &cluster;
    }
  }
  return nullptr;
}

// Neighbours where nothing fits: what is least short, with what would help.
void add_misses(const Searched& searched, Plan& plan) {
  for (const ClusterSearch& cluster : searched.clusters) {
    for (const Ranked& miss : cluster.found.misses) {
      if (plan.neighbours.size() == kMostNeighbours) {
        return;
      }
      Neighbour neighbour;
      neighbour.proposal = propose(miss.candidate, searched.bench);
      neighbour.step_time = in_seconds(to_seconds(miss.estimate.step_time));
      neighbour.short_by = in_bytes(searched.bench.machines[miss.candidate.gpu].headroom) -
                           in_bytes(miss.estimate.headroom);
      neighbour.stage = miss.estimate.worst_stage;
      plan.neighbours.push_back(std::move(neighbour));
    }
  }
}

// What a search that was cut short knows.
std::string best_so_far(const Plan& plan) {
  if (plan.finalists.empty()) {
    return fmt::format("no plan so far, {} estimated in full",
                       plan.counts.estimated == 0 ? "none" : format_integer(plan.counts.estimated));
  }
  const std::string best =
      plan.finalists.front().proposal.changes.empty()
          ? std::string("the scenario as it stands is the best so far")
          : fmt::format("the best of {} estimated in full", format_integer(plan.counts.estimated));
  return best + "; figures are estimates without failures";
}

// How far the search got.
std::string seen_of(const Searched& searched, const Plan& plan) {
  const SearchCounts& counts = plan.counts;
  const std::size_t sizes = searched.space[Axis::gpu].size() * searched.space[Axis::nodes].size();
  const std::string of_sizes =
      sizes > 1 ? fmt::format(" of {} of {} cluster sizes", searched.clusters.size(), sizes) : "";
  const std::string layouts = format_integer(counts.layouts);
  if (counts.seen == 0) {  // they are still listed
    return counts.layouts > 0 ? fmt::format("after 0 of {} layouts so far{}", layouts, of_sizes)
                              : std::string("before its layouts were counted");
  }
  return counts.seen == counts.layouts  // what is left are estimates
             ? fmt::format("with bounds of all {} layouts, {} of them estimated{}", layouts,
                           format_integer(counts.estimated), of_sizes)
             : fmt::format("after {} of {} layouts{}", format_integer(counts.seen), layouts,
                           of_sizes);
}

void note_interruption(const Searched& searched, bool estimates, Plan& plan) {
  const std::string_view stopped = plan.limited ? "stopped as asked" : "interrupted";
  if (!plan.searched_all && (plan.limited || !estimates)) {
    plan.notes.push_back(
        fmt::format("{} during the search, {}: {}", stopped, seen_of(searched, plan),
                    plan.limited ? std::string("the best so far") : best_so_far(plan)));
  }
  if (estimates) {
    plan.notes.push_back(fmt::format(
        "{} before a plan was simulated: figures are estimates without failures", stopped));
  } else if (!plan.simulated_all && (plan.searched_all || plan.limited)) {
    plan.notes.push_back(fmt::format("{} after {} of {} plans were simulated: the best of those",
                                     stopped, format_integer(plan.simulated),
                                     format_integer(plan.pool)));
  } else if (!plan.examined && plan.searched_all) {
    plan.notes.push_back(fmt::format(
        "{} when all plans were simulated: the ranking stands, more was not worked out", stopped));
  }
}

// What the answer rests on and the scenario does not say.
void note_assumptions(const scenario::Scenario& scenario, Plan& plan) {
  if (!scenario.names_stack()) {
    plan.notes.emplace_back("software is the usual one of each layout, as none is stated");
  }
  if (scenario.rollout) {
    plan.notes.emplace_back(
        "the step of the trainer alone is planned, over full sequences: rollout is left out");
  }
  if (scenario.run && !scenario.locations.contains("failures")) {
    plan.notes.emplace_back("nothing fails, as no failures are stated");
  }
}

// What stands beside the ranking. Throws Error(interrupted).
void examine(const PlanQuestion& question, const Searched& searched, const Workbench& bench,
             const SimulatedPool& simulated, Plan& plan) {
  stop_point(question.stop);  // in the midst of it finalists have their step only
  const Finalist& winner = plan.finalists.front();
  if (question.fronts) {
    plan.fronts =
        make_fronts(simulated, searched.clusters, bench, winner.proposal, question.pareto);
  }
  const ClusterSearch* cluster = cluster_of(searched, winner.proposal.candidate);
  if (question.neighbours && cluster != nullptr && plan.searched_all) {
    plan.neighbours =
        find_neighbours(*cluster, searched.space, bench, winner, kMostNeighbours, question.stop);
  }
  if (question.neighbours && cluster != nullptr) {
    plan.aside = find_steps_aside(*cluster, searched.space, bench, winner, question.stop);
  }
  if (question.stability && plan.searched_all) {
    const auto errors = load_layout_errors(question.search, plan.diagnostics);
    const Workbench& stated = searched.stated;
    if (plan.published && plan.published->plan && errors) {
      const auto rival = rival_of(*plan.published->plan, stated, winner, stated, *errors);
      plan.published->error = rival ? rival->error : 0.0;
    }
    if (plan.current && errors) {
      const auto rival = rival_of(*plan.current, stated, winner, bench, *errors);
      if (rival && std::abs(rival->lead) <= rival->error) {
        plan.current->standing = Standing::tie;
      }
    }
    plan.stability = check_stability(plan.finalists, searched.clusters, bench, question.spec,
                                     errors, question.stop);
    for (const Rival& rival : plan.stability.rivals) {
      if (!rival.told_apart()) {
        plan.finalists[rival.rank - 1].standing = Standing::tie;
      }
    }
  }
}

void finish(const PlanQuestion& question, const Searched& searched, const SimulatedPool& simulated,
            const sweep::Sweep& points, Plan& plan) {
  const std::vector<std::size_t> order =
      ranking(simulated, searched.pool, question.spec.objective, !plan.searched_all);
  std::vector<std::size_t> chosen = order;
  chosen.resize(std::min(order.size(), static_cast<std::size_t>(question.spec.finalists)));
  sweep::PointEvaluator evaluator(points);
  plan.finalists = make_finalists(chosen, simulated, question, evaluator);
  if (plan.finalists.empty()) {
    note_none(searched, simulated, plan);
    if (plan.counts.fits == 0) {
      add_misses(searched, plan);
    }
    return;
  }
  const Finalist& winner = plan.finalists.front();
  Workbench bench = searched.bench;
  if (chosen.front() == searched.pool.published) {  // which comes with its own switches
    const std::vector<Ranked> found = best_of(searched.clusters);
    plan.switches = {
        published_switches(searched.stated),
        found.empty() ? 0.0 : in_seconds(to_seconds(found.front().estimate.step_time))};
    bench = with_switches(searched.stated, plan.switches.keys);
  }
  if (searched.pool.current && simulated.done[*searched.pool.current]) {
    plan.current = compare_with(winner, *searched.pool.current, simulated, question, evaluator);
    if (plan.current) {
      plan.current->problem = simulated.points[*searched.pool.current].problem;
    }
  }
  plan.published = place_published(question, searched.stated, searched.pool, simulated, order,
                                   winner, evaluator);
  try {
    examine(question, searched, bench, simulated, plan);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::interrupted) {
      throw;
    }
    plan.examined = false;
  }
}

// Where the search was stopped nothing is simulated: the steps of the best estimates are known.
SimulatedPool unsimulated(const Searched& searched, const PlanQuestion& question) {
  SimulatedPool pool;
  pool.complete = false;
  Estimator estimator(searched.bench);
  Estimator as_stated(searched.stated);
  for (const Proposal& proposal : searched.pool.proposals) {
    PoolPoint point;
    point.proposal = proposal;
    const bool own = searched.pool.current == pool.points.size() ||
                     searched.pool.published == pool.points.size();
    const Estimate estimate = (own ? as_stated : estimator).estimate(proposal.candidate);
    point.fits = estimate.verdict == Verdict::fits;
    const Bytes wanted = searched.bench.machines[proposal.candidate.gpu].headroom;
    point.problem =
        point.fits ? ""
        : estimate.headroom < Bytes{}
            ? "does not fit"
            : fmt::format("{} of memory stay free, not {}", format_bytes_binary(estimate.headroom),
                          format_bytes_binary(wanted));
    point.step_time = in_seconds(to_seconds(estimate.step_time));
    point.memory_headroom = in_bytes(estimate.headroom);
    point.objective = question.spec.objective == Objective::fewest_gpus
                          ? static_cast<double>(proposal.gpus)
                          : *point.step_time;
    pool.points.push_back(std::move(point));
    pool.done.push_back(true);
  }
  return pool;
}

// A key without effect in the scenario may have one in a layout of the search.
std::optional<scenario::Scenario> base_of(const scenario::ScenarioTemplate& base,
                                          const std::vector<scenario::KeyValue>& changes,
                                          Diagnostics& diagnostics) {
  Diagnostics found;
  auto scenario = base.with(changes, found);
  for (const Diagnostic& one : found.all()) {
    if (one.severity == Severity::error || !one.message.starts_with("has no effect")) {
      diagnostics.add(one);
    }
  }
  return scenario;
}

}  // namespace

std::optional<PlanQuestion> question_of(scenario::ScenarioTemplate base,
                                        const std::vector<scenario::KeyValue>& changes,
                                        Diagnostics& diagnostics) {
  const auto scenario = base_of(base, changes, diagnostics);
  if (!scenario) {
    return std::nullopt;
  }
  PlanQuestion question{.base = std::move(base), .spec = scenario->plan.value_or(PlanSpec{})};
  return question;
}

std::optional<Plan> make_plan(const PlanQuestion& asked, sweep::Team& team,
                              Diagnostics& diagnostics) {
  PlanQuestion question = asked;
  question.stop = asked.time_stop.value_or(asked.stop);
  const auto is_limited = [&asked] {  // and nobody interrupts
    return (asked.search_stop || asked.time_stop) && !asked.stop.stop_requested();
  };
  const auto scenario = base_of(question.base, {}, diagnostics);
  if (!scenario) {
    return std::nullopt;
  }
  check_question(question, *scenario, diagnostics);
  if (scenario->run) {  // said before the search, not by every plan after it
    run::FailureSpec failures = scenario->run->failures;
    static_cast<void>(evaluate::add_failure_inputs(*scenario, failures, diagnostics));
  }
  if (diagnostics.has_errors()) {
    return std::nullopt;
  }
  const auto searched = search_all(question, *scenario, team, diagnostics);
  if (!searched) {
    return std::nullopt;
  }
  const sweep::Sweep points = sweep_of(searched->pool, question);
  if (!team.leads()) {
    static_cast<void>(
        run_sweep(points, team, {.threads = question.threads, .stop = question.stop}));
    return std::nullopt;
  }
  Plan plan = start_plan(question, *scenario, *searched, is_limited());
  const bool simulates = plan.searched_all || plan.limited;
  SimulatedPool simulated = simulates
                                ? simulate(searched->pool, points, question, searched->bench, team)
                                : unsimulated(*searched, question);
  plan.simulated = simulated.count;
  plan.simulated_all = simulated.complete;
  const bool none = simulates && !simulated.complete &&
                    ranking(simulated, searched->pool, question.spec.objective, false).empty();
  if (none) {  // stopped before one plan was done: its step is known all the same
    rank_by_step(question.spec.objective, plan);
    simulated = unsimulated(*searched, question);
  }
  PlanQuestion ranked = question;
  ranked.spec.objective = plan.ranked_by;
  finish(ranked, *searched, simulated, points, plan);
  plan.limited = is_limited() && !(plan.searched_all && plan.simulated_all && plan.examined);
  note_interruption(*searched, none, plan);
  note_assumptions(*scenario, plan);
  diagnostics.add(plan.diagnostics);
  plan.diagnostics = diagnostics;
  return plan;
}

std::optional<Plan> make_plan(const PlanQuestion& question, Diagnostics& diagnostics) {
  sweep::Team alone;
  return make_plan(question, alone, diagnostics);
}

}  // namespace orrery::plan
