#include "sim/answer/plan/stability.hpp"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "sim/answer/evaluate/evaluate_options.hpp"
#include "sim/answer/plan/search/estimate.hpp"
#include "sim/base/files/stop_point.hpp"
#include "sim/step/hardware/stack_coefficients.hpp"

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

// One coefficient of the stack moved by its error, and what the contenders take then.
struct Moved {
  Moved(const Workbench& as_known, const hardware::StackKnob& knob, double change,
        std::shared_ptr<step::StepSimulator> simulator)
      : bench(as_known), estimator(bench, std::move(simulator)) {
    knob.move(bench.software, 1.0 + change);
    result.coefficient = std::string(knob.name);
    result.change = change;
    result.known = knob.residual(as_known.software) > 0.0;
  }

  void see(const Contender& one) {
    const Estimate estimate = estimator.estimate(one.proposal.candidate);
    const bool decided = estimate.verdict != Verdict::breaks_rule && one.step_time > 0.0;
    figures.push_back(decided
                          ? one.figure * in_seconds(to_seconds(estimate.step_time)) / one.step_time
                          : one.figure);
  }

  void judge(const std::vector<Contender>& all, double tie) {
    const auto least = std::min_element(figures.begin(), figures.end());
    const double lead = *least > 0.0 ? figures.front() / *least - 1.0 : 0.0;
    if (lead > tie) {
      result.overtaker = all[static_cast<std::size_t>(least - figures.begin())].proposal;
      result.by = lead;
    }
  }

  Workbench bench;
  Estimator estimator;
  std::vector<double> figures;
  Perturbation result;
};

// Contender by contender: the graph of its step is the same whatever moves.
std::vector<Perturbation> perturb(const std::vector<Contender>& all, const Workbench& bench,
                                  double tie, const std::stop_token& stop) {
  const auto simulator = evaluate::make_simulator();
  std::vector<std::unique_ptr<Moved>> every;
  for (const hardware::StackKnob& knob : hardware::stack_knobs()) {
    for (const double sign : {1.0, -1.0}) {
      every.push_back(
          std::make_unique<Moved>(bench, knob, sign * knob.error(bench.software), simulator));
    }
  }
  for (const Contender& one : all) {
    for (const auto& moved : every) {
      stop_point(stop);
      moved->see(one);
    }
  }
  std::vector<Perturbation> results;
  for (const auto& moved : every) {
    moved->judge(all, tie);
    results.push_back(std::move(moved->result));
  }
  return results;
}

// What a plan is behind by: of as many GPUs as the fewest by its finish. Nothing for more GPUs.
std::optional<double> lead_over(const Finalist& other, const Finalist& winner) {
  const auto of = objective_value(winner.evaluation, Objective::finish_time);
  if (other.behind_in == Objective::finish_time && other.value == winner.value && of) {
    return other.behind.mean / *of;
  }
  return other.behind_in != Objective::fewest_gpus ? std::optional(other.value / winner.value - 1.0)
                                                   : std::nullopt;
}

// Plans whose order is that of their figures; of a table that was not found every error is open.
std::vector<Rival> rivals_of(const std::vector<Finalist>& finalists, const Workbench& bench,
                             const LayoutErrors& errors) {
  std::vector<Rival> rivals;
  for (std::size_t i = 1; i < finalists.size() && finalists.front().value > 0.0; ++i) {
    if (auto rival = rival_of(finalists[i], bench, finalists.front(), bench, errors)) {
      rival->rank = i + 1;
      rivals.push_back(std::move(*rival));
    }
  }
  return rivals;
}

}  // namespace

std::optional<Rival> rival_of(const Finalist& other, const Workbench& of_other,
                              const Finalist& winner, const Workbench& of_winner,
                              const LayoutErrors& errors) {
  scenario::Scenario first = of_winner.base;
  apply(winner.proposal.candidate, of_winner, first);
  scenario::Scenario second = of_other.base;
  apply(other.proposal.candidate, of_other, second);
  const auto lead = lead_over(other, winner);
  const FeatureSet features = differences(first, second);
  return lead && features.any()
             ? std::optional(Rival{0, words_of(features), *lead, errors.between(features)})
             : std::nullopt;
}

Stability check_stability(const std::vector<Finalist>& finalists,
                          const std::vector<ClusterSearch>& clusters, const Workbench& bench,
                          const PlanSpec& spec, const std::optional<LayoutErrors>& errors,
                          const std::stop_token& stop) {
  Stability stability;
  if (finalists.empty()) {
    return stability;
  }
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
    stability.stable = std::all_of(stability.rivals.begin(), stability.rivals.end(),
                                   [](const Rival& rival) { return rival.told_apart(); });
  }
  const bool by_gpus = spec.objective == Objective::fewest_gpus;
  stability.checked = !by_gpus || !stability.rivals.empty();
  if (by_gpus) {
    return stability;
  }
  const std::vector<Contender> all = contenders(finalists, clusters, bench);
  stability.perturbations = perturb(all, bench, spec.tie, stop);
  stability.stable =
      stability.stable &&
      std::none_of(stability.perturbations.begin(), stability.perturbations.end(),
                   [](const Perturbation& one) { return one.overtaker.has_value(); });
  return stability;
}

}  // namespace orrery::plan
