#include "sim/answer/plan/result/cluster_plans.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "sim/answer/plan/result/plan_report.hpp"
#include "sim/answer/plan/result/plan_words.hpp"
#include "sim/answer/plan/search/objective.hpp"
#include "sim/answer/report/metric_band.hpp"
#include "sim/answer/report/table.hpp"
#include "sim/answer/report/text/ledger_rows.hpp"
#include "sim/base/text/format.hpp"
#include "sim/base/text/json_text.hpp"
#include "sim/base/yaml/kinds.hpp"
#include "sim/scenario/edit_text.hpp"
#include "sim/scenario/presets/preset_library.hpp"
#include "sim/scenario/table/fields.hpp"

namespace orrery::plan {

namespace {

using report::MetricId;

// What stands right below the section: cluster.network of cluster.network.nic_rate.
std::set<std::string> keys_below(std::string_view text, std::string_view section) {
  std::set<std::string> keys;
  for (const scenario::StatedKey& stated : scenario::stated_keys(text)) {
    if (stated.key.starts_with(section)) {
      keys.insert(stated.key.substr(0, stated.key.find_first_of(".[", section.size())));
    }
  }
  return keys;
}

bool remove(std::string& text, const std::string& key, Diagnostics& diagnostics) {
  const auto edit = scenario::remove_key(text, key, diagnostics);
  if (edit) {
    text.replace(edit->begin, edit->length, edit->text);
  }
  return edit.has_value();
}

const Finalist* best_of(const ClusterPlan& one) {
  return one.plan && !one.plan->finalists.empty() ? &one.plan->finalists.front() : nullptr;
}

// With the interval of eight in ten where it is what machines are ranked by; of a date the day.
std::string figure(const Finalist& best, MetricId id, Objective objective) {
  const report::Evaluation& evaluation = best.evaluation;
  const report::MetricValue* value = evaluation.metrics.find(id);
  if (value == nullptr) {
    return "-";
  }
  const report::Dimension dimension = report::info(id).dimension;
  std::string text = report::format_value(dimension, report::typical(*value));
  if (dimension == report::Dimension::date) {
    text.erase(std::min(text.find('T'), text.size()));
  }
  const auto band =
      metric_of(evaluation, objective) == id ? report::metric_band(evaluation, id) : std::nullopt;
  if (band) {
    text += fmt::format(" ({} to {})", report::format_value(dimension, band->low),
                        report::format_value(dimension, band->high));
  }
  return text;
}

void add_row(const ClusterPlan& one, MetricId done, report::Table& table) {
  auto& row = table.rows.emplace_back(
      std::vector<report::Cell>{one.choice.preset, format_integer(one.choice.gpus)});
  const Finalist* best = best_of(one);
  if (best == nullptr) {
    row.resize(table.columns.size(), std::string("-"));
    return;
  }
  const PlanSpec& spec = one.plan->spec;
  for (const MetricId id : {MetricId::step_time, done, MetricId::cost, MetricId::energy}) {
    row.emplace_back(figure(*best, id, spec.objective));
  }
  const auto& run = best->evaluation.plan;
  row.emplace_back(run ? format_integer(run->capacity.spare_nodes()) : std::string("-"));
  // How likely the bound is kept, by the error of the step and the luck of the run.
  const auto add_chance = [&row, best](MetricId id, double bound) {
    const auto share = report::share_at_most(best->evaluation, id, bound);
    row.emplace_back(share ? format_percent(*share) : std::string("-"));
  };
  if (spec.deadline) {
    add_chance(MetricId::finish_time, in_seconds(*spec.deadline));
  }
  if (spec.constraints.budget) {
    add_chance(MetricId::cost, in_dollars(*spec.constraints.budget));
  }
}

// "64 nodes of 8 x NVIDIA B200 SXM 180 GB, $8.50 per GPU-hour (2026-10-10)".
std::string machine_words(const report::Evaluation& evaluation) {
  const report::ScenarioEcho& echo = evaluation.echo;
  std::string words = fmt::format("{} node{} of {} x {}", format_integer(echo.nodes),
                                  echo.nodes == 1 ? "" : "s", echo.gpus_per_node, echo.gpu);
  if (const auto price = report::mean_price(evaluation)) {
    const std::string& date = evaluation.plan->pricing.as_of;
    words += fmt::format(", {} per GPU-hour{}", format_money(*price * hours(1.0)),
                         date.empty() ? "" : " (" + date + ")");
  }
  return words;
}

std::string gpus_of(const ClusterPlan& one) {
  return fmt::format("{} x {}", format_integer(one.choice.gpus), one.choice.preset);
}

std::string why_not(const ClusterPlan& one) {
  if (!one.problem.empty()) {
    return one.problem;
  }
  return one.plan && !one.plan->notes.empty() ? one.plan->notes.front() : "no plan";
}

void add_cluster(report::TextPage& page, const ClusterPlan& one, bool first) {
  const Finalist* best = best_of(one);
  page.section(first ? "CLUSTERS" : "", page.paint(report::Ink::strong, gpus_of(one)), first);
  if (best == nullptr) {
    page.line(page.paint(report::Ink::bad, report::printable(why_not(one))));
    return;
  }
  page.line(report::printable(machine_words(best->evaluation)));
  page.line(report::printable(best->proposal.words));
  const std::string switches = switch_words(*one.plan);
  if (!switches.empty()) {
    page.line(report::printable(switches));
  }
  if (one.plan->limited || !one.plan->complete()) {
    page.line(page.paint(report::Ink::warning, report::printable(one.plan->notes.front())));
  }
}

}  // namespace

std::optional<std::string> on_cluster(std::string_view text, const ClusterChoice& choice,
                                      const std::string& name,
                                      const hardware::ProfileSearch& search,
                                      Diagnostics& diagnostics) {
  const scenario::PresetLibrary library(search);
  const auto preset = library.find(scenario::PresetKind::clusters, choice.preset, diagnostics);
  if (preset == nullptr) {
    if (!diagnostics.has_errors()) {
      diagnostics.error({}, "plan.clusters", fmt::format("`{}` is no machine", choice.preset),
                        "orrery list clusters shows all");
    }
    return std::nullopt;
  }
  const std::vector<scenario::KeyValue> machine = {
      {"cluster.preset", choice.preset, {}}, {"cluster.gpus", fmt::format("{}", choice.gpus), {}}};
  auto changed = scenario::with_keys(text, machine, diagnostics);
  if (!changed) {
    return std::nullopt;
  }
  for (const std::string& key : keys_below(*changed, "cluster.")) {
    if (key != "cluster.preset" && key != "cluster.gpus" && !remove(*changed, key, diagnostics)) {
      return std::nullopt;
    }
  }
  const run::PriceSpec& offered = preset->prices.spec;
  const std::set<std::string> prices = keys_below(*changed, "prices.");
  if (offered.gpu_hour && !prices.empty()) {
    const std::vector<scenario::KeyValue> own = {
        {"prices.gpu_hour", yaml::kind::PriceRate::format(*offered.gpu_hour), {}},
        {"prices.as_of", offered.as_of, {}}};
    changed = scenario::with_keys(*changed, own, diagnostics);
    if (!changed ||
        (prices.contains("prices.preset") && !remove(*changed, "prices.preset", diagnostics))) {
      return std::nullopt;
    }
  }
  Diagnostics unused;  // that data follows is said of the keys that somebody changes by hand
  scenario::drop_outdated_data(*changed, machine, name, search, unused);
  return changed;
}

void rank(std::vector<ClusterPlan>& plans) {
  const auto value = [](const ClusterPlan& one) {
    const Finalist* best = best_of(one);
    return best != nullptr ? best->value : std::numeric_limits<double>::infinity();
  };
  std::stable_sort(plans.begin(), plans.end(),
                   [&](const ClusterPlan& a, const ClusterPlan& b) { return value(a) < value(b); });
}

std::string to_text(std::span<const ClusterPlan> plans, report::TextStyle style) {
  report::TextPage page(style);
  const auto planned = std::find_if(plans.begin(), plans.end(),
                                    [](const ClusterPlan& one) { return one.plan.has_value(); });
  if (planned != plans.end()) {
    page.title(page.paint(report::Ink::strong, report::printable(fmt::format(
                                                   "{}: machines by {}", planned->plan->name,
                                                   best_words(planned->plan->spec.objective)))));
  }
  const bool dated = std::any_of(plans.begin(), plans.end(), [](const ClusterPlan& one) {
    const Finalist* best = best_of(one);
    return best != nullptr && best->evaluation.metrics.find(MetricId::finish_date) != nullptr;
  });
  report::Table table =
      report::table_of({"cluster", "GPUs", "step", "done", "cost", "energy", "spares"});
  if (planned != plans.end() && planned->plan->spec.deadline) {
    table.columns.push_back({{}, "in time"});
  }
  if (planned != plans.end() && planned->plan->spec.constraints.budget) {
    table.columns.push_back({{}, "in budget"});
  }
  for (const ClusterPlan& one : plans) {
    add_row(one, dated ? MetricId::finish_date : MetricId::finish_time, table);
  }
  std::string text = page.text() + "\n" + report::to_text(table, page);
  report::TextPage rest(style);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    add_cluster(rest, plans[i], i == 0);
  }
  return text + rest.text();
}

std::string to_json(std::span<const ClusterPlan> plans) {
  Json clusters = Json::array();
  for (const ClusterPlan& one : plans) {
    clusters.push_back({{"preset", one.choice.preset},
                        {"gpus", one.choice.gpus},
                        {"problem", one.problem},
                        {"plan", one.plan ? Json::parse(to_json(*one.plan)) : Json(nullptr)}});
  }
  return json_text({{"schema", kClusterPlansSchema}, {"clusters", std::move(clusters)}});
}

}  // namespace orrery::plan
