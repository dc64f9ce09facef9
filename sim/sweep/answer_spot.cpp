// Does spot pay? The price, and the rate of preemptions, up to which it does.
//
//   cost(s) = A + B s  per run,  s = (cost' tokens / tokens' - A) / B        (break-even price)
//   r with cost(s; r) / tokens(r) = cost' / tokens'                          (break-even rate)
//
// symbol       | meaning                                                   | unit      | origin
// -------------|-----------------------------------------------------------|-----------|----------
// s            | price of one GPU on spot                                  | $/h       | computed
// A, B         | mean cost without the price of spot, GPU-hours on spot    | $, GPU h  | run/
// r            | preemptions of one node                                   | 1/h       | computed
// ' (prime)    | the same scenario with capacity.spot.share: 0             | $, tokens | run/
//
// Both sides choose their own interval of checkpoints where it is `auto`. All runs share the seed.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text/format.hpp"
#include "sim/run/monte_carlo.hpp"
#include "sim/sweep/answer_rows.hpp"
#include "sim/sweep/point_evaluator.hpp"

namespace orrery::sweep {

namespace {

using report::Dimension;
using run::RunPlan;

constexpr std::string_view kShare = "capacity.spot.share";
constexpr std::string_view kRate = "capacity.spot.rate";

double per_hour(PerSecond rate) {
  return in_per_second(rate) * in_seconds(hours(1.0));
}

std::string rate_text(double per_hour) {
  return fmt::format("{:.6g}/h", per_hour);
}

// Means over the trials of one run.
struct Side {
  double cost = 0.0;
  double tokens = 0.0;
  double wall = 0.0;
  double goodput = 0.0;
  double preemptions = 0.0;

  [[nodiscard]] double per_token() const {
    return cost / tokens;
  }
};

// Nothing when trials give up or train nothing.
std::optional<Side> side_of(const run::MonteCarloResult& run) {
  if (run.finished < run.trials || run.tokens.mean() <= 0.0) {
    return std::nullopt;
  }
  return Side{run.cost.mean(),
              run.tokens.mean(),
              run.wall.mean(),
              run.goodput.mean(),
              static_cast<double>(run.happened.preemptions) / static_cast<double>(run.trials)};
}

// One scenario on spot, beside itself without.
struct Pair {
  std::optional<Side> spot;
  std::optional<Side> held;
  std::optional<double> break_even;  // $/h of a GPU; negative: not even for nothing
};

// Runs points that are made one after the other; the step is kept between them.
class Runs {
 public:
  Runs(const Asking& asking, std::vector<Axis> axes)
      : asking_(asking), sweep_(asking.question.sweep), evaluator_(sweep_) {
    sweep_.axes = std::move(axes);
  }

  [[nodiscard]] std::optional<report::Evaluation> at(Point point) {
    sweep_.points = {std::move(point)};
    Diagnostics problems;
    auto evaluation =
        evaluator_.evaluation(0, asking_.question.threads, asking_.question.stop, problems);
    if (!evaluation) {
      asking_.diagnostics.add(problems);
    }
    return evaluation;
  }

