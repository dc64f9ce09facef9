// Planted coefficients come back out of steps that the simulator itself produced with them.

#include "calibrate/fit/stack_fit.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/calibrate/fit_fixture.hpp"

namespace orrery::fit {
namespace {

using testing::measure_with;
using testing::pointers_to;
using testing::set_value;
using testing::settings_for;

const FittedCoefficient& coefficient(const StackFit& fit, std::string_view key) {
  for (const FittedCoefficient& fitted : fit.coefficients) {
    if (fitted.key->key == key) {
      return fitted;
    }
  }
  ADD_FAILURE() << key << " was not fitted";
  return fit.coefficients.front();
}

// With the prior off nothing pulls away from the truth, which explains every row exactly.
TEST(StackFit, RecoversPlantedCoefficients) {
  Observations runs = testing::small_runs();
  const auto start = testing::start_profile();
  auto truth = start;
  const double gemm = 0.83;
  const double nvlink = 0.60;
  set_value(truth, "gemm_efficiency", gemm);
  set_value(truth, "nvlink_efficiency", nvlink);
  measure_with(runs, truth);
  FitSettings settings = settings_for({"gemm_efficiency", "nvlink_efficiency"});
  settings.prior = 0.0;
  const StackFit fit = fit_stack(pointers_to(runs), start, start, settings);
  EXPECT_NEAR(coefficient(fit, "gemm_efficiency").fitted, gemm, 0.003 * gemm);
  EXPECT_NEAR(coefficient(fit, "nvlink_efficiency").fitted, nvlink, 0.01 * nvlink);
  for (std::size_t i = 0; i < runs.rows.size(); ++i) {
    EXPECT_NEAR(fit.predicted[i] / runs.rows[i].measured, 1.0, 0.002) << runs.rows[i].id;
  }
  EXPECT_TRUE(coefficient(fit, "gemm_efficiency").identified);
  EXPECT_EQ(coefficient(fit, "gemm_efficiency").bound, Bound::none);
}

// One row at three times its step time: the other eleven still decide.
TEST(StackFit, IsNotMovedByOneWrongMeasurement) {
  Observations runs = testing::small_runs();
  const auto start = testing::start_profile();
  auto truth = start;
  const double gemm = 0.85;
  set_value(truth, "gemm_efficiency", gemm);
  measure_with(runs, truth);
  runs.rows[4].measured *= 3.0;
  const StackFit fit =
      fit_stack(pointers_to(runs), start, start, settings_for({"gemm_efficiency"}));
  EXPECT_NEAR(coefficient(fit, "gemm_efficiency").fitted, gemm, 0.02 * gemm);
}

TEST(StackFit, SaysWhenACoefficientRestsOnABound) {
  Observations runs = testing::small_runs();
  const auto start = testing::start_profile();
  measure_with(runs, start);
  for (Observation& row : runs.rows) {
    row.measured *= 0.4;
  }
  const StackFit fit =
      fit_stack(pointers_to(runs), start, start, settings_for({"gemm_efficiency"}));
  EXPECT_EQ(coefficient(fit, "gemm_efficiency").bound, Bound::upper);
  EXPECT_DOUBLE_EQ(coefficient(fit, "gemm_efficiency").fitted,
                   find_fit_key("gemm_efficiency")->upper);
}

// Rows with a fixed number of layers per launch say nothing about a host that is never the limit.
TEST(StackFit, SaysWhenRowsCannotTellACoefficient) {
  Observations runs = testing::small_runs();
  auto start = testing::start_profile();
  set_value(start, "host_layer_time", 1.0e-6);
  measure_with(runs, start);
  const StackFit fit = fit_stack(pointers_to(runs), start, start,
                                 settings_for({"gemm_efficiency", "host_layer_time"}));
  EXPECT_FALSE(coefficient(fit, "host_layer_time").identified);
  EXPECT_TRUE(coefficient(fit, "gemm_efficiency").identified);
}

TEST(StackFit, GivesTheSameForAnyNumberOfThreads) {
  Observations runs = testing::small_runs();
  const auto start = testing::start_profile();
  auto truth = start;
  set_value(truth, "gemm_efficiency", 0.8);
  set_value(truth, "fixed_step_time", 0.05);
  measure_with(runs, truth);
  const std::vector<std::string> keys = {"gemm_efficiency", "memory_efficiency", "fixed_step_time",
                                         "communication_slowdown"};
  const StackFit one = fit_stack(pointers_to(runs), start, start, settings_for(keys, 1));
  for (const int threads : {2, 5}) {
    const StackFit many = fit_stack(pointers_to(runs), start, start, settings_for(keys, threads));
    for (std::size_t k = 0; k < keys.size(); ++k) {
      EXPECT_EQ(one.coefficients[k].fitted, many.coefficients[k].fitted) << keys[k];
    }
    EXPECT_EQ(one.objective, many.objective);
  }
}

// Values at and beyond the ends of the scale come back inside the bounds.
TEST(FitKeys, HaveAScaleThatReturnsTheValue) {
  std::set<std::string_view> names;
  for (const FitKey& key : fit_keys()) {
    EXPECT_TRUE(names.insert(key.key).second) << key.key;
    EXPECT_LT(key.lower, key.upper) << key.key;
    EXPECT_GT(key.sigma, 0.0) << key.key;
    for (const double share : {0.0, 0.1, 0.5, 1.0}) {
      const double value = key.lower + share * (key.upper - key.lower);
      EXPECT_NEAR(from_scale(key, to_scale(key, value)), value, 1e-9 * key.upper) << key.key;
    }
    auto profile = testing::start_profile();
    const double middle = 0.5 * (key.lower + key.upper);
    set_value(profile, std::string(key.key), middle);
    EXPECT_NEAR(key.get(profile), middle, 1e-12 * middle) << key.key;
  }
}

}  // namespace
}  // namespace orrery::fit
