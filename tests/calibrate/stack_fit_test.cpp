// Planted coefficients come back out of steps that the simulator itself produced with them.

#include "calibrate/fit/stack_fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "calibrate/fit/generalisation.hpp"
#include "calibrate/fit/least_squares.hpp"
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

// Leaving out: disjoint folds, and rows that never touch the fit they are scored with.

TEST(Folds, AreDisjointAndCoverEveryRow) {
  const Observations runs = testing::small_runs();
  const Rows rows = pointers_to(runs);
  for (const LeaveOut kind : {LeaveOut::model, LeaveOut::gpu, LeaveOut::source, LeaveOut::count}) {
    std::map<const Observation*, int> tested;
    for (const Fold& fold : make_folds(rows, kind)) {
      const std::set<const Observation*> train(fold.train.begin(), fold.train.end());
      EXPECT_EQ(fold.train.size() + fold.test.size(), rows.size()) << fold.name;
      for (const Observation* row : fold.test) {
        EXPECT_FALSE(train.contains(row)) << fold.name << ' ' << row->id;
        ++tested[row];
      }
    }
    EXPECT_EQ(tested.size(), rows.size());
    for (const auto& [row, times] : tested) {
      EXPECT_EQ(times, 1) << row->id;
    }
  }
  EXPECT_TRUE(make_folds(rows, LeaveOut::none).empty());
}

// "Llama-2048 (16 layers)" and "Llama-2048 (24 layers)" must not vouch for each other.
TEST(Folds, TakeAModelWithFewerLayersForTheSameModel) {
  const Observations runs = testing::small_runs();
  const auto folds = make_folds(pointers_to(runs), LeaveOut::model);
  ASSERT_EQ(folds.size(), 3U);
  EXPECT_EQ(folds[0].name, "Llama-2048");
  EXPECT_EQ(folds[0].test.size(), 4U);
}

// The rows of one model are ten times as slow. The fits without it find the truth of the others,
// so it is missed by the factor of ten, and the others are hit only where it was left out.
TEST(Folds, ScoreAModelWithAFitThatHasNotSeenIt) {
  Observations runs = testing::small_runs();
  const auto start = testing::start_profile();
  auto truth = start;
  set_value(truth, "gemm_efficiency", 0.8);
  measure_with(runs, truth);
  for (Observation& row : runs.rows) {
    row.measured *= row.model == "Llama-4096" ? 10.0 : 1.0;
  }
  const Rows rows = pointers_to(runs);
  const CrossValidation left_out =
      cross_validate(rows, {}, LeaveOut::model, start, start, settings_for({"gemm_efficiency"}));
  ASSERT_EQ(left_out.folds.size(), 3U);
  EXPECT_NEAR(left_out.folds[1].score.bias, -0.9, 0.01);
}

// The same, but the odd rows are only scored: the other folds do not see them either.
TEST(Folds, KeepRowsThatAreOnlyScoredOutOfEveryFit) {
  Observations runs = testing::small_runs();
  const auto start = testing::start_profile();
  auto truth = start;
  set_value(truth, "gemm_efficiency", 0.8);
  measure_with(runs, truth);
  for (Observation& row : runs.rows) {
    row.measured *= row.model == "Llama-4096" ? 10.0 : 1.0;
  }
  const Rows rows = pointers_to(runs);
  Rows odd;
  for (const Observation* row : rows) {
    if (row->model == "Llama-4096") {
      odd.push_back(row);
    }
  }
  const CrossValidation left_out =
      cross_validate(rows, odd, LeaveOut::model, start, start, settings_for({"gemm_efficiency"}));
  EXPECT_LT(left_out.folds[0].score.mape, 0.03);
  EXPECT_LT(left_out.folds[2].score.mape, 0.03);
}

// The shared defaults and the table of what holds on unseen runs.

using hardware::SoftwareProfile;

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

// The search against closed forms.

using Eigen::MatrixXd;
using Eigen::VectorXd;

// r(z) = A z - b with loose bounds and a loss that is quadratic at this size.
LeastSquares linear_problem(const MatrixXd& a, const VectorXd& b) {
  LeastSquares problem;
  problem.residuals = [a, b](const std::vector<VectorXd>& points) {
    std::vector<VectorXd> residuals;
    for (const VectorXd& z : points) {
      residuals.emplace_back(a * z - b);
    }
    return residuals;
  };
  problem.weights = VectorXd::Ones(b.size());
  problem.lower = VectorXd::Constant(a.cols(), -100.0);
  problem.upper = VectorXd::Constant(a.cols(), 100.0);
  problem.softness = 1000.0;
  return problem;
}

