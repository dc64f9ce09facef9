#pragma once

// Turns a user's own measurements into rows of a fit: a scenario with `measured: {step_time: ...}`,
// or a training log.
//
// file                                 | the row
// -------------------------------------|-----------------------------------------------------------
// scenario (orrery/1)                  | as it stands, against measured.step_time
// log (orrery import knows which)      | as `orrery import LOG --gpu NAME` makes it a scenario
//
// Nothing is repaired or assumed: what the simulator refuses, and what
// cannot be compared with a measured step, is an error at its key.

#include <filesystem>
#include <string>
#include <vector>

#include "calibrate/fit/observations.hpp"

namespace orrery::fit {

// Adds the run of a scenario's text. Errors go to `diagnostics`; then nothing is added.
void add_own_run(const std::filesystem::path& file,
                 const std::string& text,
                 const std::vector<std::filesystem::path>& profiles,
                 const OwnStack& own,
                 Observations& observations,
                 Diagnostics& diagnostics);

// Whether the file is a log of training; then its run is added, or the reason is in `diagnostics`.
[[nodiscard]] bool add_logged_run(const std::filesystem::path& file,
                                  const std::vector<std::filesystem::path>& profiles,
                                  const OwnStack& own,
                                  Observations& observations,
                                  Diagnostics& diagnostics);

}  // namespace orrery::fit
