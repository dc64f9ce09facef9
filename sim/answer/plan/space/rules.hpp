#pragma once

// The valid values of an axis once the axes before it are chosen. Internal to plan/.
//
//   data = GPUs / (tensor context pipeline), whole;  global batch = k micro data, k whole
//   tensor divides heads and MLP width, and divides or is a multiple of the key-value groups
//   tensor context divides the sequence under sequence parallelism, 2 context divides it always
//   expert_tensor expert divides tensor context data; shard_group divides data context
//   pipeline virtual_stages <= layers + 2; the schedule exists for (pipeline, virtual stages, k)
//
// These are the rules of layout::resolve_layout and of schedule/, asked as early as they can be
// answered; a test holds that both accept the same layouts.

#include <cstdint>

#include "sim/answer/plan/space/space.hpp"
#include "sim/step/layout/layout_spec.hpp"

namespace orrery::plan {

class Rules {
 public:
  Rules(const Space& space, const Workbench& bench);

  // The values to try on the axis; `own` holds those that follow from the axes before it.
  [[nodiscard]] const AxisValues& values(Axis axis, const Candidate& so_far, AxisValues& own) const;

  // Takes the value; false when no valid layout has it.
  [[nodiscard]] bool set(Axis axis, std::int64_t value, Candidate& candidate) const;

 private:
  // The same, however many keys it changes.
  [[nodiscard]] bool take(Axis axis, std::int64_t value, Candidate& candidate) const;
  [[nodiscard]] bool set_schedule(std::int64_t value, Candidate& candidate) const;
  [[nodiscard]] bool set_chunks(std::int64_t value, Candidate& candidate) const;
  [[nodiscard]] bool set_tensor(std::int64_t value, Candidate& candidate) const;
  [[nodiscard]] bool set_context(std::int64_t value, Candidate& candidate) const;
  [[nodiscard]] bool set_expert(std::int64_t value, Candidate& candidate) const;
  [[nodiscard]] bool set_expert_tensor(std::int64_t value, Candidate& candidate) const;
  [[nodiscard]] bool set_expert_dispatcher(std::int64_t value, Candidate& candidate) const;
  [[nodiscard]] bool set_expert_overlap(std::int64_t value, Candidate& candidate) const;
  [[nodiscard]] bool set_sequence_parallel(std::int64_t value, Candidate& candidate) const;
  [[nodiscard]] bool set_micro(std::int64_t value, Candidate& candidate) const;
  [[nodiscard]] bool set_recompute(std::int64_t value, Candidate& candidate) const;
  [[nodiscard]] bool set_sharding(std::int64_t value, Candidate& candidate) const;
  [[nodiscard]] bool set_shard_group(std::int64_t value, Candidate& candidate) const;
  [[nodiscard]] std::int64_t gpus(const Candidate& candidate) const;
  [[nodiscard]] bool automatic(Axis axis) const;

  const Space& space_;
  const Workbench& bench_;
  const model::ModelSpec& model_;
};

}  // namespace orrery::plan
