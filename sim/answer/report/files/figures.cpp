#include "sim/answer/report/files/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/answer/report/metric_band.hpp"
#include "sim/answer/report/text/ledger_rows.hpp"
#include "sim/base/files/file.hpp"
#include "sim/base/percent.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::report {

namespace {

std::string line_of(std::string_view name, double value) {
  return fmt::format("{} {:.9g}\n", name, value);
}

std::string ledger_text(std::string_view ledger, const std::vector<LedgerRow>& rows) {
  std::string text;
  for (const LedgerRow& row : rows) {
    text += line_of(fmt::format("{} {}", ledger, row.category), in_seconds(row.gpu_time));
  }
  return text;
}

void compare_with_first(std::vector<Compared>& values, Dimension dimension) {
  const std::optional<double> first = values.empty() ? std::nullopt : values.front().value;
  for (std::size_t i = 1; i < values.size(); ++i) {
    Compared& cell = values[i];
    if (!first || !cell.value) {
      continue;
    }
    cell.change = *cell.value - *first;
    if (*first != 0.0 && dimension != Dimension::date) {
      cell.relative = *cell.change / std::abs(*first);
    }
  }
}

// Of the answer at `i` against the first.
double error_at(ChangeErrors errors, std::size_t i) {
  return i < errors.size() && errors[i] ? errors[i]->relative : 0.0;
}

// A whole that follows the step.
void judge_whole(std::vector<Compared>& values, ChangeErrors errors) {
  for (std::size_t i = 1; i < values.size(); ++i) {
    values[i].within_error = values[i].change && is_within_error(*values[0].value, *values[i].value,
                                                                 error_at(errors, i));
  }
}

// A part of that whole.
void judge_part(std::vector<Compared>& values, const std::vector<Compared>& whole,
                ChangeErrors errors) {
  for (std::size_t i = 1; i < values.size() && i < whole.size(); ++i) {
    const double change = std::abs(values[i].change.value_or(0.0));
    values[i].within_error =
        change > 0.0 && whole[0].value && whole[i].value &&
        !told_apart(change, error_at(errors, i) * std::min(*whole[0].value, *whole[i].value));
  }
}

// Dates as the time to finish.
void judge_metric(std::span<const Figures> answers, MetricId id, ChangeErrors errors,
                  std::vector<Compared>& values) {
  const MetricId by = id == MetricId::finish_date ? MetricId::finish_time : id;
  const MetricFigures* first = answers.front().find(by);
  for (std::size_t i = 1; i < values.size(); ++i) {
    const MetricFigures* other = answers[i].find(by);
    values[i].within_error = values[i].change && first != nullptr && other != nullptr &&
                             first->follows_step && other->follows_step &&
                             is_within_error(first->value, other->value, error_at(errors, i));
  }
}

bool follows(const Figures& answer, MetricId id) {
  const MetricFigures* metric = answer.find(id);
  return metric != nullptr && metric->follows_step;
}

void add_metrics(std::span<const Figures> answers, ChangeErrors errors,
                 std::vector<DifferenceRow>& rows) {
  for (const MetricInfo& metric : metric_registry()) {
    DifferenceRow row{"metric", metric.name, metric.dimension, {}};
    bool any = false;
    for (const Figures& answer : answers) {
      const std::optional<double> value = answer.value(metric.id);
      row.values.push_back({value, {}, {}});
      any = any || value.has_value();
    }
    if (any) {
      compare_with_first(row.values, row.dimension);
      judge_metric(answers, metric.id, errors, row.values);
      rows.push_back(std::move(row));
    }
  }
}

using LedgerOf = std::vector<LedgerRow> Figures::*;

// In the unit of the whole that its rows add up to: the first of these that there is.
void add_ledger(std::string_view group, std::span<const Figures> answers, LedgerOf ledger_of,
                std::initializer_list<MetricId> wholes, ChangeErrors errors,
                std::vector<DifferenceRow>& rows) {
  const auto* whole = std::ranges::find_if(wholes, [answers](MetricId id) {
    return std::ranges::any_of(answers,
                               [id](const Figures& one) { return one.find(id) != nullptr; });
  });
  if (whole == wholes.end()) {
    return;
  }
  DifferenceRow all{group, "all", info(*whole).dimension, {}};
  std::size_t categories = 0;
  for (const Figures& answer : answers) {
    all.values.push_back({answer.value(*whole), {}, {}});
    categories = std::max(categories, (answer.*ledger_of).size());
  }
  if (!std::ranges::all_of(answers, [&](const Figures& one) { return follows(one, *whole); })) {
    errors = {};
  }
  compare_with_first(all.values, all.dimension);
  judge_whole(all.values, errors);
  const std::size_t before = rows.size();
  for (std::size_t i = 0; i < categories; ++i) {
    DifferenceRow row{group, {}, all.dimension, {}};
    bool any = false;
    for (std::size_t k = 0; k < answers.size(); ++k) {
      const std::vector<LedgerRow>& ledger = answers[k].*ledger_of;
      const bool there = i < ledger.size() && all.values[k].value;
      row.name = i < ledger.size() ? ledger[i].label : row.name;
      row.values.push_back(
          {there ? std::optional(ledger[i].share * *all.values[k].value) : std::nullopt, {}, {}});
      any = any || (there && ledger[i].share > 0.0);
    }
    if (any) {
      compare_with_first(row.values, row.dimension);
      judge_part(row.values, all.values, errors);
      rows.push_back(std::move(row));
    }
  }
  if (rows.size() > before) {
    rows.push_back(std::move(all));
  }
}

}  // namespace

