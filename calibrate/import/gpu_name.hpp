#pragma once

// Which GPU profile is "NVIDIA H100 80GB HBM3"? The one whose name the driver's words spell, if it
// is the only one.
//
// The words of a profile's name (h100-sxm-80gb) must all be in the driver's name and the other way
// round, but for words that name no variant (NVIDIA, GeForce, HBM3). The memory may be missing on
// either side; a form that the driver leaves out is SXM. Anything else is a question to the user,
// not a guess.

#include <string>
#include <string_view>
#include <vector>

namespace orrery::calibration_import {

[[nodiscard]] std::vector<std::string> matching_profiles(std::string_view device,
                                                         const std::vector<std::string>& profiles);

}  // namespace orrery::calibration_import
