#include "sim/answer/report/text/text_report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "sim/answer/report/text/ledger_rows.hpp"
#include "sim/answer/report/text/text_sections.hpp"
#include "sim/base/percent.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::report {

// The section ROLLOUT of the screen: a step of reinforcement learning by phase.

namespace {

std::string pools_text(const run::RolloutResult& rollout) {
  const std::int64_t trainers = rollout.gpus - rollout.generators;
  return trainers > 0 ? fmt::format("{} GPUs generate, {} train", rollout.generators, trainers)
                      : fmt::format("{} GPUs generate and train in turn", rollout.generators);
}

}  // namespace

void add_rollout(TextPage& page, const Evaluation& evaluation) {
  if (!evaluation.rollout) {
    return;
  }
  const run::RolloutResult& rollout = *evaluation.rollout;
  page.section("ROLLOUT", fmt::format("{} from update to update: {} answers, {} tokens; {}",
                                      page.paint(Ink::strong, format_time(rollout.step)),
                                      format_integer(rollout.answers), format_count(rollout.tokens),
                                      pools_text(rollout)));
  constexpr std::size_t kLabel = 28;
  constexpr std::size_t kShare = 10;
  constexpr std::size_t kTime = 11;
  constexpr std::size_t kBar = 34;
  for (const run::RolloutPhase& phase : rollout.phases) {
    const double share = phase.time / rollout.step;
    page.line(pad_right(std::string(phase.name), kLabel) + pad_left(share_text(share), kShare) +
              pad_left(format_time(phase.time), kTime) + "  " +
              page.bar(std::min(share, 1.0), kBar));
  }
  page.line(fmt::format("the longest answer, {} tokens, takes {} more than the mean one",
                        format_integer(static_cast<std::int64_t>(std::llround(rollout.longest))),
                        format_time(rollout.tail)));
  if (rollout.answer) {
    page.line(fmt::format("a thousand answers cost {}", format_money(*rollout.answer * kKilo)));
  }
  if (rollout.gpus > rollout.generators) {
    page.line(fmt::format("the trainer waits {} of it, the generator {}",
                          format_time(rollout.trainer_waits),
                          format_time(rollout.generator_waits)));
  }
  if (rollout.balanced) {
    page.line(fmt::format("{} generating GPUs would keep pace with the trainer",
                          format_count(std::ceil(*rollout.balanced))));
  }
}

// The section BUDGET of the screen: what the compute of a run would train by fitted laws.

void add_budget(TextPage& page, const Evaluation& evaluation) {
  if (!evaluation.budget) {
    return;
  }
  const run::BudgetAnswer& budget = *evaluation.budget;
  page.section("BUDGET",
               fmt::format("{:.3g} FLOP: {} tokens for {} active parameters, {:.3g} tokens each",
                           in_flop(budget.compute), format_count(budget.tokens),
                           format_count(budget.parameters), budget.tokens / budget.parameters));
  for (const run::ScalingLaw& law : run::kScalingLaws) {
    const run::LawOptimum best = run::optimum(law, budget.compute);
    std::string line = fmt::format("{}: {} parameters on {} tokens, {:.3g} each", law.name,
                                   format_count(best.parameters), format_count(best.tokens),
                                   best.tokens / best.parameters);
    if (&law == run::kScalingLaws.begin()) {
      const run::OptimumSpread spread = run::optimum_spread(budget.compute);
      line += fmt::format("; 8 of 10 refits from {} to {} parameters", format_count(spread.low),
                          format_count(spread.high));
    }
    page.line(line);
  }
}

