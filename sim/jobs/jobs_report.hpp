#pragma once

// What the jobs of a file cost one another, as text for people and as JSON (orrery-shared/1).

#include <string>

#include "sim/jobs/share_cluster.hpp"
#include "sim/report/text/text_page.hpp"

namespace orrery::jobs {

[[nodiscard]] std::string to_text(const ClusterAnswer& answer, report::TextStyle style);
[[nodiscard]] std::string to_json(const ClusterAnswer& answer);

}  // namespace orrery::jobs
