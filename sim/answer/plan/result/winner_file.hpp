#pragma once

// A plan as a scenario file: the text of the scenario with the plan's keys set in it. Comments and
// everything else stay as they are.
//
// The file is read again before it is handed out: it must give the plan's layout and, to the
// nanosecond, the plan's step. Paths in a scenario are seen from its file, so a plan that is
// written into another folder may fail that check; then nothing is handed out.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "sim/answer/plan/result/plan.hpp"
#include "sim/base/diagnostics.hpp"

namespace orrery::plan {

// `text`: of the scenario that was planned. `path`: where the file will stand.
[[nodiscard]] std::optional<std::string> winner_file(std::string_view text, const Plan& plan,
                                                     const Finalist& chosen,
                                                     const std::filesystem::path& path,
                                                     const hardware::ProfileSearch& search,
                                                     Diagnostics& diagnostics);

// The same of a plan that was not evaluated beside the winner: a point of a trade-off, a layout
// that nearly fits. It must be read as a scenario; nothing is known of its step to compare.
[[nodiscard]] std::optional<std::string> proposal_file(std::string_view text, const Plan& plan,
                                                       const Proposal& proposal,
                                                       const std::filesystem::path& path,
                                                       Diagnostics& diagnostics);

}  // namespace orrery::plan
