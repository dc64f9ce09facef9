#pragma once

// The generators of all schedules, which schedule_table.cpp gathers, one pair per schedule:
// validate gives the refusal of a request, generate the lists of a request that is not
// refused.

#include <optional>
#include <string>

#include "sim/step/schedule/schedule.hpp"

namespace orrery::schedule {

using Refusal = std::optional<ScheduleRefusal>;

// Rules that all schedules share: positive numbers, small enough to be simulated.
[[nodiscard]] Refusal check_sizes(const ScheduleRequest& request);

// check_sizes, and exactly one chunk per device.
[[nodiscard]] Refusal check_one_chunk(const ScheduleRequest& request);

// A schedule with everything but its lists.
[[nodiscard]] Schedule empty_schedule(const ScheduleRequest& request);

// one_f_one_b.cpp
[[nodiscard]] Refusal validate_none(const ScheduleRequest& request);
[[nodiscard]] Refusal validate_2bw(const ScheduleRequest& request);
[[nodiscard]] Schedule generate_1f1b(const ScheduleRequest& request);
[[nodiscard]] Schedule generate_eager_1f1b(const ScheduleRequest& request);

[[nodiscard]] Schedule generate_gpipe(const ScheduleRequest& request);
[[nodiscard]] Schedule generate_looped_bfs(const ScheduleRequest& request);

// interleaved.cpp
[[nodiscard]] Refusal validate_interleaved(const ScheduleRequest& request);
[[nodiscard]] Schedule generate_interleaved(const ScheduleRequest& request);
[[nodiscard]] Refusal validate_combined(const ScheduleRequest& request);
[[nodiscard]] Schedule generate_combined(const ScheduleRequest& request);

// zero_bubble.cpp
[[nodiscard]] Refusal validate_zb_h1(const ScheduleRequest& request);
[[nodiscard]] Schedule generate_zb_h1(const ScheduleRequest& request);
[[nodiscard]] Refusal validate_zb_h2(const ScheduleRequest& request);
[[nodiscard]] Schedule generate_zb_h2(const ScheduleRequest& request);
[[nodiscard]] Refusal validate_zb_v(const ScheduleRequest& request);
[[nodiscard]] Schedule generate_zb_v(const ScheduleRequest& request);

// dualpipe.cpp
[[nodiscard]] Refusal validate_dualpipe(const ScheduleRequest& request);
[[nodiscard]] Schedule generate_dualpipe(const ScheduleRequest& request);
[[nodiscard]] Refusal validate_dualpipev(const ScheduleRequest& request);
[[nodiscard]] Schedule generate_dualpipev(const ScheduleRequest& request);

}  // namespace orrery::schedule
