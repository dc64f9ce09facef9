#include "sim/report/saved_evaluation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "sim/base/untrusted_json.hpp"
#include "sim/report/json_report.hpp"
#include "sim/report/ledger_rows.hpp"

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

std::string text_of(const SavedJson& json, const char* key) {
  return text_member(json, key);
}

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

std::vector<SavedMetric> metrics_of(const SavedJson& json) {
  std::vector<SavedMetric> metrics;
  for (const MetricInfo& info : metric_registry()) {
    const std::string key(info.json_key);
    const SavedJson& metric = member(json, key.c_str());
    if (metric.is_object()) {
      metrics.push_back(
          {info.id,
           number_of(metric, "value").value_or(std::numeric_limits<double>::infinity()),
           number_of(metric, "p10"),
           number_of(metric, "p50"),
           number_of(metric, "p90")});
    }
  }
  return metrics;
}

template <typename Category, std::size_t N>
std::vector<SavedLedgerRow> ledger_of(const SavedJson& json,
                                      const std::array<std::string_view, N>& names) {
  std::vector<SavedLedgerRow> rows;
  for (const SavedJson& line : json) {
    const std::string category = text_of(line, "category");
    const auto* const found = std::find(names.begin(), names.end(), category);
    if (found == names.end()) {
      continue;
    }
    const auto index = static_cast<std::size_t>(found - names.begin());
    rows.push_back({index,
                    label_of(static_cast<Category>(index)),
                    seconds(number_of(line, "gpu_s").value_or(0.0)),
                    number_of(line, "share").value_or(0.0),
                    dollars_of(line, "usd")});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const SavedLedgerRow& a, const SavedLedgerRow& b) {
    return a.category < b.category;
  });
  return rows;
}

std::vector<SavedStage> memory_of(const SavedJson& json) {
  constexpr std::string_view kUnit = "_bytes";
  std::vector<SavedStage> stages;
  for (const SavedJson& line : json) {
    SavedStage stage{bytes(number_of(line, "peak_bytes").value_or(0.0)),
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

SavedEvaluation evaluation_of(const SavedJson& json) {
  SavedEvaluation saved;
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
  saved.step_ledger = ledger_of<step::StepCategory>(list("step_ledger"), step::kStepCategoryNames);
  saved.run_ledger = ledger_of<run::RunCategory>(list("run_ledger"), run::kRunCategoryNames);
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
    saved.messages.push_back(
        {text_of(one, "severity"), line_of(one), text_of(one, "key"), text_of(one, "message")});
  }
  return saved;
}

}  // namespace

const SavedMetric* SavedEvaluation::find(MetricId id) const {
  const auto found = std::find_if(
      metrics.begin(), metrics.end(), [id](const SavedMetric& metric) { return metric.id == id; });
  return found == metrics.end() ? nullptr : &*found;
}

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
