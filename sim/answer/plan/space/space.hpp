#pragma once

// The search space of layouts: the axes with their values, and every combination that is valid.
//
//   grid   = product of the numbers of values
//   layouts = combinations whose rules hold: degrees fill the cluster, heads, experts, layers and
//             batch divide, the schedule exists, and no two name the same step
//
// Combinations that name one step: sequence parallelism, a shard group or an order of experts
// without a group to run over is left out, as are {layers: N} that cover a chunk (full) and stages
// of sharding over one rank (none).
//
// The order is that of Axis, the last axis fastest, and does not depend on threads.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "sim/answer/plan/space/candidate.hpp"
#include "sim/answer/plan/space/workbench.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/scenario/plan_spec.hpp"

namespace orrery::plan {

// Values of an axis as numbers: degrees as they are, words by their enumeration, GPUs,
// recomputations and offloads by their index in the workbench. 0 of expert_tensor: that of tensor;
// of shard_group: the whole group, or with hsdp every part of it. kAsStated of expert_overlap: as
// the scenario states it, else as the schedule is made for it.
using AxisValues = std::vector<std::int64_t>;

inline constexpr std::int64_t kAsStated = -1;

struct Space {
  std::array<AxisValues, kAxes> values;  // by Axis
  // Not to be combined freely: data = GPUs / ..., global batch and the rest follow.
  bool tensor_within_nvlink = false;
  std::optional<std::int64_t> most_gpus = {};
  std::optional<std::int64_t> least_batch = {};
  std::optional<std::int64_t> most_batch = {};
  std::array<bool, kAxes> automatic{};  // by Axis: not listed by the user

  [[nodiscard]] const AxisValues& operator[](Axis axis) const {
    return values[static_cast<std::size_t>(axis)];
  }

  // Combinations before any rule.
  [[nodiscard]] double grid() const;
};

// The values of all axes. Nothing after an error: a listed value that no scenario takes, a fixed
// axis whose value is not valid.
[[nodiscard]] std::optional<Space> make_space(const Workbench& bench, const PlanSpec& spec,
                                              Diagnostics& diagnostics);

using LayoutVisitor = std::function<void(const Candidate&)>;

// All layouts, in order; after a stop request those before it.
void for_each_layout(const Space& space, const Workbench& bench, const LayoutVisitor& visit,
                     const std::stop_token& stop = {});
[[nodiscard]] std::vector<Candidate> layouts(const Space& space, const Workbench& bench,
                                             const std::stop_token& stop = {});

// The layouts that differ from `own` in one axis at most (difference), in order; itself among them,
// where it is in the space.
[[nodiscard]] std::vector<Candidate> layouts_near(const Candidate& own, const Space& space,
                                                  const Workbench& bench);

// The layout that is met first on the way down from every axis, whose values are tried in a cycle
// from one that `choose(number of values)` names; nothing in an empty space.
[[nodiscard]] std::optional<Candidate> some_layout(
    const Space& space, const Workbench& bench,
    const std::function<std::size_t(std::size_t)>& choose);

// Whether it has only values that the user lists, on the axes where values are listed, and differs
// from the stated layout in no more than he allows.
[[nodiscard]] bool allows(const Space& space, const Candidate& candidate, const Workbench& bench);

}  // namespace orrery::plan
