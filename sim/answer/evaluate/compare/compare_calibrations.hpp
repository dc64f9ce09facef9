#pragma once

// Comparison of two calibrations. A driver or a library that got slower shows in the ratios of the
// cases that both have measured.
//
//   ratio = time in B / time in A  (above 1: B is slower)
//
// symbol  | meaning                                                          | unit | origin
// --------|------------------------------------------------------------------|------|-----------
// case    | one kernel with its extents, in one regime and implementation    | -    | profiles
// group   | cases of one operation, role and precision                       | -    | profiles
// median  | of the ratios of a group; worst: its largest                     | 1    | computed
// changed | fields of the fingerprints that differ: versions, machine, clocks| -    | profiles
//
// Cases that only one profile has are counted; what became supported, or no longer is, is listed.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/step/hardware/calibration_profile.hpp"

namespace orrery::evaluate {

struct CaseRatio {
  std::string name;  // the case, with its regime where that is burst
  std::string group;
  Seconds first;
  Seconds second;
  double ratio = 1.0;
};

struct GroupRatio {
  std::string name;
  std::size_t cases = 0;
  double median = 1.0;
  double worst = 1.0;
  std::string worst_case;
};

struct DerivedChange {
  std::string name;
  std::optional<double> first;
  std::optional<double> second;
};

struct CalibrationComparison {
  std::vector<hardware::FieldChange> changed;
  std::vector<GroupRatio> groups;  // slowest median first
  std::vector<CaseRatio> cases;    // slowest first
  std::vector<DerivedChange> derived;
  std::vector<std::string> no_longer_supported;
  std::vector<std::string> newly_supported;
  std::size_t only_first = 0;
  std::size_t only_second = 0;
};

[[nodiscard]] CalibrationComparison compare(const hardware::CalibrationProfile& first,
                                            const hardware::CalibrationProfile& second);

// Plain text, and one object of JSON (orrery-comparison/1); `names`: the two files.
[[nodiscard]] std::string comparison_text(const CalibrationComparison& comparison,
                                          std::string_view first, std::string_view second);

// True for a file that calls itself a calibration profile. Throws Error(io) when it cannot be read.
[[nodiscard]] bool is_calibration_file(const std::string& path);

// The keys of two scenario files that differ, as they are written: `batch.global: 1024 -> 2048`.
// Nothing after a diagnostic.
struct KeyChange {
  std::string key;
  std::optional<std::string> first;  // absent: the file does not state it
  std::optional<std::string> second;
};

[[nodiscard]] std::optional<std::vector<KeyChange>> changed_keys(const std::string& first,
                                                                 const std::string& second,
                                                                 Diagnostics& diagnostics);

}  // namespace orrery::evaluate
