#pragma once

// What published GPU-hours contain: the kinds that scenarios and data sets distinguish.

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

#include "sim/base/units.hpp"

namespace orrery::run {

enum class HoursKind {
  billed,              // those of the calendar, losses included
  productive,          // those of training alone
  throughput_derived,  // tokens / steady throughput, or a plan
  unknown,             // not said
};

inline constexpr std::array<std::string_view, 4> kHoursKindNames = {
    "billed", "productive", "throughput-derived", "unknown"};

[[nodiscard]] constexpr std::string_view to_string(HoursKind kind) {
  return kHoursKindNames[static_cast<std::size_t>(kind)];
}

// Whether a goodput may be read from published GPU-hours: productive / published of billed ones,
// else why not. Most are throughput-derived: LLaMA-65B, DeepSeek-V3, TinyLlama and Apertus print
// tokens / rate to within 0.5 %, and a calibration fed with them finds a run without any loss.
[[nodiscard]] std::variant<double, std::string> goodput_from_hours(HoursKind kind,
                                                                   Seconds productive,
                                                                   Seconds published);

}  // namespace orrery::run
