#include "sim/step/model/precision.hpp"

namespace orrery::model {

namespace {

constexpr double kCopies = 2.0;  // as it is, and transposed

struct ScalingRow {
  double reads;        // of the whole tensor, the one that casts included
  double scale_bytes;  // of one copy, per element; 0: one number for a tensor or a row
};

// By Fp8Scaling: delayed, tensorwise, block, rowwise, mx, nvfp4.
constexpr ScalingRow kScalings[] = {{1.0, 0.0},           {2.0, 0.0},        {1.0, 4.0 / 128.0},
                                    {2.0 * kCopies, 0.0}, {1.0, 1.0 / 32.0}, {2.0, 1.0 / 16.0}};

const ScalingRow& row_of(Fp8Scaling scaling) {
  return kScalings[static_cast<std::size_t>(scaling)];
}

}  // namespace

double scale_bytes(Fp8Scaling scaling) { return row_of(scaling).scale_bytes; }

CastTraffic cast_traffic(Dtype wide, Dtype narrow, Fp8Scaling scaling) {
  const double passes = row_of(scaling).reads;
  return {.read = passes * in_bytes(bytes_per_element(wide)),
          .written = kCopies * (in_bytes(bytes_per_element(narrow)) + scale_bytes(scaling)),
          .kernels = static_cast<int>(passes)};
}

}  // namespace orrery::model
