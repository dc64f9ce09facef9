#pragma once

// An answer of sim/answer/sweep, which takes many evaluations: work for a thread of its own.

#include <QString>
#include <memory>
#include <string>

#include "gui/models/jobs/latest_task.hpp"
#include "sim/answer/sweep/answer.hpp"
#include "sim/base/diagnostics.hpp"

namespace orrery::gui {

struct AnswerRequest {
  std::string answer;  // name, as in sweep::answer_names()
  std::string text;
  std::string file_name;
};

struct AnswerOutcome {
  AnswerRequest request;
  std::shared_ptr<const sweep::Answer> answer;  // null after errors
  Diagnostics diagnostics;
};

using AnswerPtr = std::shared_ptr<const AnswerOutcome>;

// On the calling thread. Throws Error.
[[nodiscard]] AnswerPtr answer_text(const AnswerRequest& request, const std::stop_token& stop = {},
                                    const LatestTask::Report& report = {});

}  // namespace orrery::gui
