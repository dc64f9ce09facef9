#include "calibrate/fit/least_squares.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <array>

#include "sim/base/check.hpp"

namespace orrery::fit {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kDifference = 0.05;  // of a prior's deviation: wide enough to step over kinks
constexpr double kOnBound = 1e-9;

struct State {
  VectorXd z;
  VectorXd residuals;
  double objective = 0.0;
};

std::vector<Index> all_coordinates(Index n) {
  std::vector<Index> all;
  for (Index k = 0; k < n; ++k) {
    all.push_back(k);
  }
  return all;
}

class Search {
 public:
  explicit Search(const LeastSquares& problem) : problem_(problem) {}

  std::vector<State> evaluate(const std::vector<VectorXd>& points) {
    const std::vector<VectorXd> residuals = problem_.residuals(points);
    std::vector<State> states;
    for (std::size_t i = 0; i < points.size(); ++i) {
      states.push_back({points[i], residuals[i], objective_of(problem_, points[i], residuals[i])});
    }
    points_ += static_cast<int>(points.size());
    return states;
  }

  // Differences towards the inside where a bound is near.
  MatrixXd jacobian(const State& at, const std::vector<Index>& live) {
    std::vector<VectorXd> points;
    for (const Index k : live) {
      VectorXd point = at.z;
      const bool up = point[k] + kDifference <= problem_.upper[k];
      point[k] = up ? point[k] + kDifference : std::max(point[k] - kDifference, problem_.lower[k]);
      points.push_back(point);
    }
    const std::vector<VectorXd> residuals = problem_.residuals(points);
    points_ += static_cast<int>(points.size());
    MatrixXd result = MatrixXd::Zero(at.residuals.size(), at.z.size());
    for (std::size_t i = 0; i < live.size(); ++i) {
      const Index k = live[i];
      const double step = points[i][k] - at.z[k];
      if (step != 0.0) {
        result.col(k) = (residuals[i] - at.residuals) / step;
      }
    }
    return result;
  }

  std::vector<Index> live_coordinates(const State& at);
  void descend(State& best, const std::vector<Index>& live);
  void search_axes(State& best, const std::vector<Index>& live);

  [[nodiscard]] int points() const { return points_; }

 private:
  [[nodiscard]] VectorXd inside(const VectorXd& z) const {
    return z.cwiseMax(problem_.lower).cwiseMin(problem_.upper);
  }

  bool improve(State& best, double& damping, const std::vector<Index>& live);

  const LeastSquares& problem_;
  int points_ = 0;
};

// Half of the curvature of the soft loss for each row, as iteratively reweighted squares.
VectorXd row_curvature(const LeastSquares& problem, const VectorXd& residuals) {
  const double c = problem.softness;
  const auto soft = (1.0 + (residuals.array() / c).square()).sqrt();
  return (problem.weights.array() / (c * c * soft)).matrix();
}

bool Search::improve(State& best, double& damping, const std::vector<Index>& live) {
  const MatrixXd jacobian_here = jacobian(best, live);
  const VectorXd curvature = row_curvature(problem_, best.residuals);
  const Index n = best.z.size();
  MatrixXd hessian = jacobian_here.transpose() * curvature.asDiagonal() * jacobian_here;
  hessian.diagonal().array() += problem_.prior;
  VectorXd gradient =
      jacobian_here.transpose() * curvature.cwiseProduct(best.residuals) + problem_.prior * best.z;
  for (Index k = 0; k < n; ++k) {
    const bool stuck = (best.z[k] <= problem_.lower[k] + kOnBound && gradient[k] > 0.0) ||
                       (best.z[k] >= problem_.upper[k] - kOnBound && gradient[k] < 0.0);
    if (stuck) {
      gradient[k] = 0.0;
      hessian.row(k).setZero();
      hessian.col(k).setZero();
      hessian(k, k) = 1.0;
    }
  }
  // A ladder of dampings in one batch: the costly part is the rows, not the algebra.
  constexpr std::array<double, 4> kFactors = {0.1, 1.0, 10.0, 100.0};
  std::vector<VectorXd> points;
  for (const double factor : kFactors) {
    MatrixXd damped = hessian;
    damped.diagonal() *= 1.0 + damping * factor;
    points.push_back(inside(best.z - damped.ldlt().solve(gradient)));
  }
  const std::vector<State> states = evaluate(points);
  std::size_t chosen = 0;
  for (std::size_t i = 1; i < states.size(); ++i) {
    chosen = states[i].objective < states[chosen].objective ? i : chosen;
  }
  if (!(states[chosen].objective < best.objective)) {
    constexpr double kRaise = 1.0e2;
    damping *= kRaise;
    return false;
  }
  best = states[chosen];
  constexpr double kLeast = 1e-4;
  damping = std::max(kLeast, damping * kFactors[chosen]);
  return true;
}

void Search::descend(State& best, const std::vector<Index>& live) {
  constexpr double kEnough = 1e-3;  // of the objective
  constexpr double kMostDamping = 1.0e2;
  double damping = 0.1;
  for (int round = 0; round < problem_.rounds && damping <= kMostDamping; ++round) {
    const double before = best.objective;
    if (improve(best, damping, live) && before - best.objective < kEnough * before) {
      return;
    }
  }
}

// The best single move of each round, or all improving moves together when that is better still.
void Search::search_axes(State& best, const std::vector<Index>& live) {
  constexpr std::array<double, 2> kSteps = {0.4, 0.1};
  constexpr int kMoves = 4;
  constexpr double kWorthwhile = 1e-3;
  for (const double step : kSteps) {
    for (int move = 0; move < kMoves; ++move) {
      std::vector<VectorXd> points;
      for (const Index k : live) {
        for (const double signed_step : {step, -step}) {
          VectorXd point = best.z;
          point[k] += signed_step;
          points.push_back(inside(point));
        }
      }
      std::vector<State> states = evaluate(points);
      VectorXd together = best.z;
      for (const State& state : states) {
        together += state.objective < best.objective ? VectorXd(state.z - best.z)
                                                     : VectorXd::Zero(best.z.size());
      }
      states.push_back(evaluate({inside(together)}).front());
      const auto least = std::ranges::min_element(states, {}, &State::objective);
      if (!(least->objective < best.objective * (1.0 - kWorthwhile))) {
        break;
      }
      best = *least;
    }
  }
}

// Coordinates that move at least one row.
std::vector<Index> Search::live_coordinates(const State& at) {
  constexpr double kNothing = 1e-5;
  const MatrixXd here = jacobian(at, all_coordinates(at.z.size()));
  std::vector<Index> live;
  for (Index k = 0; k < at.z.size(); ++k) {
    if (here.col(k).cwiseAbs().maxCoeff() > kNothing) {
      live.push_back(k);
    }
  }
  return live;
}

}  // namespace

