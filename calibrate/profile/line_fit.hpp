#pragma once

// Fits a line to the times of a kernel, weighs it against the measured points next to a case, and
// estimates the error of predictions for what was not measured.
//
//   minimise sum_i rho( (a + b F_i + c B_i) / t_i - 1 ),  a, b, c >= 0
//   rho(r) = |r| where |r| > 1 %, else quadratic
//
// symbol    | meaning                                                       | unit | origin
// ----------|---------------------------------------------------------------|------|------------
// a, b, c   | time of an empty call, per FLOP, per byte                     | s,.. | fit
// t_i       | measured median of point i                                    | s    | samples
// trust     | weight of the line beside its three nearest points: none at   | 1    | chosen
//           | all, 4, 2, 1 or 0.3, whichever predicts left-out points best  |      |
// residual  | |predicted / measured - 1| of each point by the fit and the   | 1    | computed
//           | points without it (leave one out); five_fold: a fifth left    |      |
//           | out at a time                                                 |      |
// deviation | of a, b, c: square roots of the diagonal of the inverse of    | s,.. | computed
//           | the weighted normal equations, times the spread of the points |      |
//
// Iteratively reweighted least squares; each round solves the non-negative problem exactly by going
// through the sets of coefficients that may be above 0. Predictions are those of
// sim/step/cost/measured_kernels.hpp. With fewer than four products only b is fitted,
// with fewer than two other points only c.
// Source: C. Lawson, R. Hanson, Solving Least Squares Problems, chapter 23.

#include <array>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "calibrate/profile/kernel_points.hpp"
#include "sim/step/hardware/calibration_profile.hpp"
#include "sim/step/hardware/gpu_profile.hpp"

namespace orrery::calibrate {

struct LineFit {
  hardware::KernelLine line;             // trust and residual not set
  std::array<double, 3> deviation = {};  // of a in s, b in s/FLOP, c in s/byte
};

// `products`: the time may depend on FLOP, not on bytes alone. Needs at least one point.
[[nodiscard]] LineFit fit_line(std::span<const KernelEvidence> points, bool products);

// Errors of points that the fit had not seen, in the order of the points.
// `folds`: how many groups are left out in turn; as many as points: one at a time.
[[nodiscard]] std::vector<double> left_out_errors(std::span<const KernelEvidence> points,
                                                  bool products, std::optional<double> trust,
                                                  std::size_t folds);

// The weight with the smallest `error(weight)`; one beside the neighbours must win by two percent.
template <typename Error>
[[nodiscard]] std::optional<double> best_trust(const Error& error) {
  std::optional<double> best;
  double least = std::numeric_limits<double>::infinity();
  for (const std::optional<double>& trust :
       std::initializer_list<std::optional<double>>{std::nullopt, 4.0, 2.0, 1.0, 0.3}) {
    const double sum = error(trust);
    if (sum < least * (trust ? 0.98 : 1.0)) {
      least = sum;
      best = trust;
    }
  }
  return best;
}

// One for all roles of a precision, so that a few points of one role do not decide it alone.
[[nodiscard]] std::optional<double> choose_trust(std::span<const std::vector<KernelEvidence>> roles,
                                                 bool products);

// Mean, median and 90th percentile.
[[nodiscard]] hardware::FitResidual residual_of(std::vector<double> errors);

// The fitted series, ready for predictions.
[[nodiscard]] hardware::KernelSeries series_of(const EvidenceKey& key,
                                               const EvidenceSeries& evidence,
                                               const hardware::KernelLine& line);

// Fits the asymptotes, half length and ratios of this machine's fused attention.
//
//   the law of sim/step/cost/attention.hpp, fitted to log(time) of forward and backward together
//
// symbol         | meaning                                   | fitted when
// ---------------|-------------------------------------------|--------------------------------
// forward        | rate on long causal sequences             | there is a forward
// half_length    | s0, at which half of it is left           | always
// full_ratio     | s0 unmasked / causal                      | both were measured
// head_64, 256   | rate at head dimension 64 and 256 / 128   | there are points
// backward       | rate counted with 2.5 x forward FLOP      | there is a backward
// backward_ratio | s0 backward / forward                     | there is a backward
// (8 bit)        | rates alone, on top of the 16-bit ratios  | there is a 16-bit fit
//
// What is not fitted keeps the value of the base. Residual: each point by a fit without it. The
// points next to a case may correct the law as they do a line (line_fit.hpp).

// Fits of all roles and precisions of attention in the evidence, with lines, trust and residuals.
// Sets `fitted` of the points that they hold. `gpu` supplies the memory, the SMs and the launch.
[[nodiscard]] std::vector<hardware::CalibrationFit> fit_attention(Evidence& evidence,
                                                                  const hardware::GpuProfile& gpu);

}  // namespace orrery::calibrate