 private:
  const Asking& asking_;
  Sweep sweep_;
  PointEvaluator evaluator_;
};

std::optional<Side> at_spot_price(const Asking& asking, const RunPlan& plan, double gpu_hour) {
  RunPlan changed = plan;
  changed.pricing.traced_spot = false;
  changed.pricing.spot = dollars_per_hour(gpu_hour) * static_cast<double>(plan.step.gpus_per_node);
  const auto run =
      run::simulate(changed, {.threads = asking.question.threads, .stop = asking.question.stop});
  if (!run) {
    throw Error(ErrorKind::interrupted, "interrupted");
  }
  return side_of(*run);
}

std::optional<double> break_even(const Asking& asking, const RunPlan& plan, const Side& held) {
  const auto free = at_spot_price(asking, plan, 0.0);
  const auto paid = at_spot_price(asking, plan, 1.0);
  if (!free || !paid || paid->cost <= free->cost) {
    return std::nullopt;
  }
  return (held.per_token() * free->tokens - free->cost) / (paid->cost - free->cost);
}

Axis axis_with(const Asking& asking, std::string_view key, std::vector<std::string> values) {
  auto axis = axis_of(key, std::move(values), {"--answer", 0, 0}, asking.diagnostics);
  ORRERY_CHECK(axis.has_value(), "{} is no key of a scenario", key);
  return *std::move(axis);
}

bool is_about_spot(const Axis& axis) {
  return axis.key.path.starts_with("capacity.spot.") || axis.key.path == "prices.spot_gpu_hour";
}

// The rows of the answer, each beside the run without spot that belongs to it.
class Comparison {
 public:
  Comparison(const Asking& asking, std::vector<Axis> axes)
      : asking_(asking), axes_(std::move(axes)), spot_(asking, axes_), held_(asking, held_axes()) {}

  // Nothing after an error.
  [[nodiscard]] std::optional<Pair> at(const Point& point) {
    const auto evaluation = spot_.at(point);
    if (!evaluation) {
      return std::nullopt;
    }
    const auto held = held_at(point);
    if (!held) {
      return std::nullopt;
    }
    Pair pair{.spot = side_of(*evaluation->run), .held = *held, .break_even = {}};
    if (pair.spot && pair.held && evaluation->plan->capacity.spot) {
      pair.break_even = break_even(asking_, *evaluation->plan, *pair.held);
    }
    return pair;
  }

 private:
  [[nodiscard]] std::vector<Axis> held_axes() const {
    std::vector<Axis> axes;
    std::copy_if(axes_.begin(), axes_.end(), std::back_inserter(axes), [](const Axis& axis) {
      return !is_about_spot(axis);
    });
    axes.push_back(axis_with(asking_, kShare, {"0"}));
    return axes;
  }

  // Nothing after an error; without a value when the trials give up.
  std::optional<std::optional<Side>> held_at(const Point& point) {
    Point reduced;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      if (!is_about_spot(axes_[i])) {
        reduced.push_back(point[i]);
      }
    }
    reduced.emplace_back("0");
    const auto known = known_.find(reduced);
    if (known != known_.end()) {
      return known->second;
    }
    const auto evaluation = held_.at(reduced);
    if (!evaluation) {
      return std::nullopt;
    }
    return known_.emplace(reduced, side_of(*evaluation->run)).first->second;
  }

