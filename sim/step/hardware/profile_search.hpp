#pragma once

// Where profiles and presets lie: directories with a folder for each kind: `gpu/<name>.yaml`,
// `software/<name>.yaml`, `failures/<name>.yaml`, and so on.
//
// They are looked for in $ORRERY_PROFILES, beside and above the scenario, above the program and in
// the installed share folder. The first directory that holds a name wins.

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::hardware {

// Beside gpu, software and collectives: the kinds of scenario/presets/preset_library.hpp.
inline constexpr std::array<std::string_view, 8> kPresetFolders = {
    "models", "networks", "failures", "recovery", "communicators", "storage", "prices", "clusters"};

class ProfileCache;
[[nodiscard]] std::shared_ptr<ProfileCache> make_profile_cache();

struct ProfileSearch {
  std::vector<std::filesystem::path> directories;  // in order of preference
  bool allow_foreign = false;  // calibration profiles of another GPU than their base
  // What was read before, shared by all copies of a search (profile_cache.hpp).
  std::shared_ptr<ProfileCache> cache = make_profile_cache();
};

// The standard directories for a scenario file (may be empty) and the running program. All such
// searches of a process share one cache.
[[nodiscard]] ProfileSearch default_search(const std::filesystem::path& scenario_file);

// Entries of $ORRERY_PROFILES that are no folders; the search passes over them.
[[nodiscard]] std::vector<std::string> missing_in_environment();

// The names of the files of one folder, in the order of the alphabet.
[[nodiscard]] std::vector<std::string> names_in(const ProfileSearch& search,
                                                std::string_view folder);

[[nodiscard]] std::optional<std::filesystem::path> file_named(const ProfileSearch& search,
                                                              std::string_view folder,
                                                              std::string_view name);

// Whether the file is a profile or preset in one of these directories, by whatever way to it.
[[nodiscard]] bool is_profile_in(const std::vector<std::filesystem::path>& directories,
                                 const std::filesystem::path& file);

// The directories that belong to this program: in its source tree, or where it is installed.
[[nodiscard]] std::vector<std::filesystem::path> shipped_directories();

// How a file is called in messages: below the working directory without the way to it.
[[nodiscard]] std::string shown_name(const std::filesystem::path& path);

// A file, and no directory.
[[nodiscard]] bool file_exists(const std::filesystem::path& path);

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
