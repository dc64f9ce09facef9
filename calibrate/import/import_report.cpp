// The summary of an import for people and for programs.

#include "calibrate/import/import_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/text/format.hpp"
#include "sim/base/text/json_text.hpp"
#include "sim/base/text/text.hpp"
#include "sim/base/yaml/flow_text.hpp"

namespace orrery::calibration_import {

namespace {

using yaml::in_quotes;

constexpr double kPicosecondsPerSecond = kTera;

std::string sizes_text(const hardware::CollectiveTable& table) {
  return fmt::format("{}-{}", format_bytes_binary(table.points.front().size, {3, true}),
                     format_bytes_binary(table.points.back().size, {3, true}));
}

std::string row_text(const ImportedTable& imported) {
  const hardware::CollectiveTable& table = imported.table;
  const Plateau& plateau = imported.plateau;
  return fmt::format("{:<15}{:>6}{:>6}  {:<22}{:>6}  {:>10}  {:>10}  {:>9}  {:>9}{}\n",
                     operation_name(table.operation), table.ranks, table.nodes, sizes_text(table),
                     table.points.size(), format_bandwidth(plateau.measured),
                     format_bandwidth(plateau.expected), format_time(table.alpha),
                     fmt::format("{:.3g} ps/B", table.beta * kPicosecondsPerSecond),
                     table.degraded ? "  degraded" : (table.narrow ? "  8-bit" : ""));
}

// Each fact of all tables once, and the date.
std::vector<Fact> all_facts(const ImportReport& report) {
  std::vector<Fact> facts;
  for (const ImportedTable& imported : report.tables) {
    add_facts(imported.facts, facts);
  }
  facts.push_back(report.as_of);
  return facts;
}

std::string facts_text(const ImportReport& report) {
  std::string text;
  for (const Fact& fact : all_facts(report)) {
    text += fmt::format("  {:<8} {} {}{}\n", to_string(fact.origin), fact.name, fact.value,
                        fact.why.empty() ? "" : fmt::format(" ({})", fact.why));
  }
  return text;
}

std::string tables_text(const ImportReport& report) {
  if (report.tables.empty()) {
    return {};
  }
  std::string text = fmt::format(
      "Collectives of {}\n{:<15}{:>6}{:>6}  {:<22}{:>6}  {:>10}  {:>10}"
      "  {:>9}  {:>9}\n",
      report.rig, "operation", "ranks", "nodes", "sizes", "points", "busbw", "expected", "alpha",
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
    text += fmt::format("{:<44}{:>9.4g} {} (median of {}, {:.4g} to {:.4g})\n", result.test,
                        result.median, result.unit.empty() ? std::string("GB/s") : result.unit,
                        result.values, result.lowest, result.highest);
  }
  return text + (report.fragment.empty() ? "\n" + fragment_yaml(report) : std::string());
}

// null where nothing was written.
Json path_json(const std::string& path) { return path.empty() ? Json() : Json(path); }

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

Json file_json(const ReadFile& file) { return {{"file", file.name}, {"format", file.format}}; }

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

// The files that an import writes.

namespace {

constexpr std::size_t kColumns = 100;

// Words behind `start`, wrapped; further lines begin with `indent`.
std::string wrapped(std::string_view start, std::string_view text, std::string_view indent) {
  std::string result(start);
  std::size_t column = start.size();
  for (const std::string_view word : words_of(text)) {
    if (column + word.size() + 1 > kColumns && column > indent.size()) {
      result += fmt::format("\n{}", indent);
    } else if (column > indent.size() || column == start.size()) {
      result += column > 0 && result.back() != ' ' ? " " : "";
    }
    result += word;
    column = result.size() - (result.rfind('\n') == std::string::npos ? 0 : result.rfind('\n') + 1);
  }
  return result + '\n';
}

std::string points_text(const std::vector<hardware::CollectivePoint>& points) {
  std::string text = "[";
  for (std::size_t i = 0; i < points.size(); ++i) {
    text += fmt::format("{}[{},~{:.10g}us]", i == 0 ? "" : ", ",
                        exact_size(std::llround(in_bytes(points[i].size))),
                        in_microseconds(points[i].time));
  }
  text += "]";
  text = wrapped("      ", text, "       ");
  std::replace(text.begin(), text.end(), '~', ' ');  // pairs stay on one line
  return text;
}

std::string fact_line(const Fact& fact) {
  return wrapped("# ",
                 fmt::format("{}: {} {}{}{}{}", to_string(fact.origin), fact.name, fact.value,
                             fact.why.empty() ? "" : " (", fact.why, fact.why.empty() ? "" : ")"),
                 "#   ");
}

std::string table_yaml(const ImportedTable& imported) {
  const hardware::CollectiveTable& table = imported.table;
  std::string text = fmt::format("  - rig: {}\n", in_quotes(table.rig));
  text += fmt::format("    gpu: {}\n", in_quotes(table.gpu));
  text += fmt::format("    operation: {}\n", operation_name(table.operation));
  text += table.narrow ? "    narrow: true\n" : "";
  text += fmt::format("    ranks: {}\n    nodes: {}\n", table.ranks, table.nodes);
  text += fmt::format("    nvlink_domain: {}\n", table.nvlink_domain);
  text += table.nvls ? "    nvls: true\n" : "";
  text += table.sharp ? "    sharp: true\n" : "";
  text += table.degraded ? "    degraded: true\n" : "";
  if (table.algorithm != hardware::CollectiveAlgorithm::automatic) {
    text +=
        fmt::format("    algorithm: {}\n", name_of(hardware::kForcedAlgorithms, table.algorithm));
  }
  if (table.nics_per_node > 0) {
    text += fmt::format("    fabric: {}\n", name_of(hardware::kFabricNames, table.fabric));
    text += fmt::format("    nic_rate: {:.10g}Gbps\n", in_gigabits_per_second(table.nic_rate));
    text += fmt::format("    nics_per_node: {}\n", table.nics_per_node);
  }
  text += "    source: measured\n";
  text += wrapped("    citation: ", in_quotes(table.source.citation), "      ");
  text += "    points:\n" + points_text(table.points);
  return text;
}

}  // namespace

std::string tables_yaml(const ImportReport& report) {
  const hardware::CollectiveTable& first = report.tables.front().table;
  std::vector<std::string> names;
  for (const ReadFile& file : report.files) {
    names.push_back(fmt::format("{} ({})", file.name, file.format));
  }
  std::string text =
      fmt::format("# Measured collectives of {}, written by `orrery import`.\n", report.rig);
  text += wrapped("# ", fmt::format("From {}.", fmt::join(names, ", ")), "#   ");
  std::vector<Fact> facts = all_facts(report);
  std::ranges::stable_sort(facts, {}, &Fact::origin);  // assumptions last: they catch the eye
  for (const Fact& fact : facts) {
    text += fact_line(fact);
  }
  text += "# Used by a scenario with `cluster: {network: {collectives: FILE}}`.\n";
  text += fmt::format("format: orrery-collectives/1\narch: {}\n", hardware::to_string(first.arch));
  if (first.nvlink > BytesPerSecond()) {
    text += fmt::format("nvlink: {:.10g}GB/s\n", in_gigabytes_per_second(first.nvlink));
  }
  text += fmt::format("as_of: {}\ntables:\n", report.as_of.value);
  for (const ImportedTable& imported : report.tables) {
    text += table_yaml(imported);
  }
  return printable_lines(text);  // a log may hold any bytes
}

std::string fragment_yaml(const ImportReport& report) {
  const CopyRates& copies = *report.copies;
  std::string text =
      "# Rates of copies, written by `orrery import`: replace the keys of the same\n";
  text += fmt::format("# name in a copy of the GPU profile{}{}.\n", copies.gpu.empty() ? "" : " ",
                      copies.gpu);
  for (const CopyCoefficient& coefficient : copies.coefficients) {
    text += fmt::format("{}:\n  value: {:.6g}GB/s\n  source: measured\n", coefficient.key,
                        in_gigabytes_per_second(coefficient.value));
    text += wrapped("  citation: ", in_quotes(coefficient.citation), "    ");
  }
  return printable_lines(text);
}

}  // namespace orrery::calibration_import