  const Asking& asking_;
  std::vector<Axis> axes_;
  Runs spot_;
  Runs held_;
  std::map<Point, std::optional<Side>> known_;
};

// The largest rate at which spot is not dearer than no spot, at the price of the scenario.
struct BreakEvenRate {
  std::optional<double> per_hour;
  bool always_cheaper = false;  // up to the largest rate that was tried
  bool always_dearer = false;   // down to the smallest
  double last_tried = 0.0;      // per hour
};

// By doubling or halving from the rate of the scenario, then by halves of the logarithm. A run that
// gives up is dearer than any that ends. Nothing after an error.
std::optional<BreakEvenRate> find_rate(const Asking& asking, double stated, const Side& held) {
  constexpr int kDoublings = 12;
  constexpr int kHalvings = 10;
  Runs runs(asking, {axis_with(asking, kRate, {rate_text(stated)})});
  bool sound = true;
  const auto is_cheaper = [&](double rate) {
    const auto evaluation = runs.at({rate_text(rate)});
    sound = sound && evaluation.has_value();
    const auto side = sound ? side_of(*evaluation->run) : std::nullopt;
    return side && side->per_token() <= held.per_token();
  };
  BreakEvenRate found;
  found.last_tried = stated;
  const bool cheaper = is_cheaper(stated);
  double low = stated;
  double high = stated;
  bool crossed = false;
  for (int i = 0; sound && !crossed && i < kDoublings; ++i) {
    low = cheaper ? high : low * 0.5;
    high = cheaper ? high * 2.0 : low * 2.0;
    found.last_tried = cheaper ? high : low;
    crossed = is_cheaper(found.last_tried) != cheaper;
  }
  for (int i = 0; sound && crossed && i < kHalvings; ++i) {
    const double middle = std::sqrt(low * high);
    (is_cheaper(middle) ? low : high) = middle;
  }
  if (!sound) {
    return std::nullopt;
  }
  found.always_cheaper = !crossed && cheaper;
  found.always_dearer = !crossed && !cheaper;
  if (crossed) {
    found.per_hour = std::sqrt(low * high);
  }
  return found;
}

// Why this scenario asks no such question; nothing when it does.
bool has_no_question(const Asking& asking, const report::Evaluation& base) {
  const RunPlan& plan = *base.plan;
  if (!plan.capacity.spot) {
    no_answer(asking, "capacity.spot", "no node is on spot");
    return true;
  }
  if (plan.pricing.fixed.empty()) {
    no_answer(asking, "prices.gpu_hour", "nodes that are not on spot have no price");
    return true;
  }
  return false;
}

// Values of the user, else multiples of the stated rate, else the scenario alone.
std::vector<Axis> axes_for(const Asking& asking, const RunPlan& plan) {
  std::vector<Axis> axes = asking.question.sweep.axes;
  const auto& mtbp = plan.capacity.spot->mtbp;
  if (axes.empty() && mtbp) {
    const double stated = per_hour(1.0 / *mtbp);
    std::vector<std::string> values;
    for (const double factor : {0.0, 0.25, 0.5, 1.0, 2.0, 4.0}) {
      values.push_back(rate_text(stated * factor));
    }
    axes.push_back(axis_with(asking, kRate, std::move(values)));
  }
  return axes;
}

bool is_priced(const RunPlan& plan) {
  return plan.pricing.spot || plan.pricing.traced_spot;
}

void say_price(const RunPlan& plan, const Pair& base, Answer& answer) {
  const double even = *base.break_even;
  answer.facts.push_back({"break_even_usd_per_gpu_hour", even});
  const auto& fixed = plan.pricing.fixed;
  std::string beside;
  if (fixed.size() == 1) {
    const double other =
        in_dollars_per_hour(fixed.front().per_node) / static_cast<double>(plan.step.gpus_per_node);
    answer.facts.push_back({"other_usd_per_gpu_hour", other});
    beside = fmt::format(" ({} for the others)", format_price_rate(dollars_per_hour(other)));
  }
  answer.sentences.push_back(
      even > 0.0
          ? fmt::format("At {} for a GPU on spot{} a token costs as much as without spot nodes; "
                        "below that price spot is cheaper.",
                        format_price_rate(dollars_per_hour(even)),
                        beside)
          : std::string("A token costs less without spot nodes, even if those cost nothing."));
}

void say_difference(const Pair& base, Answer& answer) {
  const double saving = 1.0 - base.spot->per_token() / base.held->per_token();
  const double later = base.spot->wall * base.held->tokens / base.spot->tokens - base.held->wall;
  answer.facts.push_back({"saving", saving});
  answer.facts.push_back({"later_s", later});
  answer.sentences.push_back(
      fmt::format("At the price of the scenario a token on spot costs {} {} than without, and the "
                  "same work ends {} {}.",
                  format_percent(std::abs(saving)),
                  saving < 0.0 ? "more" : "less",
                  format_time(seconds(std::abs(later))),
                  later < 0.0 ? "earlier" : "later"));
}

void say_rate(const BreakEvenRate& rate, Answer& answer) {
  if (rate.per_hour) {
    answer.facts.push_back({"break_even_preemptions_per_node_hour", *rate.per_hour});
    answer.sentences.push_back(
        fmt::format("At that price spot pays up to {:.3g} preemptions per node and hour, one every "
                    "{} of a node.",
                    *rate.per_hour,
                    format_time(hours(1.0 / *rate.per_hour))));
  } else {
    answer.sentences.push_back(fmt::format(
        "At that price spot {} at every rate of preemptions {} {:.3g} per node and hour.",
        rate.always_cheaper ? "is cheaper" : "is dearer",
        rate.always_cheaper ? "up to" : "down to",
        rate.last_tried));
  }
}

report::Cell per_million(const std::optional<Side>& side) {
  return side ? report::Cell(side->per_token() * kMega) : report::Cell();
}

void add_row(const Point& point, const Pair& pair, Answer& answer) {
  const auto of_spot = [&pair](double Side::*figure) {
    return pair.spot ? report::Cell((*pair.spot).*figure) : report::Cell();
  };
  std::vector<report::Cell> line(point.begin(), point.end());
  line.push_back(pair.break_even ? report::Cell(*pair.break_even) : report::Cell());
  line.push_back(per_million(pair.spot));
  line.push_back(per_million(pair.held));
  line.push_back(of_spot(&Side::preemptions));
  line.push_back(of_spot(&Side::goodput));
  line.push_back(of_spot(&Side::wall));
  line.push_back(pair.held ? report::Cell(pair.held->wall) : report::Cell());
  std::string mark = pair.spot ? "" : "gives up";
  if (pair.spot && pair.held) {
    mark = pair.spot->per_token() < pair.held->per_token() ? "pays" : "";
  }
  line.emplace_back(std::move(mark));
  answer.rows.push_back(std::move(line));
}

std::vector<report::Column> columns_for(const std::vector<Axis>& axes) {
  std::vector<report::Column> columns;
  for (const Axis& axis : axes) {
    columns.push_back({axis.key.path, axis.key.path, std::nullopt});
  }
  columns.insert(columns.end(),
                 {{"break_even_usd_per_gpu_hour", "breaks even", Dimension::price},
                  {"cost_per_million_tokens_usd", "1M tokens", Dimension::dollars},
                  {"cost_per_million_tokens_without_usd", "without", Dimension::dollars},
                  {"preemptions", "losses", std::nullopt},
                  {"goodput", "goodput", Dimension::fraction},
                  {"finish_time_s", "finish", Dimension::time},
                  {"finish_time_without_s", "without", Dimension::time},
                  {"mark", "", std::nullopt}});
  return columns;
}

}  // namespace

