#pragma once

// Kernels that were measured on this very machine, and the line through their times. Filled
// from a calibration profile (calibration_profile.hpp); cost/measured_kernels.hpp predicts from it.
//
//   line = a + b F + c B, F the FLOP of a case (of products: effective_work), B the bytes it moves
//
// A case is that of sim/step/kernels: `gemm fprop bf16 m=8192 n=28672 k=4096`.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/step/kernels/kernel_case.hpp"

namespace orrery::hardware {

using KernelPlace = std::array<double, kernels::kMaxAxes>;

// `moved` places kernels that are memory-bound, the extents all others.
[[nodiscard]] KernelPlace place_of(const kernels::KernelCase& call, Bytes moved);

// Coordinate of one extent.
[[nodiscard]] double place_of(double extent);

// How many coordinates of a place count.
[[nodiscard]] std::size_t place_axes(kernels::Operation operation);

struct KernelPoint {
  std::string id;
  kernels::KernelCase call;
  KernelPlace place = {};  // among others: log of each extent, -1 for 0; or log of the bytes
  Seconds time;            // median of the sustained samples, at a step's clock
  Seconds fitted;          // what the fit says of the same case
};

// Relative errors of points that the fit had not seen.
struct FitResidual {
  std::int64_t points = 0;
  double mean = 0.0;
  double median = 0.0;
  double p90 = 0.0;
};

struct KernelLine {
  Seconds a;                         // of an empty call
  double b = 0.0;                    // s/FLOP
  double c = 0.0;                    // s/byte
  std::optional<double> trust = {};  // weight beside the nearest points; absent: it stands alone
  FitResidual residual = {};
};

// All points of one operation, role and precision.
struct KernelSeries {
  kernels::Operation operation = kernels::Operation::copy;
  kernels::Role role = kernels::Role::none;
  kernels::Precision precision = kernels::Precision::bf16;
  std::string implementation = {};  // cublaslt, cudnn, own, ...
  KernelLine line = {};
  std::vector<KernelPoint> points = {};
  KernelPlace low = {};  // places inside of which the fit holds
  KernelPlace high = {};
};

// Low and high as the points have them; needs at least one point.
void finish_series(KernelSeries& series);

struct KernelTables {
  std::vector<KernelSeries> series;

  // nullptr when nothing of the kind was measured.
  [[nodiscard]] const KernelSeries* find(kernels::Operation operation, kernels::Role role,
                                         kernels::Precision precision) const;
};

}  // namespace orrery::hardware
