#pragma once

// Resolution of a scenario's names and rules into layout, hardware profiles and cost model.
//
// Loads the profiles, resolves the layout against cluster and model, and builds the cost model. All
// broken rules become diagnostics at the key that caused them.

#include <optional>
#include <string>
#include <vector>

#include "sim/answer/report/evaluation.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/step/cost/cost_model.hpp"
#include "sim/step/hardware/profile_reader.hpp"
#include "sim/step/layout/layout_spec.hpp"
#include "sim/step/simulate/step_simulator.hpp"

namespace orrery::evaluate {

struct Resolved {
  cost::CostModel costs;  // of the first nodes
  layout::ClusterShape cluster;
  layout::Layout layout;
  model::Recompute recompute = model::Recompute::none;  // as the stack means it
  model::RecomputeModules modules = {};                 // of that policy
  std::vector<step::GpuBlock> mixed = {};               // the other nodes, by their first
};

// A figure per GPU, weighted by the nodes of each type.
[[nodiscard]] FlopPerSecond mean_peak(const scenario::Scenario& scenario, const Resolved& resolved);
[[nodiscard]] double mean_power_watts(const scenario::Scenario& scenario, const Resolved& resolved);

[[nodiscard]] std::optional<Resolved> resolve(const scenario::Scenario& scenario,
                                              const std::optional<hardware::ProfileSearch>& search,
                                              Diagnostics& diagnostics);

// The same with profiles that are at hand; the names in the scenario are not looked at.
[[nodiscard]] std::optional<Resolved> resolve(const scenario::Scenario& scenario,
                                              hardware::GpuProfile gpu,
                                              hardware::SoftwareProfile software,
                                              Diagnostics& diagnostics);

// Size of a critic beside the policy whose states stay on the GPUs, of the policy's; 0: none.
[[nodiscard]] double held_critic(const scenario::Scenario& scenario);

[[nodiscard]] step::StepInput step_input(const scenario::Scenario& scenario,
                                         const Resolved& resolved);

// The parts of resolve, for many layouts of one scenario on the same hardware and software.
struct ResolvedLayout {
  layout::ClusterShape cluster;
  layout::Layout layout;
  model::Recompute recompute = model::Recompute::none;
};

// The stack as the scenario runs it: compiled, with or without dropout, with the scales of its
// precision.
[[nodiscard]] hardware::SoftwareProfile stack_of(const scenario::Scenario& scenario,
                                                 hardware::SoftwareProfile software,
                                                 Diagnostics& diagnostics);

// `software` from stack_of.
[[nodiscard]] std::optional<ResolvedLayout> resolve_layout(
    const scenario::Scenario& scenario, const hardware::GpuProfile& gpu,
    const hardware::SoftwareProfile& software, Diagnostics& diagnostics);

// The precision as scenarios name it: bf16, fp8-delayed, ...
[[nodiscard]] std::string precision_name(const model::PrecisionSpec& precision);

// Dense peaks of the 16-bit type and of the type that GEMMs compute in.
[[nodiscard]] std::vector<report::ComputeRoof> compute_roofs(const hardware::GpuProfile& gpu,
                                                             model::Dtype compute);

// What a schedule allows ("m = 16", micro-batches of a replica) as the key that gives it: a global
// batch of `global` m' / m sequences. Other texts as they are.
[[nodiscard]] std::string allowed_batch(const std::string& allowed, std::int64_t global,
                                        std::int64_t micro_batches);

// Largest peak over the pipeline stages.
[[nodiscard]] Bytes worst_peak(const step::StepResult& result);

}  // namespace orrery::evaluate
