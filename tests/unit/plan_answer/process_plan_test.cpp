// A plan by several processes is that of one, whatever happens to them on the way.

#include <gtest/gtest.h>

#include <map>

#include "sim/answer/plan/make_plan.hpp"
#include "sim/answer/plan/result/plan_report.hpp"
#include "tests/unit/plan_answer/plan_answer_fixture.hpp"
#include "tests/unit/sweep/simulated_mail.hpp"

namespace orrery::plan::test {
namespace {

using sweep::test::describe;
using sweep::test::Incident;
using sweep::test::incidents_of;
using sweep::test::Launcher;
using sweep::test::Trouble;

constexpr int kProcesses = 3;
constexpr int kEvery = 3;  // call; neighbours end alike

// Without what process 0 works out alone when all is known.
PlanQuestion asked() {
  PlanQuestion one = question(small_text() + R"(plan:
  search: {tensor: [1, 2], micro: [1, 2], recompute: [none, full], sharding: [zero1, zero3]}
  fix: [pipeline, schedule, context, shard_group, offload]
  finalists: 2
)");
  one.trials = 2;
  one.threads = 1;
  one.fronts = false;
  one.neighbours = false;
  one.stability = false;
  return one;
}

// The plan of process 0, and nothing of the others.
std::vector<std::string> together(Launcher& launcher) {
  const PlanQuestion base = asked();
  return run_processes(launcher, [&](sweep::Team& team, const std::stop_token& stop) {
    PlanQuestion own = base;
    own.stop = stop;
    Diagnostics diagnostics;
    const auto plan = make_plan(own, team, diagnostics);
    EXPECT_EQ(plan.has_value(), team.leads()) << to_string(diagnostics);
    return plan ? to_json(*plan) : std::string();
  });
}

std::string alone() {
  Diagnostics diagnostics;
  return to_json(make_plan(asked(), diagnostics).value());
}

TEST(ProcessPlan, IsThatOfOneProcess) {
  const std::string expected = alone();
  for (const int processes : {2, 5}) {
    Launcher launcher(processes, {});
    EXPECT_EQ(together(launcher).front(), expected) << processes;
  }
}

// Nobody waits for ever; a plan that says that it is complete is that of one process.
TEST(ProcessPlan, SurvivesDelayDeathAndStopAtEveryCall) {
  const std::string expected = alone();
  const std::string complete = R"("complete": true)";
  ASSERT_NE(expected.find(complete), std::string::npos) << expected;
  Launcher undisturbed(kProcesses, {});
  EXPECT_EQ(together(undisturbed).front(), expected);
  std::map<Trouble, int> ended;
  for (const Incident& incident : incidents_of(undisturbed, kEvery)) {
    SCOPED_TRACE(describe(incident));
    Launcher launcher(kProcesses, incident);
    const std::string plan = together(launcher).front();
    if (plan.starts_with("ERROR")) {
      ++ended[incident.trouble];
      EXPECT_EQ(incident.trouble, Trouble::death) << plan;
      EXPECT_EQ(plan, fmt::format("ERROR process {} was killed", incident.process));
    } else if (plan.find(complete) != std::string::npos) {
      EXPECT_EQ(plan, expected);
    } else {
      ++ended[incident.trouble];
      EXPECT_NE(plan.find(R"("complete": false)"), std::string::npos) << plan;
    }
  }
  EXPECT_EQ(ended[Trouble::delay], 0);
  EXPECT_GT(ended[Trouble::death], 0);
  EXPECT_GT(ended[Trouble::stop], 0);
  EXPECT_GT(ended[Trouble::stop_of_all], 0);
}

}  // namespace
}  // namespace orrery::plan::test
