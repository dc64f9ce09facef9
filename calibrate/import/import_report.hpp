#pragma once

// Output of an import: tables and fragments as YAML, the summary as text and as JSON
// (orrery-import/1).

#include <string>
#include <vector>

#include "calibrate/import/build_tables.hpp"
#include "calibrate/import/copy_rates.hpp"
#include "calibrate/import/formats.hpp"

namespace orrery::calibration_import {

struct ReadFile {
  std::string name;
  std::string format;
};

struct ImportReport {
  std::vector<ReadFile> files;
  std::string rig;
  Fact as_of;  // date of the figures
  std::vector<ImportedTable> tables;
  std::optional<CopyRates> copies;
  std::string output;    // where the tables went, "" when nowhere
  std::string fragment;  // the same of the fragment
};

// A file of the format orrery-collectives/1; what was read, given and assumed in its comments.
[[nodiscard]] std::string tables_yaml(const ImportReport& report);

// Keys of a GPU profile, ready to replace those of a copy of it.
[[nodiscard]] std::string fragment_yaml(const ImportReport& report);

[[nodiscard]] std::string summary_text(const ImportReport& report);
[[nodiscard]] std::string summary_json(const ImportReport& report, const Diagnostics& diagnostics);

}  // namespace orrery::calibration_import
