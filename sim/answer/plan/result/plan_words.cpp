#include "sim/answer/plan/result/plan_words.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/answer/plan/search/objective.hpp"
#include "sim/answer/report/files/figures.hpp"
#include "sim/answer/report/metric_band.hpp"
#include "sim/answer/report/text/text_page.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::plan {

namespace {

using report::Dimension;
using report::MetricId;

std::string metric_text(const report::Evaluation& evaluation, MetricId id) {
  const report::MetricValue* value = evaluation.metrics.find(id);
  return value == nullptr
             ? std::string()
             : report::format_value(report::info(id).dimension, report::typical(*value));
}

std::string percent_text(double share) { return format_percent(std::abs(share)); }

void add_joined(const std::vector<std::string>& parts, std::vector<std::string>& lines) {
  std::string line;
  for (const std::string& part : parts) {
    if (!part.empty()) {
      line += line.empty() ? part : ", " + part;
    }
  }
  if (!line.empty()) {
    lines.push_back(std::move(line));
  }
}

std::string fate_of(const Plan& plan) {
  const SearchCounts& counts = plan.counts;
  std::string fate;
  const auto add = [&fate](std::int64_t count, std::string_view words) {
    if (count > 0) {
      fate += fmt::format("{}{} {}", fate.empty() ? "" : ", ", format_integer(count), words);
    }
  };
  add(counts.over_memory, plan.headroom.bytes > 0.0
                              ? fmt::format("do not fit in memory with {} free",
                                            format_bytes_binary(bytes(plan.headroom.bytes)))
                              : std::string("do not fit in memory"));
  add(counts.over_host_memory, "need more host memory than there is");
  add(counts.breaks_rule, "break a rule of their schedule");
  add(counts.bounded, "cannot be among the best");
  add(counts.fits, "fit");
  add(counts.layouts - counts.seen, "were not looked at");
  return fate.empty() ? "none to choose from" : fate;
}

// Of the scenario as it stands, in the figure in which it is behind, which may be another one than
// the objective: as many GPUs, but earlier.
struct OwnFigure {
  double value = 0.0;
  std::string words;
};

OwnFigure own_figure(const Finalist& current, const Plan& plan) {
  if (current.behind_in == plan.ranked_by) {
    return {current.value, figure_words(plan, current.value)};
  }
  const double value =
      objective_value(current.evaluation, current.behind_in).value_or(current.behind.mean);
  return {value, report::format_value(dimension_of(current.behind_in), value)};
}

std::string beside_best(const Finalist& finalist, std::string_view plus_minus) {
  return finalist.evaluation.feasible
             ? fmt::format("{} {} the best", behind_words(finalist, plus_minus),
                           finalist.standing == Standing::tie ? "of" : "against")
             : "does not fit";
}

}  // namespace

std::string ranked_head(const Plan& plan) {
  const bool over_trials =
      plan.ranked_by != Objective::step_time && plan.ranked_by != Objective::fewest_gpus;
  return fmt::format("{}{}", over_trials ? "mean " : "", to_string(plan.ranked_by));
}

std::string figure_words(const Plan& plan, double value) {
  const std::string text = report::format_value(dimension_of(plan.ranked_by), value);
  return plan.ranked_by == Objective::fewest_gpus ? text + " GPUs" : text;
}

std::string behind_words(const Finalist& finalist, std::string_view plus_minus) {
  if (finalist.standing == Standing::best) {
    return "-";
  }
  const Dimension dimension = dimension_of(finalist.behind_in);
  std::string text = report::format_change(dimension, finalist.behind.mean);
  text += finalist.behind_in == Objective::fewest_gpus ? " GPUs" : "";
  constexpr double kRounding = 1e-9;
  const double half = 0.5 * (finalist.behind.ci95.high - finalist.behind.ci95.low);
  if (finalist.paired && half > kRounding * std::abs(finalist.behind.mean)) {
    text += fmt::format(" {} {}", plus_minus, report::format_value(dimension, half));
  }
  if (finalist.standing == Standing::tie) {
    text += ", within error";
  }
  return text;
}

