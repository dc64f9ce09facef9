#pragma once

// A candidate layout of the search, and its spelling as keys of a scenario.
//
// symbol          | meaning                                                  | unit  | origin
// ----------------|----------------------------------------------------------|-------|----------
// gpu             | index into the machines of the workbench                 | -     | search
// data            | derived: GPUs / (tensor context pipeline)                | ranks | computed
// shard_group     | ranks that share one copy of what is sharded             | ranks | search
// recompute       | index into the recomputations of the workbench           | -     | search
// offload         | index into its offloads                                  | -     | search
// exchange        | how tokens reach their experts; of one rank the stated   | -     | search
// hides_exchange  | that all-to-all runs beside compute (overlap.expert)     | -     | search
//
// A tag names a candidate for people and for journals: tp8-sp-cp1-pp16-vpp4-interleaved-dp128-...;
// within one search it is unique.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/answer/plan/space/workbench.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/scenario/variant.hpp"
#include "sim/step/hardware/software_profile.hpp"
#include "sim/step/layout/layout_spec.hpp"
#include "sim/step/schedule/schedule_spec.hpp"

namespace orrery::plan {

struct Candidate {
  std::int32_t nodes = 1;
  std::int32_t global_batch = 1;
  std::int32_t tensor = 1;
  std::int32_t context = 1;
  std::int32_t pipeline = 1;
  std::int32_t virtual_stages = 1;
  std::int32_t data = 1;
  std::int32_t expert = 1;
  std::int32_t expert_tensor = 1;
  std::int32_t micro = 1;
  std::int32_t shard_group = 1;
  layout::Sharding sharding = layout::Sharding::none;
  schedule::ScheduleKind schedule = schedule::ScheduleKind::none;
  hardware::ExpertDispatcher dispatcher = hardware::ExpertDispatcher::alltoall;
  bool hides_exchange = false;
  bool sequence_parallel = false;
  std::uint8_t gpu = 0;
  std::uint8_t recompute = 0;
  std::uint8_t offload = 0;

  friend bool operator==(const Candidate& a, const Candidate& b) = default;
};

// Ranks that hold the same parameters: data x context.
[[nodiscard]] constexpr std::int64_t whole_group(const Candidate& candidate) {
  return std::int64_t{candidate.data} * candidate.context;
}

// What the scenario says of the exchange of tokens, for whoever does not choose: by its keys, else
// by the stack and the schedule.
[[nodiscard]] hardware::ExpertDispatcher stated_dispatcher(const Workbench& bench);
[[nodiscard]] bool hides_by_default(schedule::ScheduleKind schedule, const Workbench& bench);

// Makes the scenario that of the candidate. `scenario` is the workbench's base, or that of another
// candidate of the same search.
void apply(const Candidate& candidate, const Workbench& bench, scenario::Scenario& scenario);

// The candidate that the scenario itself states; nothing when its layout breaks a rule or needs a
// recomputation or an offload that the workbench does not know.
[[nodiscard]] std::optional<Candidate> candidate_of(const scenario::Scenario& scenario,
                                                    const Workbench& bench);

// That of the published layout; nothing without one, or where its ranks do not divide the GPUs or
// the workbench does not know its recomputation.
[[nodiscard]] std::optional<Candidate> published_candidate(const Workbench& bench);

// The keys that turn the base scenario into the candidate's, for ScenarioTemplate::with and
// set_key. Only keys that say something else than the base; those of nodes and GPU included.
[[nodiscard]] std::vector<scenario::KeyValue> key_values(const Candidate& candidate,
                                                         const Workbench& bench);

// Whether it is a key of an axis.
[[nodiscard]] bool is_planned(std::string_view key);

[[nodiscard]] std::string tag(const Candidate& candidate, const Workbench& bench);

// The axes in which two candidates differ, of those up to `last`, and the name of one of them. What
// follows from another axis is none of its own.
struct Difference {
  int axes = 0;
  std::string_view name = {};
};

[[nodiscard]] Difference difference(const Candidate& one, const Candidate& other,
                                    Axis last = Axis::offload);

// The name of the only axis in which two candidates of one cluster differ; empty without one.
[[nodiscard]] std::string_view only_difference(const Candidate& one, const Candidate& other);

// The keys in which it differs from the layout as the scenario states it, on the axes up to `last`.
// What follows from others is none: replicas, the schedule and the chunks where those stated cannot
// run, what has no ranks to run over.
[[nodiscard]] std::int64_t changes_of(const Candidate& to, const Workbench& bench,
                                      Axis last = Axis::offload);

// GPUs of the whole job.
[[nodiscard]] std::int64_t gpus_of(const Candidate& candidate, const Workbench& bench);

}  // namespace orrery::plan
