#pragma once

// What profile documents have in common: the format first, then every problem of its keys at once.
// Internal to hardware/.

#include <array>
#include <optional>
#include <string>

#include "sim/base/diagnostics.hpp"
#include "sim/base/yaml/reader.hpp"

namespace orrery::hardware {

// `read_keys(reader)` returns the profile where nothing that it needs is missing. A file of another
// format has one problem, not a flood of unknown keys.
template <typename ReadKeys>
[[nodiscard]] auto read_profile(const yaml::Value& root, const std::string& file,
                                const std::array<yaml::Choice<bool>, 1>& formats,
                                ReadKeys read_keys, Diagnostics& diagnostics) {
  Diagnostics problems;
  yaml::MappingReader reader(root, problems);
  decltype(read_keys(reader)) profile;
  if (reader.require_choice("format", formats)) {
    profile = read_keys(reader);
  }
  for (const Diagnostic& problem : problems.all()) {
    diagnostics.add(problem);
  }
  if (problems.has_errors()) {
    profile.reset();
  }
  if (profile) {
    profile->file = file;
  }
  return profile;
}

}  // namespace orrery::hardware
