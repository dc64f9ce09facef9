#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/base/format.hpp"
#include "sim/base/text.hpp"
#include "sim/plan/objective.hpp"
#include "sim/plan/plan_report.hpp"
#include "sim/report/difference.hpp"
#include "sim/sweep/sweep_report.hpp"

namespace orrery::plan {

namespace {

using report::Dimension;
using report::Ink;
using report::MetricId;
using report::TextPage;

// Errors of predicted peaks beyond this would surprise: the bar of the memory model.
constexpr double kMemoryError = 0.05;

std::string count_text(std::int64_t count) {
  return format_integer(count);
}

std::string metric_text(const report::Evaluation& evaluation, MetricId id) {
  const report::MetricValue* value = evaluation.metrics.find(id);
  return value == nullptr ? std::string()
                          : report::format_value(report::info(id).dimension, value->value);
}

// The figure by which plans are ranked, in the words of its dimension.
std::string figure_text(const Plan& plan, double value) {
  const std::string text = report::format_value(dimension_of(plan.ranked_by), value);
  return plan.ranked_by == Objective::fewest_gpus ? text + " GPUs" : text;
}

std::string percent_text(double share) {
  return format_percent(std::abs(share));
}

void add_title(TextPage& page, const Plan& plan) {
  page.title(page.paint(Ink::strong,
                        report::printable(fmt::format(
                            "{}: the plan with {}", plan.name, best_words(plan.spec.objective)))));
  for (const std::string& note : plan.notes) {
    page.field("NOTE", page.paint(Ink::warning, report::printable(note)));
  }
}

void add_search(TextPage& page, const Plan& plan) {
  const SearchCounts& counts = plan.counts;
  std::string fate;
  const auto add = [&fate](std::int64_t count, std::string_view words) {
    if (count > 0) {
      fate += fmt::format("{}{} {}", fate.empty() ? "" : ", ", count_text(count), words);
    }
  };
  add(counts.over_memory, "do not fit in memory");
  add(counts.over_host_memory, "need more host memory than there is");
  add(counts.breaks_rule, "break a rule of their schedule");
  add(counts.bounded, "cannot be among the best");
  add(counts.fits, "fit");
  page.section("SEARCH",
               fmt::format("{} layouts on {}: {}",
                           count_text(counts.layouts),
                           report::printable(plan.gpu),
                           fate.empty() ? "none to choose from" : fate));
  if (plan.simulated > 0) {
    page.line(plan.trials > 0
                  ? fmt::format("{} plans simulated with failures over {} trials each, all with "
                                "the same random numbers",
                                count_text(plan.simulated),
                                count_text(plan.trials))
                  : fmt::format("{} plans compared step by step; the scenario asks for no run",
                                count_text(plan.simulated)));
  }
}

// "46.2 d, 45.1 d to 47.9 d in 8 of 10 trials".
std::string spread_text(const report::Evaluation& evaluation, MetricId id, std::string_view name) {
  const report::MetricValue* value = evaluation.metrics.find(id);
  if (value == nullptr) {
    return {};
  }
  const Dimension dimension = report::info(id).dimension;
  std::string text = fmt::format("{} {}", name, report::format_value(dimension, value->value));
  if (value->trials) {
    const std::string low = report::format_value(dimension, value->trials->quantile(0.1));
    const std::string high = report::format_value(dimension, value->trials->quantile(0.9));
    if (low != high) {
      text += fmt::format(" ({} to {} in 8 of 10 trials)", low, high);
    }
  }
  return text;
}

void add_joined(TextPage& page, const std::vector<std::string>& parts) {
  std::string line;
  for (const std::string& part : parts) {
    if (!part.empty()) {
      line += line.empty() ? part : ", " + part;
    }
  }
  if (!line.empty()) {
    page.line(line);
  }
}

std::string against_current(const Plan& plan) {
  const Finalist& current = *plan.current;
  const report::Evaluation& evaluation = current.evaluation;
  if (current.proposal.candidate == plan.finalists.front().proposal.candidate &&
      plan.finalists.front().proposal.changes.empty()) {
    return "the scenario as it stands is this plan";
  }
  if (!evaluation.feasible) {
    return fmt::format("the scenario as it stands does not fit: {}",
                       evaluation.reasons.empty() ? "memory" : evaluation.reasons.front());
  }
  if (current.standing == Standing::tie) {
    return fmt::format("the scenario as it stands ({}) is a tie", figure_text(plan, current.value));
  }
  // In its own figure where that is another one than the objective: as many GPUs, but earlier.
  const bool same = current.behind_in == plan.ranked_by;
  const double of =
      same ? current.value
           : objective_value(evaluation, current.behind_in).value_or(current.behind.mean);
  const double gain = -current.behind.mean;
  const std::string figure =
      same ? figure_text(plan, of) : report::format_value(dimension_of(current.behind_in), of);
  const std::string share = of != 0.0 ? percent_text(gain / of) : std::string("0%");
  if (gain > 0.0) {
    return fmt::format("the scenario as it stands is better: {}, {} less", figure, share);
  }
  return fmt::format("the scenario as it stands: {}; this plan {}{} (-{})",
                     figure,
                     report::format_change(dimension_of(current.behind_in), gain),
                     current.behind_in == Objective::fewest_gpus ? " GPUs" : "",
                     share);
}

void add_best(TextPage& page, const Plan& plan) {
  const Finalist& best = plan.finalists.front();
  const report::Evaluation& evaluation = best.evaluation;
  page.section(
      "BEST",
      page.paint(Ink::good,
                 report::printable(fmt::format(
                     "{} GPUs: {}", count_text(best.proposal.gpus), best.proposal.words))));
  const step::Feasibility& fit = evaluation.step.feasibility;
  const std::string memory =
      evaluation.step.memory.empty()
          ? std::string()
          : fmt::format("{} of {} per GPU",
                        format_bytes_binary(evaluation.step.memory.front().limit - fit.headroom),
                        format_bytes_binary(evaluation.step.memory.front().limit));
  add_joined(page,
             {fmt::format("step {}", metric_text(evaluation, MetricId::step_time)),
              fmt::format("MFU {}", metric_text(evaluation, MetricId::mfu)),
              memory});
  add_joined(page,
             {spread_text(evaluation, MetricId::finish_time, "finish"),
              spread_text(evaluation, MetricId::cost, "cost")});
  const std::string goodput = metric_text(evaluation, MetricId::goodput);
  const std::string per_token = metric_text(evaluation, MetricId::cost_per_million_tokens);
  add_joined(page,
             {goodput.empty() ? "" : "goodput " + goodput,
              per_token.empty() ? "" : per_token + " per million tokens"});
  if (plan.current) {
    page.line(report::printable(against_current(plan)));
  }
}

// Traits in which the plans of a table differ.
std::vector<std::size_t> telling_traits(const std::vector<const Proposal*>& proposals) {
  std::vector<std::size_t> telling;
  if (proposals.empty()) {
    return telling;
  }
  for (std::size_t i = 0; i < proposals.front()->traits.size(); ++i) {
    std::set<std::string> values;
    for (const Proposal* proposal : proposals) {
      values.insert(i < proposal->traits.size() ? proposal->traits[i].value : "");
    }
    if (values.size() > 1) {
      telling.push_back(i);
    }
  }
  return telling;
}

void add_traits(const std::vector<const Proposal*>& proposals, sweep::TextTable& table) {
  for (const std::size_t i : telling_traits(proposals)) {
    table.heads.push_back(proposals.front()->traits[i].name);
    for (std::size_t row = 0; row < proposals.size(); ++row) {
      table.rows[row].push_back(report::printable(proposals[row]->traits[i].value));
    }
  }
}

// A table as lines of a section, cut at the width of the page.
std::vector<std::string> table_lines(const sweep::TextTable& table, const TextPage& page) {
  sweep::TextTable narrow = table;
  while (true) {
    const auto lines = lines_of(sweep::to_text(narrow, page));
    const bool fits = std::all_of(lines.begin(), lines.end(), [](const std::string& line) {
      return report::text_columns(line) + report::kPageIndent <= report::kPageWidth;
    });
    if (fits || narrow.heads.size() <= 2) {
      return lines;
    }
    narrow.heads.pop_back();
    for (auto& row : narrow.rows) {
      row.resize(std::min(row.size(), narrow.heads.size()));
    }
  }
}

std::string standing_text(const Finalist& finalist, const TextPage& page) {
  switch (finalist.standing) {
    case Standing::best:
      return "-";
    case Standing::tie:
      return "tie";
    case Standing::behind:
      break;
  }
  const Dimension dimension = dimension_of(finalist.behind_in);
  std::string text = report::format_change(dimension, finalist.behind.mean);
  text += finalist.behind_in == Objective::fewest_gpus ? " GPUs" : "";
  if (finalist.paired) {
    const double half = 0.5 * (finalist.behind.ci95.high - finalist.behind.ci95.low);
    text += fmt::format(" {} {}", page.plus_minus(), report::format_value(dimension, half));
  }
  return text;
}

void add_ranking(TextPage& page, const Plan& plan) {
  if (plan.finalists.size() < 2) {
    return;
  }
  sweep::TextTable table;
  table.left = 1;
  table.heads = {"rank", std::string(to_string(plan.ranked_by)), "behind"};
  std::vector<const Proposal*> proposals;
  for (std::size_t i = 0; i < plan.finalists.size(); ++i) {
    const Finalist& finalist = plan.finalists[i];
    table.rows.push_back({fmt::format("{}", i + 1),
                          figure_text(plan, finalist.value),
                          standing_text(finalist, page)});
    proposals.push_back(&finalist.proposal);
  }
  add_traits(proposals, table);
  const std::vector<std::string> lines = table_lines(table, page);
  page.section("RANKING", lines.front());
  constexpr std::size_t kHanging = 6;
  for (std::size_t i = 0; i < plan.finalists.size(); ++i) {
    page.line(lines[i + 1]);
    if (!plan.finalists[i].reason.empty()) {
      page.line(page.paint(Ink::faint, "    " + report::printable(plan.finalists[i].reason)),
                kHanging);
    }
  }
}

void add_front(TextPage& page, const Front& front) {
  // Of equal points one stands for all, the winner if it is among them.
  std::vector<const FrontPoint*> on;
  for (const FrontPoint& point : front.points) {
    if (!point.on_front) {
      continue;
    }
    const bool again = !on.empty() && on.back()->x == point.x && on.back()->y == point.y;
    if (!again) {
      on.push_back(&point);
    } else if (point.winner) {
      on.back() = &point;
    }
  }
  constexpr std::size_t kMostShown = 8;
  const std::size_t stride = (on.size() + kMostShown - 1) / kMostShown;
  std::vector<const FrontPoint*> shown;
  for (std::size_t i = 0; i < on.size(); ++i) {
    if (i % stride == 0 || i + 1 == on.size() || on[i]->winner) {
      shown.push_back(on[i]);
    }
  }
  std::size_t wide_x = report::text_columns(front.x.title);
  std::size_t wide_y = report::text_columns(front.y.title);
  for (const FrontPoint* point : shown) {
    wide_x =
        std::max(wide_x, report::text_columns(report::format_value(front.x.dimension, point->x)));
    wide_y =
        std::max(wide_y, report::text_columns(report::format_value(front.y.dimension, point->y)));
  }
  page.section("TRADE-OFF",
               page.paint(Ink::faint,
                          fmt::format("{}  {}  {}",
                                      report::pad_left(front.x.title, wide_x),
                                      report::pad_left(front.y.title, wide_y),
                                      front.simulated ? "simulated plans that no other beats"
                                                      : "estimates that no other beats")));
  const std::size_t hanging = wide_x + wide_y + 4;
  for (const FrontPoint* point : shown) {
    page.line(
        fmt::format("{}  {}  {}{}",
                    report::pad_left(report::format_value(front.x.dimension, point->x), wide_x),
                    report::pad_left(report::format_value(front.y.dimension, point->y), wide_y),
                    point->winner ? "best: " : "",
                    report::printable(point->proposal.words)),
        hanging);
  }
}

std::string remedy_text(const Neighbour::Remedy& remedy) {
  return fmt::format("; fits with {} {}: {}{}",
                     remedy.change.name,
                     remedy.change.value,
                     report::format_value(Dimension::time, remedy.step_time),
                     remedy.winner ? ", the plan above" : "");
}

void add_neighbours(TextPage& page, const Plan& plan) {
  if (plan.neighbours.empty()) {
    return;
  }
  page.section(
      "NEARLY",
      plan.finalists.empty() ? "what is least short of memory:" : "faster, if only they fitted:");
  constexpr std::size_t kHanging = 4;
  for (const Neighbour& neighbour : plan.neighbours) {
    const std::string gain =
        neighbour.gain > 0.0 ? fmt::format(" ({} faster)", percent_text(neighbour.gain)) : "";
    page.line(
        report::printable(fmt::format("{}: step {}{}, short by {} on stage {}{}",
                                      neighbour.proposal.words,
                                      report::format_value(Dimension::time, neighbour.step_time),
                                      gain,
                                      format_bytes_binary(bytes(neighbour.short_by)),
                                      neighbour.stage,
                                      neighbour.remedy ? remedy_text(*neighbour.remedy) : "")),
        kHanging);
  }
}

void add_stability(TextPage& page, const Plan& plan) {
  const Stability& stability = plan.stability;
  if (!stability.checked) {
    return;
  }
  if (stability.stable) {
    page.section("FIRM",
                 fmt::format("yes: no other plan leads by more than {} when any of {} coefficients "
                             "is off by its error",
                             format_percent(plan.spec.tie, {.trim = true}),
                             stability.perturbations.size() / 2));
  } else {
    page.section("FIRM", page.paint(Ink::warning, "no: the winner changes when"));
    constexpr std::size_t kHanging = 4;
    for (const Perturbation& one : stability.perturbations) {
      if (one.overtaker) {
        page.line(report::printable(fmt::format("{} is {} {}: {} leads by {}",
                                                one.coefficient,
                                                percent_text(one.change),
                                                one.change > 0.0 ? "higher" : "lower",
                                                one.overtaker->words,
                                                percent_text(one.by))),
                  kHanging);
      }
    }
  }
  if (stability.memory_margin < kMemoryError &&
      !plan.finalists.front().evaluation.step.memory.empty()) {
    page.line(page.paint(
        Ink::warning,
        fmt::format("memory: {} of the peak stay free, and peaks are predicted within about {}; "
                    "plan.constraints.memory_headroom asks for more",
                    format_percent(stability.memory_margin),
                    format_percent(kMemoryError, {.trim = true}))));
  }
}

}  // namespace

std::string to_text(const Plan& plan, report::TextStyle style) {
  TextPage page(style);
  add_title(page, plan);
  add_search(page, plan);
  if (!plan.finalists.empty()) {
    add_best(page, plan);
    add_ranking(page, plan);
    for (const Front& front : plan.fronts) {
      add_front(page, front);
    }
  }
  add_neighbours(page, plan);
  add_stability(page, plan);
  return page.text();
}

}  // namespace orrery::plan
