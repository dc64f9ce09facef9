#include "sim/cli/check/checked_file.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "sim/answer/report/files/figures.hpp"
#include "sim/answer/report/files/json_report.hpp"
#include "sim/answer/report/text/text_page.hpp"
#include "sim/base/text/json_text.hpp"

namespace orrery::cli {

namespace {

using report::ChangeKind;

std::string_view word_of(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::same:
      return "same";
    case ChangeKind::chance:
      return "chance";
    case ChangeKind::moved:
      return "moved";
    case ChangeKind::gone:
      return "gone";
    case ChangeKind::added:
      return "new";
  }
  return {};
}

Json change_json(const report::ScenarioChange& change) {
  Json metrics = Json::array();
  for (const report::MetricChange& metric : change.metrics) {
    if (metric.kind != ChangeKind::same) {
      metrics.push_back({{"metric", metric.key},
                         {"verdict", word_of(metric.kind)},
                         {"before", metric.before},
                         {"after", metric.after},
                         {"allowed", metric.allowed},
                         {"noise", metric.noise},
                         {"tolerance", report::tolerance_text(metric.tolerance)}});
    }
  }
  return {{"new", change.is_new},
          {"pass", !change.failed()},
          {"scenario_edited", change.edited},
          {"fits_changed", change.fits_changed},
          {"same", change.count(ChangeKind::same)},
          {"changes", metrics}};
}

Json file_json(const CheckedFile& file) {
  Json out = {{"file", file.file}, {"exit_code", static_cast<int>(verdict_of(file))}};
  if (!file.evaluation) {
    out["problem"] = file.problem;
    out["diagnostics"] = report::json_of(file.diagnostics);
    return out;
  }
  const Json evaluation = report::json_of(*file.evaluation);
  for (const char* key : {"feasible", "reasons", "expectations", "diagnostics"}) {
    out[key] = evaluation[key];
  }
  out["signature"] = report::signature_of(report::behaviour_text(*file.evaluation));
  if (file.change) {
    out["baseline"] = change_json(*file.change);
  }
  return out;
}

}  // namespace

ExitCode verdict_of(const CheckedFile& file) {
  if (!file.evaluation) {
    return file.code;
  }
  if (file.does_not_fit) {
    return ExitCode::does_not_fit;
  }
  const Tally tally = tally_of(file);
  const bool moved = file.change && file.change->failed();
  return tally.met < tally.all || moved ? ExitCode::expectation_failed : ExitCode::ok;
}

Tally tally_of(const CheckedFile& file) {
  Tally tally;
  if (file.evaluation) {
    const auto& results = file.evaluation->expectations;
    tally.all = results.size();
    tally.met = static_cast<std::size_t>(
        std::ranges::count_if(results, [](const auto& result) { return result.passed(); }));
  }
  return tally;
}

ExitCode CheckReport::code() const {
  ExitCode code = missing.empty() ? ExitCode::ok : ExitCode::expectation_failed;
  for (const CheckedFile& file : files) {
    code = worse(code, verdict_of(file));
  }
  return code;
}

std::string change_of_file(const report::ScenarioChange& change) {
  if (change.is_new) {
    return "not in the baseline";
  }
  std::string text;
  if (change.fits_changed) {
    text = change.fits ? "fits in memory, did not before" : "no longer fits in memory";
  }
  if (change.edited) {
    text += fmt::format("{}the scenario was edited since", text.empty() ? "" : "; ");
  }
  return text;
}

std::string to_json(const CheckReport& report) {
  Json out = {{"schema", "orrery-check/1"},
              {"exit_code", static_cast<int>(report.code())},
              {"signature", signature_of(report)}};
  if (report.baseline) {
    out["baseline"] = {{"file", *report.baseline}, {"missing", report.missing}};
  }
  out["files"] = json_list(report.files, file_json);
  return json_text(out);
}

namespace {

std::map<std::string, std::string> behaviour_by_name(const CheckReport& report) {
  std::map<std::string, std::string> texts;
  for (const CheckedFile& file : report.files) {
    texts[file.file] = file.evaluation ? report::behaviour_text(*file.evaluation) : "";
  }
  return texts;
}

}  // namespace

std::string signature_of(const CheckReport& report) {
  std::string all;
  for (const auto& [name, text] : behaviour_by_name(report)) {
    all += text;
  }
  return report::signature_of(all);
}

std::string signature_lines(const CheckReport& report) {
  std::string lines;
  const auto texts = behaviour_by_name(report);
  for (const auto& [name, text] : texts) {
    const std::string signature = text.empty() ? "no answer       " : report::signature_of(text);
    lines += fmt::format("{}  {}\n", signature, report::printable(name));
  }
  return lines + fmt::format("{}  all {} files\n", signature_of(report), texts.size());
}

}  // namespace orrery::cli
