#pragma once

// Plans for several machines, side by side: plan.clusters, or `orrery plan --clusters`.
//
// Each machine is planned by itself: its own scenario text, recipes of its GPU, prices of its
// preset. The table compares the best plans by the objective; those that meet no constraint come
// last, with the reason.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/answer/plan/result/plan.hpp"
#include "sim/answer/report/text/text_page.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/step/hardware/profile_search.hpp"

namespace orrery::plan {

inline constexpr std::string_view kClusterPlansSchema = "orrery-plan-clusters/1";

// The scenario on this machine: cluster.preset and cluster.gpus in place of what it says of its
// cluster, and the price of the preset, where that has one, in place of its own. `name`: of the
// file. Nothing after an error.
[[nodiscard]] std::optional<std::string> on_cluster(std::string_view text,
                                                    const ClusterChoice& choice,
                                                    const std::string& name,
                                                    const hardware::ProfileSearch& search,
                                                    Diagnostics& diagnostics);

struct ClusterPlan {
  ClusterChoice choice;
  std::string text;          // of its scenario
  std::optional<Plan> plan;  // nothing after errors
  std::string problem;       // the first of them
};

// Best first, by the objective of the plans.
void rank(std::vector<ClusterPlan>& plans);

[[nodiscard]] std::string to_text(std::span<const ClusterPlan> plans, report::TextStyle style);
[[nodiscard]] std::string to_json(std::span<const ClusterPlan> plans);

}  // namespace orrery::plan