std::string behaviour_text(const Evaluation& evaluation) {
  constexpr std::array<double, 3> kQuantiles = {0.1, 0.5, 0.9};
  std::string text = fmt::format("fits {}\n", evaluation.feasible);
  for (const MetricInfo& metric : metric_registry()) {
    const MetricValue* value = evaluation.metrics.find(metric.id);
    if (value == nullptr) {
      continue;
    }
    text += line_of(metric.json_key, value->value);
    if (value->trials) {
      for (const double q : kQuantiles) {
        text += line_of(fmt::format("{} {}", metric.json_key, q), value->trials->quantile(q));
      }
    }
  }
  text += ledger_text("step", step_ledger_rows(evaluation));
  text += ledger_text("run", run_ledger_rows(evaluation));
  for (std::size_t stage = 0; stage < evaluation.step.memory.size(); ++stage) {
    text +=
        line_of(fmt::format("memory {}", stage), in_bytes(evaluation.step.memory[stage].peak()));
  }
  return text;
}

std::string signature_of(std::string_view text) {
  constexpr std::size_t kDigits = 16;
  return sha256_hex(text).substr(0, kDigits);
}

std::vector<DifferenceRow> differences(std::span<const Figures> answers, ChangeErrors errors) {
  std::vector<DifferenceRow> rows;
  add_metrics(answers, errors, rows);
  add_ledger("step ledger", answers, &Figures::step_ledger, {MetricId::step_time}, errors, rows);
  add_ledger("run ledger", answers, &Figures::run_ledger, {MetricId::cost, MetricId::finish_time},
             errors, rows);
  return rows;
}

