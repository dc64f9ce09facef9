#include "gui/models/tables/plan_tables.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "gui/models/tables/text.hpp"
#include "sim/answer/plan/result/plan_words.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::gui {

namespace {

using plan::Finalist;
using report::Dimension;
using report::MetricId;

constexpr auto kPlusMinus = "±";
constexpr auto kNow = "now";  // the scenario as it stands, where ranks are

Cell layout_cell(const plan::Proposal& proposal) {
  return {.text = qt(proposal.words), .tip = qt(proposal.words)};
}

// Metrics beside the figure by which plans are ranked: those that a choice is about stand before
// the layout, the others behind its reason.
struct Column {
  MetricId metric;
  const char* head;
  bool first;
};

std::vector<Column> columns_of(const plan::Plan& plan) {
  constexpr Column kColumns[] = {{MetricId::step_time, "step", true},
                                 {MetricId::cost, "cost", true},
                                 {MetricId::memory_headroom, "free memory", true},
                                 {MetricId::finish_time, "done in", false},
                                 {MetricId::mfu, "MFU", false},
                                 {MetricId::energy, "energy", false}};
  const report::Evaluation& best = plan.finalists.front().evaluation;
  const auto ranked = plan::metric_of(best, plan.ranked_by);
  std::vector<Column> columns;
  for (const Column& column : kColumns) {
    if (column.metric != ranked && best.metrics.find(column.metric) != nullptr) {
      columns.push_back(column);
    }
  }
  return columns;
}

Cell metric_cell(const Finalist& finalist, MetricId id) {
  const report::MetricValue* value = finalist.evaluation.metrics.find(id);
  if (value == nullptr) {
    return {};
  }
  const report::MetricInfo& info = report::info(id);
  Cell cell = number(info.dimension, value->value);
  cell.tip = qt(plan::spread_words(finalist.evaluation, id, info.name));
  return cell;
}

// P10 to P90 of the figure that ranks.
Cell spread_cell(const plan::Plan& plan, const Finalist& finalist) {
  const auto id = plan::metric_of(finalist.evaluation, plan.ranked_by);
  const report::MetricValue* value = id ? finalist.evaluation.metrics.find(*id) : nullptr;
  if (value == nullptr || !value->trials) {
    return {.text = "does not vary", .tone = Tone::faint};
  }
  const Dimension dimension = report::info(*id).dimension;
  const QString low = shown(dimension, value->trials->quantile(0.1));
  const QString high = shown(dimension, value->trials->quantile(0.9));
  return {.text = low == high ? low : low + " to " + high};
}

Cell standing_cell(const Finalist& finalist) {
  if (!finalist.evaluation.feasible) {
    return {.text = "does not fit", .tone = Tone::bad};
  }
  const bool ties = finalist.standing == plan::Standing::tie;
  Cell cell{.text = ties ? "within error" : qt(plan::to_string(finalist.standing))};
  if (finalist.standing == plan::Standing::best) {
    cell.tone = Tone::good;
  } else if (ties) {
    cell.tip =
        "The difference is within the noise of the trials, or below what the step model "
        "tells apart.";
    cell.tone = Tone::warning;
  }
  return cell;
}

Cell rank_cell(const plan::Plan& plan, std::optional<std::size_t> rank) {
  if (rank) {
    return {.text = QString::number(*rank), .order = static_cast<double>(*rank)};
  }
  return {.text = kNow,
          .tip = "the scenario as it stands",
          .order = static_cast<double>(plan.finalists.size() + 1)};
}

Cell behind_cell(const Finalist& finalist) {
  if (!finalist.evaluation.feasible) {
    return {};
  }
  return {.text = qt(plan::behind_words(finalist, kPlusMinus)),
          .tip = finalist.paired ? "95 % interval of the difference, trial by trial" : "",
          .order = finalist.behind.mean};
}

std::vector<Cell> ranking_row(const plan::Plan& plan, const Finalist& finalist,
                              const std::vector<Column>& columns, std::optional<std::size_t> rank) {
  std::vector<Cell> row = {rank_cell(plan, rank),
                           standing_cell(finalist),
                           {.text = qt(plan::figure_words(plan, finalist.value)),
                            .order = finalist.value,
                            .tone = Tone::strong},
                           behind_cell(finalist)};
  const auto add_metrics = [&](bool first) {
    for (const Column& column : columns) {
      if (column.first == first) {
        row.push_back(metric_cell(finalist, column.metric));
      }
    }
  };
  add_metrics(true);
  if (plan.ranked_by != plan::Objective::fewest_gpus) {
    row.push_back({.text = qt(format_integer(finalist.proposal.gpus)),
                   .order = static_cast<double>(finalist.proposal.gpus)});
  }
  row.push_back(layout_cell(finalist.proposal));
  const QString why = finalist.evaluation.feasible || finalist.evaluation.reasons.empty()
                          ? qt(finalist.reason)
                          : qt(finalist.evaluation.reasons.front());
  row.push_back({.text = why, .tip = why});
  row.push_back(spread_cell(plan, finalist));
  add_metrics(false);
  return row;
}

// In the order of ranking_row().
std::vector<QString> ranking_heads(const plan::Plan& plan, const std::vector<Column>& columns) {
  const bool by_gpus = plan.ranked_by == plan::Objective::fewest_gpus;
  std::vector<QString> heads = {
      "rank", "standing",
      by_gpus ? QString("fewest GPUs") : spoken(plan::to_string(plan.ranked_by)), "behind"};
  const auto add_metrics = [&](bool first) {
    for (const Column& column : columns) {
      if (column.first == first) {
        heads.emplace_back(column.head);
      }
    }
  };
  add_metrics(true);
  if (!by_gpus) {
    heads.emplace_back("GPUs");
  }
  for (const char* head : {"layout", "why it loses", "8 of 10 trials"}) {
    heads.emplace_back(head);
  }
  add_metrics(false);
  return heads;
}

bool ranked(const plan::Plan& plan, const plan::Proposal& proposal) {
  return std::any_of(plan.finalists.begin(), plan.finalists.end(),
                     [&](const Finalist& one) { return one.proposal.tag == proposal.tag; });
}

QString paragraph(const QString& text) {
  return text.isEmpty() ? QString() : "<p>" + text.toHtmlEscaped() + "</p>";
}

QString beside_best(const Finalist& finalist) {
  if (!finalist.evaluation.feasible) {
    return "does not fit";
  }
  const QString behind = qt(plan::behind_words(finalist, kPlusMinus));
  return behind + (finalist.standing == plan::Standing::tie ? " of the best" : " against the best");
}

// The finalist, with the scenario as it stands among them.
const Finalist* finalist_of(const plan::Plan& plan, const plan::Proposal& proposal,
                            QString& standing) {
  for (std::size_t i = 0; i < plan.finalists.size(); ++i) {
    const Finalist& one = plan.finalists[i];
    if (one.proposal.tag == proposal.tag) {
      standing = i == 0 ? QString("The best plan")
                        : QString("Rank %1: %2").arg(i + 1).arg(beside_best(one));
      return &one;
    }
  }
  if (plan.current && plan.current->proposal.tag == proposal.tag) {
    standing = "The scenario as it stands: " + beside_best(*plan.current);
    return &*plan.current;
  }
  standing = "Not among the ranked plans";
  return nullptr;
}

}  // namespace