namespace {

constexpr std::size_t kMostSwitches = 2;
constexpr std::size_t kMostLevers = 3;
constexpr std::size_t kMostPassed = 8;
constexpr std::size_t kMostWarnings = 4;

// "saves $1.31M, 1.2 d earlier"
std::string worth(const Lever& lever, bool priced) {
  std::string text;
  if (priced) {
    text = fmt::format("{} {}", lever.cost_delta > Dollars{} ? "costs" : "saves",
                       format_money(std::max(lever.cost_delta, -lever.cost_delta)));
  }
  const Seconds shift = std::max(lever.finish_delta, -lever.finish_delta);
  if (to_sim_time(shift) != SimTime{}) {
    text += fmt::format("{}done {} {}", text.empty() ? "" : ", ", format_time(shift),
                        lever.finish_delta > Seconds{} ? "later" : "earlier");
  }
  return text.empty() ? "changes nothing" : text;
}

struct LeverLine {
  std::string change;
  std::string worth;
};

std::string switch_text(const SwitchLever& lever) {
  return fmt::format("`{}: {}`", lever.key, lever.value);
}

// Keys that somebody can set first, then limits of what any change could bring: those worth most,
// in dollars where there is a price, else in time.
std::vector<LeverLine> lever_lines(const Evaluation& evaluation) {
  const bool priced = evaluation.plan && evaluation.plan->pricing.priced;
  std::vector<LeverLine> lines;
  std::vector<Lever> limits = evaluation.levers;
  const Seconds now = to_seconds(evaluation.step.step_time);
  for (const SwitchLever& lever : evaluation.switches) {
    const std::string text = switch_text(lever);
    std::string saved = fmt::format("saves {} a step ({})", format_time(now - lever.step_time),
                                    format_percent(lever.step_time / now - 1.0));
    const auto of_run = std::ranges::find(limits, text, &Lever::change);
    if (of_run != limits.end()) {
      saved = fmt::format("{}; {} a step", worth(*of_run, priced),
                          format_percent(lever.step_time / now - 1.0));
      limits.erase(of_run);
    }
    if (lines.size() < kMostSwitches) {
      lines.push_back({text, std::move(saved)});
    }
  }
  std::ranges::stable_sort(limits, [priced](const Lever& a, const Lever& b) {
    return priced ? a.cost_delta < b.cost_delta : a.finish_delta < b.finish_delta;
  });
  limits.resize(std::min(limits.size(), kMostLevers));
  for (const Lever& lever : limits) {
    lines.push_back({lever.change, worth(lever, priced)});
  }
  return lines;
}

void add_levers(TextPage& page, const Evaluation& evaluation, Detail detail) {
  const std::vector<LeverLine> lines = lever_lines(evaluation);
  std::size_t widest = 0;
  for (const LeverLine& line : lines) {
    widest = std::max(widest, text_columns(line.change));
  }
  bool first = detail == Detail::brief;
  if (!first && !lines.empty()) {
    page.section("LEVERS", "each alone, for the same work:");
  }
  for (const LeverLine& line : lines) {
    constexpr std::size_t kHanging = 4;
    const std::string text = fmt::format("{}  {}", pad_right(line.change, widest), line.worth);
    if (first) {
      page.section("LEVERS", text, false);
    } else {
      page.line(text, kHanging);
    }
    first = false;
  }
}

// "mean error 4.1% for this stack and GPU with other models ..."
std::string band_text(const StepBand& band, Detail detail) {
  std::string_view of;
  switch (band.novelty) {
    case Novelty::none:
      of = "this stack, GPU and model";
      break;
    case Novelty::model:
      of = "this stack and GPU with other models";
      break;
    case Novelty::gpu:
      of = "this stack on other GPUs or with another kind of model";
      break;
    case Novelty::stack:
      of = "stacks that nobody measured before";
      break;
  }
  std::string text = fmt::format("mean error {:.1f}% for {}", kPercent * band.error, of);
  if (detail == Detail::brief) {
    if (!band.doubts.empty()) {
      text += fmt::format("; measure first: {}", band.doubts.front().coefficient);
    }
    return text;
  }
  for (std::size_t i = 0; i < band.nearest.size(); ++i) {
    text += fmt::format("{}{} {:+.1f}%", i == 0 ? "; the nearest measured: " : ", ",
                        printable(band.nearest[i].id), kPercent * band.nearest[i].error);
  }
  for (std::size_t i = 0; i < band.doubts.size(); ++i) {
    const StepDoubt& doubt = band.doubts[i];
    text += fmt::format("{}{} ({:.0f}% of it is {:.1f}% of the step: {})",
                        i == 0 ? "; worth measuring first: " : ", ", doubt.coefficient,
                        kPercent * doubt.error, kPercent * doubt.effect, doubt.measured_by);
  }
  return text;
}

void add_trust(TextPage& page, const Evaluation& evaluation, Detail detail) {
  const Trust trust = trust_of(evaluation.step);
  std::vector<std::pair<double, std::string_view>> parts;
  for (std::size_t i = 0; i < kSourceKindCount; ++i) {
    if (trust.share[i] > 0.0) {
      parts.emplace_back(trust.share[i], kSourceKindNames[i]);
    }
  }
  std::ranges::stable_sort(parts, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string kinds;
  for (const auto& [share, kind] : parts) {
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", format_percent(share), kind);
  }
  if (kinds.empty()) {
    return;
  }
  std::string text = evaluation.band ? band_text(*evaluation.band, detail)
                                     : fmt::format("the step time rests on {} coefficients", kinds);
  if (trust.extrapolated > 0.0) {
    text += page.paint(Ink::warning, fmt::format("; {} beyond their valid range",
                                                 format_percent(trust.extrapolated)));
  }
  if (const auto& stamp = evaluation.echo.calibration) {
    constexpr std::size_t kShortId = 12;
    text += fmt::format("; kernels measured on {} at {} (profile {})", printable(stamp->device),
                        stamp->measured_at, printable(stamp->id.substr(0, kShortId)));
  }
  page.section("TRUST", text, evaluation.levers.empty() && detail == Detail::full);
}

std::string verdict_word(Verdict verdict, const TextPage& page) {
  switch (verdict) {
    case Verdict::pass:
      return page.paint(Ink::good, "pass     ");
    case Verdict::fail:
      return page.paint(Ink::bad, "FAIL     ");
    case Verdict::undecided:
      return page.paint(Ink::warning, "UNDECIDED");
  }
  return {};
}

void add_expectations(TextPage& page, const Evaluation& evaluation, Detail detail) {
  const std::size_t most_passed = detail == Detail::full ? kMostPassed : 0;
  const auto& results = evaluation.expectations;
  if (results.empty()) {
    return;
  }
  const auto passed =
      static_cast<std::size_t>(std::ranges::count_if(results, &ExpectationResult::passed));
  page.section("EXPECTED", fmt::format("{} of {} met", passed, results.size()), false);
  std::size_t shown = 0;
  for (const ExpectationResult& result : results) {
    if (result.passed() && shown >= most_passed) {
      continue;
    }
    shown += static_cast<std::size_t>(result.passed());
    constexpr std::size_t kHanging = 10;
    std::string text =
        fmt::format("{} {}", verdict_word(result.verdict, page), printable(result.text));
    if (!result.passed()) {
      text += ": " + result.detail;
    }
    page.line(text, kHanging);
  }
  if (passed > shown && detail == Detail::full) {
    page.line(fmt::format("and {} more that pass", passed - shown));
  }
}

void add_warnings(TextPage& page, const Evaluation& evaluation) {
  const std::vector<Diagnostic>& all = evaluation.diagnostics.all();
  constexpr std::size_t kHanging = 2;
  for (std::size_t i = 0; i < std::min(all.size(), kMostWarnings); ++i) {
    const std::string text = page.paint(Ink::warning, printable(to_string(all[i])));
    if (i == 0) {
      page.section("WARNINGS", text, false);
    } else {
      page.line(text, kHanging);
    }
  }
  if (all.size() > kMostWarnings) {
    page.line(fmt::format("and {} more: see --json", all.size() - kMostWarnings));
  }
}

}  // namespace

std::string share_text(double share) {
  constexpr double kSmallest = 0.0001;
  constexpr double kTenth = 0.1;
  if (share > 0.0 && share < kSmallest) {
    return "<0.01%";
  }
  return fmt::format("{:.{}f}%", share * kPercent, share < kTenth ? 2 : 1);
}

void show_rows(std::vector<LedgerRow> rows, std::size_t most,
               const std::function<void(const LedgerRow&)>& show) {
  std::erase_if(rows, [](const LedgerRow& row) { return row.gpu_time <= Seconds{}; });
  std::ranges::stable_sort(rows, std::ranges::greater{}, &LedgerRow::gpu_time);
  std::string label;
  if (rows.size() > most) {
    label = fmt::format("{} smaller parts", rows.size() - most + 1);
    LedgerRow& rest = rows[most - 1];
    rest.label = label;
    for (std::size_t i = most; i < rows.size(); ++i) {
      rest.share += rows[i].share;
      rest.gpu_time += rows[i].gpu_time;
      if (rows[i].dollars) {
        rest.dollars = rest.dollars.value_or(Dollars{}) + *rows[i].dollars;
      }
    }
    rows.resize(most);
  }
  std::ranges::for_each(rows, show);
}

std::string to_text(const Evaluation& evaluation, TextStyle style, Detail detail) {
  TextPage page(style);
  add_heading(page, evaluation);
  add_memory(page, evaluation, detail);
  add_step(page, evaluation, detail);
  add_network(page, evaluation, detail);
  add_rollout(page, evaluation);
  add_budget(page, evaluation);
  add_run(page, evaluation, detail);
  add_levers(page, evaluation, detail);
  add_trust(page, evaluation, detail);
  add_expectations(page, evaluation, detail);
  add_warnings(page, evaluation);
  return page.text();
}

std::string expectation_line(const ExpectationResult& result, const TextPage& painter) {
  std::string text =
      fmt::format("{} {}:{}: {}", verdict_word(result.verdict, painter),
                  printable(result.where.file), result.where.line, printable(result.text));
  if (!result.passed()) {
    text += fmt::format(" -- {}", result.detail);
  }
  return text;
}

}  // namespace orrery::report
