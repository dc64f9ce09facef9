#pragma once

// The report for people: the answer and the reason on one screen, and one line per expectation.
//
// section   | says
// ----------|-----------------------------------------------------------------------------------
// title     | scenario, the answer in one sentence (verdict.hpp), model, GPUs, layout, software
// MEMORY    | fits or not and by how much: the fullest stage with its terms
// ONE STEP  | time, tokens per second, MFU and HFU with their convention, where the time goes
// THE RUN   | finish, cost, goodput as P10/P50/P90, failures, checkpoints, where the time goes
// LEVERS    | the three changes that are worth most
// TRUST     | which kinds of source the step time rests on
// EXPECTED  | verdicts of `expect:`
// WARNINGS  | what the scenario should know
//
// Sections without content are left out. In full about 50 lines of 100 columns, in brief at most
// 30 and the lines of `caution`, `assumed` and unmet expectations; reads the same without colour.
// Times of the step ledger are seconds of the step per GPU; GPU-hours and dollars of the run ledger
// are means over the trials.

#include <string>

#include "sim/answer/report/evaluation.hpp"
#include "sim/answer/report/text/text_page.hpp"

namespace orrery::report {

enum class Detail { brief, full };

[[nodiscard]] std::string to_text(const Evaluation& evaluation, TextStyle style,
                                  Detail detail = Detail::full);

// "pass  file:line: mfu >= 0.38" and, unless passed, why: the line of `check`, without a newline.
[[nodiscard]] std::string expectation_line(const ExpectationResult& result,
                                           const TextPage& painter);

}  // namespace orrery::report
