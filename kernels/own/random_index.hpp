#pragma once

// Random indices of tokens, experts or rows, made on the host: they are few beside the data they
// point at.
//
//   index i = integer(seed, i, bound)     (device/random.hpp)
//
// symbol | meaning                         | unit | origin
// -------|---------------------------------|------|---------
// bound  | indices are in [0, bound)       | 1    | case

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/device/memory.hpp"
#include "kernels/device/random.hpp"

namespace orrery::kernels {

template <typename T>
[[nodiscard]] std::int64_t index_bytes(std::int64_t count) {
  return aligned(count * static_cast<std::int64_t>(sizeof(T)));
}

template <typename T>
[[nodiscard]] std::vector<T> random_indices(std::int64_t count,
                                            std::int64_t bound,
                                            std::uint64_t seed) {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  const auto limit = static_cast<std::uint32_t>(std::min(bound, kMost));
  std::vector<T> indices;
  for (std::int64_t i = 0; i < count; ++i) {
    indices.push_back(static_cast<T>(integer_at(seed, static_cast<std::uint64_t>(i), limit)));
  }
  return indices;
}

// Waits for the stream.
template <typename T>
[[nodiscard]] DeviceBuffer uploaded_indices(const std::vector<T>& indices, Stream stream) {
  const auto count = static_cast<std::int64_t>(indices.size());
  DeviceBuffer buffer(index_bytes<T>(count));
  copy_to_device(
      buffer.data(), indices.data(), count * static_cast<std::int64_t>(sizeof(T)), stream);
  return buffer;
}

}  // namespace orrery::kernels
