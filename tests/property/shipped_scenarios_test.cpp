// What holds for the step of every shipped scenario.

#include "sim/answer/evaluate/shipped_scenarios.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/answer/evaluate/evaluate.hpp"
#include "sim/answer/report/metrics.hpp"
#include "sim/scenario/load.hpp"
#include "tests/checkout.hpp"

namespace orrery::evaluate {
namespace {

using scenario::Scenario;
using step::StepCategory;

hardware::ProfileSearch profiles() {
  return {.directories = {std::string(kSourceDir) + "/scenarios/profiles"}};
}

// The step alone: no run, nothing stated in its place.
std::vector<Scenario> steps_of_shipped_scenarios() {
  std::vector<Scenario> steps;
  for (const ShippedScenario& shipped : shipped_scenarios()) {
    Diagnostics diagnostics;
    auto loaded = scenario::load_file(shipped.path, diagnostics);
    EXPECT_TRUE(loaded) << shipped.name << ": " << to_string(diagnostics);
    loaded->run.reset();
    loaded->expect.clear();
    if (!loaded->step.given_time) {
      steps.push_back(*std::move(loaded));
    }
  }
  EXPECT_GT(steps.size(), 40U);
  return steps;
}

step::StepResult step_of(const Scenario& scenario) {
  Diagnostics diagnostics;
  const auto evaluation =
      evaluate(scenario, {.threads = 1, .levers = false, .search = profiles()}, diagnostics);
  EXPECT_TRUE(evaluation) << scenario.file << ": " << to_string(diagnostics);
  return evaluation ? evaluation->step : step::StepResult{};
}

TEST(ShippedSteps, LedgersAreExactAndTheirBubbleKnowsNoNetwork) {
  for (const Scenario& scenario : steps_of_shipped_scenarios()) {
    SCOPED_TRACE(scenario.file);
    const step::StepResult before = step_of(scenario);
    EXPECT_EQ(before.ledger.total(), Int128{before.gpus} * Int128{before.step_time.ns});
    EXPECT_LE(before.without_communication, before.step_time);
    Scenario slower = scenario;
    slower.cluster.network.nic_rate = slower.cluster.network.nic_rate * 0.25;
    const step::StepResult after = step_of(slower);
    EXPECT_GE(after.step_time, before.step_time);
    // A device's own exposed communication may fall into its waiting; never the other way round.
    const auto of = [](const step::StepResult& result, StepCategory category) {
      return static_cast<double>(result.ledger.gpu_nanoseconds(category));
    };
    const double slack = 1e-5 * of(before, StepCategory::bubble) + 1e3;
    EXPECT_LE(of(after, StepCategory::bubble), of(before, StepCategory::bubble) + slack);
    if (of(after, StepCategory::stage_imbalance) == of(before, StepCategory::stage_imbalance)) {
      EXPECT_NEAR(of(after, StepCategory::bubble), of(before, StepCategory::bubble), slack);
    }
  }
}

// The same chip with more NVLink, products with scales of blocks.
TEST(ShippedSteps, DeepSeekIsNotSlowerOnH100ThanOnH800) {
  for (Scenario& scenario : steps_of_shipped_scenarios()) {
    if (scenario.cluster.gpu == "h800-sxm") {
      const step::StepResult before = step_of(scenario);
      scenario.cluster.gpu = "h100-sxm-80gb";
      EXPECT_LE(step_of(scenario).step_time, before.step_time) << scenario.file;
    }
  }
}

TEST(ShippedSteps, NamesChangeNothing) {
  for (const Scenario& scenario : steps_of_shipped_scenarios()) {
    SCOPED_TRACE(scenario.file);
    const step::StepResult before = step_of(scenario);
    Scenario renamed = scenario;
    renamed.name = "another name";
    renamed.model.name = "another model";
    renamed.model_preset.clear();
    for (hardware::NetworkTier& tier : renamed.cluster.network.tiers) {
      tier.name += " renamed";
    }
    const step::StepResult after = step_of(renamed);
    EXPECT_EQ(before.step_time, after.step_time);
    EXPECT_EQ(before.ledger, after.ledger);
  }
}

void rename(std::string& name) { name += name.empty() ? "" : " by another name"; }

template <typename Named>
void rename_all(std::vector<Named>& items) {
  for (Named& item : items) {
    rename(item.name);
  }
}

void rename_parts(run::RunSpec& run) {
  run::FailureSpec& failures = run.failures;
  if (failures.log_lines) {
    for (run::LoggedFailure& line : *failures.log_lines) {
      const bool own = std::any_of(failures.causes.begin(), failures.causes.end(),
                                   [&line](const auto& cause) { return cause.name == line.cause; });
      line.cause += own ? " by another name" : "";
    }
  }
  rename_all(failures.causes);
  rename_all(failures.correlated);
  rename_all(failures.stragglers);
  rename_all(failures.network);
  rename_all(run.training.phases);
  rename_all(run.training.rework);
  rename_all(run.checkpoint.tiers);
  if (run.capacity.spot) {
    rename_all(run.capacity.spot->zones);
  }
}

// Nothing of a run is drawn, ordered or looked up by what it is called.
TEST(ShippedRuns, NamesChangeNothing) {
  int runs = 0;
  for (const ShippedScenario& shipped : shipped_scenarios()) {
    SCOPED_TRACE(shipped.name);
    Diagnostics diagnostics;
    auto scenario = scenario::load_file(shipped.path, diagnostics);
    ASSERT_TRUE(scenario) << to_string(diagnostics);
    if (!scenario->run) {
      continue;
    }
    ++runs;
    scenario->expect.clear();
    EvaluateOptions options;
    options.trials = 2;
    options.levers = false;
    options.search = profiles();
    const auto before = evaluate(*scenario, options, diagnostics);
    rename_parts(*scenario->run);
    const auto after = evaluate(*scenario, options, diagnostics);
    ASSERT_TRUE(before && after) << to_string(diagnostics);
    for (const report::MetricInfo& info : report::metric_registry()) {
      const report::MetricValue* one = before->metrics.find(info.id);
      const report::MetricValue* other = after->metrics.find(info.id);
      ASSERT_EQ(one == nullptr, other == nullptr) << info.name;
      if (one != nullptr) {
        EXPECT_EQ(one->value, other->value) << info.name;
      }
    }
  }
  EXPECT_GT(runs, 20);
}

// A real-valued key and what it is changed by.
struct Knob {
  std::string name;
  std::function<double*(Scenario&)> find;
};

std::vector<Knob> knobs() {
  const auto of_experts = [](double model::MoeSpec::*member) {
    return [member](Scenario& scenario) -> double* {
      return scenario.model.moe ? &((*scenario.model.moe).*member) : nullptr;
    };
  };
  const auto of_variation = [](double step::VariationSpec::*member) {
    return [member](Scenario& scenario) -> double* {
      return scenario.step.variation.any() ? &(scenario.step.variation.*member) : nullptr;
    };
  };
  return {{"moe.imbalance", of_experts(&model::MoeSpec::imbalance)},
          {"moe.load_spread", of_experts(&model::MoeSpec::load_spread)},
          {"variation.gpu_sigma", of_variation(&step::VariationSpec::gpu_sigma)},
          {"variation.node_sigma", of_variation(&step::VariationSpec::node_sigma)},
          {"variation.slow_factor", of_variation(&step::VariationSpec::slow_factor)},
          {"network.tiers[0].oversubscription", [](Scenario& scenario) -> double* {
             auto& tiers = scenario.cluster.network.tiers;
             return tiers.empty() ? nullptr : &tiers.front().oversubscription;
           }}};
}

// A thousandth more of a key moves the step by little more than that.
TEST(ShippedSteps, AreSmoothInRealValuedKeys) {
  constexpr double kChange = 1e-3;
  constexpr double kMostJump = 2.5e-3;
  for (const Scenario& scenario : steps_of_shipped_scenarios()) {
    for (const Knob& knob : knobs()) {
      Scenario changed = scenario;
      double* const value = knob.find(changed);
      if (value == nullptr) {
        continue;
      }
      SCOPED_TRACE(scenario.file + ", " + knob.name);
      double before = in_seconds(to_seconds(step_of(scenario).step_time));
      for (int i = 0; i < 8; ++i) {
        *value += kChange * std::max(1.0, *value);
        const double after = in_seconds(to_seconds(step_of(changed).step_time));
        EXPECT_NEAR(after / before, 1.0, kMostJump) << "at " << *value;
        before = after;
      }
    }
  }
}

}  // namespace
}  // namespace orrery::evaluate
