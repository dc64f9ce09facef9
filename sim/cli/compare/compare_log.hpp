#pragma once

// `orrery compare SCENARIO LOG`: the predicted step beside the one that a training run has logged.
// Part of the command compare; a few lines, or JSON (orrery-comparison/1, kind "log").

#include <optional>
#include <string>

#include "sim/cli/frame/evaluating.hpp"

namespace orrery::cli {

struct LogComparison {
  std::string scenario;
  std::string log;
  EvaluationOptions evaluation;
  std::optional<std::string> output;
  bool json = false;
};

// Whether the file is a log of training, in a format of `orrery import` whose name ends in -log.
[[nodiscard]] bool is_training_log(const std::string& name);

[[nodiscard]] ExitCode compare_with_log(const LogComparison& comparison,
                                        const InterruptWatch& watch);

}  // namespace orrery::cli
