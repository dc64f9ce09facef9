#pragma once

// Bounded least squares with a soft loss, so that outliers count less, and a prior:
//
//   objective(z) = sum_i w_i 2 (sqrt(1 + (r_i(z) / c)^2) - 1) + prior * |z|^2
//
// symbol | meaning                                                            | unit | origin
// -------|--------------------------------------------------------------------|------|-----------
// z      | point, in standard deviations of the prior, 0 at its centre        | 1    | search
// r_i    | residual of row i, log(predicted / measured)                       | 1    | caller
// w_i    | weight of the row                                                  | 1    | caller
// c      | softness: below it rows count by their square, above by their size | 1    | caller
// prior  | strength of the pull towards the centre                            | 1    | caller
//
// Levenberg-Marquardt with one-sided differences, followed by a search along the axes, because
// steps have kinks (maxima, thresholds) at which derivatives mislead. All points of one round are
// asked for together, so that the caller can compute them in parallel; the order of the search and
// its result do not depend on how it does that.
//
// Source: J. Nocedal, S. Wright, Numerical Optimization, 2nd ed., sections 10.3 and 9.3.

#include <Eigen/Core>
#include <functional>
#include <vector>

namespace orrery::fit {

// Residuals of each point; all of one length.
using ResidualFunction =
    std::function<std::vector<Eigen::VectorXd>(const std::vector<Eigen::VectorXd>& points)>;

struct LeastSquares {
  ResidualFunction residuals;
  Eigen::VectorXd weights;
  Eigen::VectorXd lower;  // of z, lower <= upper
  Eigen::VectorXd upper;
  double softness = 0.05;
  double prior = 1.0;
  int rounds = 20;  // of Levenberg-Marquardt, each with one Jacobian
  bool axis_search = true;
};

struct Minimum {
  Eigen::VectorXd z = {};
  Eigen::VectorXd residuals = {};
  Eigen::MatrixXd jacobian = {};  // of the residuals at z
  double objective = 0.0;
  int points = 0;  // evaluated
};

[[nodiscard]] double objective_of(const LeastSquares& problem, const Eigen::VectorXd& z,
                                  const Eigen::VectorXd& residuals);

// From `start`, which is moved into the bounds first.
[[nodiscard]] Minimum minimise(const LeastSquares& problem, const Eigen::VectorXd& start);

// Standard deviation of each z after the rows have spoken, at most 1 (the prior's own): the inverse
// of the curvature with the spread of the residuals as noise. Coordinates on a bound get 0.
[[nodiscard]] Eigen::VectorXd posterior_deviation(const LeastSquares& problem,
                                                  const Minimum& minimum);

}  // namespace orrery::fit
