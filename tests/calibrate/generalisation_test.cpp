// The shared defaults and the table of what holds on unseen runs.

#include "calibrate/fit/generalisation.hpp"

#include <gtest/gtest.h>

#include "tests/calibrate/fit_fixture.hpp"

namespace orrery::fit {
namespace {

using hardware::SoftwareProfile;
using testing::set_value;

double value(const SoftwareProfile& profile, const std::string& key) {
  return find_fit_key(key)->get(profile);
}

std::vector<SoftwareProfile> profiles_with(const std::string& key,
                                           const std::vector<double>& values) {
  std::vector<SoftwareProfile> profiles;
  for (const double each : values) {
    profiles.push_back(testing::start_profile());
    set_value(profiles.back(), key, each);
  }
  return profiles;
}

// One extreme stack does not move a median; between two the middle of a rate is geometric:
// sqrt(0.5 * 0.72) = 0.6.
TEST(SharedDefaults, AreMediansOfTheOthers) {
  const SoftwareProfile start = testing::start_profile();
  const std::string key = "gemm_efficiency";
  EXPECT_NEAR(value(shared_defaults(start, profiles_with(key, {0.7, 0.8, 1.3})), key), 0.8, 1e-12);
  EXPECT_NEAR(value(shared_defaults(start, profiles_with(key, {0.5, 0.72})), key), 0.6, 1e-12);
}

TEST(SharedDefaults, CompareAttentionOnlyWithTheSameKind) {
  const SoftwareProfile start = testing::start_profile();
  auto others = profiles_with("attention_efficiency", {0.3, 0.9});
  others[0].attention = hardware::AttentionImplementation::unfused;
  EXPECT_NEAR(value(shared_defaults(start, others), "attention_efficiency"), 0.9, 1e-12);
}

// Nobody else broadcasts: without a peer the coefficient has no effect, as in a stack that leaves
// it out.
TEST(SharedDefaults, DoWithoutAnOptionalCoefficientThatNoOtherUses) {
  SoftwareProfile start = testing::start_profile();
  set_value(start, "broadcast_time", 0.002);
  const auto others = profiles_with("gemm_efficiency", {1.0, 1.0});
  EXPECT_EQ(value(shared_defaults(start, others), "broadcast_time"), 0.0);
}

// All rows come from one truth: left-out models are hit, and the table names the stack.
TEST(Generalisation, ScoresEveryStack) {
  Observations runs = testing::small_runs();
  auto truth = testing::start_profile();
  set_value(truth, "gemm_efficiency", 0.85);
  testing::measure_with(runs, truth);
  FitSettings settings;
  settings.threads = 2;
  const Generalisation result = generalisation(runs, settings);
  ASSERT_EQ(result.stacks.size(), 1U);
  const StackScore& stack = result.stacks.front();
  EXPECT_EQ(stack.stack, "megatron-core");
  EXPECT_GT(stack.shipped.mape, 0.05);
  ASSERT_TRUE(stack.refitted && stack.model_out);
  EXPECT_LT(stack.refitted->mape, 0.02);
  EXPECT_LT(stack.model_out->mape, 0.04);
  EXPECT_FALSE(stack.gpu_out.has_value());
  ASSERT_EQ(result.gpus.size(), 1U);
  EXPECT_NE(to_markdown(result).find("| megatron-core | 12 |"), std::string::npos);
}

// Two releases of one stack: their lines are named after the profiles.
TEST(Generalisation, ProfilesOfOneStackAreToldApart) {
  Generalisation result;
  result.stacks = {{.stack = "ours", .profile = "ours", .shipped = {.n = 1}},
                   {.stack = "ours", .profile = "ours-2025", .shipped = {.n = 2}},
                   {.stack = "theirs", .profile = "theirs-as-ours", .shipped = {.n = 3}}};
  const std::string text = to_markdown(result);
  EXPECT_NE(text.find("| ours | 1 |"), std::string::npos) << text;
  EXPECT_NE(text.find("| ours-2025 | 2 |"), std::string::npos) << text;
  EXPECT_NE(text.find("| theirs | 3 |"), std::string::npos) << text;
}

}  // namespace
}  // namespace orrery::fit
