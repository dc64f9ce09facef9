#include "sim/answer/report/files/saved_evaluation.hpp"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "sim/answer/report/files/json_report.hpp"
#include "sim/answer/report/text/ledger_rows.hpp"
#include "sim/base/text/untrusted_json.hpp"

namespace orrery::report {

namespace {

using SavedJson = nlohmann::json;

const SavedJson& member(const SavedJson& json, const char* key) {
  static const SavedJson kNothing;
  if (!json.is_object()) {
    return kNothing;
  }
  const auto found = json.find(key);
  return found == json.end() ? kNothing : *found;
}

std::string text_of(const SavedJson& json, const char* key) { return text_member(json, key); }

// Null stands for a number that does not exist.
std::optional<double> number_of(const SavedJson& json, const char* key) {
  const SavedJson& value = member(json, key);
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

// Of a file; 0 where there is none.
int line_of(const SavedJson& json) {
  constexpr double kMost = std::numeric_limits<int>::max();
  const double line = number_of(json, "line").value_or(0.0);
  return line >= 0.0 && line <= kMost ? static_cast<int>(line) : 0;
}

std::optional<Dollars> dollars_of(const SavedJson& json, const char* key) {
  const auto value = number_of(json, key);
  return value ? std::optional(dollars(*value)) : std::nullopt;
}

std::vector<MetricFigures> metrics_of(const SavedJson& json) {
  std::vector<MetricFigures> metrics;
  for (const MetricInfo& info : metric_registry()) {
    const std::string key(info.json_key);
    const SavedJson& metric = member(json, key.c_str());
    if (metric.is_object()) {
      metrics.push_back(
          {info.id, number_of(metric, "value").value_or(std::numeric_limits<double>::infinity()),
           number_of(metric, "p10"), number_of(metric, "p50"), number_of(metric, "p90")});
    }
  }
  return metrics;
}

// A row for each category, also for those that the file does not name; none where it names none.
template <typename Category>
std::vector<LedgerRow> ledger_of(const SavedJson& json) {
  std::vector<LedgerRow> rows;
  bool any = false;
  for (std::size_t i = 0; i < static_cast<std::size_t>(Category::count_); ++i) {
    const auto category = static_cast<Category>(i);
    LedgerRow& row =
        rows.emplace_back(LedgerRow{to_string(category), label_of(category), {}, 0.0, {}});
    for (const SavedJson& line : json) {
      if (text_of(line, "category") == row.category) {
        row.gpu_time = seconds(number_of(line, "gpu_s").value_or(0.0));
        row.share = number_of(line, "share").value_or(0.0);
        row.dollars = dollars_of(line, "usd");
        any = true;
      }
    }
  }
  return any ? rows : std::vector<LedgerRow>();
}

std::vector<StageFigures> memory_of(const SavedJson& json) {
  constexpr std::string_view kUnit = "_bytes";
  std::vector<StageFigures> stages;
  for (const SavedJson& line : json) {
    StageFigures stage{bytes(number_of(line, "peak_bytes").value_or(0.0)),
                       bytes(number_of(line, "limit_bytes").value_or(0.0)),
                       {}};
    const SavedJson& terms = member(line, "terms");
    if (terms.is_object()) {
      for (const auto& [key, value] : terms.items()) {
        if (key.ends_with(kUnit) && value.is_number()) {
          stage.terms.emplace_back(key.substr(0, key.size() - kUnit.size()),
                                   bytes(value.get<double>()));
        }
      }
    }
    stages.push_back(std::move(stage));
  }
  return stages;
}

Figures evaluation_of(const SavedJson& json) {
  Figures saved;
  const SavedJson& scenario = member(json, "scenario");
  saved.name = text_of(scenario, "name");
  saved.file = text_of(scenario, "file");
  saved.feasible = !member(json, "feasible").is_boolean() || member(json, "feasible").get<bool>();
  const SavedJson empty = SavedJson::array();
  const auto list = [&json, &empty](const char* key) -> const SavedJson& {
    const SavedJson& value = member(json, key);
    return value.is_array() ? value : empty;
  };
  for (const SavedJson& reason : list("reasons")) {
    if (reason.is_string()) {
      saved.reasons.push_back(reason.get<std::string>());
    }
  }
  saved.metrics = metrics_of(member(json, "metrics"));
  saved.step_ledger = ledger_of<step::StepCategory>(list("step_ledger"));
  saved.run_ledger = ledger_of<run::RunCategory>(list("run_ledger"));
  saved.memory = memory_of(list("memory"));
  for (const SavedJson& lever : list("levers")) {
    saved.levers.push_back({text_of(lever, "change"),
                            seconds(number_of(lever, "delta_s").value_or(0.0)),
                            dollars_of(lever, "delta_usd")});
  }
  for (const SavedJson& one : list("expectations")) {
    saved.expectations.push_back(
        {text_of(one, "text"), text_of(one, "verdict"), text_of(one, "detail")});
  }
  for (const SavedJson& one : list("diagnostics")) {
    const std::string severity = text_of(one, "severity");
    saved.messages.add({.severity = severity == "error"  ? Severity::error
                                    : severity == "note" ? Severity::note
                                                         : Severity::warning,
                        .where = {text_of(one, "file"), line_of(one), 0},
                        .key = text_of(one, "key"),
                        .message = text_of(one, "message"),
                        .allowed = text_of(one, "allowed")});
  }
  return saved;
}

}  // namespace

SavedReading read_saved_evaluations(std::string_view text) {
  SavedReading reading;
  const ReadJson<SavedJson> json = read_json<SavedJson>(text);
  if (!json.ok()) {
    reading.problem = json.problem.what;
    return reading;
  }
  const bool several = json.value.is_array();
  for (std::size_t i = 0; i < (several ? json.value.size() : 1); ++i) {
    const SavedJson& one = several ? json.value[i] : json.value;
    const std::string schema = text_of(one, "schema");
    if (schema != kEvaluationSchema) {
      reading.problem =
          schema.empty()
              ? fmt::format("no saved answer: it does not say \"schema\": \"{}\"",
                            kEvaluationSchema)
              : fmt::format("its schema is {}, this program reads {}", schema, kEvaluationSchema);
      return reading;
    }
    reading.evaluations.push_back(evaluation_of(one));
  }
  if (reading.evaluations.empty()) {
    reading.problem = "it holds no answer";
  }
  return reading;
}

bool is_saved_evaluation(std::string_view text) {
  constexpr std::size_t kLooked = 4096;
  constexpr std::string_view kFamily = "\"orrery-evaluation/";
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (text[first] == '{' || text[first] == '[') &&
         text.substr(0, kLooked).find(kFamily) != std::string_view::npos;
}

}  // namespace orrery::report
