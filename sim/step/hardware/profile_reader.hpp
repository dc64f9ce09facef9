#pragma once

// Finds profile files and reads them into typed profiles.
//
// A profile is found by name in the profile directories (profile_search.hpp; `gpu/<name>.yaml`,
// `software/<name>.yaml`), or by the path of a file. Every coefficient must state
// value and source; a missing one is an error with file, line, column and key. A name that is not
// found is an error that lists the names that are.
//
// A GPU profile may also be a calibration profile (calibration_profile.hpp): its base is then found
// by name in the same directories. One that was measured on another GPU than its base throws
// Error(ErrorKind::device), unless the search allows it.

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/step/hardware/calibration_profile.hpp"
#include "sim/step/hardware/collective_tables.hpp"
#include "sim/step/hardware/gpu_profile.hpp"
#include "sim/step/hardware/profile_search.hpp"
#include "sim/step/hardware/software_profile.hpp"

namespace orrery::hardware {

[[nodiscard]] std::vector<std::string> list_gpu_profiles(const ProfileSearch& search);
[[nodiscard]] std::vector<std::string> list_software_profiles(const ProfileSearch& search);

// The names of the profiles that `search` finds; of those that cannot be read, none.
[[nodiscard]] std::vector<GpuName> gpu_names(const ProfileSearch& search);

// The stack whose profile has this alias, whatever the case; empty where none has, or several have,
// and for paths and the names of profiles.
[[nodiscard]] std::string stack_named(std::string_view word, const ProfileSearch& search);

// `where` and `key` place the diagnostic when the name is unknown. A stack may be named by an alias
// of its profile.
[[nodiscard]] std::optional<GpuProfile> load_gpu_profile(std::string_view name_or_path,
                                                         const ProfileSearch& search,
                                                         const SourceLocation& where,
                                                         std::string_view key,
                                                         Diagnostics& diagnostics);
[[nodiscard]] std::optional<SoftwareProfile> load_software_profile(std::string_view name_or_path,
                                                                   const ProfileSearch& search,
                                                                   const SourceLocation& where,
                                                                   std::string_view key,
                                                                   Diagnostics& diagnostics);

// A calibration profile by its path, for those who compare or check profiles. Nothing after a
// diagnostic; throws Error(ErrorKind::io) when the file cannot be read.
[[nodiscard]] std::optional<CalibrationProfile> load_calibration(const std::filesystem::path& path,
                                                                 Diagnostics& diagnostics);

// Fills network.tables: the shipped tables of measured collectives (`collectives/*.yaml` of the
// first directory that has any) and, before them, those that were calibrated with the first GPU and
// those of the file that network.collectives names; the first rig of these is then preferred.
// `none` there: no tables. `gpus`: whose collectives are asked for. A shipped file that another
// architecture names (`hopper-nvlink4.yaml`) can say nothing about them and is not read; without
// GPUs all are. False after an error.
[[nodiscard]] bool load_collective_tables(NetworkSpec& network, const ProfileSearch& search,
                                          const SourceLocation& where, std::string_view key,
                                          Diagnostics& diagnostics,
                                          std::span<const GpuProfile* const> gpus = {});

// The file that a path in a scenario means: one beside the scenario, else from the working
// directory; nothing when there is none. A profile may also be named, and is then looked for in the
// directories of a search. `where`: of the key, in the scenario.
[[nodiscard]] std::optional<std::filesystem::path> file_beside(const std::filesystem::path& path,
                                                               const SourceLocation& where);

// Nothing where it is the name of a profile.
[[nodiscard]] std::optional<std::filesystem::path> named_profile(std::string_view name_or_path,
                                                                 const SourceLocation& where);

// The tables of network.collectives; nothing for `none` and where it is not stated.
[[nodiscard]] std::optional<std::filesystem::path> named_tables(const NetworkSpec& network,
                                                                const SourceLocation& where);

}  // namespace orrery::hardware
