// The search against closed forms.

#include "calibrate/fit/least_squares.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace orrery::fit {
namespace {

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
