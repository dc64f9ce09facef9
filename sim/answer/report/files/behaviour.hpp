#pragma once

// The behaviour signature: one short hash over everything that the program answers.
//
//   text      = a line per metric, ledger category and memory peak of an evaluation:
//               "step_time_s 6.21340000", nine significant digits; quantiles over trials included
//   signature = the first 16 hexadecimal digits of SHA-256 over the texts
//
// Nine digits: what libm rounds differently on another platform in the last bits is no change of
// behaviour. Names, files, diagnostics and levers are not in it. Two versions with the same
// signature over the shipped scenarios answer alike on them; a commit that changes behaviour states
// the new one (CONTRIBUTING.md).

#include <string>
#include <string_view>

#include "sim/answer/report/evaluation.hpp"

namespace orrery::report {

[[nodiscard]] std::string behaviour_text(const Evaluation& evaluation);

[[nodiscard]] std::string signature_of(std::string_view text);

}  // namespace orrery::report
