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
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "sim/answer/sweep/answer_rows.hpp"
#include "sim/answer/sweep/point_evaluator.hpp"
#include "sim/base/check.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text/format.hpp"
#include "sim/run/monte_carlo.hpp"

namespace orrery::sweep {

namespace {

using report::Dimension;
using run::RunPlan;

constexpr std::string_view kShare = "capacity.spot.share";
constexpr std::string_view kRate = "capacity.spot.rate";

double per_hour(PerSecond rate) { return in_per_second(rate) * in_seconds(hours(1.0)); }

std::string rate_text(double per_hour) { return fmt::format("{:.6g}/h", per_hour); }

// Means over the trials of one run.
struct Side {
  double cost = 0.0;
  double tokens = 0.0;
  double wall = 0.0;
  double goodput = 0.0;
  double preemptions = 0.0;

  [[nodiscard]] double per_token() const { return cost / tokens; }
};

// Nothing when trials give up or train nothing.
std::optional<Side> side_of(const run::MonteCarloResult& run) {
  if (run.finished < run.trials || run.tokens.mean() <= 0.0) {
    return std::nullopt;
  }
  return Side{run.cost.mean(), run.tokens.mean(), run.wall.mean(), run.goodput.mean(),
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
    auto evaluation = evaluator_.evaluation(0, asking_.question.threads, asking_.question.stop,
                                            problems, asking_.question.progress);
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
  const auto run = run::simulate(changed, {.threads = asking.question.threads,
                                           .stop = asking.question.stop,
                                           .progress = asking.question.progress});
  if (!run) {
    throw Error(ErrorKind::interrupted, "interrupted");
  }
  return side_of(*run);
}

// `spot`: what the plan's own price gives.
std::optional<double> break_even(const Asking& asking, const RunPlan& plan, const Side& spot,
                                 const Side& held) {
  const auto free = at_spot_price(asking, plan, 0.0);
  const bool priced = plan.pricing.spot && !plan.pricing.traced_spot;
  const double price = priced ? in_dollars_per_hour(*plan.pricing.spot) /
                                    static_cast<double>(plan.step.gpus_per_node)
                              : 1.0;
  const auto paid = priced ? std::optional(spot) : at_spot_price(asking, plan, price);
  if (!free || !paid || paid->cost <= free->cost) {
    return std::nullopt;
  }
  return (held.per_token() * free->tokens - free->cost) / (paid->cost - free->cost) * price;
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
      pair.break_even = break_even(asking_, *evaluation->plan, *pair.spot, *pair.held);
    }
    return pair;
  }

 private:
  [[nodiscard]] std::vector<Axis> held_axes() const {
    std::vector<Axis> axes;
    std::copy_if(axes_.begin(), axes_.end(), std::back_inserter(axes),
                 [](const Axis& axis) { return !is_about_spot(axis); });
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
  double last_tried = 0.0;      // per hour
};

// What a token costs more on spot, as a logarithm, by preemptions per node and hour; infinite where
// trials give up.
using Excess = std::map<double, double>;

double excess_of(const std::optional<Side>& spot, const Side& held) {
  return spot ? std::log(spot->per_token() / held.per_token())
              : std::numeric_limits<double>::infinity();
}

// Between the rates that are known; beyond them by doubling or halving. Nothing after an error.
std::optional<BreakEvenRate> find_rate(const Asking& asking, double stated, const Side& held,
                                       Excess known) {
  constexpr int kDoublings = 12;
  constexpr int kMostSteps = 10;
  constexpr double kNear = 1e-4;  // of the logarithm of the rate and of the cost
  Runs runs(asking, {axis_with(asking, kRate, {rate_text(stated)})});
  bool sound = true;
  const auto look_at = [&](double rate) {
    const auto evaluation = runs.at({rate_text(rate)});
    sound = sound && evaluation.has_value();
    known[rate] = excess_of(sound ? side_of(*evaluation->run) : std::nullopt, held);
  };
  if (!known.contains(stated)) {
    look_at(stated);
  }
  BreakEvenRate found;
  const auto first_dearer = [&known] {
    return std::ranges::find_if(known, [](const auto& one) { return one.second > 0.0; });
  };
  const auto crossed = [&] {
    return first_dearer() != known.end() && first_dearer() != known.begin();
  };
  for (int i = 0; sound && !crossed() && i < kDoublings; ++i) {
    const bool cheaper = known.rbegin()->second <= 0.0;
    found.last_tried = cheaper ? known.rbegin()->first * 2.0 : known.begin()->first * 0.5;
    look_at(found.last_tried);
  }
  found.always_cheaper = first_dearer() == known.end();
  // A secant where both ends have a cost, else the middle; what stays at one end counts half.
  for (int i = 0; sound && crossed() && !found.per_hour; ++i) {
    const auto [above, dearer] = *first_dearer();
    const auto [below, cheaper] = *std::prev(first_dearer());
    const double width = std::log(above / below);
    double share = std::isfinite(dearer) ? -cheaper / (dearer - cheaper) : 0.5;
    share = std::clamp(share, 0.02, 0.98);
    const double between = below * std::exp(share * width);
    if (i == kMostSteps || width < kNear) {
      found.per_hour = between;
    } else {
      look_at(between);
      found.per_hour = std::abs(known[between]) < kNear ? std::optional(between) : std::nullopt;
    }
  }
  return sound ? std::optional(found) : std::nullopt;
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

constexpr std::array<double, 6> kRateFactors = {0.0, 0.25, 0.5, 1.0, 2.0, 4.0};

Axis rates_around(const Asking& asking, double stated) {
  std::vector<std::string> values;
  values.reserve(kRateFactors.size());
  for (const double factor : kRateFactors) {
    values.push_back(rate_text(stated * factor));
  }
  return axis_with(asking, kRate, std::move(values));
}

bool is_priced(const RunPlan& plan) { return plan.pricing.spot || plan.pricing.traced_spot; }

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
                        format_price_rate(dollars_per_hour(even)), beside)
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
                  format_percent(std::abs(saving)), saving < 0.0 ? "more" : "less",
                  format_time(seconds(std::abs(later))), later < 0.0 ? "earlier" : "later"));
}

