#pragma once

// Which kernels were measured on this very machine, and what line goes through their times? Filled
// from a calibration profile (calibration_profile.hpp); sim/cost/measured_kernels.hpp predicts from
// it.
//
//   line = a + b F + c B
//
// symbol     | meaning                                                     | unit   | origin
// -----------|-------------------------------------------------------------|--------|-----------
// extents    | sizes of the axes of a case, in the order of kAxes          | 1      | file
// place      | where a case stands among others: log of each extent, -1    | 1      | computed
//            | for 0; kernels that only move bytes: log of the bytes       |        |
// time       | median of the sustained samples of the case                 | s      | measured
// fitted     | what the fit says of the same case                          | s      | file
// a, b, c    | time of an empty call, per FLOP and per byte                | s, ... | fit
// F, B       | FLOP of the case; bytes that cross the memory interface     |FLOP,byte| computed
// trust      | weight of the line beside the nearest points of a case;     | 1      | fit
//            | absent: the line stands alone                               |        |
// residual   | mean, median, 90th percentile of the relative errors of     | 1      | fit
//            | points that the fit had not seen                            |        |
//
// A case is one row of kernels/cases: `gemm fprop bf16 m=8192 n=28672 k=4096`. sim/ knows the words
// of that form, not the kernels; tests/calibrate asserts that both lists of words are the same.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"

namespace orrery::hardware {

enum class KernelOperation {
  gemm,
  grouped_gemm,
  attention,
  rms_norm,
  layer_norm,
  residual_add,
  rotary,
  swiglu,
  cross_entropy,
  embedding,
  quantize,
  quantize_transpose,
  permute,
  unpermute,
  gradient_norm,
  adamw,
  copy,
  host_to_device,
  device_to_host,
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  send_receive,
};

enum class KernelRole { none, forward, backward, fprop, dgrad, wgrad, wgrad_accumulate };

enum class KernelPrecision {
  fp32,
  tf32,
  bf16,
  fp16,
  fp8_tensor,
  fp8_row,
  fp8_block,
  mxfp8,
  nvfp4,
};

[[nodiscard]] std::string_view to_string(KernelOperation operation);
[[nodiscard]] std::string_view to_string(KernelRole role);  // "" for none
[[nodiscard]] std::string_view to_string(KernelPrecision precision);

inline constexpr std::size_t kMostKernelAxes = 8;

// The axes of an operation, in the order of its extents.
[[nodiscard]] std::span<const std::string_view> axes_of(KernelOperation operation);

// Collectives between GPUs: they are predicted by collective_tables.hpp, not from here.
[[nodiscard]] bool is_collective(KernelOperation operation);

// Kernels whose time follows from the bytes that they move.
[[nodiscard]] bool is_memory_bound(KernelOperation operation);

struct KernelCall {
  KernelOperation operation = KernelOperation::copy;
  KernelRole role = KernelRole::none;
  KernelPrecision precision = KernelPrecision::bf16;
  std::array<std::int64_t, kMostKernelAxes> extents = {};

  friend bool operator==(const KernelCall& a, const KernelCall& b) = default;
};

[[nodiscard]] std::string to_text(const KernelCall& call);

// The case that a text names, or what is wrong with it in one sentence.
struct ReadCall {
  std::optional<KernelCall> call;
  std::string problem;
};

[[nodiscard]] ReadCall read_call(std::string_view text);

using KernelPlace = std::array<double, kMostKernelAxes>;

// `moved` places kernels that are memory-bound, the extents all others.
[[nodiscard]] KernelPlace place_of(const KernelCall& call, Bytes moved);

// Coordinate of one extent.
[[nodiscard]] double place_of(double extent);

// How many coordinates of a place count.
[[nodiscard]] std::size_t place_axes(KernelOperation operation);

struct KernelPoint {
  std::string id;
  KernelCall call;
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
  KernelOperation operation = KernelOperation::copy;
  KernelRole role = KernelRole::none;
  KernelPrecision precision = KernelPrecision::bf16;
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
  [[nodiscard]] const KernelSeries* find(KernelOperation operation,
                                         KernelRole role,
                                         KernelPrecision precision) const;
};

}  // namespace orrery::hardware
