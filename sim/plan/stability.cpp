#include "sim/plan/stability.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "sim/base/files/stop_point.hpp"
#include "sim/hardware/stack_knobs.hpp"
#include "sim/plan/search/estimate.hpp"

namespace orrery::plan {

namespace {

// How many of the best estimates stand beside the finalists.
constexpr std::size_t kOthers = 32;

// A plan whose figure is known, and its step.
struct Contender {
  Proposal proposal;
  double figure = 0.0;
  double step_time = 0.0;
};

// The finalists, then layouts of the winner's cluster with the winner's run: their figure is the
// winner's, scaled by their step.
std::vector<Contender> contenders(const std::vector<Finalist>& finalists,
                                  const std::vector<ClusterSearch>& clusters,
                                  const Workbench& bench) {
  std::vector<Contender> all;
  const auto step_of = [](const Finalist& finalist) {
    return in_seconds(to_seconds(finalist.evaluation.step.step_time));
  };
  for (const Finalist& finalist : finalists) {
    all.push_back({finalist.proposal, finalist.value, step_of(finalist)});
  }
  const Finalist& winner = finalists.front();
  for (const ClusterSearch& cluster : clusters) {
    const Candidate& own = winner.proposal.candidate;
    if (cluster.gpu != own.gpu || cluster.nodes != own.nodes) {
      continue;
    }
    std::size_t taken = 0;
    for (const Ranked& ranked : cluster.found.best) {
      const bool known = std::any_of(all.begin(), all.end(), [&ranked](const Contender& one) {
        return one.proposal.candidate == ranked.candidate;
      });
      if (known || ranked.candidate.global_batch != own.global_batch || ++taken > kOthers) {
        continue;
      }
      const double step = in_seconds(to_seconds(ranked.estimate.step_time));
      all.push_back(
          {propose(ranked.candidate, bench), winner.value * step / step_of(winner), step});
    }
  }
  return all;
}

Perturbation perturb(const std::vector<Contender>& all,
                     const Workbench& bench,
                     const hardware::StackKnob& knob,
                     double change,
                     double tie,
                     const std::stop_token& stop) {
  Workbench moved = bench;
  knob.move(moved.software, 1.0 + change);
  Estimator estimator(moved);
  Perturbation result;
  result.coefficient = std::string(knob.name);
  result.change = change;
  std::vector<double> figures;
  for (const Contender& one : all) {
    stop_point(stop);
    const Estimate estimate = estimator.estimate(one.proposal.candidate);
    const bool decided = estimate.verdict != Verdict::breaks_rule && one.step_time > 0.0;
    figures.push_back(decided
                          ? one.figure * in_seconds(to_seconds(estimate.step_time)) / one.step_time
                          : one.figure);
  }
  const auto least = std::min_element(figures.begin(), figures.end());
  const double lead = *least > 0.0 ? figures.front() / *least - 1.0 : 0.0;
  if (lead > tie) {
    result.overtaker = all[static_cast<std::size_t>(least - figures.begin())].proposal;
    result.by = lead;
  }
  return result;
}

// Plans whose order is that of their figures; of a table that was not found every error is open.
std::vector<Rival> rivals_of(const std::vector<Finalist>& finalists,
                             const Workbench& bench,
                             const LayoutErrors& errors) {
  std::vector<Rival> rivals;
  scenario::Scenario winner = bench.base;
  apply(finalists.front().proposal.candidate, bench, winner);
  const double figure = finalists.front().value;
  for (std::size_t i = 1; i < finalists.size() && figure > 0.0; ++i) {
    scenario::Scenario other = bench.base;
    apply(finalists[i].proposal.candidate, bench, other);
    const FeatureSet features = differences(winner, other);
    if (features.any()) {  // else they differ in the run alone, which is not predicted by the step
      rivals.push_back(
          {i + 1, words_of(features), finalists[i].value / figure - 1.0, errors.between(features)});
    }
  }
  return rivals;
}

}  // namespace

Stability check_stability(const std::vector<Finalist>& finalists,
                          const std::vector<ClusterSearch>& clusters,
                          const Workbench& bench,
                          const PlanSpec& spec,
                          const std::optional<LayoutErrors>& errors,
                          const std::stop_token& stop) {
  Stability stability;
  if (finalists.empty() || spec.objective == Objective::fewest_gpus) {
    return stability;
  }
  stability.checked = true;
  const report::Evaluation& winner = finalists.front().evaluation;
  if (!winner.step.memory.empty()) {
    const Bytes limit = winner.step.memory.front().limit;
    const Bytes peak = limit - winner.step.feasibility.headroom;
    stability.memory_margin = peak > Bytes{} ? winner.step.feasibility.headroom / peak : 0.0;
  }
  stability.errors_known = errors.has_value();
  stability.stable = stability.errors_known;
  if (errors) {
    stability.rivals = rivals_of(finalists, bench, *errors);
    stability.stable = std::all_of(stability.rivals.begin(),
                                   stability.rivals.end(),
                                   [](const Rival& rival) { return rival.told_apart(); });
  }
  const std::vector<Contender> all = contenders(finalists, clusters, bench);
  for (const hardware::StackKnob& knob : hardware::stack_knobs()) {
    const double error = knob.error(bench.software);
    for (const double sign : {1.0, -1.0}) {
      Perturbation one = perturb(all, bench, knob, sign * error, spec.tie, stop);
      one.known = knob.residual(bench.software) > 0.0;
      stability.stable = stability.stable && !one.overtaker;
      stability.perturbations.push_back(std::move(one));
    }
  }
  return stability;
}

}  // namespace orrery::plan
