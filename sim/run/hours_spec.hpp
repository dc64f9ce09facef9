#pragma once

// What published GPU-hours contain: the kinds that scenarios and data sets distinguish.
//
// kind               | the published hours are
// -------------------|-----------------------------------------------------------------
// billed             | those of the calendar, losses included
// productive         | those of training alone
// throughput_derived | tokens / steady throughput, or a plan
// unknown            | not said

#include <array>
#include <cstddef>
#include <string_view>

namespace orrery::run {

enum class HoursKind { billed, productive, throughput_derived, unknown };

inline constexpr std::array<std::string_view, 4> kHoursKindNames = {
    "billed", "productive", "throughput-derived", "unknown"};

[[nodiscard]] constexpr std::string_view to_string(HoursKind kind) {
  return kHoursKindNames[static_cast<std::size_t>(kind)];
}

}  // namespace orrery::run
