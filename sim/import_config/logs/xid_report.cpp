#include <fmt/format.h>

#include <boost/math/distributions/chi_squared.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/text/format.hpp"
#include "sim/base/text/json_text.hpp"
#include "sim/import_config/logs/xid_log.hpp"

namespace orrery::import_config {

namespace {

// Means of a Poisson number of events that n of them leave open, 95 %.
std::pair<double, double> poisson_interval(std::int64_t n) {
  constexpr double kTail = 0.025;
  using Law = boost::math::chi_squared_distribution<double>;
  const auto twice = 2.0 * static_cast<double>(n);
  return {n == 0 ? 0.0 : quantile(Law(twice), kTail) / 2.0,
          quantile(Law(twice + 2.0), 1.0 - kTail) / 2.0};
}

double node_days(const XidFailures& found) {
  return static_cast<double>(found.nodes.value_or(found.hosts)) * in_seconds(found.span) /
         kSecondsPerDay;
}

}  // namespace

std::int64_t XidFailures::total() const {
  std::int64_t sum = 0;
  for (const XidCount& of : failures) {
    sum += of.count;
  }
  return sum;
}

std::string preset_of(const XidFailures& found, const std::string& name) {
  const double days = node_days(found);
  const auto [low, high] = poisson_interval(found.total());
  std::string text = fmt::format(
      "# Failures of one fleet by its Xid errors: a fragment of a scenario, named by "
      "failures.preset.\n"
      "# What ends jobs without an Xid (hosts, networks, software) is not in it.\n"
      "format: orrery-preset/1\nname: {}\n"
      "summary: {:.3g} per 1,000 node-days by Xid, {} causes\n"
      "source: \"{} failures in {:.6g} node-days of {} nodes, by Xid; 95 %: {:.3g} to {:.3g} per "
      "1,000 node-days\"\n\nfailures:\n  node_rate: {:.6g}/d\n",
      name, kKilo * static_cast<double>(found.total()) / days, found.failures.size(), found.total(),
      days, *found.nodes, kKilo * low / days, kKilo * high / days,
      static_cast<double>(found.total()) / days);
  if (found.failures.empty()) {
    return text;
  }
  text += "  causes:\n";
  for (const XidCount& of : found.failures) {
    text += fmt::format(
        "    - {{name: \"{}\", category: {}, weight: {}{}}}\n", of.name,
        of.known ? "gpu" : "unknown", of.count,
        of.takes_node == of.known ? "" : fmt::format(", takes_node: {}", of.takes_node));
  }
  return text;
}

std::string xid_report(const XidFailures& found) {
  const double days = node_days(found);
  const auto [low, high] = poisson_interval(found.total());
  std::string text = fmt::format(
      "{} failures in {:.6g} node-days ({} nodes, {}{}): {:.3g} per 1,000 node-days, {:.3g} to "
      "{:.3g} in 95 of 100\n",
      found.total(), days, *found.nodes, format_time(found.span),
      found.span_stated ? " as stated" : " by the dates",
      kKilo * static_cast<double>(found.total()) / days, kKilo * low / days, kKilo * high / days);
  for (const XidCount& of : found.failures) {
    text += fmt::format("  {:<42} {:>6}  {:>7.3g} per 1,000 node-days, one every {} on {} nodes\n",
                        of.name, of.count, kKilo * static_cast<double>(of.count) / days,
                        format_time(found.span / static_cast<double>(of.count)), *found.nodes);
  }
  const auto add = [&text](const std::vector<XidCount>& list, std::string_view why) {
    for (const XidCount& of : list) {
      text += fmt::format("  {:<42} {:>6}  no failure: {}\n", of.name, of.count, why);
    }
  };
  add(found.application, "an error of the application");
  add(found.reports, "a repair, or a consequence");
  if (found.repeats > 0) {
    text += fmt::format("  {:<42} {:>6}  within {} of a failure of the same host\n", "further Xids",
                        found.repeats, format_time(kSameFailure));
  }
  for (const XidCount& of : found.failures) {
    if (!of.known) {
      text += fmt::format("  {} is not known: it counts as a failure of unknown cause\n", of.name);
    }
  }
  return text;
}

std::string xid_report_json(const XidFailures& found) {
  const auto list = [](const std::vector<XidCount>& counts) {
    Json rows = Json::array();
    for (const XidCount& of : counts) {
      rows.push_back({{"xid", of.xid}, {"name", of.name}, {"count", of.count}});
    }
    return rows;
  };
  const auto [low, high] = poisson_interval(found.total());
  const double days = node_days(found);
  return Json{{"format", "orrery-xids/1"},
              {"nodes", *found.nodes},
              {"span_s", in_seconds(found.span)},
              {"failures", found.total()},
              {"rate_per_node_day", static_cast<double>(found.total()) / days},
              {"rate_ci95", {low / days, high / days}},
              {"by_xid", list(found.failures)},
              {"of_the_application", list(found.application)},
              {"reports", list(found.reports)},
              {"repeats", found.repeats}}
             .dump(2) +
         "\n";
}

}  // namespace orrery::import_config