PlanTable ranking_table(const plan::Plan& plan) {
  PlanTable ranking{.table = {"Ranking", {}, {}}};
  if (plan.finalists.empty()) {
    return ranking;
  }
  const std::vector<Column> columns = columns_of(plan);
  Table& table = ranking.table;
  table.heads = ranking_heads(plan, columns);
  for (std::size_t i = 0; i < plan.finalists.size(); ++i) {
    table.rows.push_back(ranking_row(plan, plan.finalists[i], columns, i + 1));
    ranking.proposals.emplace_back(plan.finalists[i].proposal);
  }
  if (plan.current && !ranked(plan, plan.current->proposal)) {
    table.rows.push_back(ranking_row(plan, *plan.current, columns, std::nullopt));
    ranking.proposals.emplace_back(plan.current->proposal);
  }
  return ranking;
}

PlanTable trade_off_table(const plan::Plan& plan, const plan::Front& front) {
  PlanTable points{
      .table = {"Trade-off", {qt(front.x.title), qt(front.y.title), "", "layout"}, {}}};
  for (const plan::FrontPoint& point : front.points) {
    if (!point.on_front) {
      continue;
    }
    QString standing;
    static_cast<void>(finalist_of(plan, point.proposal, standing));
    points.table.rows.push_back(
        {number(front.x.dimension, point.x),
         number(front.y.dimension, point.y),
         {.text = standing, .tone = point.winner ? Tone::good : Tone::faint},
         layout_cell(point.proposal)});
    points.proposals.emplace_back(point.proposal);
  }
  return points;
}

PlanTable neighbours_table(const plan::Plan& plan) {
  PlanTable nearly{.table = {"Nearly",
                             {"layout that does not fit", "step if it fitted", "faster", "short by",
                              "on stage", "would fit with", "step then"},
                             {}}};
  for (const plan::Neighbour& one : plan.neighbours) {
    const auto& remedy = one.remedy;
    nearly.table.rows.push_back(
        {layout_cell(one.proposal),
         number(Dimension::time, one.step_time),
         one.gain > 0.0 ? number(Dimension::fraction, one.gain) : Cell{},
         number(Dimension::bytes, one.short_by),
         {.text = QString::number(one.stage), .order = static_cast<double>(one.stage)},
         remedy ? Cell{.text = qt(remedy->change.name) + " " + qt(remedy->change.value) +
                               (remedy->winner ? " (the best plan)" : "")}
                : Cell{.text = "no single axis", .tone = Tone::faint},
         remedy ? number(Dimension::time, remedy->step_time) : Cell{}});
    nearly.proposals.emplace_back(remedy ? remedy->proposal : one.proposal);
  }
  return nearly;
}

