#include "sim/plan/place_published.hpp"

#include <algorithm>

#include "sim/plan/finalists.hpp"
#include "sim/plan/space/layout_features.hpp"

namespace orrery::plan {

namespace {

// The search knows dispatchers that skip copies by one of them.
bool is_same_layout(const Candidate& winner, Candidate published) {
  published.dispatcher = winner.dispatcher;
  return published == winner;
}

}  // namespace

std::optional<Published> place_published(const Ranking& ranking,
                                         const Finalist& winner,
                                         sweep::PointEvaluator& evaluator) {
  if (!ranking.stated.published) {
    return std::nullopt;
  }
  Published published;
  published.from = *ranking.stated.published;
  if (!ranking.pool.published) {
    published.problem =
        "its ranks do not divide these GPUs and this batch, or what it recomputes is not searched";
    return published;
  }
  const std::size_t own = *ranking.pool.published;
  if (!ranking.simulated.done[own]) {
    return std::nullopt;
  }
  const PoolPoint& point = ranking.simulated.points[own];
  published.problem = point.problem;
  published.plan = compare_with(winner, own, ranking.simulated, ranking.question, evaluator);
  if (!published.plan || !published.problem.empty() || !point.objective) {
    return published;
  }
  const auto better = std::count_if(ranking.order.begin(), ranking.order.end(), [&](std::size_t i) {
    return *ranking.simulated.points[i].objective < *point.objective;
  });
  const auto rank = static_cast<std::size_t>(better) + 1;
  published.winner = is_same_layout(winner.proposal.candidate, point.proposal.candidate);
  if (rank <= static_cast<std::size_t>(ranking.question.spec.finalists)) {
    published.rank = rank;
  }
  return published;
}

double error_between(const Finalist& winner,
                     const Published& published,
                     const Workbench& stated,
                     const LayoutErrors& errors) {
  if (!published.plan) {
    return 0.0;
  }
  scenario::Scenario one = stated.base;
  apply(winner.proposal.candidate, stated, one);
  scenario::Scenario other = stated.base;
  apply(published.plan->proposal.candidate, stated, other);
  return errors.between(differences(one, other));
}

}  // namespace orrery::plan
