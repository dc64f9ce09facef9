#include "sim/answer/evaluate/compare/post_mortem.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "sim/answer/report/text/ledger_rows.hpp"
#include "sim/base/percent.hpp"
#include "sim/base/text/format.hpp"
#include "sim/run/theory/theory.hpp"

namespace orrery::evaluate {

namespace {

using run::RunCategory;

// What the plan gives to its categories while so many steps are kept.
class PlannedTimes {
 public:
  PlannedTimes(const LoggedRun& log, const report::Evaluation& plan) {
    if (!plan.run) {
      return;
    }
    result_ = &*plan.run;
    const Seconds productive = result_->mean_gpu_time(RunCategory::productive);
    const Seconds trained = to_seconds(plan.step.step_time) * log.steps;
    scale_ = productive > Seconds{} ? trained / productive : 0.0;
  }

  [[nodiscard]] std::optional<Seconds> of(std::initializer_list<RunCategory> categories) const {
    if (result_ == nullptr) {
      return std::nullopt;
    }
    Seconds sum;
    for (const RunCategory category : categories) {
      sum += result_->mean_gpu_time(category) * scale_;
    }
    return sum;
  }

 private:
  const run::MonteCarloResult* result_ = nullptr;
  double scale_ = 0.0;  // from GPU time of the plan to wall time of so many steps
};

std::vector<PostMortemRow> rows_of(const LoggedRun& log, const report::Evaluation& plan) {
  const PlannedTimes planned(log, plan);
  const Seconds trained = to_seconds(plan.step.step_time) * log.steps;
  const std::optional<Seconds> none =
      plan.run ? std::optional(Seconds{}) : std::optional<Seconds>();
  const Seconds limping = (log.slower_median - log.median) * log.slower_steps;
  std::vector<PostMortemRow> rows = {
      {"planned",
       "steps at the planned pace",
       {},
       trained,
       plan.run ? std::optional(trained) : none},
      {"pace", "steps at another pace", {}, log.median * log.steps - trained, none},
      {"limping",
       log.slower_steps > 0.0 ? fmt::format("limping, from step {} on", log.slower_from)
                              : "limping",
       {},
       limping,
       planned.of({RunCategory::degraded})},
      {"slow", "single slow steps", {}, log.trained - log.median * log.steps - limping, none},
      {"restarts", "restarts: out of work", log.restarts, log.out_of_work,
       planned.of({RunCategory::detection, RunCategory::diagnosis, RunCategory::restart_scheduling,
                   RunCategory::restart_communicator, RunCategory::restart_load,
                   RunCategory::restart_warm_up, RunCategory::waiting_for_capacity})},
      {"done_again", "restarts: steps done again", log.restarts, log.done_again,
       planned.of({RunCategory::lost_work})},
      {"went_back", "went back without a restart", log.rewinds, log.rewound,
       planned.of({RunCategory::rework})}};
  Seconds rest = log.wall;
  for (const PostMortemRow& row : rows) {
    rest -= row.logged;
  }
  rows.push_back({"between",
                  "between steps: saves, evaluation, hangs",
                  {},
                  rest,
                  planned.of({RunCategory::checkpoint_stall, RunCategory::evaluation,
                              RunCategory::planned_maintenance, RunCategory::unitemised})});
  return rows;
}

// Of all GPUs of the job.
std::optional<DollarsPerSecond> price_of(const report::Evaluation& plan) {
  const auto per_gpu = report::mean_price(plan);
  return per_gpu ? std::optional(*per_gpu * static_cast<double>(plan.step.gpus)) : std::nullopt;
}

class Adviser {
 public:
  Adviser(const LoggedRun& log, const report::Evaluation& plan, PostMortem& found)
      : log_(log), plan_(plan), found_(found) {}

  void advise() {
    pace();
    limping();
    if (log_.restarts > 0 && plan_.plan) {
      interval();
      recovery();
      spares();
    }
  }

 private:
  void add(std::string key, std::string text, std::optional<Seconds> saved = std::nullopt) {
    const auto dollars =
        saved && found_.price ? std::optional(*found_.price * *saved) : std::nullopt;
    found_.advice.push_back({std::move(key), std::move(text), saved, dollars});
  }

  [[nodiscard]] Seconds mtbf() const {
    return (log_.wall - log_.out_of_work) / static_cast<double>(log_.restarts);
  }

  void pace() {
    const Seconds step = to_seconds(plan_.step.step_time);
    const double over = log_.median / step - 1.0;
    const bool inside = plan_.band && in_seconds(log_.median) >= plan_.band->low &&
                        in_seconds(log_.median) <= plan_.band->high;
    if (over <= 0.0 || inside) {
      return;
    }
    add("step",
        fmt::format("A step takes {}, {} planned: `orrery compare` with a trace of it shows "
                    "where",
                    format_time(log_.median), format_time(step)));
  }

