#pragma once

// Validates predictions on data sets: files in, a Validation out.
//
// A file is dispatched by its top-level `format:` (data_sets.hpp). Remarks about rows are read from
// row_remarks.yaml (format row-remarks/1) in the folder of each data set, when there is one.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/step/hardware/profile_reader.hpp"
#include "sim/validate/validation.hpp"

namespace orrery::validate {

// Nothing when `diagnostics` holds an error: no YAML, an unknown format, a broken profile. Throws
// Error(io) when a file cannot be read.
[[nodiscard]] std::optional<Validation> validate_files(
    const std::vector<std::filesystem::path>& files, const ValidateOptions& options,
    Diagnostics& diagnostics);

// Why the row of a measured-runs data set has the step time that is predicted: its scenario and the
// explanation of `metric`. Nothing after an error.
[[nodiscard]] std::optional<std::string> explain_row(
    const std::vector<std::filesystem::path>& files, std::string_view id, std::string_view metric,
    const ValidateOptions& options, Diagnostics& diagnostics);

}  // namespace orrery::validate
