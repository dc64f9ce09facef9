#include "sim/answer/plan/simulate.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "sim/answer/sweep/columns.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::plan {

namespace {

using report::MetricId;
using report::OperandKind;
using sweep::Status;

// Columns of the sweep, in this order.
enum class Figure {
  step_time,
  finish_time,
  cost,
  cost_per_token,
  energy,
  site_energy,
  headroom,
  in_time,
  in_budget,
  count_
};

constexpr std::size_t kFigures = static_cast<std::size_t>(Figure::count_);

sweep::Column mean_of(MetricId metric) {
  const report::MetricInfo& info = report::info(metric);
  return {std::string(info.json_key),
          std::string(info.name),
          {.kind = info.stochastic ? OperandKind::mean : OperandKind::plain, .metric = metric}};
}

sweep::Column share_below(MetricId metric, std::optional<double> bound) {
  const report::MetricInfo& info = report::info(metric);
  sweep::Column column;
  column.name =
      bound ? fmt::format("{}_at_most_{}", info.json_key, *bound) : std::string(info.json_key);
  column.title = column.name;
  column.operand = {.kind = bound ? OperandKind::probability : OperandKind::mean,
                    .metric = metric,
                    .quantile = 0.5,
                    .inner = report::Comparison::at_most,
                    .inner_bound = bound.value_or(0.0)};
  column.with_error = bound.has_value();
  return column;
}

std::vector<sweep::Column> columns_of(const PlanSpec& spec) {
  const auto deadline =
      spec.deadline ? std::optional(in_seconds(*spec.deadline)) : std::optional<double>();
  const auto budget = spec.constraints.budget ? std::optional(in_dollars(*spec.constraints.budget))
                                              : std::optional<double>();
  return {mean_of(MetricId::step_time),
          mean_of(MetricId::finish_time),
          mean_of(MetricId::cost),
          mean_of(MetricId::cost_per_million_tokens),
          mean_of(MetricId::energy),
          mean_of(MetricId::site_energy),
          mean_of(MetricId::memory_headroom),
          share_below(MetricId::finish_time, deadline),
          share_below(MetricId::cost, budget)};
}

std::optional<double> figure(const sweep::PointResult& result, Figure which) {
  const auto i = static_cast<std::size_t>(which);
  return i < result.cells.size() ? result.cells[i] : std::nullopt;
}

// Why the point may not win; empty: it may.
std::string problem_of(const sweep::PointResult& result, const PlanSpec& spec, Bytes wanted) {
  if (result.status != Status::ok) {
    return result.reason.empty() ? std::string(to_string(result.status)) : result.reason;
  }
  const double headroom = figure(result, Figure::headroom).value_or(0.0);
  if (headroom < in_bytes(wanted)) {
    return fmt::format("{} of memory stay free, not {}", format_bytes_binary(bytes(headroom)),
                       format_bytes_binary(wanted));
  }
  const auto kept = [&result](Figure which) {
    return figure(result, which).value_or(0.0) >= kKeptShare;
  };
  const auto percent = [&result](Figure which) {
    return format_percent(figure(result, which).value_or(0.0));
  };
  if (spec.deadline && !kept(Figure::in_time)) {
    return fmt::format("done by {} with a chance of {}, not 90%",
                       format_time(*spec.deadline, {.trim = true}), percent(Figure::in_time));
  }
  if (spec.constraints.budget && !kept(Figure::in_budget)) {
    return fmt::format("within {} with a chance of {}, not 90%",
                       format_money(*spec.constraints.budget, {.trim = true}),
                       percent(Figure::in_budget));
  }
  return {};
}

std::optional<double> objective_of(const PoolPoint& point, Objective objective) {
  switch (objective) {
    case Objective::step_time:
      return point.step_time;
    case Objective::finish_time:
      return point.finish_time;
    case Objective::cost:
      return point.cost;
    case Objective::cost_per_token:
      return point.cost_per_token;
    case Objective::energy:
      return point.energy;
    case Objective::fewest_gpus:
      return static_cast<double>(point.proposal.gpus);
  }
  return std::nullopt;
}

PoolPoint point_of(const Proposal& proposal, const sweep::PointResult& result, const PlanSpec& spec,
                   const Workbench& bench) {
  PoolPoint point;
  point.proposal = proposal;
  point.fits = result.status != Status::does_not_fit && result.status != Status::invalid;
  point.problem = problem_of(result, spec, bench.machines[proposal.candidate.gpu].headroom);
  point.step_time = figure(result, Figure::step_time);
  point.finish_time = figure(result, Figure::finish_time);
  point.cost = figure(result, Figure::cost);
  point.cost_per_token = figure(result, Figure::cost_per_token);
  point.energy = figure(result, Figure::site_energy);
  if (!point.energy) {
    point.energy = figure(result, Figure::energy);
  }
  point.memory_headroom = figure(result, Figure::headroom);
  point.objective = objective_of(point, spec.objective);
  if (point.objective && spec.objective == Objective::step_time) {
    *point.objective *= static_cast<double>(bench.base.batch.global) /
                        static_cast<double>(proposal.candidate.global_batch);
  }
  return point;
}

// The name by which a journal knows a plan: what it says.
std::string name_of(const Proposal& proposal) {
  std::string name;
  for (const scenario::KeyValue& change : proposal.changes) {
    name += fmt::format("{}{}={}", name.empty() ? "" : ";", change.key, change.value);
  }
  return name.empty() ? "as it stands" : name;
}

}  // namespace

