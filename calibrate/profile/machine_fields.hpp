#pragma once

// The machine of a journal under the keys of a profile: the same facts, and one id for both, that
// of sim/hardware/fingerprint.hpp.

#include <string>

#include "calibrate/samples/fingerprint.hpp"
#include "sim/hardware/fingerprint.hpp"

namespace orrery::calibrate {

// What a run only sees (clocks under load, throttling) stays unknown.
[[nodiscard]] hardware::Fingerprint machine_fields(const Fingerprint& fingerprint);

// The id of every profile that is measured on this machine with these libraries.
[[nodiscard]] std::string machine_id(const Fingerprint& fingerprint);

}  // namespace orrery::calibrate
