#pragma once

// Cost of quantizing a 16-bit tensor to 8 or 4 bits: memory traffic of the cast, and its scales.
//
// recipe     | format   | one scale for               | scale | bytes moved per element
// -----------|----------|-----------------------------|-------|------------------------------------
// delayed    | fp8      | the tensor, of past steps   | fp32  | read 2, write 2 x 1
// tensorwise | fp8      | the tensor                  | fp32  | read 2 + 2 (maximum), write 2 x 1
// rowwise    | fp8      | a row, and a column         | fp32  | read 4 x 2 (each copy: maximum and
//            |          |                             |       | cast), write 2 x 1
// block      | fp8      | 1 x 128 (weights 128 x 128) | fp32  | read 2, write 2 x (1 + 4/128)
// mx         | fp8 mx   | 32 values                   | E8M0  | read 2, write 2 x (1 + 1/32)
// nvfp4      | fp4      | 16 values, and the tensor   | E4M3  | read 2 + 2, write 2 x (1/2 + 1/16)
//
// Two copies are written: the second product that uses the tensor needs it transposed (and scaled
// along its other axis). A maximum over the tensor must be known before the first value is cast, so
// it reads the tensor once more; a block or a group is held by one thread block. Which formats and
// what they hold: docs/precision.md. Source: Transformer Engine's documentation of its recipes,
// torchao's row-wise recipe; the reads of row-wise scales are assumed.

#include "sim/step/model/op.hpp"

namespace orrery::model {

// Bytes per element of one tensor.
struct CastTraffic {
  double read = 0.0;
  double written = 0.0;
  int kernels = 1;
};

[[nodiscard]] CastTraffic cast_traffic(Dtype wide, Dtype narrow, Fp8Scaling scaling);

// Bytes of the scales of one copy, per element.
[[nodiscard]] double scale_bytes(Fp8Scaling scaling);

// The width of numbers that stay in full precision whatever the recipe says. Internal to
// model/.

inline constexpr double kFp32Bytes = 4.0;  // bytes per element

}  // namespace orrery::model