namespace {

constexpr std::string_view kTraining = run::to_string(run::RunCategory::productive);

std::optional<double> product(std::optional<double> a, std::optional<double> b) {
  return a && b ? std::optional(*a * *b) : std::nullopt;
}

std::optional<double> share_of(const std::vector<LedgerRow>& ledger, std::string_view category) {
  const auto row = std::ranges::find(ledger, category, &LedgerRow::category);
  return row == ledger.end() ? std::nullopt : std::optional(row->share);
}

// For the work of the first.
std::optional<double> bill_of(const Figures& answer, const Figures& first, MetricId whole) {
  const std::optional<double> own = answer.value(MetricId::tokens_trained);
  const std::optional<double> wanted = first.value(MetricId::tokens_trained);
  return product(answer.value(whole), own && wanted && *own > 0.0 ? *wanted / *own : 1.0);
}

// Nothing where no answer has any of it.
std::optional<LossRow> loss_of(std::span<const Figures> answers, LedgerOf ledger_of,
                               const LedgerRow& of, const Losses& losses, ChangeErrors errors) {
  LossRow loss{of.label};
  bool any = false;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const std::optional<double> share = share_of(answers[i].*ledger_of, of.category);
    std::optional<double> of_run = share;
    if (ledger_of == &Figures::step_ledger) {
      loss.time.push_back({product(share, losses.all.time[i].value), {}, {}});
      of_run = product(share, share_of(answers[i].run_ledger, kTraining));
    }
    loss.bill.push_back({product(of_run, losses.all.bill[i].value), {}, {}});
    any = any || share.value_or(0.0) > 0.0;
  }
  compare_with_first(loss.time, Dimension::time);
  compare_with_first(loss.bill, losses.bill);
  judge_part(loss.time, losses.all.time, errors);
  judge_part(loss.bill, losses.all.bill, errors);
  return any ? std::optional(std::move(loss)) : std::nullopt;
}

double size_of_change(const LossRow& row) {
  const std::vector<Compared>& by =
      row.bill.back().change || row.time.empty() ? row.bill : row.time;
  return std::abs(by[1].change.value_or(0.0));
}

}  // namespace

Losses losses_of(std::span<const Figures> answers, ChangeErrors errors) {
  const bool priced = std::ranges::all_of(
      answers, [](const Figures& one) { return one.find(MetricId::cost) != nullptr; });
  const MetricId whole = priced ? MetricId::cost : MetricId::finish_time;
  Losses losses{.bill = info(whole).dimension, .rows = {}, .all = {"all"}};
  for (const Figures& answer : answers) {
    losses.all.time.push_back({answer.value(MetricId::step_time), {}, {}});
    losses.all.bill.push_back({bill_of(answer, answers.front(), whole), {}, {}});
  }
  compare_with_first(losses.all.time, Dimension::time);
  compare_with_first(losses.all.bill, losses.bill);
  judge_whole(losses.all.time, errors);
  judge_whole(losses.all.bill, errors);
  for (const LedgerOf ledger_of : {&Figures::step_ledger, &Figures::run_ledger}) {
    const auto longest = std::ranges::max_element(
        answers, {}, [ledger_of](const Figures& one) { return (one.*ledger_of).size(); });
    if (longest == answers.end()) {
      continue;
    }
    for (const LedgerRow& row : (*longest).*ledger_of) {
      auto loss = loss_of(answers, ledger_of, row, losses, errors);
      // Training is what the rows of the step stand for, where it has any.
      if (loss && (row.category != kTraining || losses.rows.empty())) {
        losses.rows.push_back(*std::move(loss));
      }
    }
  }
  if (answers.size() > 1) {
    std::ranges::stable_sort(losses.rows, std::ranges::greater{}, size_of_change);
  }
  return losses;
}

std::string step_change_words(const Figures& from, const Figures& to,
                              const std::optional<ChangeError>& error) {
  const Figures both[] = {from, to};
  const std::optional<ChangeError> errors[] = {std::nullopt, error};
  const Losses losses = losses_of(both, errors);
  const auto change = [](const std::vector<Compared>& of) {
    return of.empty() ? 0.0 : of[1].change.value_or(0.0);
  };
  const auto most = std::ranges::max_element(
      losses.rows, {}, [&](const LossRow& row) { return std::abs(change(row.time)); });
  if (most == losses.rows.end() || change(most->time) == 0.0) {
    return {};
  }
  const double bill = change(losses.all.bill);
  return fmt::format(
      "{} a step{}; what changes most is {} ({}){}",
      format_change(Dimension::time, change(losses.all.time)),
      losses.all.time[1].within_error ? ", within error" : "", most->label,
      format_change(Dimension::time, change(most->time)),
      bill != 0.0 && losses.bill == Dimension::dollars
          ? fmt::format("; {} for the same tokens", format_change(Dimension::dollars, bill))
          : std::string());
}

