#pragma once

// The profile of "NVIDIA H100 80GB HBM3", or of "H100-80GB (AWS p5)", by the `names` of the GPU
// profiles: no other file knows a GPU by name.
//
// names                        | a device of the driver | a name in free text
// -----------------------------|------------------------|------------------------------------------
// NVIDIA H200                  | exactly these letters  | occurs there
// "H100, PCIe"                 | never                  | each of the words occurs, anywhere
//
// In free text case and separators do not matter (`Gaudi2`, `gaudi-2`), a word stands alone (`B200`
// is not in `GB200`, `L4` not in `L40S`), and the name with most words applies, the longest of
// these. A name may also be that of a GPU without a profile which this one stands in for.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::hardware {

struct GpuName {
  std::string name;
  std::string profile;
};

// Profiles that claim the name that a driver gives a device.
[[nodiscard]] std::vector<std::string> profiles_of_device(const std::vector<GpuName>& names,
                                                          std::string_view device);

[[nodiscard]] std::optional<std::string> profile_in_text(const std::vector<GpuName>& names,
                                                         std::string_view text);

// The one profile that is known by exactly this name, whatever the case; empty without one. So that
// a scenario may say h100.
[[nodiscard]] std::string profile_named(const std::vector<GpuName>& names, std::string_view word);

}  // namespace orrery::hardware