void say_rate(const BreakEvenRate& rate, Answer& answer) {
  if (rate.per_hour) {
    answer.facts.push_back({"break_even_preemptions_per_node_hour", *rate.per_hour});
    answer.sentences.push_back(
        fmt::format("At that price spot pays up to {:.3g} preemptions per node and hour, one every "
                    "{} of a node.",
                    *rate.per_hour, format_time(hours(1.0 / *rate.per_hour))));
  } else {
    answer.sentences.push_back(fmt::format(
        "At that price spot {} at every rate of preemptions {} {:.3g} per node and hour.",
        rate.always_cheaper ? "is cheaper" : "is dearer", rate.always_cheaper ? "up to" : "down to",
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
  columns.reserve(axes.size());
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

// What a token costs more, by rates around the stated one; none where `stated` is 0. Nothing after
// an error.
std::optional<Excess> add_rows(const Asking& asking, const std::vector<Axis>& axes,
                               const std::vector<Point>& points, double stated, const Side& held,
                               Answer& answer) {
  Comparison comparison(asking, axes);
  Excess excess;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto pair = comparison.at(points[i]);
    if (!pair) {
      return std::nullopt;
    }
    add_row(points[i], *pair, answer);
    if (stated > 0.0 && kRateFactors[i] > 0.0) {
      excess[stated * kRateFactors[i]] = excess_of(pair->spot, held);
    }
  }
  return excess;
}

// The question with a progress that counts the trials of all its runs, which follow one another. Of
// a few runs nobody knows before: those that look for a rate.
Question counted(const Question& question) {
  struct Runs {
    std::int64_t expected = 0;
    std::int64_t done = 0;
  };

  constexpr std::int64_t kOfAPoint = 3;  // the evaluation, without the price and at another one
  constexpr std::int64_t kBesidePoints = 8;
  std::int64_t points = question.sweep.axes.empty() ? std::int64_t{kRateFactors.size()} : 1;
  for (const Axis& axis : question.sweep.axes) {
    points *= static_cast<std::int64_t>(axis.values.size());
  }
  Question result = question;
  if (question.progress) {
    const auto runs = std::make_shared<Runs>(Runs{kOfAPoint * points + kBesidePoints, 0});
    result.progress = [runs, report = question.progress](std::int64_t done, std::int64_t all) {
      const std::int64_t expected = std::max(runs->expected, runs->done + 1);
      report(runs->done * all + done, expected * all);
      runs->done += done == all ? 1 : 0;
    };
  }
  return result;
}

}  // namespace

std::optional<Answer> spot_break_even(const Asking& plain) {
  const Question question = counted(plain.question);
  const Asking asking{question, plain.team, plain.diagnostics};
  const auto evaluation = evaluate_base(asking, question.progress);
  if (!evaluation || has_no_question(asking, *evaluation)) {
    return std::nullopt;
  }
  const RunPlan& plan = *evaluation->plan;
  const auto base = Comparison(asking, {}).at({});
  if (!base) {
    return std::nullopt;
  }
  if (!base->break_even) {
    no_answer(asking, "capacity.spot",
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
  const auto& mtbp = plan.capacity.spot->mtbp;
  const double stated = mtbp ? per_hour(1.0 / *mtbp) : 0.0;
  const bool own_rates = asking.question.sweep.axes.empty() && mtbp.has_value();
  const std::vector<Axis> axes =
      own_rates ? std::vector{rates_around(asking, stated)} : asking.question.sweep.axes;
  answer.columns = columns_for(axes);
  const auto points = make_points(axes, {}, asking.diagnostics);
  if (!points) {
    return std::nullopt;
  }
  const auto excess =
      add_rows(asking, axes, *points, own_rates ? stated : 0.0, *base->held, answer);
  if (!excess) {
    return std::nullopt;
  }
  if (is_priced(plan) && plan.capacity.spot->mtbp) {
    const auto rate = find_rate(asking, stated, *base->held, *excess);
    if (!rate) {
      return std::nullopt;
    }
    say_rate(*rate, answer);
  }
  return answer;
}

}  // namespace orrery::sweep
