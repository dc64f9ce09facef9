#pragma once

// `orrery report --post-mortem LOG SCENARIO`: where the time of a run went, beside its plan, and
// what the next run should change; as text, CSV, JSON or a page for a browser.

#include <optional>
#include <string>
#include <vector>

#include "sim/answer/report/text/text_page.hpp"
#include "sim/cli/frame/evaluating.hpp"

namespace orrery::cli {

struct PostMortemQuestion {
  std::string scenario;
  std::vector<std::string> logs;
  EvaluationOptions evaluation;
  std::optional<std::string> output;  // its extension says the form: .json, .csv, .html, else text
  bool json = false;
  report::TextStyle style = {};
};

[[nodiscard]] ExitCode report_post_mortem(const PostMortemQuestion& asked,
                                          const InterruptWatch& watch);

}  // namespace orrery::cli
