#pragma once

// The results of `check` as one page of Markdown for reviewers of a pull request, failures first.
//
// Made for $GITHUB_STEP_SUMMARY and for comments: tables of GitHub's Markdown, long lists folded,
// at most kMostRows rows each, so that the page stays below the 1 MiB that a step summary may have.

#include <cstddef>
#include <string>

#include "sim/cli/check/checked_file.hpp"

namespace orrery::cli {

inline constexpr std::size_t kMostRows = 500;

[[nodiscard]] std::string to_markdown(const CheckReport& report);

}  // namespace orrery::cli
