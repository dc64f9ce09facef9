#pragma once

// What a training stack offers, so that no plan is proposed that the stack cannot run.
//
// The `offers` of its profile (hardware/software_profile.hpp); one without them restricts nothing.
// Only what a search tries by itself is restricted: values that the scenario states or a user lists
// are tried.

#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/plan_spec.hpp"
#include "sim/step/hardware/software_profile.hpp"
#include "sim/step/layout/layout_spec.hpp"
#include "sim/step/schedule/schedule_spec.hpp"

namespace orrery::plan {

struct StackOffer : hardware::StackOffers {
  [[nodiscard]] bool offers(layout::Sharding sharding, bool with_pipeline) const;
  [[nodiscard]] bool offers(schedule::ScheduleKind schedule) const;
  // Whether a search may leave the value at which the axis is not used; true of other axes.
  [[nodiscard]] bool offers(Axis axis) const;
};

// What a search leaves out for it on the axes that it fills by itself, in words: "interleaved
// schedules", "zero3 beside a pipeline".
[[nodiscard]] std::vector<std::string> lacks_of(const StackOffer& offer, const PlanSpec& spec,
                                                bool mixture);

}  // namespace orrery::plan