PlanTable firmness_table(const plan::Plan& plan) {
  PlanTable firm{
      .table = {"Firm", {"what may err", "off by", "error is", "who leads then", "by"}, {}}};
  for (const plan::Rival& rival : plan.stability.rivals) {
    firm.table.rows.push_back(
        {{.text = QString("rank %1: %2").arg(rival.rank).arg(qt(rival.differs))},
         number(Dimension::fraction, rival.error),
         {.text = "8 of 10 measured pairs", .tone = Tone::faint},
         rival.told_apart() ? Cell{.text = "still the best plan"}
                            : Cell{.text = "too close to tell", .tone = Tone::warning},
         number(Dimension::fraction, rival.lead)});
    firm.proposals.emplace_back(plan.finalists[rival.rank - 1].proposal);
  }
  for (const plan::Perturbation& one : plan.stability.perturbations) {
    const auto& overtaker = one.overtaker;
    firm.table.rows.push_back(
        {{.text = qt(one.coefficient)},
         number(Dimension::fraction, one.change),
         {.text = one.known ? "the fit's residual" : "assumed", .tone = Tone::faint},
         overtaker ? Cell{.text = qt(overtaker->words), .tone = Tone::warning}
                   : Cell{.text = "still the best plan"},
         overtaker ? number(Dimension::fraction, one.by) : Cell{}});
    firm.proposals.push_back(overtaker);
  }
  return firm;
}

// The keys that do what flags of the command line do.
QString without_flags(QString text) {
  text.replace("--any-stack or ", "");
  return text.replace("--headroom", "plan.constraints.memory_headroom");
}

PlanHeadline plan_headline(const plan::Plan& plan) {
  PlanHeadline headline;
  headline.found = !plan.finalists.empty();
  QStringList lines;
  for (const std::string& line : plan::search_lines(plan)) {
    lines << without_flags(qt(line));
  }
  for (const std::string& note : plan.notes) {
    headline.notes += (headline.notes.isEmpty() ? "" : "\n") + without_flags(qt(note));
  }
  if (!headline.found) {
    headline.title = "No plan";
    headline.lines = lines.join('\n');
    return headline;
  }
  const Finalist& best = plan.finalists.front();
  headline.title = QString("%1: %2 GPUs, %3")
                       .arg(qt(plan::best_words(plan.ranked_by)),
                            qt(format_integer(best.proposal.gpus)), qt(best.proposal.words));
  headline.title[0] = headline.title[0].toUpper();
  QStringList figures;
  for (const std::string& line : plan::figure_lines(best)) {
    figures << qt(line);
  }
  const QString current = qt(plan::current_words(plan));
  // How many plans were simulated stands above their ranking.
  headline.lines =
      figures.join("; ") + (current.isEmpty() ? "" : "\n" + current) + "\n" + lines.front();
  const QString tight = qt(plan::tight_memory_words(plan));
  if (!tight.isEmpty()) {
    headline.notes += (headline.notes.isEmpty() ? "" : "\n") + tight;
  }
  return headline;
}

QString proposal_html(const plan::Plan& plan, const plan::Proposal& proposal) {
  QString standing;
  const Finalist* finalist = finalist_of(plan, proposal, standing);
  QString html =
      "<b>" + standing.toHtmlEscaped() + "</b>" +
      paragraph(QString("%1 GPUs: %2").arg(qt(format_integer(proposal.gpus)), qt(proposal.words)));
  if (finalist != nullptr) {
    QStringList figures;
    for (const std::string& line : plan::figure_lines(*finalist)) {
      figures << qt(line).toHtmlEscaped();
    }
    html += "<p>" + figures.join("<br>") + "</p>";
    if (!finalist->reason.empty()) {
      html += paragraph("Against the best: " + qt(finalist->reason));
    }
  }
  if (proposal.changes.empty()) {
    return html + paragraph("It is the scenario as it stands.");
  }
  html += "<p>In the scenario:</p><table cellspacing=0 cellpadding=1>";
  for (const scenario::KeyValue& change : proposal.changes) {
    html += QString("<tr><td><code>%1:&nbsp;</code></td><td><code>%2</code></td></tr>")
                .arg(qt(change.key).toHtmlEscaped(), qt(change.value).toHtmlEscaped());
  }
  return html + "</table>";
}

}  // namespace orrery::gui
