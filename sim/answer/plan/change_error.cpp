#include "sim/answer/plan/change_error.hpp"

#include <fmt/core.h>

#include <cmath>
#include <string>

#include "sim/answer/plan/layout_errors.hpp"

namespace orrery::plan {

namespace {

Seconds time_of(const Predicted& one) { return to_seconds(one.evaluation.step.step_time); }

// ln(high / time) of the band; nothing where nobody asked for it.
std::optional<double> half_band(const Predicted& one) {
  if (one.evaluation.step.given) {
    return 0.0;
  }
  const auto& band = one.evaluation.band;
  return band ? std::optional(std::log(band->high / in_seconds(time_of(one)))) : std::nullopt;
}

// "stack, GPU or model" as far as they differ; empty where the two share all of them.
std::string other_kinds(const Predicted& one, const Predicted& other) {
  const report::ScenarioEcho& a = one.evaluation.echo;
  const report::ScenarioEcho& b = other.evaluation.echo;
  const auto experts = [](const report::ScenarioEcho& echo) {
    return echo.model.moe ? echo.model.moe->num_experts : 0;
  };
  const auto& mixed = one.scenario.cluster.mixed;
  const auto& others = other.scenario.cluster.mixed;
  std::string words;
  const auto add = [&words](std::string_view word, bool differs) {
    words += differs ? fmt::format("{}{}", words.empty() ? "" : ", ", word) : std::string();
  };
  add("stack", a.software != b.software);
  add("GPU", a.gpu_profile != b.gpu_profile || mixed.size() != others.size());
  add("model", a.model.num_layers != b.model.num_layers ||
                   a.model.hidden_size != b.model.hidden_size || experts(a) != experts(b));
  return words;
}

// What layouts that were measured in one group have in common.
bool in_one_group(const Predicted& one, const Predicted& other) {
  const scenario::Scenario& a = one.scenario;
  const scenario::Scenario& b = other.scenario;
  return a.batch.global == b.batch.global && a.model.sequence_length == b.model.sequence_length &&
         a.step.precision.compute == b.step.precision.compute &&
         a.step.precision.fp8_scaling == b.step.precision.fp8_scaling &&
         one.evaluation.echo.software_release == other.evaluation.echo.software_release;
}

}  // namespace

std::optional<report::ChangeError> change_error(const Predicted& from, const Predicted& to,
                                                const hardware::ProfileSearch& search,
                                                Diagnostics& diagnostics) {
  if (from.evaluation.step.step_time == to.evaluation.step.step_time) {
    return report::ChangeError{};
  }
  const std::string kinds = other_kinds(from, to);
  if (!kinds.empty() || from.evaluation.step.given || to.evaluation.step.given) {
    const auto first = half_band(from);
    const auto second = half_band(to);
    return first && second ? std::optional(report::ChangeError{
                                 std::expm1(std::hypot(*first, *second)),
                                 kinds.empty() ? std::string("steps of which one is stated")
                                               : "steps that differ in " + kinds})
                           : std::nullopt;
  }
  const auto errors = load_layout_errors(search, diagnostics);
  if (!errors) {
    return std::nullopt;
  }
  const FeatureSet features = differences(from.scenario, to.scenario);
  if (features.any() && in_one_group(from, to)) {
    return report::ChangeError{errors->between(features),
                               "layouts that differ in " + words_of(features)};
  }
  return report::ChangeError{errors->largest(), "steps of one stack, GPU and model"};
}

}  // namespace orrery::plan
