#pragma once

// What does a training stack offer? So that a plan does not propose what nobody can start.
//
// column    | meaning
// ----------|-----------------------------------------------------------------------------------
// splits    | what is split over GPUs of one replica: tensor, sequence (parallelism), context
// exchange  | of experts: deepep (beside alltoall), hidden (behind compute)
// pipeline  | splits the model over pipeline stages
// chunks    | interleaves several chunks on a stage
// whole     | sharding of states while parameters stay whole: none, zero1, zero2
// gathered  | sharding of parameters: zero3, hsdp
// beside    | of these, what runs beside a pipeline
// selective | recomputes attention alone; layers: some layers of a stage
//
// Rows are by software profile: the longest name that a profile's name begins with. A profile that
// no row knows restricts nothing; neither does `generic`, which stands for no stack. Only what a
// search tries by itself is restricted: values that the scenario states or a user lists are tried.

#include <string>
#include <string_view>
#include <vector>

#include "sim/layout/layout_spec.hpp"
#include "sim/plan/space/plan_spec.hpp"
#include "sim/schedule/schedule_spec.hpp"

namespace orrery::plan {

struct StackOffer {
  std::string_view stack;
  std::string_view splits = {};    // words, separated by blanks
  std::string_view exchange = {};  // likewise
  bool pipeline = true;
  bool chunks = true;
  std::string_view shardings;  // words, separated by blanks
  std::string_view beside_pipeline = {};
  bool selective = true;
  bool layers = true;
  std::string_view source;

  [[nodiscard]] bool offers(layout::Sharding sharding, bool with_pipeline) const;
  [[nodiscard]] bool offers(schedule::ScheduleKind schedule) const;
  // Whether a search may leave the value at which the axis is not used; true of other axes.
  [[nodiscard]] bool offers(Axis axis) const;
};

// nullptr: nothing is known of the stack.
[[nodiscard]] const StackOffer* offer_of(std::string_view stack);

// What a search leaves out for it on the axes that it fills by itself, in words: "interleaved
// schedules", "zero3 beside a pipeline".
[[nodiscard]] std::vector<std::string> lacks_of(const StackOffer& offer,
                                                const PlanSpec& spec,
                                                bool mixture);

}  // namespace orrery::plan
