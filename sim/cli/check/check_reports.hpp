#pragma once

// The results of `check` as one page of Markdown for reviewers of a pull request, failures first.
//
// Made for $GITHUB_STEP_SUMMARY and for comments: tables of GitHub's Markdown, long lists folded,
// at most kMostRows rows each, so that the page stays below the 1 MiB that a step summary may have.

#include <cstddef>
#include <string>
#include <vector>

#include "sim/cli/check/checked_file.hpp"

namespace orrery::cli {

inline constexpr std::size_t kMostRows = 500;

[[nodiscard]] std::string to_markdown(const CheckReport& report);

// The results of `check` as JUnit XML for CI servers: one suite per file, one test case per
// expectation.
//
// A metric that moved against the baseline is a case of its own, the others are one together.
//
// A failed or undecided expectation is a <failure>, a file that cannot be evaluated an <error>. The
// text holds what was found and needed; properties hold trials, seed and the hash of the scenario.

[[nodiscard]] std::string to_junit(const CheckReport& report);

}  // namespace orrery::cli
