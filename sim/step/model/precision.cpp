#include "sim/step/model/precision.hpp"

namespace orrery::model {

namespace {

constexpr double kFp32Scale = 4.0;
constexpr double kByteScale = 1.0;  // E8M0 or E4M3
constexpr double kBlockValues = 128.0;
constexpr double kMxValues = 32.0;
constexpr double kNvfp4Values = 16.0;
constexpr double kCopies = 2.0;  // as it is, and transposed

// Reads of the whole tensor, the one that casts included.
double reads(Fp8Scaling scaling) {
  switch (scaling) {
    case Fp8Scaling::tensorwise:
    case Fp8Scaling::nvfp4:
      return 2.0;
    case Fp8Scaling::rowwise:
      return 2.0 * kCopies;
    case Fp8Scaling::delayed:
    case Fp8Scaling::block:
    case Fp8Scaling::mx:
      break;
  }
  return 1.0;
}

}  // namespace

double scale_bytes(Fp8Scaling scaling) {
  switch (scaling) {
    case Fp8Scaling::block:
      return kFp32Scale / kBlockValues;
    case Fp8Scaling::mx:
      return kByteScale / kMxValues;
    case Fp8Scaling::nvfp4:
      return kByteScale / kNvfp4Values;
    case Fp8Scaling::delayed:
    case Fp8Scaling::tensorwise:
    case Fp8Scaling::rowwise:
      break;
  }
  return 0.0;  // one number for a tensor or a row
}

CastTraffic cast_traffic(Dtype wide, Dtype narrow, Fp8Scaling scaling) {
  const double passes = reads(scaling);
  return {.read = passes * in_bytes(bytes_per_element(wide)),
          .written = kCopies * (in_bytes(bytes_per_element(narrow)) + scale_bytes(scaling)),
          .kernels = static_cast<int>(passes)};
}

}  // namespace orrery::model