std::optional<Answer> spot_break_even(const Asking& asking) {
  const auto evaluation = evaluate_base(asking);
  if (!evaluation || has_no_question(asking, *evaluation)) {
    return std::nullopt;
  }
  const RunPlan& plan = *evaluation->plan;
  const auto base = Comparison(asking, {}).at({});
  if (!base) {
    return std::nullopt;
  }
  if (!base->break_even) {
    no_answer(asking,
              "capacity.spot",
              !base->held   ? "without spot nodes trials give up"
              : !base->spot ? "trials give up"
                            : "no spot node is ever had");
    return std::nullopt;
  }
  Answer answer = begin_answer(asking);
  say_price(plan, *base, answer);
  if (is_priced(plan)) {
    say_difference(*base, answer);
  }
  if (is_priced(plan) && plan.capacity.spot->mtbp) {
    const auto rate = find_rate(asking, per_hour(1.0 / *plan.capacity.spot->mtbp), *base->held);
    if (!rate) {
      return std::nullopt;
    }
    say_rate(*rate, answer);
  }
  const std::vector<Axis> axes = axes_for(asking, plan);
  answer.columns = columns_for(axes);
  const auto points = make_points(axes, {}, asking.diagnostics);
  if (!points) {
    return std::nullopt;
  }
  Comparison comparison(asking, axes);
  for (const Point& point : *points) {
    const auto pair = comparison.at(point);
    if (!pair) {
      return std::nullopt;
    }
    add_row(point, *pair, answer);
    if (asking.question.progress) {
      asking.question.progress(static_cast<std::int64_t>(answer.rows.size()),
                               static_cast<std::int64_t>(points->size()));
    }
  }
  return answer;
}

}  // namespace orrery::sweep
