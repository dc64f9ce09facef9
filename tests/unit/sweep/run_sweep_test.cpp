// A sweep gives what single evaluations give, whoever evaluates its points.

#include "sim/answer/sweep/run_sweep.hpp"

#include <stop_token>

#include "sim/answer/evaluate/evaluate.hpp"
#include "sim/answer/sweep/sweep_report.hpp"
#include "sim/base/error.hpp"
#include "sim/scenario/load.hpp"
#include "tests/unit/sweep/sweep_fixture.hpp"

namespace orrery::sweep::test {
namespace {

std::vector<PointResult> results_of(const Sweep& sweep, int threads) {
  Team alone;
  const SweepOutcome outcome = run_sweep(sweep, alone, {.threads = threads});
  EXPECT_TRUE(outcome.complete);
  return outcome.results;
}

// The step of other points is reused where only keys of the run vary; a file that says the same is
// evaluated from scratch.
TEST(RunSweep, GivesWhatAScenarioWithTheseValuesGives) {
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"capacity: {spares: 1}", "capacity: {spares: 0}"},
      {"training: {steps: 20000}", "training: {duration: 10d}"},
      {"failures: {node_rate: 0.05/d}", "failures: {preset: llama3-2024}"},
      {"recovery: {preset: rsc-2024}", "recovery: {preset: megascale-2024}"},
      {"checkpoint: {interval: auto}", "checkpoint: {interval: 1h}"},
      {"prices: {gpu_hour: $2.50/h, as_of: 2026-11-01}", "prices: {gpu_hour: $9/h}"},
      {"simulation: {trials: 7, seed: 3}", "simulation: {trials: 3, seed: 9}"},
      {"layout: {tensor: 2, sequence_parallel: true, sharding: zero1}", "layout: {tensor: 4}"}};
  for (const auto& [before, after] : changes) {
    SCOPED_TRACE(after);
    const std::size_t colon = after.find(": ");
    const std::string key = after.substr(0, colon);
    const Sweep sweep = make_sweep(
        {key + "=" + before.substr(before.find(": ") + 2) + "," + after.substr(colon + 2)});
    const auto results = results_of(sweep, 2);
    std::string text = small_scenario();
    text.replace(text.find(before), before.size(), after);
    Diagnostics diagnostics;
    const auto scenario = scenario::load_text(text, "small.yaml", diagnostics);
    ASSERT_TRUE(scenario) << to_string(diagnostics);
    const auto alone =
        evaluate::evaluate(*scenario, {.levers = false, .search = sweep.search}, diagnostics);
    ASSERT_TRUE(alone) << to_string(diagnostics);
    for (std::size_t i = 0; i < sweep.columns.size(); ++i) {
      const auto expected = report::estimate(sweep.columns[i].operand, alone->metrics);
      ASSERT_EQ(expected.has_value(), results[1].cells[i].has_value()) << sweep.columns[i].name;
      if (expected) {
        EXPECT_EQ(expected->value, *results[1].cells[i]) << sweep.columns[i].name;
      }
    }
  }
}

TEST(RunSweep, KeepsPointsThatCannotBeInTheTableWithTheirReason) {
  const Sweep sweep = make_sweep({"layout.tensor=3,2", "model.preset=llama2-7b,llama3-405b"});
  const auto results = results_of(sweep, 2);
  ASSERT_EQ(results.size(), 4U);
  EXPECT_EQ(results[0].status, Status::invalid);
  EXPECT_TRUE(results[0].reason.starts_with("layout.tensor: 3 does not divide"))
      << results[0].reason;
  EXPECT_TRUE(results[0].cells.empty());
  EXPECT_EQ(results[2].status, Status::ok);
  EXPECT_EQ(results[3].status, Status::does_not_fit);
  EXPECT_TRUE(results[3].reason.starts_with("pipeline stage 0 needs")) << results[3].reason;
  EXPECT_EQ(results[3].cells.size(), sweep.columns.size());
  const std::string csv = to_csv(sweep, results);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 5);
}

TEST(RunSweep, CountsTrialsThatGaveUp) {
  const Sweep sweep = make_sweep({"failures.node_rate=0.05/d,200/d"});
  const auto results = results_of(sweep, 1);
  EXPECT_EQ(results[0].status, Status::ok);
  EXPECT_EQ(results[1].status, Status::gave_up);
  EXPECT_TRUE(results[1].reason.starts_with("7 of 7 trials: ")) << results[1].reason;
}

// More frequent failures with the same draws: every trial is later, so the mean is.
TEST(RunSweep, SharesTheDrawsBetweenItsPoints) {
  const Sweep sweep = make_sweep({"capacity.spares=1,1000"});
  const auto results = results_of(sweep, 1);
  std::size_t failures = 0;
  while (sweep.columns[failures].name != "failures") {
    ++failures;
  }
  // One spare is enough in these trials: the second point sees the very same failures.
  EXPECT_EQ(results[0].cells[failures], results[1].cells[failures]);
}

TEST(RunSweep, StopsBetweenPointsAndKeepsWhatIsDone) {
  const Sweep sweep = make_sweep({"capacity.spares=0:9:10"});
  std::stop_source source;
  Team alone;
  const SweepOutcome outcome =
      run_sweep(sweep, alone,
                {.threads = 1, .stop = source.get_token(), .progress = [&source](auto done, auto) {
                   if (done == 4) {
                     source.request_stop();
                   }
                 }});
  EXPECT_FALSE(outcome.complete);
  EXPECT_EQ(outcome.done, 4);
}

TEST(CheckValues, RefusesAValueThatTheKeyDoesNotTake) {
  Diagnostics diagnostics;
  Sweep sweep = make_sweep({"capacity.spares=1"});
  sweep.axes.front().values = {"1", "many", "-4"};
  check_values(sweep, diagnostics);
  EXPECT_EQ(
      to_string(diagnostics),
      "--vary: error: capacity.spares: `many` does not begin with a number (a whole number such as "
      "8, with k, M, B or T as in 15.6T, or with an exponent as in 15e12)\n"
      "--vary: error: capacity.spares: `-4` is too small (at least 0)\n");
}

}  // namespace
}  // namespace orrery::sweep::test
