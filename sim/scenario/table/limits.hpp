#pragma once

// Bounds that keys of several sections share. Internal to scenario/.

#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/base/units.hpp"
#include "sim/base/yaml/kinds.hpp"

namespace orrery::scenario {

inline constexpr Seconds kLongestSpan = days(25'000.0);
inline constexpr yaml::Range<Seconds> kSpan = {std::nullopt, kLongestSpan, false};
inline constexpr yaml::Range<Seconds> kPositiveSpan = {Seconds{}, kLongestSpan, true};
inline constexpr std::int64_t kWidest = std::int64_t{1} << 24U;  // products of two stay exact
inline constexpr std::int64_t kMostNodes = 1'000'000;
inline constexpr std::int64_t kMostSequences = std::int64_t{1} << 30U;  // of one step
inline constexpr std::int64_t kMostSteps = std::int64_t{1}
                                           << 53U;  // doubles hold such counts exactly

// What holds without a dimension of the model.
inline constexpr std::string_view kOfPreset = "the preset's; required without one";

}  // namespace orrery::scenario