double objective_of(const LeastSquares& problem, const VectorXd& z, const VectorXd& residuals) {
  const auto scaled = residuals.array() / problem.softness;
  const auto loss = 2.0 * ((1.0 + scaled.square()).sqrt() - 1.0);
  return (problem.weights.array() * loss).sum() + problem.prior * z.squaredNorm();
}

Minimum minimise(const LeastSquares& problem, const VectorXd& start) {
  ORRERY_CHECK(problem.lower.size() == start.size() && problem.upper.size() == start.size(),
               "every coordinate has bounds");
  Search search(problem);
  const VectorXd first = start.cwiseMax(problem.lower).cwiseMin(problem.upper);
  State best = search.evaluate({first}).front();
  const std::vector<Index> live = search.live_coordinates(best);
  search.descend(best, live);
  if (problem.axis_search && !live.empty()) {
    search.search_axes(best, live);
    search.descend(best, live);
  }
  Minimum minimum{.z = best.z, .residuals = best.residuals, .objective = best.objective};
  minimum.jacobian = search.jacobian(best, all_coordinates(best.z.size()));
  minimum.points = search.points();
  return minimum;
}

VectorXd posterior_deviation(const LeastSquares& problem, const Minimum& minimum) {
  constexpr double kLeastNoise = 0.01;  // printed digits and run-to-run spread
  const VectorXd& r = minimum.residuals;
  const Index n = minimum.z.size();
  const VectorXd row = row_curvature(problem, r) * (problem.softness * problem.softness);
  const double freedom = std::max<double>(1.0, row.sum() - static_cast<double>(n));
  const double spread = row.cwiseProduct(r.cwiseProduct(r)).sum() / freedom;
  const double variance = std::max(spread, kLeastNoise * kLeastNoise);
  MatrixXd hessian = minimum.jacobian.transpose() * row.asDiagonal() * minimum.jacobian / variance;
  hessian.diagonal().array() += 1.0;
  VectorXd free = VectorXd::Ones(n);
  for (Index k = 0; k < n; ++k) {
    if (minimum.z[k] <= problem.lower[k] + kOnBound ||
        minimum.z[k] >= problem.upper[k] - kOnBound) {
      free[k] = 0.0;
      hessian.row(k).setZero();
      hessian.col(k).setZero();
      hessian(k, k) = 1.0;
    }
  }
  const MatrixXd covariance = hessian.ldlt().solve(MatrixXd::Identity(n, n));
  return covariance.diagonal().cwiseMax(0.0).cwiseSqrt().cwiseProduct(free);
}

}  // namespace orrery::fit
