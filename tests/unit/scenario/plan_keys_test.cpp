// What is wrong with a `plan:` block is said where it stands.

#include <gtest/gtest.h>

#include "sim/scenario/load.hpp"
#include "tests/unit/scenario/scenario_text.hpp"

namespace orrery::scenario {
namespace {

std::string problems_of(const std::string& key, const std::string& value) {
  ScenarioText text = base_text();
  text.set(key, value);
  Diagnostics diagnostics;
  EXPECT_FALSE(load_text(text.yaml(), "s.yaml", diagnostics).has_value()) << key << value;
  std::string messages;
  for (const Diagnostic& one : diagnostics.all()) {
    if (one.severity == Severity::error) {
      messages += one.key + ": " + one.message + " (" + one.allowed + ")\n";
    }
  }
  return messages;
}

TEST(PlanKeys, SayWhatAListOfValuesNeeds) {
  EXPECT_EQ(problems_of("plan.search.tensor", "8"),
            "plan.search.tensor: is `8` where a list is needed (auto, or a list of values such as "
            "[1, 2, 4])\n");
  EXPECT_EQ(problems_of("plan.search.tensor", "[]"),
            "plan.search.tensor: has no values (auto, or a list of values such as [1, 2, 4])\n");
  EXPECT_EQ(problems_of("plan.fix", "tensor"),
            "plan.fix: is a text where a list is needed (a list of axes such as [tensor, "
            "context])\n");
}

TEST(PlanKeys, NameTheNearestAxis) {
  const std::string problems = problems_of("plan.fix", "[tensr]");
  EXPECT_NE(problems.find("plan.fix[0]"), std::string::npos) << problems;
  EXPECT_NE(problems.find("tensor"), std::string::npos) << problems;
  EXPECT_NE(problems_of("plan.search.tensr", "[1]").find("unknown key"), std::string::npos);
}

TEST(PlanKeys, RefuseAnAxisThatIsFixedAndListed) {
  ScenarioText text = base_text();
  text.set("plan.search.tensor", "[1, 2]");
  text.set("plan.fix", "[tensor]");
  Diagnostics diagnostics;
  EXPECT_FALSE(load_text(text.yaml(), "s.yaml", diagnostics).has_value());
  EXPECT_NE(to_string(diagnostics)
                .find("plan.fix[0]: tensor is fixed, and plan.search.tensor lists values of it"),
            std::string::npos)
      << to_string(diagnostics);
}

TEST(PlanKeys, RefuseBoundsThatHoldNothing) {
  EXPECT_EQ(problems_of("plan.constraints.global_batch", "[512, 128]"),
            "plan.constraints.global_batch: 512 is above 128 (the least first)\n");
  EXPECT_EQ(problems_of("plan.constraints.global_batch", "512"),
            "plan.constraints.global_batch: is no list of two numbers (the least and the most "
            "sequences of a step, such as [1024, 4096])\n");
  EXPECT_FALSE(problems_of("plan.tie", "80%").empty());
  EXPECT_FALSE(problems_of("plan.finalists", "0").empty());
  EXPECT_FALSE(problems_of("plan.deadline", "5").empty());
}

}  // namespace
}  // namespace orrery::scenario
