#pragma once

// May the goodput of a run be read from the GPU-hours that were published for it?
//
//   goodput = productive GPU time / published GPU time,   only for billed hours
//
// kind               | the published hours are                           | goodput from them
// -------------------|---------------------------------------------------|----------------------------
// billed             | those of the calendar, losses included            | yes
// productive         | those of training alone                           | no: 1 by definition
// throughput_derived | tokens / steady throughput, or a plan             | no: 1 by construction
// unknown            | not said                                          | no
//
// Most published hours are throughput-derived: LLaMA-65B, DeepSeek-V3, TinyLlama and Apertus print
// tokens / rate to within 0.5 %. A calibration fed with them finds a run without any loss.

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

#include "sim/base/units.hpp"

namespace orrery::run {

enum class HoursKind { billed, productive, throughput_derived, unknown };

inline constexpr std::array<std::string_view, 4> kHoursKindNames = {
    "billed", "productive", "throughput-derived", "unknown"};

[[nodiscard]] constexpr std::string_view to_string(HoursKind kind) {
  return kHoursKindNames[static_cast<std::size_t>(kind)];
}

// Goodput of the run, or why these hours do not tell it.
[[nodiscard]] std::variant<double, std::string> goodput_from_hours(HoursKind kind,
                                                                   Seconds productive,
                                                                   Seconds published);

}  // namespace orrery::run
