#pragma once

// Build information: version, compiler and libraries, filled in by CMake (cmake/orrery_sbom.cmake).

#include <string_view>
#include <vector>

namespace orrery::cli {

struct LibraryInfo {
  std::string_view name;
  std::string_view version;
  std::string_view licence;  // SPDX expression
};

struct BuildInfo {
  std::string_view version;
  std::string_view build_type;
  std::string_view compiler;
  std::vector<LibraryInfo> libraries;      // of the command line program
  std::vector<std::string_view> left_out;  // parts that this build lacks, each with its reason
};

[[nodiscard]] BuildInfo build_info();

// "0.1.0, build 0123456789abcdef": the same for programs that give the same figures, for journals
// (cmake/orrery_build_id.cmake).
[[nodiscard]] std::string_view program_version();

}  // namespace orrery::cli
