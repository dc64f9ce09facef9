// Leaving out: disjoint folds, and rows that never touch the fit they are scored with.

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "calibrate/fit/generalisation.hpp"
#include "tests/calibrate/fit_fixture.hpp"

namespace orrery::fit {
namespace {

using testing::measure_with;
using testing::pointers_to;
using testing::set_value;
using testing::settings_for;

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

}  // namespace
}  // namespace orrery::fit
