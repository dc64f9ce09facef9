#pragma once

// How does a CI server show what `check` found? JUnit XML: a suite per file, a case per
// expectation.
//
// A failed or undecided expectation is a <failure>, a file that cannot be evaluated an <error>. The
// text holds what was found and needed; properties hold trials, seed and the hash of the scenario.

#include <optional>
#include <string>
#include <vector>

#include "sim/report/evaluation.hpp"

namespace orrery::cli {

struct CheckedFile {
  std::string file;
  std::optional<report::Evaluation> evaluation;  // absent: `problem` says why
  std::string problem;
  bool does_not_fit = false;  // and no expectation mentions the memory
};

[[nodiscard]] std::string to_junit(const std::vector<CheckedFile>& files);

}  // namespace orrery::cli
