#include "tests/fuzz/exercise_evaluation.hpp"

#include <cmath>
#include <string>

#include "sim/answer/evaluate/evaluate.hpp"
#include "sim/answer/report/files/json_report.hpp"
#include "sim/answer/report/text/text_report.hpp"
#include "sim/base/check.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text/text.hpp"
#include "sim/base/text/untrusted_json.hpp"
#include "sim/scenario/load.hpp"
#include "tests/checkout.hpp"

namespace orrery::fuzz {

namespace {

constexpr std::int64_t kMostNodes = 64;
constexpr std::int64_t kMostLayers = 128;
constexpr std::int64_t kMostSequences = 1024;
constexpr std::int64_t kMostDraws = 4;
constexpr std::int64_t kTrials = 2;

bool is_small(const scenario::Scenario& scenario) {
  const bool step = scenario.cluster.nodes <= kMostNodes && scenario.cluster.gpus_per_node <= 72 &&
                    scenario.model.num_layers <= kMostLayers &&
                    scenario.batch.global / scenario.batch.micro <= kMostSequences &&
                    scenario.step.variation.draws <= kMostDraws;
  if (!step || !scenario.run) {
    return step;
  }
  const run::TrainingSpec& training = scenario.run->training;  // one step of many is enough
  return !scenario.run->capacity.elastic && training.phases.empty() && !training.batch_ramp;
}

void check_metrics(const report::Evaluation& evaluation) {
  for (const report::MetricInfo& info : report::metric_registry()) {
    const report::MetricValue* metric = evaluation.metrics.find(info.id);
    if (metric != nullptr) {
      ORRERY_CHECK(!std::isnan(metric->value), "{} is no number", info.name);
    }
  }
  const auto share = [&evaluation](report::MetricId id) {
    const report::MetricValue* metric = evaluation.metrics.find(id);
    const double value = metric == nullptr ? 0.0 : metric->value;
    constexpr double kRounding = 1e-9;
    ORRERY_CHECK(value >= -kRounding && value <= 1.0 + kRounding, "{} is {}", report::info(id).name,
                 value);
  };
  share(report::MetricId::goodput);
  share(report::MetricId::bubble_fraction);
}

void check_answer(const report::Evaluation& evaluation) {
  const step::StepResult& step = evaluation.step;
  ORRERY_CHECK(step.step_time > SimTime{}, "a step takes no time");
  ORRERY_CHECK(step.ledger.total() == Int128{step.gpus} * Int128{step.step_time.ns},
               "the ledger of the step does not sum up");
  for (const step::StageMemory& stage : step.memory) {
    ORRERY_CHECK(stage.peak() >= Bytes{}, "a negative peak of memory");
  }
  check_metrics(evaluation);
  const auto json = read_json(report::to_json(evaluation));
  ORRERY_CHECK(json.ok(), "its JSON is none: {}", json.problem.what);
  const std::string page = report::to_text(evaluation, {.colour = false, .unicode = true});
  ORRERY_CHECK(page == printable_lines(page), "the page steers the terminal");
}

}  // namespace

bool exercise_evaluation(std::string_view text) {
  Diagnostics diagnostics;
  const auto scenario = scenario::load_text(text, "fuzz.yaml", diagnostics);
  if (!scenario || !is_small(*scenario)) {
    return false;
  }
  evaluate::EvaluateOptions options;
  options.threads = 1;
  options.trials = kTrials;
  options.search = hardware::ProfileSearch{};
  options.search->directories = {std::string(kSourceDir) + "/scenarios/profiles"};
  try {
    const auto evaluation = evaluate::evaluate(*scenario, options, diagnostics);
    ORRERY_CHECK(evaluation.has_value() != diagnostics.has_errors(), "an answer or errors");
    if (evaluation) {
      check_answer(*evaluation);
    }
    return evaluation.has_value();
  } catch (const Error& error) {
    ORRERY_CHECK(error.kind() != ErrorKind::interrupted, "nobody interrupted it");
    return false;
  }
}

}  // namespace orrery::fuzz
