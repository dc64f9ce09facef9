#pragma once

// A validation as text: a table for terminals, JSON `orrery-validation/1`, the page
// docs/accuracy.md.
//
// Errors are fractions in JSON and percent elsewhere. In JSON `groups` holds the main quantity of
// each data set and `secondary_groups` the others, which `overall` leaves out.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sim/validate/validation.hpp"

namespace orrery::validate {

struct TextOptions {
  bool rows = false;  // every row, not only the statistics
};

[[nodiscard]] std::string to_text(const Validation& validation, const TextOptions& options = {});
[[nodiscard]] std::string to_json(const Validation& validation);

// Statistics alone: the head of a table for terminals, a line of it, an object of JSON.
[[nodiscard]] std::string statistics_head(const std::string& title);
[[nodiscard]] std::string statistics_line(const std::string& name, const Statistics& statistics);
[[nodiscard]] nlohmann::ordered_json json_of(const Statistics& statistics);

// Deterministic: no dates, paths as given.
[[nodiscard]] std::string to_markdown(const Validation& validation);

}  // namespace orrery::validate
