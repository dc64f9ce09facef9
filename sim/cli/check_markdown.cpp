#include "sim/cli/check_markdown.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sim/base/percent.hpp"
#include "sim/report/text_page.hpp"

namespace orrery::cli {

namespace {

using report::ChangeKind;
using Row = std::vector<std::string>;

// Text inside a cell: no line of a file may end the table or become markup.
std::string cell(std::string_view text) {
  constexpr std::size_t kMostCharacters = 400;
  std::string out;
  for (const char c : report::printable(text.substr(0, kMostCharacters))) {
    switch (c) {
      case '|':
      case '\\':
      case '`':
      case '*':
      case '_':
      case '[':
      case ']':
      case '~':
        out += '\\';
        out += c;
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string line_of(const Row& row) {
  return fmt::format("| {} |\n", fmt::join(row, " | "));
}

std::string table(const Row& header, const std::vector<Row>& rows) {
  std::string text = line_of(header) + line_of(Row(header.size(), "---"));
  for (std::size_t i = 0; i < std::min(rows.size(), kMostRows); ++i) {
    text += line_of(rows[i]);
  }
  if (rows.size() > kMostRows) {
    text += fmt::format("\n... and {} more\n", rows.size() - kMostRows);
  }
  return text + "\n";
}

std::string section(std::string_view title, const Row& header, const std::vector<Row>& rows) {
  return rows.empty() ? std::string() : fmt::format("#### {}\n\n{}", title, table(header, rows));
}

std::string folded(std::string_view title, const Row& header, const std::vector<Row>& rows) {
  return rows.empty() ? std::string()
                      : fmt::format("<details><summary>{}</summary>\n\n{}</details>\n\n",
                                    title,
                                    table(header, rows));
}

std::string verdict_text(const CheckedFile& file) {
  switch (verdict_of(file)) {
    case ExitCode::ok:
      return "pass";
    case ExitCode::expectation_failed:
      return "**FAIL**";
    case ExitCode::does_not_fit:
      return "**does not fit**";
    default:
      return "**no answer**";
  }
}

std::string baseline_text(const CheckedFile& file) {
  if (!file.change) {
    return "";
  }
  const report::ScenarioChange& change = *file.change;
  if (change.is_new) {
    return "new";
  }
  const std::size_t moved = change.count(ChangeKind::moved) + change.count(ChangeKind::gone);
  return moved == 0 && !change.fits_changed ? "as before" : fmt::format("**{} moved**", moved);
}

std::vector<Row> problems(const CheckReport& report) {
  std::vector<Row> rows;
  for (const CheckedFile& file : report.files) {
    if (!file.evaluation) {
      rows.push_back({cell(file.file), cell(file.problem)});
    } else if (file.does_not_fit) {
      for (const std::string& reason : file.evaluation->reasons) {
        rows.push_back({cell(file.file), "does not fit in memory: " + cell(reason)});
      }
    }
  }
  return rows;
}

std::vector<Row> unmet(const CheckReport& report) {
  std::vector<Row> rows;
  for (const CheckedFile& file : report.files) {
    if (!file.evaluation) {
      continue;
    }
    for (const report::ExpectationResult& result : file.evaluation->expectations) {
      if (!result.passed()) {
        rows.push_back({fmt::format("{}:{}", cell(result.where.file), result.where.line),
                        cell(result.text),
                        std::string(to_string(result.verdict)),
                        cell(result.detail)});
      }
    }
  }
  return rows;
}

std::string number(const std::optional<double>& value) {
  return value ? fmt::format("{:.6g}", *value) : "-";
}

std::vector<Row> changes(const CheckReport& report, bool failed) {
  std::vector<Row> rows;
  for (const CheckedFile& file : report.files) {
    if (!file.change) {
      continue;
    }
    for (const report::MetricChange& change : file.change->metrics) {
      if (change.kind == ChangeKind::same || change.failed() != failed) {
        continue;
      }
      std::string move = "-";
      if (change.before && change.after && *change.before != 0.0) {
        move = fmt::format("{:+.3g} %", kPercent * (*change.after / *change.before - 1.0));
      }
      rows.push_back(
          {cell(file.file),
           cell(change.key),
           number(change.before),
           number(change.after),
           move,
           change.kind == ChangeKind::added ? "-" : report::tolerance_text(change.tolerance),
           change.noise > 0.0 ? fmt::format("{:.3g}", change.noise) : "-"});
    }
    const std::string of_file = change_of_file(*file.change);
    if (!of_file.empty() && file.change->fits_changed == failed) {
      rows.push_back({cell(file.file), of_file, "-", "-", "-", "-", "-"});
    }
  }
  return rows;
}

}  // namespace

std::string to_markdown(const CheckReport& report) {
  std::size_t failed = 0;
  Tally all;
  std::vector<Row> rows;
  for (const CheckedFile& file : report.files) {
    const Tally tally = tally_of(file);
    failed += verdict_of(file) == ExitCode::ok ? 0U : 1U;
    all.met += tally.met;
    all.all += tally.all;
    rows.push_back({cell(file.file),
                    fmt::format("{} of {}", tally.met, tally.all),
                    baseline_text(file),
                    verdict_text(file)});
  }
  std::string text = fmt::format("### orrery check: {}\n\n{} of {} expectations met in {} files",
                                 failed == 0 && report.missing.empty()
                                     ? "pass"
                                     : fmt::format("{} of {} files failed", failed, rows.size()),
                                 all.met,
                                 all.all,
                                 rows.size());
  text += report.baseline ? fmt::format(", compared with {}", cell(*report.baseline)) : "";
  text += fmt::format(". Behaviour signature: {}.\n\n", signature_of(report));
  text += section("Without an answer", {"Scenario", "Problem"}, problems(report));
  text +=
      section("Expectations not met", {"Line", "Expectation", "Verdict", "Found"}, unmet(report));
  const Row header = {"Scenario", "Metric", "Before", "After", "Change", "Tolerance", "Chance"};
  text += section("Moved against the baseline", header, changes(report, true));
  std::vector<Row> missing;
  for (const std::string& file : report.missing) {
    missing.push_back({cell(file)});
  }
  text += section("In the baseline and not checked", {"Scenario"}, missing);
  text += folded("New, edited, or within what chance explains", header, changes(report, false));
  return text + folded("All files", {"Scenario", "Expectations", "Baseline", "Verdict"}, rows);
}

}  // namespace orrery::cli