  void limping() {
    if (log_.slower_steps <= 0.0) {
      return;
    }
    const double slower = log_.slower_median / log_.median - 1.0;
    add("limping",
        fmt::format("From step {} on a step takes {} more to the end: watch the median of the last "
                    "steps, and take the slow node out",
                    log_.slower_from, format_percent(slower)),
        (log_.slower_median - log_.median) * log_.slower_steps);
  }

  void interval() {
    const run::RunPlan& plan = *plan_.plan;
    const Seconds stall = to_seconds(plan.stall);
    if (!plan.checkpoint_steps || stall <= Seconds{}) {
      return;
    }
    const Seconds step = to_seconds(plan_.step.step_time);
    const Seconds planned = step * static_cast<double>(*plan.checkpoint_steps);
    const run::CheckpointCost cost{stall, mtbf()};
    const Seconds best = std::max(run::optimal_interval(cost), step);
    const double gain = run::first_order_waste(cost, planned) - run::first_order_waste(cost, best);
    const std::string seen = fmt::format(
        "a restart every {} ({} of them, so give or take {:.0f} %), and a save stops training for "
        "{}",
        format_time(mtbf()), log_.restarts,
        kPercent / std::sqrt(static_cast<double>(log_.restarts)), format_time(stall));
    constexpr double kWorthSaying = 0.001;  // of the useful time
    if (gain < kWorthSaying) {
      add("checkpoint.interval",
          fmt::format("Keep {} between saves: {}", format_time(planned), seen));
    } else {
      add("checkpoint.interval",
          fmt::format("Save every {} in place of {}: {}", format_time(best), format_time(planned),
                      seen),
          step * log_.steps * gain);
    }
  }

  void recovery() {
    const Seconds planned = run::mean_recovery_time(*plan_.plan);
    const Seconds seen = log_.out_of_work / static_cast<double>(log_.restarts);
    if (seen > planned) {
      add("recovery",
          fmt::format("A restart takes {}, {} planned: time until it is noticed (recovery.detect, "
                      "recovery.watchdog), until nodes are there, or until the state is loaded",
                      format_time(seen), format_time(planned)),
          (seen - planned) * static_cast<double>(log_.restarts));
    }
  }

  void spares() {
    run::RunPlan plan = *plan_.plan;
    plan.mtbf = mtbf();
    const run::RepairLoad load = run::repair_load(plan);
    const std::int64_t spares = plan.capacity.spare_nodes();
    if (load.p99 > spares) {
      add("capacity.spares",
          fmt::format("{} in place of {}: as many suffice 99 % of the time, if restarts take nodes "
                      "out as the plan says and a repair takes {}",
                      load.p99, spares, format_time(run::mean_repair(plan))));
    }
  }

  const LoggedRun& log_;
  const report::Evaluation& plan_;
  PostMortem& found_;
};

}  // namespace

PostMortem post_mortem(const LoggedRun& log, const report::Evaluation& plan) {
  PostMortem found;
  found.wall = log.wall;
  found.price = price_of(plan);
  found.rows = rows_of(log, plan);
  found.over_plan = log.wall;
  for (const PostMortemRow& row : found.rows) {
    found.over_plan -= row.planned.value_or(Seconds{});
  }
  Adviser(log, plan, found).advise();
  return found;
}

report::Table table_of(const PostMortem& found) {
  using report::Dimension;
  report::Table table;
  table.columns = {
      {"cause", "where the time went"},       {"count", "times", Dimension::count},
      {"logged_s", "log", Dimension::time},   {"share", "share", Dimension::fraction},
      {"planned_s", "plan", Dimension::time}, {"over_plan_s", "over plan", Dimension::time},
      {"dollars", "cost", Dimension::dollars}};
  const auto number = [](const auto& value, const auto& in) {
    return value ? report::Cell(in(*value)) : report::Cell();
  };
  const auto add = [&](const std::string& label, std::optional<std::int64_t> count, Seconds logged,
                       std::optional<Seconds> planned) {
    const auto over = planned ? std::optional(logged - *planned) : std::nullopt;
    const auto dollars = found.price ? std::optional(*found.price * logged) : std::nullopt;
    table.rows.push_back(
        {label, number(count, [](std::int64_t times) { return static_cast<double>(times); }),
         in_seconds(logged), logged / found.wall, number(planned, in_seconds),
         number(over, in_seconds), number(dollars, in_dollars)});
  };
  for (const PostMortemRow& row : found.rows) {
    add(row.label, row.count, row.logged, row.planned);
  }
  const bool whole = !found.rows.empty() && found.rows.back().planned;
  add("all", std::nullopt, found.wall,
      whole ? std::optional(found.wall - found.over_plan) : std::nullopt);
  return table;
}

}  // namespace orrery::evaluate
