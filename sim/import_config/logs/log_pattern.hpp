#pragma once

// How does a log that no program of log_programs.hpp prints tell of a step? As who has it says.
// Internal to import_config/.
//
//   iter {step}: loss * time {ms} ms
//
// Words and the numbers behind them; a star stands for what lies between. The words behind a number
// must follow it. Fields: step; s, ms or min, of a step; s so far, ms so far; steps/s, sequences/s,
// tokens/s, tokens/s/gpu; sequences, of a step; tflops.

#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/import_config/logs/log_programs.hpp"

namespace orrery::import_config {

// Of the text, which must live as long; what is wrong with it goes to the diagnostics.
[[nodiscard]] std::vector<Figure> figures_of(std::string_view text, Diagnostics& diagnostics);

// Of a log whose lines the pattern describes: it says a time. An empty pattern is no error.
[[nodiscard]] LogProgram pattern_program(std::string_view pattern, Diagnostics& diagnostics);

}  // namespace orrery::import_config