// 2 (sqrt(1 + x^2) - 1) -> x^2 for small x, so the objective is |A z - b|^2 / c^2 + prior |z|^2
// with the minimum (A'A + prior c^2 I)^-1 A'b. A = diag(2, 1), b = (2, 4), prior c^2 = 4: z = (2 *
// 2 / (4 + 4), 4 / (1 + 4)) = (0.5, 0.8).
TEST(LeastSquares, ReachesTheClosedFormOfRidgeRegression) {
  MatrixXd a = MatrixXd::Zero(2, 2);
  a(0, 0) = 2.0;
  a(1, 1) = 1.0;
  VectorXd b(2);
  b << 2.0, 4.0;
  LeastSquares problem = linear_problem(a, b);
  problem.prior = 4.0 / (problem.softness * problem.softness);
  const Minimum minimum = minimise(problem, VectorXd::Zero(2));
  EXPECT_NEAR(minimum.z[0], 0.5, 2e-3);
  EXPECT_NEAR(minimum.z[1], 0.8, 2e-3);
}

// Without a bound the minimum of (z - 3)^2 is 3; the prior is off.
TEST(LeastSquares, StopsAtABound) {
  LeastSquares problem = linear_problem(MatrixXd::Ones(1, 1), VectorXd::Constant(1, 3.0));
  problem.prior = 0.0;
  problem.upper[0] = 1.25;
  EXPECT_DOUBLE_EQ(minimise(problem, VectorXd::Zero(1)).z[0], 1.25);
  EXPECT_DOUBLE_EQ(posterior_deviation(problem, minimise(problem, VectorXd::Zero(1)))[0], 0.0);
}

// Nine rows say 0 and one says 5. The mean is 0.5; the soft loss with c = 0.05 grows by 2 / c per
// unit far away, so the nine, at 2 z / c^2 each, balance it at about z = c / 9 = 0.006.
TEST(LeastSquares, DoesNotRunAfterOneOutlier) {
  VectorXd b = VectorXd::Zero(10);
  b[3] = 5.0;
  LeastSquares problem = linear_problem(MatrixXd::Ones(10, 1), b);
  problem.softness = 0.05;
  problem.prior = 0.0;
  const Minimum minimum = minimise(problem, VectorXd::Constant(1, 1.0));
  EXPECT_NEAR(minimum.z[0], 0.05 / std::sqrt(80.0), 1e-3);
}

// |z - 1| has no derivative at its minimum.
TEST(LeastSquares, FindsTheBottomOfAKink) {
  LeastSquares problem = linear_problem(MatrixXd::Ones(1, 1), VectorXd::Ones(1));
  problem.residuals = [](const std::vector<VectorXd>& points) {
    std::vector<VectorXd> residuals;
    for (const VectorXd& z : points) {
      residuals.emplace_back(VectorXd::Constant(1, std::max(1.5 * (z[0] - 1.0), 1.0 - z[0])));
    }
    return residuals;
  };
  problem.softness = 0.05;
  problem.prior = 0.0;
  EXPECT_NEAR(minimise(problem, VectorXd::Constant(1, -2.0)).z[0], 1.0, 0.05);
}

// A coordinate that moves nothing keeps the deviation of its prior, 1, and its centre.
TEST(LeastSquares, LeavesAnUnidentifiedCoordinateAtItsCentre) {
  MatrixXd a = MatrixXd::Zero(4, 2);
  a.col(0).setOnes();
  LeastSquares problem = linear_problem(a, VectorXd::Constant(4, 0.3));
  problem.softness = 0.05;
  const Minimum minimum = minimise(problem, VectorXd::Zero(2));
  const VectorXd deviation = posterior_deviation(problem, minimum);
  EXPECT_DOUBLE_EQ(minimum.z[1], 0.0);
  EXPECT_DOUBLE_EQ(deviation[1], 1.0);
  EXPECT_LT(deviation[0], 0.1);
}

}  // namespace
}  // namespace orrery::fit
