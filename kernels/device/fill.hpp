#pragma once

// Fills operands with seeded random values on the device, and computes the same ones on the host.
//
//   element i = encode(deviation normal(seed, first + i))       (random.hpp, element.hpp)
//
// symbol    | meaning                                             | unit | origin
// ----------|-----------------------------------------------------|------|------------------------
// deviation | standard deviation of the values before rounding    | -    | caller
// first     | index of element 0 in the sequence, a multiple of 4 | 1    | caller
//
// An output is filled with bytes 0xFF before a checked call. That is a NaN in every format but
// e8m0 and e2m1 (and NaN in e8m0, -6 in e2m1), which no kernel writes: what remains of it was never
// written.

#include <cstdint>
#include <vector>

#include "kernels/device/element.hpp"
#include "kernels/device/runnable.hpp"

namespace orrery::kernels {

struct Normal {
  std::uint64_t seed = 1;
  float deviation = 1.0F;
  std::int64_t first = 0;
};

// All enqueue only. `data` is aligned to 16 bytes.
void fill_normal(void* data, Element element, std::int64_t count, Normal normal, Stream stream);

// Uniform in [low, high): scales, probabilities.
struct Uniform {
  std::uint64_t seed = 1;
  float low = 0.0F;
  float high = 1.0F;
};

void fill_uniform(void* data, Element element, std::int64_t count, Uniform uniform, Stream stream);

void fill_unwritten(void* data, std::int64_t bytes, Stream stream);

// Elements of 1, 2 or 4 bytes that still hold the pattern of fill_unwritten. Waits for the stream.
[[nodiscard]] std::int64_t count_unwritten(const void* data, int element_bytes, std::int64_t count,
                                           Stream stream);

// What fill_normal and fill_uniform store at `index`, as a number.
[[nodiscard]] float stored_normal(Element element, Normal normal, std::int64_t index);
[[nodiscard]] float stored_uniform(Element element, Uniform uniform, std::int64_t index);

// Elements of device memory as numbers: [first, first + count). Waits for the stream. e2m1: first
// is even.
[[nodiscard]] std::vector<float> read_elements(const void* data, Element element,
                                               std::int64_t first, std::int64_t count,
                                               Stream stream);

// The same of `count` rows of `width` elements, `stride` elements apart; of one row: anything. Not
// of e2m1.
[[nodiscard]] std::vector<float> read_rows(const void* data, Element element, std::int64_t first,
                                           std::int64_t stride, std::int64_t width,
                                           std::int64_t count, Stream stream);

}  // namespace orrery::kernels
