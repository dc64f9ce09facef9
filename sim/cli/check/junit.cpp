#include "sim/cli/check/junit.hpp"

#include <fmt/core.h>

#include <string_view>

#include "sim/answer/report/escape.hpp"

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

}  // namespace orrery::cli
