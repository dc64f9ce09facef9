#pragma once

// What the jobs of a file cost one another, as text for people and as JSON (orrery-shared/1).

#include <span>
#include <string>

#include "sim/answer/jobs/share_cluster.hpp"
#include "sim/answer/report/text/text_page.hpp"

namespace orrery::jobs {

// `tried`: the places that were tried, the best first; `answer` is then that of the best.
[[nodiscard]] std::string to_text(const ClusterAnswer& answer, report::TextStyle style,
                                  std::span<const TriedPlacement> tried = {});
[[nodiscard]] std::string to_json(const ClusterAnswer& answer,
                                  std::span<const TriedPlacement> tried = {});

}  // namespace orrery::jobs
