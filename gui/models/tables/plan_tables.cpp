#include "gui/models/tables/plan_tables.hpp"

#include <QRegularExpression>
#include <algorithm>
#include <functional>
#include <initializer_list>

#include "sim/answer/plan/result/plan_words.hpp"
#include "sim/base/text/format.hpp"

namespace orrery::gui {

namespace {

using plan::Finalist;
using report::Dimension;
using report::MetricId;

constexpr auto kPlusMinus = "±";

// Of a layout beside another one only what differs.
Cell layout_cell(const plan::Proposal& proposal, const plan::Proposal* beside = nullptr) {
  static const QRegularExpression kPart(", (?![^(]*\\))");
  QStringList parts = qt(proposal.words).split(kPart);
  if (beside != nullptr && beside->words != proposal.words) {
    const QStringList same = qt(beside->words).split(kPart);
    parts.removeIf([&same](const QString& part) { return same.contains(part); });
  }
  return {.text = parts.join(", "), .tip = qt(proposal.words)};
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
  return {.text = range_shown(report::info(*id).dimension, value->trials->quantile(0.1),
                              value->trials->quantile(0.9))};
}

Cell standing_cell(const Finalist& finalist) {
  if (!finalist.evaluation.feasible) {
    return {.text = "does not fit", .tone = Tone::bad};
  }
  if (!finalist.problem.empty()) {
    return {.text = "not ranked", .tip = qt(finalist.problem), .tone = Tone::bad};
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
  return {.text = "now",
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

// A head and what stands below it; no rank: the scenario as it stands.
struct RankingColumn {
  QString head;
  std::function<Cell(const Finalist& finalist, std::optional<std::size_t> rank)> cell;
};

// The figures that a choice is about stand before the layout, the others behind its reason.
std::vector<RankingColumn> ranking_columns(const plan::Plan& plan) {
  const bool by_gpus = plan.ranked_by == plan::Objective::fewest_gpus;
  std::vector<RankingColumn> columns = {
      {"rank", [&plan](const Finalist&, auto rank) { return rank_cell(plan, rank); }},
      {"standing", [](const Finalist& one, auto) { return standing_cell(one); }},
      {by_gpus ? QString("fewest GPUs") : spoken(plan::ranked_head(plan)),
       [&plan](const Finalist& one, auto) {
         return Cell{.text = qt(plan::figure_words(plan, one.value)),
                     .order = one.value,
                     .tone = Tone::strong};
       }},
      {"behind", [](const Finalist& one, auto) { return behind_cell(one); }}};
  const report::Evaluation& best = plan.finalists.front().evaluation;
  const auto ranked = plan::metric_of(best, plan.ranked_by);
  const auto add_metrics = [&](std::initializer_list<std::pair<MetricId, const char*>> metrics) {
    for (const auto& [id, head] : metrics) {
      if (id != ranked && best.metrics.find(id) != nullptr) {
        columns.push_back(
            {head, [id = id](const Finalist& one, auto) { return metric_cell(one, id); }});
      }
    }
  };
  add_metrics({{MetricId::step_time, "step"},
               {MetricId::cost, "cost"},
               {MetricId::memory_headroom, "free memory"}});
  if (!by_gpus) {
    columns.push_back({"GPUs", [](const Finalist& one, auto) {
                         return Cell{.text = qt(format_integer(one.proposal.gpus)),
                                     .order = static_cast<double>(one.proposal.gpus)};
                       }});
  }
  columns.push_back({"layout, where it differs", [&plan](const Finalist& one, auto) {
                       return layout_cell(one.proposal, &plan.finalists.front().proposal);
                     }});
  columns.push_back({"why it loses", [](const Finalist& one, auto) {
                       const QString why = one.evaluation.feasible || one.evaluation.reasons.empty()
                                               ? qt(one.reason)
                                               : qt(one.evaluation.reasons.front());
                       return Cell{.text = why, .tip = why};
                     }});
  columns.push_back(
      {"8 of 10 trials", [&plan](const Finalist& one, auto) { return spread_cell(plan, one); }});
  add_metrics(
      {{MetricId::finish_time, "done in"}, {MetricId::mfu, "MFU"}, {MetricId::energy, "energy"}});
  return columns;
}

// Columns behind the first four that say the same of all plans, as the headline does.
void drop_alike(Table& table) {
  constexpr std::size_t kKept = 4;
  for (std::size_t i = table.heads.size(); table.rows.size() > 1 && i-- > kKept;) {
    const auto text = [i](const std::vector<Cell>& row) { return row[i].text; };
    if (std::ranges::adjacent_find(table.rows, std::ranges::not_equal_to{}, text) ==
        table.rows.end()) {
      const auto at = static_cast<std::ptrdiff_t>(i);
      table.heads.erase(table.heads.begin() + at);
      for (std::vector<Cell>& row : table.rows) {
        row.erase(row.begin() + at);
      }
    }
  }
}

QString paragraph(const QString& text) {
  return text.isEmpty() ? QString() : "<p>" + text.toHtmlEscaped() + "</p>";
}

}  // namespace

PlanTable ranking_table(const plan::Plan& plan) {
  PlanTable ranking{.table = {"Ranking", {}, {}}};
  if (plan.finalists.empty()) {
    return ranking;
  }
  const std::vector<RankingColumn> columns = ranking_columns(plan);
  for (const RankingColumn& column : columns) {
    ranking.table.heads.push_back(column.head);
  }
  const auto add = [&](const Finalist& finalist, std::optional<std::size_t> rank) {
    std::vector<Cell>& row = ranking.table.rows.emplace_back();
    for (const RankingColumn& column : columns) {
      row.push_back(column.cell(finalist, rank));
    }
    ranking.proposals.emplace_back(finalist.proposal);
  };
  for (std::size_t i = 0; i < plan.finalists.size(); ++i) {
    add(plan.finalists[i], i + 1);
  }
  if (plan.current && !plan::rank_of(plan, plan.current->proposal)) {
    add(*plan.current, std::nullopt);
  }
  drop_alike(ranking.table);
  return ranking;
}

PlanTable trade_off_table(const plan::Plan& plan, const plan::Front& front) {
  PlanTable points{
      .table = {"Trade-off", {qt(front.x.title), qt(front.y.title), "", "layout"}, {}}};
  for (const plan::FrontPoint& point : front.points) {
    if (!point.on_front) {
      continue;
    }
    points.table.rows.push_back(
        {number(front.x.dimension, point.x),
         number(front.y.dimension, point.y),
         {.text = qt(plan::standing_words(plan, point.proposal, kPlusMinus)),
          .tone = point.winner ? Tone::good : Tone::faint},
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

PlanHeadline plan_headline(const plan::Plan& plan) {
  PlanHeadline headline;
  headline.found = !plan.finalists.empty();
  const QStringList lines = qt(plan::search_lines(plan));
  QStringList notes = qt(plan.notes) << qt(plan::tight_memory_words(plan));
  notes.removeAll("");
  headline.notes = notes.join('\n');
  if (!headline.found) {
    headline.title = "No plan";
    headline.lines = lines.join('\n');
    return headline;
  }
  const Finalist& best = plan.finalists.front();
  const QString gain = qt(plan::gain_words(plan));
  headline.title = qt(plan::best_words(plan.ranked_by)) + ": " +
                   qt(plan::figure_words(plan, best.value)) +
                   (gain.isEmpty() ? QString() : ", " + gain + " against now");
  headline.title[0] = headline.title[0].toUpper();
  headline.title.replace(" -", " −").replace("(-", "(−");
  QString current = qt(plan::current_words(plan)).replace(" -", " −").replace("(-", "(−");
  current.replace(0, 1, current.left(1).toUpper());
  // How many plans were simulated stands above their ranking.
  headline.lines = QString("%1 GPUs: %2\n")
                       .arg(qt(format_integer(best.proposal.gpus)), qt(best.proposal.words)) +
                   qt(plan::figure_lines(best)).join("; ") +
                   (current.isEmpty() ? "" : "\n" + current) + "\n" + lines.front();
  return headline;
}

QString proposal_html(const plan::Plan& plan, const plan::Proposal& proposal) {
  QString html =
      "<b>" + qt(plan::standing_words(plan, proposal, kPlusMinus)).toHtmlEscaped() + "</b>" +
      paragraph(QString("%1 GPUs: %2").arg(qt(format_integer(proposal.gpus)), qt(proposal.words)));
  const auto rank = plan::rank_of(plan, proposal);
  const bool now = !rank && plan.current && plan.current->proposal.tag == proposal.tag;
  if (rank || now) {
    const Finalist& finalist = now ? *plan.current : plan.finalists[*rank - 1];
    html += paragraph(qt(plan::figure_lines(finalist)).join('\n')).replace('\n', "<br>");
    if (!finalist.reason.empty()) {
      html += paragraph("Against the best: " + qt(finalist.reason));
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
