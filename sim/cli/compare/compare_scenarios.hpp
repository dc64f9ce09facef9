#pragma once

// `orrery compare A B`: the answers of two scenarios, or saved ones, side by side, and whether they
// differ by more than predictions of such changes err. Part of the command compare; one screen, or
// JSON (orrery-comparison/1, kind "scenarios").

#include <optional>
#include <string>

#include "sim/cli/frame/evaluating.hpp"

namespace orrery::cli {

struct ScenarioComparison {
  std::string first;
  std::string second;
  EvaluationOptions evaluation;
  std::optional<std::string> output;
  std::optional<double> tolerance;  // percent that a step may become longer
  bool json = false;
};

// Whether the file holds what `orrery run --json` wrote.
[[nodiscard]] bool is_saved_answer(const std::string& name);

// Fails an expectation where the second step is longer by more than the tolerance and than
// predictions of such a change err.
[[nodiscard]] ExitCode compare_scenarios(const ScenarioComparison& comparison,
                                         const InterruptWatch& watch);

}  // namespace orrery::cli
