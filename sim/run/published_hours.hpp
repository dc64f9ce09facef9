#pragma once

// Whether the goodput of a run may be read from the GPU-hours that were published for it.
//
//   goodput = productive GPU time / published GPU time,   only for billed hours
//
// kind               | goodput from the hours
// -------------------|-----------------------------------
// billed             | yes
// productive         | no: 1 by definition
// throughput_derived | no: 1 by construction
// unknown            | no
//
// Most published hours are throughput-derived: LLaMA-65B, DeepSeek-V3, TinyLlama and Apertus print
// tokens / rate to within 0.5 %. A calibration fed with them finds a run without any loss.

#include <string>
#include <variant>

#include "sim/base/units.hpp"
#include "sim/run/hours_spec.hpp"

namespace orrery::run {

// Goodput of the run, or why these hours do not tell it.
[[nodiscard]] std::variant<double, std::string> goodput_from_hours(HoursKind kind,
                                                                   Seconds productive,
                                                                   Seconds published);

}  // namespace orrery::run
