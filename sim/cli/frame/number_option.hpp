#pragma once

// Validators for options that take a number: syntax and bounds. Read as numbers of a scenario are
// (yaml/scalar.hpp): the whole word, decimal. CLI11 alone takes 010 for 8 and bounds what is larger
// than its type. Every option with a number has one of these checks.

#include <CLI/Error.hpp>
#include <CLI/Validators.hpp>
#include <cstdint>
#include <limits>

namespace orrery::cli {

// In digits, without the 2k and 1.5M of scenarios.
[[nodiscard]] CLI::Validator count_between(
    std::int64_t least, std::int64_t most = std::numeric_limits<std::int64_t>::max());

[[nodiscard]] CLI::Validator number_between(double least,
                                            double most = std::numeric_limits<double>::max());

}  // namespace orrery::cli
