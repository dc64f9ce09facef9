#include "gui/models/answer_tables.hpp"

#include <utility>

#include "gui/models/text.hpp"
#include "sim/base/format.hpp"
#include "sim/report/difference.hpp"
#include "sim/report/ledger_rows.hpp"
#include "sim/report/trust.hpp"

namespace orrery::gui {

namespace {

using report::Dimension;

Cell plain(std::string_view text) {
  return {qt(text)};
}

Cell money(const std::optional<Dollars>& cost) {
  return cost ? number(Dimension::dollars, in_dollars(*cost)) : Cell{};
}

// The quantile over the trials, or an empty cell where nothing varies.
Cell quantile(const report::MetricValue& metric, double q) {
  return metric.trials ? number(report::info(metric.id).dimension, metric.trials->quantile(q))
                       : Cell{};
}

Table ledger_table(const QString& title, const std::vector<report::LedgerRow>& rows) {
  Table table{title, {"where the time goes", "share", "GPU-hours", "dollars", ""}, {}};
  for (const report::LedgerRow& row : rows) {
    if (row.gpu_time <= Seconds{}) {
      continue;
    }
    const double hours = in_hours(row.gpu_time);
    table.rows.push_back({{.text = qt(row.label), .tip = qt(row.category)},
                          number(Dimension::fraction, row.share),
                          {.text = qt(format_count(hours)), .order = hours},
                          money(row.dollars),
                          {.bar = row.share}});
  }
  return table;
}

Tone tone_of(report::Verdict verdict) {
  switch (verdict) {
    case report::Verdict::pass:
      return Tone::good;
    case report::Verdict::fail:
      return Tone::bad;
    case report::Verdict::undecided:
      return Tone::warning;
  }
  return Tone::plain;
}

}  // namespace

Table metrics_table(const report::Evaluation& evaluation) {
  constexpr double kLow = 0.1;
  constexpr double kMiddle = 0.5;
  constexpr double kHigh = 0.9;
  Table table{"Metrics", {"metric", "value", "P10", "P50", "P90", "meaning"}, {}};
  for (const report::MetricInfo& info : report::metric_registry()) {
    const report::MetricValue* metric = evaluation.metrics.find(info.id);
    if (metric == nullptr) {
      continue;
    }
    table.rows.push_back({{.text = spoken(info.name), .tip = qt(info.name)},
                          number(info.dimension, metric->value),
                          quantile(*metric, kLow),
                          quantile(*metric, kMiddle),
                          quantile(*metric, kHigh),
                          {.text = qt(info.meaning), .tone = Tone::faint}});
  }
  return table;
}

Table step_ledger_table(const report::Evaluation& evaluation) {
  return ledger_table(
      "One step",
      evaluation.step.given ? std::vector<report::LedgerRow>{} : step_ledger_rows(evaluation));
}

Table run_ledger_table(const report::Evaluation& evaluation) {
  return ledger_table("The run", run_ledger_rows(evaluation));
}

Table memory_table(const report::Evaluation& evaluation) {
  Table table{"Memory", {"stage"}, {}};
  for (std::size_t stage = 0; stage < evaluation.step.memory.size(); ++stage) {
    const step::StageMemory& memory = evaluation.step.memory[stage];
    const auto terms = report::memory_terms(memory);
    std::vector<Cell> row = {{.text = QString::number(stage), .order = static_cast<double>(stage)}};
    for (const report::MemoryTerm& term : terms) {
      if (stage == 0) {
        table.heads.push_back(qt(term.name));
      }
      row.push_back(number(Dimension::bytes, in_bytes(term.value)));
    }
    Cell peak = number(Dimension::bytes, in_bytes(memory.peak()));
    peak.tone = memory.peak() > memory.limit ? Tone::bad : Tone::strong;
    row.push_back(std::move(peak));
    row.push_back(number(Dimension::bytes, in_bytes(memory.limit)));
    table.rows.push_back(std::move(row));
  }
  table.heads.insert(table.heads.end(), {"peak", "limit"});
  return table;
}

Table causes_table(const report::Evaluation& evaluation) {
  Table table{"Causes of failure", {"cause", "failures", "GPU-hours", "dollars"}, {}};
  for (const report::CauseRow& cause : cause_rows(evaluation)) {
    const double hours = in_hours(cause.gpu_time);
    table.rows.push_back({plain(cause.cause),
                          number(Dimension::count, cause.failures),
                          {.text = qt(format_count(hours)), .order = hours},
                          money(cause.dollars)});
  }
  return table;
}

Table levers_table(const report::Evaluation& evaluation) {
  const bool priced = evaluation.plan && evaluation.plan->pricing.priced;
  Table table{"Levers", {"change", "end", "cost for the same work"}, {}};
  for (const report::Lever& lever : evaluation.levers) {
    const double end = in_seconds(lever.finish_delta);
    const double cost = in_dollars(lever.cost_delta);
    table.rows.push_back(
        {plain(lever.change),
         {.text = qt(report::format_change(Dimension::time, end)), .order = end},
         priced ? Cell{.text = qt(report::format_change(Dimension::dollars, cost)), .order = cost}
                : Cell{}});
  }
  return table;
}

Table expectations_table(const report::Evaluation& evaluation) {
  Table table{"Expectations", {"verdict", "expectation", "detail"}, {}};
  for (const report::ExpectationResult& result : evaluation.expectations) {
    table.rows.push_back({{.text = qt(to_string(result.verdict)), .tone = tone_of(result.verdict)},
                          plain(result.text),
                          plain(result.detail)});
  }
  return table;
}

Table trust_table(const report::Evaluation& evaluation) {
  Table table{"Trust", {"the step time rests on", "share", ""}, {}};
  const report::Trust trust = report::trust_of(evaluation.step);
  const auto add = [&table](const QString& kind, double share) {
    if (share > 0.0) {
      table.rows.push_back({{.text = kind}, number(Dimension::fraction, share), {.bar = share}});
    }
  };
  for (std::size_t i = 0; i < kSourceKindCount; ++i) {
    add(qt(kSourceKindNames[i]) + " coefficients", trust.share[i]);
  }
  add("coefficients used beyond their range", trust.extrapolated);
  return table;
}

std::vector<Table> all_tables(const report::Evaluation& evaluation) {
  std::vector<Table> tables;
  for (const auto& make : {metrics_table,
                           step_ledger_table,
                           run_ledger_table,
                           memory_table,
                           causes_table,
                           levers_table,
                           expectations_table,
                           trust_table}) {
    Table table = make(evaluation);
    if (!table.rows.empty()) {
      tables.push_back(std::move(table));
    }
  }
  return tables;
}

Table problems_table(const Diagnostics& diagnostics, const QString& failure) {
  Table table{"Problems", {"", "line", "key", "problem", "allowed"}, {}};
  if (!failure.isEmpty()) {
    table.rows.push_back({{.text = "error", .tone = Tone::bad}, {}, {}, {.text = failure}, {}});
  }
  for (const Diagnostic& problem : diagnostics.all()) {
    const bool error = problem.severity == Severity::error;
    const double line = problem.where.line;
    table.rows.push_back(
        {{.text = error                                   ? "error"
                  : problem.severity == Severity::warning ? "warning"
                                                          : "note",
          .tone = error ? Tone::bad : Tone::warning},
         {.text = problem.where.line > 0 ? QString::number(problem.where.line) : QString(),
          .order = line},
         plain(problem.key),
         {.text = qt(problem.message), .tip = qt(to_string(problem))},
         plain(problem.allowed)});
  }
  return table;
}

}  // namespace orrery::gui
