// No key of `failures` is parsed but inert: each moves a named metric in the stated direction.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/files/file.hpp"
#include "tests/support.hpp"
#include "tests/unit/evaluate/change_table.hpp"

namespace orrery::evaluate::test {
namespace {

constexpr std::string_view kRates = "node_rate: 0.05/d, job_rate: 0.1/d";

// A month on 64 given nodes: the step model is not asked.
std::string with(std::string_view failures) {
  const std::string given = replaced(kBase, "recompute: none", "recompute: none\nstep: {time: 8s}");
  const std::string month = replaced(given, "tokens: 300B", "steps: 200000");
  return replaced(month, kRates, failures);
}

const std::vector<Change> kFailureChanges = {
    {"node_rate: 0.05/d", "node_rate: 0.05/d, correlated: [{name: feed, rate: 0.1/d}]", "mtbf",
     Moves::down},
    {"correlated: [{name: feed, rate: 0.1/d}]",
     "correlated: [{name: feed, rate: 0.1/d, scope: gpu}]", "mtbf", Moves::down},
    {"domains: {rack: 2}, correlated: [{name: feed, rate: 0.1/d, scope: rack, takes_nodes: 0}]",
     "domains: {rack: 8}, correlated: [{name: feed, rate: 0.1/d, scope: rack, takes_nodes: 0}]",
     "failures", Moves::down},
    {"domains: {switch: 2}, correlated: [{name: s, rate: 0.1/d, scope: switch, takes_nodes: 0}]",
     "domains: {switch: 8}, correlated: [{name: s, rate: 0.1/d, scope: switch, takes_nodes: 0}]",
     "failures", Moves::down},
    {"domains: {power_domain: 2}, correlated: [{name: p, rate: 0.1/d, scope: power_domain}]",
     "domains: {power_domain: 8}, correlated: [{name: p, rate: 0.1/d, scope: power_domain}]",
     "mtbf", Moves::up},
    {"correlated: [{name: feed, category: host, rate: 0.02/d, takes_nodes: 0}]",
     "correlated: [{name: feed, category: host, rate: 0.02/d, takes_nodes: 4}]", "goodput",
     Moves::down},
    {"causes: [{name: x, life: {mean: 20d, shape: 2}, age: new}]",
     "causes: [{name: x, life: {mean: 20d, shape: 0.5}, age: new}]", "failures", Moves::up},
    {"causes: [{name: x, life: {mean: 20d, shape: 3}, age: new}]",
     "causes: [{name: x, life: {mean: 20d, shape: 3}, age: 30d}]", "failures", Moves::up},
    {"causes: [{name: x, life: 20d}]", "causes: [{name: x, life: 10d}]", "failures", Moves::up},
    {"causes: [{name: x, life: {median: 20d, sigma: 1}}]",
     "causes: [{name: x, life: {median: 20d, sigma: 2}}]", "mtbf", Moves::up},
    {"causes: [{name: x, life: {times: [10d, 20d]}}]",
     "causes: [{name: x, life: {times: [10d, 10d, 20d]}}]", "mtbf", Moves::down},
    {"node_rate: 0.05/d", "node_rate: 0.05/d, burn_in: {factor: 9, decay: 10d}", "failures",
     Moves::up},
    {"node_rate: 0.05/d, burn_in: {factor: 9, decay: 10d}",
     "node_rate: 0.05/d, burn_in: {factor: 9, decay: 10d, age: 30d}", "failures", Moves::down},
    {"node_rate: 0.05/d",
     "node_rate: 0.05/d, diurnal: [3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
     "1, 1, 1]",
     "mtbf", Moves::down},
    {"node_rate: 0.05/d", "node_rate: 0.05/d, episodes: [{begin: 1d, end: 9d, factor: 5}]",
     "failures", Moves::up},
    {"node_rate: 0.05/d", "node_rate: 0.05/d, lemons: {fraction: 0.2, factor: 10}", "failures",
     Moves::up},
    {"node_rate: 0.05/d",
     "node_rate: 0.05/d, stragglers: [{name: s, node_rate: 0.05/d, slowdown: 2, duration: 6h}]",
     "finish_time", Moves::up},
    {"stragglers: [{name: s, job_rate: 0.1/d, slowdown: 3, duration: 3d}]",
     "stragglers: [{name: s, job_rate: 0.1/d, slowdown: 3, duration: 3d, evict_after: 1h}]",
     "finish_time", Moves::down},
    // The share of work lost in a given time, 1 - 1 / factor, is concave: spread makes it smaller.
    {"stragglers: [{name: s, job_rate: 1/d, slowdown: 3, duration: 8h}]",
     "stragglers: [{name: s, job_rate: 1/d, slowdown: 3, spread: 2, duration: 8h}]", "finish_time",
     Moves::down},
    {"node_rate: 0.05/d",
     "node_rate: 0.05/d, network: [{name: s, job_rate: 1/d, slowdown: 2, duration: 6h}]",
     "finish_time", Moves::up},
    {"node_rate: 0.05/d", "node_rate: 0.05/d, sdc: {job_rate: 0.2/d, detection: 6h}", "goodput",
     Moves::down},
    {"sdc: {node_rate: 0.05/d, detection: 6h}",
     "sdc: {node_rate: 0.05/d, detection: 6h, repeats: 0.8, repeat_after: 6h}", "goodput",
     Moves::down},
    {"node_rate: 0.05/d", "node_rate: 0.05/d, sdc: {checks: 1.1}", "finish_time", Moves::up},
    {"node_rate: 0.05/d", "node_rate: 0.05/d, sdc: {false_alarm_job_rate: 1/d}", "failures",
     Moves::up},
    {"node_rate: 0.05/d", "node_rate: 0.05/d, sdc: {false_alarm_node_rate: 0.1/d}", "failures",
     Moves::up},
    {"node_rate: 0.05/d", "node_rate: 0.05/d, loss_spikes: {rate: 1/d, rewind_steps: 500}",
     "finish_time", Moves::up},
    {"node_rate: 0.05/d", "node_rate: 0.05/d, loss_spikes: {every_steps: 2000, skip_steps: 200}",
     "finish_time", Moves::up},
    {"node_rate: 0.05/d", "node_rate: 0.05/d, loss_spikes: {rule: {sigma: 3}, skip_steps: 200}",
     "finish_time", Moves::up},
    {"loss_spikes: {rule: {sigma: 3}, skip_steps: 200}",
     "loss_spikes: {rule: {sigma: 3, series: 2}, skip_steps: 200}", "finish_time", Moves::up},
    {"loss_spikes: {rule: {sigma: 4}, skip_steps: 200}",
     "loss_spikes: {rule: {sigma: 4, degrees_of_freedom: 5}, skip_steps: 200}", "finish_time",
     Moves::up},
};

TEST(FailureKeys, EveryChangeMovesItsMetric) {
  for (const Change& change : kFailureChanges) {  // `from` and `to` are keys of `failures`
    SCOPED_TRACE(std::string(change.to));
    expect_moved(change, value(must_evaluate(with(change.from)), change.metric),
                 value(must_evaluate(with(change.to)), change.metric));
  }
}

TEST(FailureKeys, AHangWaitsForItsWatchdog) {
  const auto goodput = [](std::string_view symptom) {
    std::string text =
        with("causes: [{name: x, rate: 0.1/d, symptom: " + std::string(symptom) + "}]");
    text = replaced(text, "recovery: {", "recovery: {watchdog: 3h, ");
    return value(must_evaluate(text), "goodput");
  };
  EXPECT_LT(goodput("hang"), goodput("crash"));
}

TEST(FailureKeys, ALongerWatchdogCostsMore) {
  const std::string text = replaced(with("causes: [{name: x, rate: 0.1/d, symptom: hang}]"),
                                    "recovery: {", "recovery: {watchdog: 10min, ");
  expect_moves(text, {{"watchdog: 10min", "watchdog: 3h", "goodput", Moves::down},
                      {"watchdog: 10min", "watchdog: 3h", "finish_time", Moves::up}});
}

// A repair leaves a bad node bad, so that only its removal ends the series of its failures.
TEST(FailureKeys, RemovedLemonsFailNoMore) {
  const std::string text =
      replaced(with("node_rate: 0.05/d, lemons: {fraction: 0.2, factor: 10}"), "repair_time: 2d",
               "repair_time: 6h, repair: {fails: 1, replacement: 1d}");
  expect_moves(text, {{"factor: 10}", "factor: 10, remove_after: 2}", "failures", Moves::down},
                      {"factor: 10}", "factor: 10, remove_after: 2}", "goodput", Moves::up}});
  const std::string removed = replaced(text, "factor: 10}", "factor: 10, remove_after: 1}");
  expect_moves(removed, {{"remove_after: 1", "remove_after: 9", "failures", Moves::up}});
}

TEST(FailureKeys, ALogIsReplayedInPlaceOfRandomFailures) {
  const TempFolder folder;
  const std::filesystem::path file =
      folder.write("log.csv", "time_h,cause,nodes,outage_h\n10,GPU,1,2\n50,switch,0,\n70,GPU,0,\n");
  const report::Evaluation evaluation =
      must_evaluate(with("node_rate: 5/d, log: " + file.string()));
  EXPECT_EQ(value(evaluation, "failures"), 3.0);
  folder.write("log.csv", "time_h,cause\nten,GPU\n");
  Diagnostics diagnostics;
  EXPECT_FALSE(evaluate_text(with("log: " + file.string()), diagnostics));
  EXPECT_EQ(
      to_string(diagnostics),
      file.string() +
          ":2:1: error: failures.log: `ten` is no time_h (a number of at least 0, below 25,000 "
          "days)\n");
  Diagnostics missing;
  EXPECT_FALSE(evaluate_text(with("log: /nowhere/log.csv"), missing));
  EXPECT_NE(to_string(missing).find("there is no file /nowhere/log.csv"), std::string::npos);
}

std::vector<double> factors_of(std::string_view fault) {
  const std::string text = replaced(
      kBase, kRates,
      fmt::format("network: [{{name: x, job_rate: 1/d, duration: 1h, fault: {}}}]", fault));
  const report::Evaluation evaluation = must_evaluate(text, {.trials = 1, .levers = false});
  return evaluation.plan ? evaluation.plan->failures.slowdowns.front().factor.any
                         : std::vector<double>{};
}

// A link at its whole rate costs nothing anywhere; the slower the link, the longer the step, and a
// node with all NICs slow waits at least as long as one with a single slow one.
TEST(FailureKeys, AFaultMakesStepsAsLongAsItsFlows) {
  EXPECT_EQ(factors_of("{share: 1}"), std::vector<double>(8, 1.0));
  const std::vector<double> one = factors_of("{nics: 1, share: 0.2}");
  const std::vector<double> half = factors_of("{share: 0.5}");
  const std::vector<double> fifth = factors_of("{share: 0.2}");
  ASSERT_EQ(fifth.size(), 8U);
  ASSERT_EQ(half.size(), 8U);
  ASSERT_EQ(one.size(), 8U);
  for (std::size_t place = 0; place < fifth.size(); ++place) {
    EXPECT_GE(half[place], 1.0);
    EXPECT_GT(fifth[place], half[place]);
    EXPECT_GE(fifth[place], one[place]);
  }
}

TEST(FailureKeys, RefusesAFaultWithoutPlace) {
  const auto problems = [](std::string_view entry) {
    Diagnostics diagnostics;
    const std::string text = replaced(
        kBase, kRates, fmt::format("network: [{{name: x, job_rate: 1/d, duration: 1h{}}}]", entry));
    EXPECT_FALSE(evaluate_text(text, diagnostics, {.trials = 1, .levers = false}));
    return to_string(diagnostics);
  };
  EXPECT_NE(problems("").find("failures.network.slowdown: is required where no fault says which "
                              "links are slow"),
            std::string::npos)
      << problems("");
  EXPECT_NE(problems(", slowdown: 1.2, fault: {share: 0.5}")
                .find("failures.network: x states both a slowdown and a fault"),
            std::string::npos);
  EXPECT_NE(problems(", fault: {tier: moon, share: 0.5}").find("names tier moon"),
            std::string::npos);
  EXPECT_NE(problems(", fault: {share: 0.5}, spread: 0.1").find("x states a spread"),
            std::string::npos);
  EXPECT_NE(problems(", fault: {nics: 1, tier: spine, share: 0.5}").find("both nics and a tier"),
            std::string::npos);
  EXPECT_NE(problems(", fault: {nics: 9, share: 0.5}").find("NIC 8 of node 0"), std::string::npos);
}

}  // namespace
}  // namespace orrery::evaluate::test