std::optional<std::size_t> rank_of(const Plan& plan, const Proposal& proposal) {
  const auto found = std::ranges::find_if(
      plan.finalists, [&](const Finalist& one) { return one.proposal.tag == proposal.tag; });
  return found == plan.finalists.end()
             ? std::nullopt
             : std::optional<std::size_t>(found - plan.finalists.begin() + 1);
}

std::string standing_words(const Plan& plan, const Proposal& proposal,
                           std::string_view plus_minus) {
  if (const auto rank = rank_of(plan, proposal)) {
    return *rank == 1 ? "The best plan"
                      : fmt::format("Rank {}: {}", *rank,
                                    beside_best(plan.finalists[*rank - 1], plus_minus));
  }
  return plan.current && plan.current->proposal.tag == proposal.tag
             ? "The scenario as it stands: " + beside_best(*plan.current, plus_minus)
             : "Not among the ranked plans";
}

std::string spread_words(const report::Evaluation& evaluation, MetricId id, std::string_view name) {
  const report::MetricValue* value = evaluation.metrics.find(id);
  if (value == nullptr) {
    return {};
  }
  const Dimension dimension = report::info(id).dimension;
  std::string text =
      fmt::format("{} {}", name, report::format_value(dimension, report::typical(*value)));
  if (const auto band = report::metric_band(evaluation, id)) {
    return fmt::format("{} ({} to {} in 8 of 10)", text, report::format_value(dimension, band->low),
                       report::format_value(dimension, band->high));
  }
  if (value->trials) {
    const auto at = [&](double quantile) {
      return report::format_value(dimension, value->trials->quantile(quantile));
    };
    const std::string low = at(report::kLowQuantile);
    const std::string high = at(report::kHighQuantile);
    if (low != high) {
      text += fmt::format(" ({} to {} in 8 of 10 trials)", low, high);
    }
  }
  return text;
}

std::vector<std::string> search_lines(const Plan& plan) {
  std::vector<std::string> lines = {
      plan.counts.layouts > 0
          ? fmt::format("{} layouts on {}: {}", format_integer(plan.counts.layouts), plan.gpu,
                        fate_of(plan))
          : fmt::format("layouts on {} are not counted yet: {}", plan.gpu, fate_of(plan))};
  if (!plan.headroom.stated && plan.headroom.bytes > 0.0) {
    lines.push_back(
        fmt::format("{} of every GPU stay free: the stack's peaks are predicted within "
                    "{} (plan.constraints.memory_headroom states another size)",
                    format_bytes_binary(bytes(plan.headroom.bytes)),
                    format_percent(plan.headroom.error, {.trim = true})));
  }
  if (!plan.not_offered.what.empty()) {
    lines.push_back(fmt::format("not offered by {}: {} (plan.any_stack includes them)",
                                plan.not_offered.stack, fmt::join(plan.not_offered.what, "; ")));
  }
  if (plan.simulated > 0) {
    lines.push_back(plan.trials > 0
                        ? fmt::format("{} plans simulated over {} each, all with "
                                      "the same random numbers",
                                      format_integer(plan.simulated),
                                      plan.trials == 1 ? std::string("one trial")
                                                       : format_integer(plan.trials) + " trials")
                        : fmt::format("{} plans compared step by step; the scenario asks for no "
                                      "run",
                                      format_integer(plan.simulated)));
  }
  return lines;
}

std::vector<std::string> figure_lines(const Finalist& finalist) {
  const report::Evaluation& evaluation = finalist.evaluation;
  const step::Feasibility& fit = evaluation.step.feasibility;
  const std::string memory =
      evaluation.step.memory.empty()
          ? std::string()
          : fmt::format("{} of {} per GPU",
                        format_bytes_binary(evaluation.step.memory.front().limit - fit.headroom),
                        format_bytes_binary(evaluation.step.memory.front().limit));
  const std::string goodput = metric_text(evaluation, MetricId::goodput);
  const std::string per_token = metric_text(evaluation, MetricId::cost_per_million_tokens);
  std::vector<std::string> lines;
  add_joined({spread_words(evaluation, MetricId::step_time, "step"),
              fmt::format("causal MFU {}", metric_text(evaluation, MetricId::mfu_causal)), memory},
             lines);
  add_joined({spread_words(evaluation, MetricId::finish_time, "finish"),
              spread_words(evaluation, MetricId::cost, "cost")},
             lines);
  add_joined({goodput.empty() ? "" : "goodput " + goodput,
              per_token.empty() ? "" : per_token + " per million tokens"},
             lines);
  return lines;
}

