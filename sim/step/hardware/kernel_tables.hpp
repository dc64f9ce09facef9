#pragma once

// Kernels that were measured on this very machine, and the line through their times. Filled
// from a calibration profile (calibration_profile.hpp); cost/measured_kernels.hpp predicts from it.
//
//   line = a + b F + c B
//
// symbol     | meaning                                                     | unit   | origin
// -----------|-------------------------------------------------------------|--------|-----------
// extents    | sizes of the axes of a case, in the order of its row        | 1      | file
// place      | where a case stands among others: log of each extent, -1    | 1      | computed
//            | for 0; kernels that only move bytes: log of the bytes       |        |
// time       | median of the sustained samples, at a step's clock          | s      | measured
// fitted     | what the fit says of the same case                          | s      | file
// a, b, c    | time of an empty call, per FLOP and per byte                | s, ... | fit
// F, B       | FLOP of the case (products: effective_work); bytes it moves |FLOP,byte| computed
// trust      | weight of the line beside the nearest points of a case;     | 1      | fit
//            | absent: the line stands alone                               |        |
// residual   | mean, median, 90th percentile of the relative errors of     | 1      | fit
//            | points that the fit had not seen                            |        |
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
  KernelPlace place = {};
  Seconds time;
  Seconds fitted;
};

struct FitResidual {
  std::int64_t points = 0;
  double mean = 0.0;
  double median = 0.0;
  double p90 = 0.0;
};

struct KernelLine {
  Seconds a;
  double b = 0.0;  // s/FLOP
  double c = 0.0;  // s/byte
  std::optional<double> trust = {};
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
