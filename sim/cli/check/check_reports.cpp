#include "sim/cli/check/check_reports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "sim/answer/report/table.hpp"
#include "sim/base/percent.hpp"

namespace orrery::cli {

namespace {

struct Suite {
  std::size_t cases = 0;
  std::size_t failures = 0;
  std::size_t errors = 0;
  std::string body;
};

void add_case(Suite& suite, std::string_view file, std::string_view name, std::string_view inside) {
  ++suite.cases;
  suite.body += fmt::format("    <testcase classname=\"{}\" name=\"{}\"{}", report::xml_text(file),
                            report::xml_text(name), inside.empty() ? "/>\n" : ">\n");
  if (!inside.empty()) {
    suite.body += fmt::format("      {}\n    </testcase>\n", inside);
  }
}

void add_failure(Suite& suite, std::string_view file, std::string_view name, std::string_view kind,
                 std::string_view detail) {
  ++suite.failures;
  add_case(suite, file, name,
           fmt::format("<failure type=\"{}\" message=\"{}\"/>", kind, report::xml_text(detail)));
}

std::string properties(const report::Evaluation& evaluation) {
  std::string text =
      fmt::format("    <properties>\n      <property name=\"sha256\" value=\"{}\"/>\n",
                  report::xml_text(evaluation.echo.sha256));
  if (evaluation.plan) {
    text += fmt::format("      <property name=\"trials\" value=\"{}\"/>\n",
                        evaluation.plan->simulation.trials);
    text += fmt::format("      <property name=\"seed\" value=\"{}\"/>\n",
                        evaluation.plan->simulation.seed);
  }
  return text + "    </properties>\n";
}

void add_changes(Suite& suite, const CheckedFile& file) {
  const report::ScenarioChange& change = *file.change;
  if (change.fits_changed) {
    add_failure(suite, file.file, "baseline: fits in memory", "moved", change_of_file(change));
  }
  for (const report::MetricChange& metric : change.metrics) {
    if (metric.failed()) {
      add_failure(suite, file.file, fmt::format("baseline: {}", metric.key),
                  metric.kind == report::ChangeKind::gone ? "gone" : "moved",
                  report::change_text(metric));
    }
  }
  if (!change.failed()) {
    add_case(suite, file.file, change.is_new ? "baseline: new" : "baseline", "");
  }
}

Suite suite_of(const CheckedFile& file) {
  Suite suite;
  if (!file.evaluation) {
    ++suite.errors;
    add_case(
        suite, file.file, "scenario can be evaluated",
        fmt::format("<error type=\"invalid\" message=\"{}\"/>", report::xml_text(file.problem)));
    return suite;
  }
  suite.body = properties(*file.evaluation);
  if (file.does_not_fit) {
    std::string why;
    for (const std::string& reason : file.evaluation->reasons) {
      why += why.empty() ? reason : "; " + reason;
    }
    add_failure(suite, file.file, "fits in memory", "fail", why);
  }
  for (const report::ExpectationResult& result : file.evaluation->expectations) {
    if (result.passed()) {
      add_case(suite, file.file, result.text, "");
    } else {
      add_failure(suite, file.file, result.text, to_string(result.verdict), result.detail);
    }
  }
  if (file.change) {
    add_changes(suite, file);
  }
  return suite;
}

using report::ChangeKind;
using report::Table;

// Text inside a cell: no line of a file may become markup.
std::string cell(std::string_view text) {
  constexpr std::size_t kMostCharacters = 400;
  std::string out;
  for (const char c : report::printable(text.substr(0, kMostCharacters))) {
    switch (c) {
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

// The first rows, and how many follow.
std::string cut(Table table) {
  const std::size_t rows = table.rows.size();
  table.rows.resize(std::min(rows, kMostRows));
  return to_markdown(table) +
         (rows > kMostRows ? fmt::format("\n... and {} more\n\n", rows - kMostRows) : "\n");
}

std::string section(std::string_view title, const Table& table) {
  return table.rows.empty() ? std::string() : fmt::format("#### {}\n\n{}", title, cut(table));
}

std::string folded(std::string_view title, const Table& table) {
  return table.rows.empty()
             ? std::string()
             : fmt::format("<details><summary>{}</summary>\n\n{}</details>\n\n", title, cut(table));
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

Table problems(const CheckReport& report) {
  Table table = report::table_of({"Scenario", "Problem"});
  for (const CheckedFile& file : report.files) {
    if (!file.evaluation) {
      table.add(cell(file.file), cell(file.problem));
    } else if (file.does_not_fit) {
      for (const std::string& reason : file.evaluation->reasons) {
        table.add(cell(file.file), "does not fit in memory: " + cell(reason));
      }
    }
  }
  return table;
}

Table unmet(const CheckReport& report) {
  Table table = report::table_of({"Line", "Expectation", "Verdict", "Found"});
  for (const CheckedFile& file : report.files) {
    if (!file.evaluation) {
      continue;
    }
    for (const report::ExpectationResult& result : file.evaluation->expectations) {
      if (!result.passed()) {
        table.add(fmt::format("{}:{}", cell(result.where.file), result.where.line),
                  cell(result.text), to_string(result.verdict), cell(result.detail));
      }
    }
  }
  return table;
}

std::string number(const std::optional<double>& value) {
  return value ? fmt::format("{:.6g}", *value) : "-";
}

Table changes(const CheckReport& report, bool failed) {
  Table table =
      report::table_of({"Scenario", "Metric", "Before", "After", "Change", "Tolerance", "Chance"});
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
      table.add(cell(file.file), cell(change.key), number(change.before), number(change.after),
                move,
                change.kind == ChangeKind::added ? "-" : report::tolerance_text(change.tolerance),
                change.noise > 0.0 ? fmt::format("{:.3g}", change.noise) : "-");
    }
    const std::string of_file = change_of_file(*file.change);
    if (!of_file.empty() && file.change->fits_changed == failed) {
      table.add(cell(file.file), of_file, "-", "-", "-", "-", "-");
    }
  }
  return table;
}

}  // namespace

std::string to_junit(const CheckReport& report) {
  Suite all;
  for (const CheckedFile& file : report.files) {
    const Suite suite = suite_of(file);
    all.cases += suite.cases;
    all.failures += suite.failures;
    all.errors += suite.errors;
    all.body += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\">\n{}  </testsuite>\n",
        report::xml_text(file.file), suite.cases, suite.failures, suite.errors, suite.body);
  }
  if (!report.missing.empty()) {
    Suite suite;
    for (const std::string& missing : report.missing) {
      add_failure(suite, missing, "baseline: is checked", "missing", "was not checked");
    }
    all.cases += suite.cases;
    all.failures += suite.failures;
    all.body += fmt::format(
        "  <testsuite name=\"baseline\" tests=\"{}\" failures=\"{}\" errors=\"0\">\n{}  "
        "</testsuite>\n",
        suite.cases, suite.failures, suite.body);
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"orrery check\" tests=\"{}\" "
      "failures=\"{}\" errors=\"{}\">\n{}</testsuites>\n",
      all.cases, all.failures, all.errors, all.body);
}

std::string to_markdown(const CheckReport& report) {
  std::size_t failed = 0;
  Tally all;
  Table files = report::table_of({"Scenario", "Expectations", "Baseline", "Verdict"});
  for (const CheckedFile& file : report.files) {
    const Tally tally = tally_of(file);
    failed += verdict_of(file) == ExitCode::ok ? 0U : 1U;
    all.met += tally.met;
    all.all += tally.all;
    files.add(cell(file.file), fmt::format("{} of {}", tally.met, tally.all), baseline_text(file),
              verdict_text(file));
  }
  std::string text =
      fmt::format("### orrery check: {}\n\n{} of {} expectations met in {} files",
                  failed == 0 && report.missing.empty()
                      ? "pass"
                      : fmt::format("{} of {} files failed", failed, report.files.size()),
                  all.met, all.all, report.files.size());
  text += report.baseline ? fmt::format(", compared with {}", cell(*report.baseline)) : "";
  text += fmt::format(". Behaviour signature: {}.\n\n", signature_of(report));
  text += section("Without an answer", problems(report));
  text += section("Expectations not met", unmet(report));
  text += section("Moved against the baseline", changes(report, true));
  Table missing = report::table_of({"Scenario"});
  for (const std::string& file : report.missing) {
    missing.add(cell(file));
  }
  text += section("In the baseline and not checked", missing);
  text += folded("New, edited, or within what chance explains", changes(report, false));
  return text + folded("All files", files);
}

}  // namespace orrery::cli
