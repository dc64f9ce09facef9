#include "sim/cli/compare/compare_scenarios.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <utility>
#include <vector>

#include "sim/answer/evaluate/compare/compare_calibrations.hpp"
#include "sim/answer/plan/change_error.hpp"
#include "sim/answer/report/files/figures.hpp"
#include "sim/answer/report/files/saved_evaluation.hpp"
#include "sim/answer/report/metric_band.hpp"
#include "sim/answer/report/metrics.hpp"
#include "sim/answer/report/text/printed_sum.hpp"
#include "sim/answer/report/text/text_page.hpp"
#include "sim/base/files/file.hpp"
#include "sim/base/percent.hpp"
#include "sim/base/text/format.hpp"
#include "sim/base/text/json_text.hpp"
#include "sim/cli/frame/output.hpp"
#include "sim/cli/frame/program.hpp"

namespace orrery::cli {

namespace {

// Both answers, their scenarios as far as they are known, and what keeps them from being alike.
struct Pair {
  report::Figures a;
  report::Figures b;
  std::optional<report::ChangeError> error = {};
  std::vector<evaluate::KeyChange> keys = {};
  bool files = true;  // a saved answer does not hold its scenario
};

// One figure of both answers.
struct Line {
  std::string name;
  std::string json_key;
  report::Dimension dimension = report::Dimension::count;
  std::optional<double> first;
  std::optional<double> second;
  bool within_error = false;
};

std::string change_of(const std::optional<double>& first, const std::optional<double>& second) {
  constexpr double kMost = 10.0;  // beyond that, and across zero, a percentage says nothing
  const double ratio = first && second && *first != 0.0 ? *second / *first : 0.0;
  return ratio > 0.0 && ratio < kMost ? signed_percent_cell(ratio - 1.0) : "";
}

std::vector<report::DifferenceRow> rows_of(const Pair& pair, std::string_view group) {
  const report::Figures both[] = {pair.a, pair.b};
  const std::optional<report::ChangeError> errors[] = {std::nullopt, pair.error};
  std::vector<report::DifferenceRow> rows = report::differences(both, errors);
  std::erase_if(rows, [group](const report::DifferenceRow& row) { return row.group != group; });
  return rows;
}

std::vector<Line> metric_lines(const Pair& pair) {
  std::vector<Line> lines;
  for (const report::DifferenceRow& row : rows_of(pair, "metric")) {
    lines.push_back({std::string(row.name), std::string(report::find_metric(row.name)->json_key),
                     row.dimension, row.values[0].value, row.values[1].value,
                     row.values[1].within_error});
  }
  return lines;
}

// Categories in which either spent time, and as the last line what they add up to, without a key.
std::vector<Line> step_lines(const Pair& pair) {
  std::vector<Line> lines;
  for (const report::DifferenceRow& row : rows_of(pair, "step ledger")) {
    const auto& longer = pair.a.step_ledger.empty() ? pair.b.step_ledger : pair.a.step_ledger;
    const auto category = std::ranges::find(longer, row.name, &report::LedgerRow::label);
    const std::string name(category == longer.end() ? row.name : category->category);
    lines.push_back({name, category == longer.end() ? std::string() : name + "_s", row.dimension,
                     row.values[0].value, row.values[1].value, row.values[1].within_error});
  }
  return lines;
}

std::vector<Line> run_lines(const Pair& pair) {
  std::vector<Line> lines;
  Line all{.name = "all", .json_key = {}, .first = 0.0, .second = 0.0};
  for (std::size_t c = 0; c < run::kRunCategoryNames.size(); ++c) {
    const auto hours = [c](const report::Figures& one) {
      return c < one.run_ledger.size() ? in_hours(one.run_ledger[c].gpu_time) : 0.0;
    };
    Line line{.name = std::string(run::kRunCategoryNames[c]),
              .json_key = fmt::format("{}_gpu_h", run::kRunCategoryNames[c]),
              .first = hours(pair.a),
              .second = hours(pair.b)};
    *all.first += *line.first;
    *all.second += *line.second;
    if (*line.first > 0.0 || *line.second > 0.0) {
      lines.push_back(std::move(line));
    }
  }
  if (!lines.empty()) {
    lines.push_back(std::move(all));
  }
  return lines;
}

std::string shown(const Line& line, const std::optional<double>& value) {
  return value ? report::format_value(line.dimension, *value) : std::string("-");
}

std::string block(std::string_view title, const std::vector<Line>& lines) {
  std::string text = lines.empty() ? std::string() : fmt::format("{}\n", title);
  for (const Line& line : lines) {
    text += fmt::format("  {:<32} {:>18} {:>18} {:>10}{}\n", line.name, shown(line, line.first),
                        shown(line, line.second), change_of(line.first, line.second),
                        line.within_error ? "  within error" : "");
  }
  return text;
}

// A ledger: what its digits lack to add up to its last line.
std::string ledger_block(std::string_view title, std::vector<Line> lines) {
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    lines[i].within_error = false;  // the title says from when on a part is told apart
  }
  std::string text = block(title, lines);
  const auto rounding = [&lines](std::optional<double> Line::*side) {
    std::vector<std::string> parts;
    for (const Line& line : lines) {
      parts.push_back(shown(line, line.*side));
    }
    const std::string whole = parts.empty() ? std::string() : parts.back();
    parts.resize(parts.empty() ? 0 : parts.size() - 1);
    return lines.empty() ? std::string()
                         : report::rounding_text(lines.back().dimension, parts, whole);
  };
  const std::string first = rounding(&Line::first);
  const std::string second = rounding(&Line::second);
  return first.empty() && second.empty()
             ? text
             : text + fmt::format("  {:<32} {:>18} {:>18}\n", "rounding", first, second);
}

Json json_of(std::vector<Line> lines) {
  std::erase_if(lines, [](const Line& line) { return line.json_key.empty(); });
  return json_list(lines, [](const Line& line) {
    return Json{{"key", line.json_key},
                {"first", line.first},
                {"second", line.second},
                {"within_error", line.within_error}};
  });
}

Json json_of(const ScenarioComparison& options, const Pair& pair) {
  Json out{{"schema", "orrery-comparison/1"},
           {"kind", "scenarios"},
           {"first", options.first},
           {"second", options.second}};
  out["keys"] = json_list(pair.keys, [](const evaluate::KeyChange& change) {
    return Json{{"key", change.key}, {"first", change.first}, {"second", change.second}};
  });
  out["error"] =
      pair.error ? Json{{"relative", pair.error->relative}, {"of", pair.error->of}} : Json(nullptr);
  out["metrics"] = json_of(metric_lines(pair));
  out["step_ledger"] = json_of(step_lines(pair));
  out["run_ledger"] = json_of(run_lines(pair));
  return out;
}

std::string text_of(const ScenarioComparison& options, const Pair& pair) {
  std::string text = fmt::format("A {}\nB {}\n", options.first, options.second);
  text += !pair.files ? "A saved answer does not hold its scenario: how far their change may "
                        "be off is not known\n"
          : pair.keys.empty() ? "The files state the same\n"
                              : "Keys\n";
  for (const evaluate::KeyChange& change : pair.keys) {
    text +=
        report::printable(fmt::format("  {:<32} {} -> {}", change.key, change.first.value_or("-"),
                                      change.second.value_or("-"))) +
        "\n";
  }
  for (const std::string& sentence : {report::step_change_words(pair.a, pair.b, pair.error),
                                      report::error_words(pair.a, pair.b, pair.error)}) {
    text += sentence.empty() ? "" : sentence + "\n";
  }
  text += block("Metrics", metric_lines(pair));
  const auto error = report::step_error(pair.a, pair.b, pair.error);
  text += ledger_block(fmt::format("Step ledger, time of one GPU{}",
                                   error ? fmt::format("; a change of less than {} is within error",
                                                       format_time(*error))
                                         : std::string()),
                       step_lines(pair));
  return text + ledger_block("Run ledger, GPU-hours", run_lines(pair));
}

// How the file begins; empty for standard input and for what cannot be read, which loading reports.
std::string head_of(const std::string& name) {
  constexpr std::size_t kLooked = 4096;
  std::string text(kLooked, '\0');
  std::ifstream file(name, std::ios::binary);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

// Figures, and of a scenario what they come from.
struct Answer {
  report::Figures figures;
  InputFile file = {};
};

// Of a scenario, evaluated now, or of a saved answer; nothing after a message and with its code.
std::optional<Answer> answer_of(const std::string& name, const ScenarioComparison& options,
                                const InterruptWatch& watch, ExitCode& code) {
  if (!is_saved_answer(name)) {
    InputFile file = std::move(load_files({name}, options.evaluation).front());
    if (file.scenario) {
      check_not_read(options.output, *file.scenario);
    }
    evaluate_file(file, options.evaluation, {.levers = false, .band = true}, watch);
    code = worse(code, file.code);
    if (!file.evaluation) {
      return std::nullopt;
    }
    report::Figures figures = report::figures_of(*file.evaluation);
    return Answer{std::move(figures), std::move(file)};
  }
  constexpr std::size_t kMost = std::size_t{64} << 20U;
  report::SavedReading reading = report::read_saved_evaluations(read_file(name, kMost));
  if (reading.problem.empty() && reading.evaluations.size() == 1) {
    return Answer{std::move(reading.evaluations.front())};
  }
  message(fmt::format(
      "{}: {}", name,
      reading.problem.empty() ? "it holds several answers: save each by itself" : reading.problem));
  code = worse(code, ExitCode::invalid);
  return std::nullopt;
}

// By more than the tolerance and than predictions of such a change err; an error that is not known
// excuses nothing.
bool is_slower(const Pair& pair, double percent) {
  const auto first = pair.a.value(report::MetricId::step_time);
  const auto second = pair.b.value(report::MetricId::step_time);
  const double lead = first && second && *first > 0.0 ? *second / *first - 1.0 : 0.0;
  return lead > percent / kPercent &&
         report::told_apart(lead, pair.error ? pair.error->relative : 0.0);
}

}  // namespace

bool is_saved_answer(const std::string& name) {
  return name != "-" && report::is_saved_evaluation(head_of(name));
}

ExitCode compare_scenarios(const ScenarioComparison& options, const InterruptWatch& watch) {
  ExitCode code = ExitCode::ok;
  auto first = answer_of(options.first, options, watch, code);
  auto second = answer_of(options.second, options, watch, code);
  if (!first || !second) {
    return code;
  }
  Pair pair{std::move(first->figures), std::move(second->figures)};
  pair.files = first->file.scenario && second->file.scenario;
  if (pair.files) {
    Diagnostics diagnostics;
    auto changed = evaluate::changed_keys(options.first, options.second, diagnostics);
    pair.error = plan::change_error({*first->file.scenario, *first->file.evaluation},
                                    {*second->file.scenario, *second->file.evaluation},
                                    search_for(options.first, options.evaluation), diagnostics);
    message_block(to_string(diagnostics));
    if (!changed) {
      return ExitCode::invalid;
    }
    pair.keys = *std::move(changed);
  }
  watch.check();
  deliver(options.json ? json_text(json_of(options, pair)) : text_of(options, pair),
          options.output);
  return options.tolerance && is_slower(pair, *options.tolerance) ? ExitCode::expectation_failed
                                                                  : ExitCode::ok;
}

}  // namespace orrery::cli