std::optional<Seconds> step_error(const Figures& from, const Figures& to,
                                  const std::optional<ChangeError>& error) {
  const auto first = from.value(MetricId::step_time);
  const auto second = to.value(MetricId::step_time);
  return error && error->relative > 0.0 && first && second
             ? std::optional(seconds(error->relative * std::min(*first, *second)))
             : std::nullopt;
}

std::string error_words(const Figures& from, const Figures& to,
                        const std::optional<ChangeError>& error) {
  const auto of_step = step_error(from, to, error);
  return of_step ? fmt::format(
                       "8 of 10 predicted changes between {} are off by less than {}, here {} of a "
                       "step",
                       error->of, format_percent(error->relative), format_time(*of_step))
                 : std::string();
}

std::string format_change(Dimension dimension, double change) {
  if (change == 0.0) {
    return "no change";
  }
  const std::string sign = change > 0.0 ? "+" : "-";
  const double size = std::abs(change);
  switch (dimension) {
    case Dimension::fraction: {
      constexpr double kShown = 0.005;  // points: less would read 0.00
      const double points = size * kPercent;
      return points < kShown ? "less than 0.01 points"
                             : fmt::format("{}{:.2f} points", sign, points);
    }
    case Dimension::date:
      return sign + format_time(seconds(size));
    default:
      return sign + format_value(dimension, size);
  }
}

const MetricFigures* Figures::find(MetricId id) const {
  const auto found = std::ranges::find(metrics, id, &MetricFigures::id);
  return found == metrics.end() ? nullptr : &*found;
}

std::optional<double> Figures::value(MetricId id) const {
  const MetricFigures* metric = find(id);
  return metric != nullptr ? std::optional(metric->value) : std::nullopt;
}

Figures figures_of(const Evaluation& evaluation) {
  Figures figures{.name = evaluation.echo.name,
                  .file = evaluation.echo.file,
                  .feasible = evaluation.feasible,
                  .reasons = evaluation.reasons,
                  .step_ledger = step_ledger_rows(evaluation),
                  .run_ledger = run_ledger_rows(evaluation),
                  .messages = evaluation.diagnostics};
  for (const MetricInfo& info : metric_registry()) {
    if (const MetricValue* metric = evaluation.metrics.find(info.id)) {
      const auto quantile = [metric](double q) {
        return metric->trials ? std::optional(metric->trials->quantile(q)) : std::nullopt;
      };
      figures.metrics.push_back({info.id, metric->value, quantile(kLowQuantile), quantile(kMedian),
                                 quantile(kHighQuantile), follows_step(evaluation, info.id)});
    }
  }
  for (const step::StageMemory& stage : evaluation.step.memory) {
    StageFigures& shown = figures.memory.emplace_back(StageFigures{stage.peak(), stage.limit, {}});
    for (const MemoryTerm& term : memory_terms(stage)) {
      shown.terms.emplace_back(term.name, term.value);
    }
  }
  const bool priced = evaluation.plan && evaluation.plan->pricing.priced;
  for (const Lever& lever : evaluation.levers) {
    figures.levers.push_back({lever.change, lever.finish_delta,
                              priced ? std::optional(lever.cost_delta) : std::nullopt});
  }
  for (const ExpectationResult& result : evaluation.expectations) {
    figures.expectations.push_back(
        {result.text, std::string(to_string(result.verdict)), result.detail});
  }
  return figures;
}

}  // namespace orrery::report