std::string switch_words(const Plan& plan) {
  if (plan.switches.keys.empty() || plan.finalists.empty()) {
    return {};
  }
  std::string keys;
  for (const scenario::KeyValue& one : plan.switches.keys) {
    keys += fmt::format("{}`{}: {}`", keys.empty() ? "" : ", ", one.key, one.value);
  }
  // Steps of clusters of different sizes do not compare.
  const auto nodes = plan.finalists.front().proposal.candidate.nodes;
  const bool one_size = std::all_of(
      plan.finalists.begin(), plan.finalists.end(),
      [nodes](const Finalist& finalist) { return finalist.proposal.candidate.nodes == nodes; });
  return fmt::format("with {}, as recipes of this stack have it{}", keys,
                     one_size && plan.switches.before > 0.0
                         ? fmt::format("; without, the best layout takes {} a step",
                                       format_time(seconds(plan.switches.before)))
                         : std::string());
}

std::string gain_words(const Plan& plan) {
  if (!plan.current || !plan.current->evaluation.feasible || plan.current->behind.mean <= 0.0) {
    return {};
  }
  const Finalist& current = *plan.current;
  const double of = own_figure(current, plan).value;
  return fmt::format("{}{} (-{}){}",
                     report::format_change(dimension_of(current.behind_in), -current.behind.mean),
                     current.behind_in == Objective::fewest_gpus ? " GPUs" : "",
                     of != 0.0 ? percent_text(current.behind.mean / of) : "0%",
                     current.standing == Standing::tie ? ", within the error" : "");
}

std::string current_words(const Plan& plan) {
  if (!plan.current || plan.finalists.empty()) {
    return {};
  }
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
  const Bytes free = evaluation.step.feasibility.headroom;
  const std::string but = !current.problem.empty() ? ", not ranked: " + current.problem
                          : in_bytes(free) < plan.headroom.bytes
                              ? fmt::format(" with {} free", format_bytes_binary(free))
                              : "";
  const std::string gained = gain_words(plan);
  const OwnFigure own = own_figure(current, plan);
  const std::string figure = own.words + but;
  if (!gained.empty()) {
    return fmt::format("the scenario as it stands: {}; this plan {}", figure, gained);
  }
  if (current.standing == Standing::tie || current.behind.mean == 0.0) {
    return fmt::format("the scenario as it stands ({}) is within the error", figure);
  }
  const double of_plan = own.value - current.behind.mean;
  return fmt::format("the scenario as it stands is better by {}: {}",
                     of_plan > 0.0 ? percent_text(current.behind.mean / of_plan) : "0%", figure);
}

std::vector<std::string> published_lines(const Plan& plan) {
  if (!plan.published) {
    return {};
  }
  const Published& published = *plan.published;
  const PublishedLayout& from = published.from;
  std::vector<std::string> lines = {
      published.plan ? published.plan->proposal.words : from.model,
      fmt::format("as {} runs {} on {} x {}, {}{}: {} tokens/s per GPU ({})", from.stack,
                  from.model, format_integer(from.gpus), from.gpu, from.precision,
                  published.shorter ? fmt::format(", sequences of {} tokens",
                                                  format_integer(from.sequence_length))
                                    : "",
                  format_integer(static_cast<std::int64_t>(from.tokens)), from.source)};
  if (!published.plan) {
    lines.push_back("not among the candidates: " + published.problem);
    return lines;
  }
  const Finalist& one = *published.plan;
  const double lead = one.behind.mean;
  const std::string figure =
      fmt::format("here {} ({})", figure_words(plan, one.value), behind_words(one, "+-"));
  if (published.winner && published.problem.empty()) {
    lines.push_back(figure + ": the plan has this layout");
  } else if (!published.problem.empty()) {
    lines.push_back(fmt::format("{}, not ranked: {}", figure, published.problem));
  } else {
    lines.push_back(fmt::format(
        "{}, {}", figure,
        published.rank ? fmt::format("rank {}", *published.rank) : "behind all that are ranked"));
  }
  if (!one.evaluation.feasible && from.gpus == one.proposal.gpus && !published.shorter) {
    lines.emplace_back("it has run on as many of these GPUs: its peak is predicted too high");
  }
  if (!published.winner && lead > 0.0 && !one.reason.empty()) {
    lines.push_back(one.reason);
  }
  const double base = one.value - lead;
  if (!published.winner && published.error > 0.0 && base > 0.0 &&
      std::abs(lead) / base <= published.error) {
    lines.push_back(
        fmt::format("predictions do not tell it from the best: such differences are within {}",
                    percent_text(published.error)));
  }
  return lines;
}