sweep::Sweep sweep_of(const Pool& pool, const PlanQuestion& question) {
  sweep::Sweep points{.base = question.base,
                      .axes = {},
                      .points = {},
                      .listed = {},
                      .columns = columns_of(question.spec),
                      .all_metrics = false,
                      .trials = question.trials,
                      .seed = question.seed,
                      .search = question.search};
  for (const Proposal& proposal : pool.proposals) {
    points.points.push_back({name_of(proposal)});
    points.listed.push_back(proposal.changes);
  }
  return points;
}

SimulatedPool simulate(const Pool& pool, const sweep::Sweep& points, const PlanQuestion& question,
                       const Workbench& bench, sweep::Team& team) {
  std::unique_ptr<sweep::Journal> journal;
  if (question.journal) {
    journal = std::make_unique<sweep::Journal>(*question.journal,
                                               sweep::journal_header(points, question.version),
                                               sweep::line_shape(points), question.resume);
  }
  const sweep::SweepOutcome outcome =
      sweep::run_sweep(points, team,
                       {.journal = journal.get(),
                        .threads = question.threads,
                        .stop = question.stop,
                        .progress = [&question](std::int64_t done, std::int64_t all) {
                          if (question.progress) {
                            question.progress(Stage::simulate, done, all);
                          }
                        }});
  SimulatedPool simulated;
  simulated.complete = outcome.complete;
  for (std::size_t i = 0; i < pool.proposals.size(); ++i) {
    const sweep::PointResult& result = outcome.results[i];
    // A point that nobody did has neither figures nor a reason.
    const bool done = result.cells.size() == kFigures || result.status == Status::invalid;
    simulated.done.push_back(done);
    simulated.count += done ? 1 : 0;
    simulated.points.push_back(point_of(pool.proposals[i], result, question.spec, bench));
    if (!done) {
      simulated.points.back().problem = "not simulated";
    }
  }
  return simulated;
}

std::size_t stands_for_published(const SimulatedPool& simulated, const Pool& pool) {
  const std::size_t own = *pool.published;
  const PoolPoint& published = simulated.points[own];
  for (std::size_t i = 0; i < own; ++i) {
    const PoolPoint& point = simulated.points[i];
    if (pool.current != i && point.problem.empty() && point.objective && published.objective &&
        point.proposal.candidate == published.proposal.candidate &&
        *point.objective <= *published.objective) {
      return i;
    }
  }
  return own;
}

std::vector<std::size_t> ranking(const SimulatedPool& simulated, const Pool& pool,
                                 Objective objective, bool cut_short) {
  const auto is_found = [&pool](const Candidate& own) {
    const std::size_t end = pool.published.value_or(pool.proposals.size());
    return std::any_of(pool.proposals.begin() + 1,
                       pool.proposals.begin() + static_cast<std::ptrdiff_t>(end),
                       [&own](const auto& found) { return found.candidate == own; });
  };
  const bool with_current =
      cut_short && pool.current && !is_found(pool.proposals[*pool.current].candidate);
  const auto twin = pool.published ? std::optional(stands_for_published(simulated, pool))
                                   : std::optional<std::size_t>();
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < simulated.points.size(); ++i) {
    const PoolPoint& point = simulated.points[i];
    if (point.problem.empty() && point.objective &&
        (pool.published != i || (twin == i && pool.searches_published)) &&
        (with_current || pool.current != i)) {
      order.push_back(i);
    }
  }
  const bool by_gpus = objective == Objective::fewest_gpus;
  const auto rank = [&](std::size_t i) {
    const PoolPoint& point = simulated.points[i];
    const double first = *point.objective;
    const double second = by_gpus ? point.finish_time.value_or(0.0) : point.step_time.value_or(0.0);
    return std::tuple(first, second, i);
  };
  std::sort(order.begin(), order.end(),
            [&rank](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  return order;
}

}  // namespace orrery::plan
