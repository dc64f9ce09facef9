#pragma once

// Validates the figures of a log: what physics or the tool's own arithmetic rules out is refused.
//
// refused                                             | why
// ----------------------------------------------------|-----------------------------------------
// no rows                                             | the test died
// #wrong > 0, out of bounds values                    | the data did not arrive
// cputime                                             | time of the CPU, not of the collective
// time <= 0                                           | broken clock
// algbw not size / time, busbw not algbw x factor,    | not the operation or number of ranks that
// beyond the printed digits and 1 %                   | it says, or another unit
// largest size no slower than one 16 times smaller    | it did not move the bytes
//
// Warned of: points above the time of the next size (noise), times of the fastest or of one rank,
// several operations in one launch, several groups at once, rows without a size.

#include "calibrate/import/rig_facts.hpp"

namespace orrery::calibration_import {

// The timing that tables take, or nullptr.
[[nodiscard]] const LogTiming* used_timing(const LogRow& row, bool in_place);

// False after an error.
[[nodiscard]] bool check_rows(const ResolvedLog& resolved, bool in_place, Diagnostics& diagnostics);

}  // namespace orrery::calibration_import
