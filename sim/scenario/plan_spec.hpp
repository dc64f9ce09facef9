#pragma once

// The specification of a plan: axes to search, the objective, and the constraints.
//
// axis                   | values of a scenario            | automatic: what can be valid
// -----------------------|---------------------------------|-------------------------------------
// gpu, nodes             | cluster.gpu, .nodes             | as the scenario states it
// global_batch           | batch.global                    | as the scenario states it
// pipeline               | layout.pipeline                 | up to layers + 2
// schedule               | layout.schedule                 | none, 1f1b, interleaved, its own
// virtual_stages         | layout.virtual_stages           | what the schedule takes
// tensor                 | layout.tensor                   | divisors of the heads
// context                | layout.context                  | divisors of the sequence
// expert, expert_tensor  | layout.expert, .expert_tensor   | divisors; 1 and tensor
// expert_dispatcher      | software_options.expert_dispatcher | its own, those the stack offers
// expert_overlap         | overlap.expert                  | its own, and on where it is offered
// sequence_parallel      | layout.sequence_parallel        | both, with tensor above 1
// micro                  | batch.micro                     | divisors of global / data
// recompute              | recompute, in flow style        | none, selective, full, {layers: 2^k}
// sharding               | layout.sharding                 | all
// shard_group            | layout.shard_group              | the whole; of hsdp every part
// offload                | none, or words joined by +      | none and what the scenario offloads
//
// Then the switches of the stack: those of its recipes that make the best layout faster
// (search/switches.hpp), unless `fix` names them.
//
// Offload words: optimizer, parameters (both in host memory), activations (all of them).

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/base/units.hpp"

namespace orrery::plan {

// Slowest first, as they are enumerated: what shares a pipeline stands together.
enum class Axis : std::uint8_t {
  gpu,
  nodes,
  global_batch,
  pipeline,
  schedule,
  virtual_stages,
  tensor,
  context,
  expert,
  expert_tensor,
  expert_dispatcher,
  expert_overlap,
  sequence_parallel,
  micro,
  recompute,
  sharding,
  shard_group,
  offload,
  count_
};

inline constexpr std::size_t kAxes = static_cast<std::size_t>(Axis::count_);

inline constexpr std::array<std::string_view, kAxes> kAxisNames = {"gpu",
                                                                   "nodes",
                                                                   "global_batch",
                                                                   "pipeline",
                                                                   "schedule",
                                                                   "virtual_stages",
                                                                   "tensor",
                                                                   "context",
                                                                   "expert",
                                                                   "expert_tensor",
                                                                   "expert_dispatcher",
                                                                   "expert_overlap",
                                                                   "sequence_parallel",
                                                                   "micro",
                                                                   "recompute",
                                                                   "sharding",
                                                                   "shard_group",
                                                                   "offload"};

// Beside the axes, what `fix` may name: the switches of the stack's recipes.
inline constexpr std::string_view kSwitches = "switches";

[[nodiscard]] constexpr std::string_view to_string(Axis axis) {
  return kAxisNames[static_cast<std::size_t>(axis)];
}

// What the search may do with one axis.
struct AxisChoice {
  enum class Mode : std::uint8_t { automatic, fixed, listed };

  Mode mode = Mode::automatic;
  std::vector<std::string> values = {};  // listed: in the spelling of a scenario
  SourceLocation where = {};             // of the list, for diagnostics
  std::string key = {};                  // as the user wrote it: plan.search.micro
};

// Axes of the run; searched only where their values are listed.
enum class RunAxis : std::uint8_t { interval, spares, spot_share, count_ };

inline constexpr std::size_t kRunAxes = static_cast<std::size_t>(RunAxis::count_);

inline constexpr std::array<std::string_view, kRunAxes> kRunAxisNames = {"interval", "spares",
                                                                         "spot_share"};

inline constexpr std::array<std::string_view, kRunAxes> kRunAxisKeys = {
    "checkpoint.interval", "capacity.spares", "capacity.spot.share"};

[[nodiscard]] constexpr std::string_view to_string(RunAxis axis) {
  return kRunAxisNames[static_cast<std::size_t>(axis)];
}

enum class Objective : std::uint8_t {
  step_time,
  finish_time,
  cost,
  cost_per_token,
  fewest_gpus,
  energy
};

inline constexpr std::array<std::string_view, 6> kObjectiveNames = {
    "step_time", "finish_time", "cost", "cost_per_token", "fewest_gpus", "energy"};

[[nodiscard]] constexpr std::string_view to_string(Objective objective) {
  return kObjectiveNames[static_cast<std::size_t>(objective)];
}

struct Constraints {
  // Left free on the fullest GPU; absent: the stack's error of predicted peaks.
  std::optional<Bytes> memory_headroom = {};
  bool tensor_within_nvlink = false;  // tensor groups stay in one NVLink domain
  std::optional<Dollars> budget = {};
  std::optional<std::int64_t> least_batch = {};  // sequences per step
  std::optional<std::int64_t> most_batch = {};
  std::optional<std::int64_t> most_gpus = {};
};

// One of the machines to choose from; a plan is made for each (result/cluster_plans.hpp).
struct ClusterChoice {
  std::string preset;
  std::int64_t gpus = 0;
};

struct PlanSpec {
  std::array<AxisChoice, kAxes> search{};  // by Axis
  Objective objective = Objective::step_time;
  std::optional<Seconds> deadline = {};      // after the start
  std::optional<std::int64_t> done_by = {};  // the same as a date: Unix seconds
  Constraints constraints;
  bool keeps_switches = false;  // tries no other switch of the stack's recipes (switches.hpp)
  bool any_stack = false;       // also what the training stack does not offer (stack_offers.hpp)
  std::int64_t finalists = 8;
  std::array<AxisChoice, kRunAxes> run{};    // by RunAxis; listed or left alone
  std::vector<ClusterChoice> clusters = {};  // empty: that of the scenario
  // Of each listed GPU type, in the order of the list; empty: the price of the scenario.
  std::vector<DollarsPerSecond> gpu_hours = {};
  double tie = 0.005;  // relative difference below which the model cannot tell two plans apart

  [[nodiscard]] AxisChoice& operator[](Axis axis) { return search[static_cast<std::size_t>(axis)]; }

  [[nodiscard]] const AxisChoice& operator[](Axis axis) const {
    return search[static_cast<std::size_t>(axis)];
  }
};

}  // namespace orrery::plan