std::string aside_words(const Plan& plan) {
  std::string words;
  for (const StepAside& one : plan.aside) {
    words += fmt::format(
        "{}{} {} {}", words.empty() ? "" : ", ", one.change.name, one.change.value,
        one.fits ? fmt::format("{}{}", one.loss < 0.0 ? "-" : "+", percent_text(one.loss))
                 : std::string("does not fit"));
  }
  return words;
}

std::string near_words(const Proposal& proposal) {
  constexpr std::size_t kMostNamed = 3;
  std::vector<std::string> named;
  for (const NearLayout& near : proposal.near) {
    if (named.size() == kMostNamed) {
      named.emplace_back("...");
      break;
    }
    std::vector<std::string> differs;
    for (const Trait& trait : near.differs) {
      differs.push_back(fmt::format("{} {}", trait.name, trait.value));
    }
    named.push_back(fmt::format("{} (+{})", fmt::join(differs, " "), format_percent(near.slower)));
  }
  return named.empty()
             ? std::string()
             : fmt::format("and {} like it: {}",
                           format_integer(static_cast<std::int64_t>(proposal.near.size())),
                           fmt::join(named, ", "));
}

std::string firm_words(const Plan& plan) {
  if (!plan.stability.checked) {
    return {};
  }
  const std::vector<Rival>& rivals = plan.stability.rivals;
  const auto close = std::count_if(rivals.begin(), rivals.end(),
                                   [](const Rival& rival) { return !rival.told_apart(); });
  if (!plan.stability.errors_known) {
    return "no: how far predicted differences err is not known (no plan/layout_errors.yaml)";
  }
  if (close > 0) {
    return fmt::format("no: {} of {} other plans {} closer than predictions tell layouts apart",
                       close, rivals.size(), close == 1 ? "is" : "are");
  }
  return plan.stability.stable
             ? std::string(
                   "yes: every other plan is behind by more than predictions of such "
                   "differences err")
             : std::string("no: the winner changes when");
}

std::string rival_words(const Rival& rival) {
  return fmt::format(
      "rank {} is behind by {} and differs in {}: 8 of 10 measured pairs that do "
      "are predicted within {}",
      rival.rank, percent_text(rival.lead), rival.differs, percent_text(rival.error));
}

std::string overtaking_words(const Perturbation& perturbation) {
  if (!perturbation.overtaker) {
    return {};
  }
  return fmt::format("{} is {} {}: {} leads by {}", perturbation.coefficient,
                     percent_text(perturbation.change),
                     perturbation.change > 0.0 ? "higher" : "lower", perturbation.overtaker->words,
                     percent_text(perturbation.by));
}

std::string tight_memory_words(const Plan& plan) {
  const Stability& stability = plan.stability;
  if (!stability.checked || stability.memory_margin >= plan.headroom.error ||
      plan.finalists.front().evaluation.step.memory.empty()) {
    return {};
  }
  return fmt::format(
      "memory: {} of the peak stay free, and peaks are predicted within about {}; "
      "plan.constraints.memory_headroom asks for more",
      format_percent(stability.memory_margin), format_percent(plan.headroom.error, {.trim = true}));
}

}  // namespace orrery::plan
