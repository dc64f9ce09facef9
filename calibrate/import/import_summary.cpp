// The summary of an import for people and for programs.

#include <fmt/core.h>

#include <algorithm>

#include "calibrate/import/import_report.hpp"
#include "sim/base/text/format.hpp"
#include "sim/base/text/json_text.hpp"

namespace orrery::calibration_import {

namespace {

constexpr double kPicosecondsPerSecond = kTera;

std::string sizes_text(const hardware::CollectiveTable& table) {
  return fmt::format("{}-{}",
                     format_bytes_binary(table.points.front().size, {3, true}),
                     format_bytes_binary(table.points.back().size, {3, true}));
}

std::string row_text(const ImportedTable& imported) {
  const hardware::CollectiveTable& table = imported.table;
  const Plateau& plateau = imported.plateau;
  return fmt::format("{:<15}{:>6}{:>6}  {:<22}{:>6}  {:>10}  {:>10}  {:>9}  {:>9}{}\n",
                     operation_name(table.operation),
                     table.ranks,
                     table.nodes,
                     sizes_text(table),
                     table.points.size(),
                     format_bandwidth(plateau.measured),
                     format_bandwidth(plateau.expected),
                     format_time(table.alpha),
                     fmt::format("{:.3g} ps/B", table.beta * kPicosecondsPerSecond),
                     table.degraded ? "  degraded" : (table.narrow ? "  8-bit" : ""));
}

std::string facts_text(const ImportReport& report) {
  std::string text;
  std::vector<std::string> seen;
  for (const ImportedTable& imported : report.tables) {
    for (const Fact& fact : imported.facts) {
      std::string line = fmt::format("  {:<8} {} {}{}\n",
                                     to_string(fact.origin),
                                     fact.name,
                                     fact.value,
                                     fact.why.empty() ? "" : fmt::format(" ({})", fact.why));
      if (std::find(seen.begin(), seen.end(), line) == seen.end()) {
        seen.push_back(line);
        text += line;
      }
    }
  }
  text += fmt::format("  {:<8} as_of {} ({})\n",
                      to_string(report.as_of.origin),
                      report.as_of.value,
                      report.as_of.why);
  return text;
}

std::string tables_text(const ImportReport& report) {
  if (report.tables.empty()) {
    return {};
  }
  std::string text = fmt::format(
      "Collectives of {}\n{:<15}{:>6}{:>6}  {:<22}{:>6}  {:>10}  {:>10}"
      "  {:>9}  {:>9}\n",
      report.rig,
      "operation",
      "ranks",
      "nodes",
      "sizes",
      "points",
      "busbw",
      "expected",
      "alpha",
      "beta");
  for (const ImportedTable& imported : report.tables) {
    text += row_text(imported);
  }
  return text + facts_text(report);
}

std::string copies_text(const ImportReport& report) {
  if (!report.copies) {
    return {};
  }
  std::string text = "Copies\n";
  for (const CopyResult& result : report.copies->results) {
    text += fmt::format("{:<44}{:>9.4g} {} (median of {}, {:.4g} to {:.4g})\n",
                        result.test,
                        result.median,
                        result.unit.empty() ? std::string("GB/s") : result.unit,
                        result.values,
                        result.lowest,
                        result.highest);
  }
  return text + (report.fragment.empty() ? "\n" + fragment_yaml(report) : std::string());
}

// null where nothing was written.
Json path_json(const std::string& path) {
  return path.empty() ? Json() : Json(path);
}

Json fact_json(const Fact& fact) {
  return {{"name", fact.name},
          {"value", fact.value},
          {"origin", to_string(fact.origin)},
          {"why", fact.why}};
}

Json table_json(const ImportedTable& imported) {
  const hardware::CollectiveTable& table = imported.table;
  return {{"operation", operation_name(table.operation)},
          {"gpu", table.gpu},
          {"ranks", table.ranks},
          {"nodes", table.nodes},
          {"nvlink_domain", table.nvlink_domain},
          {"narrow", table.narrow},
          {"degraded", table.degraded},
          {"type", imported.type},
          {"points", table.points.size()},
          {"smallest_bytes", table.points.front().size},
          {"largest_bytes", table.points.back().size},
          {"plateau_bytes", imported.plateau.size},
          {"busbw_bytes_per_second", imported.plateau.measured},
          {"expected_bytes_per_second", imported.plateau.expected},
          {"expected_from", imported.plateau.against},
          {"alpha_seconds", table.alpha},
          {"beta_seconds_per_byte", table.beta},
          {"files", imported.files},
          {"facts", json_list(imported.facts, fact_json)}};
}

Json file_json(const ReadFile& file) {
  return {{"file", file.name}, {"format", file.format}};
}

Json coefficient_json(const CopyCoefficient& coefficient) {
  return {{"key", coefficient.key},
          {"bytes_per_second", coefficient.value},
          {"citation", coefficient.citation}};
}

}  // namespace

std::string summary_text(const ImportReport& report) {
  std::string text = tables_text(report) + copies_text(report);
  if (!report.output.empty()) {
    text += fmt::format("written to {}\n", report.output);
  }
  if (!report.fragment.empty()) {
    text += fmt::format("keys for a GPU profile written to {}\n", report.fragment);
  }
  return text;
}

std::string summary_json(const ImportReport& report, const Diagnostics& diagnostics) {
  const auto warning = [](const Diagnostic& diagnostic) { return to_string(diagnostic); };
  return json_text(
      {{"schema", "orrery-import/1"},
       {"files", json_list(report.files, file_json)},
       {"rig", report.rig},
       {"as_of", report.as_of.value},
       {"output", path_json(report.output)},
       {"fragment", path_json(report.fragment)},
       {"tables", json_list(report.tables, table_json)},
       {"coefficients",
        report.copies ? json_list(report.copies->coefficients, coefficient_json) : Json::array()},
       {"warnings", json_list(diagnostics.all(), warning)}});
}

}  // namespace orrery::calibration_import
