#pragma once

// How much longer steps take while links somewhere on the cluster are slow (failures.network with a
// fault), from the step simulator with the traffic as flows (docs/fabric.md).
//
//   factor(place) = step(flows, fault at the place) / step(flows)
//   places        = up to 16 nodes or switches, at equal distances; each as likely as another
//
// The job's groups stand at different places of the network: a slow NIC of a pipeline stage that
// waits anyway costs nothing, one under the largest reduction costs most. A given step time takes
// the same factor.

#include <optional>
#include <string>
#include <vector>

#include "sim/answer/evaluate/evaluate_options.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/run/checkpoints/checkpoint_spec.hpp"
#include "sim/run/failures/failure_spec.hpp"
#include "sim/run/run_spec.hpp"
#include "sim/scenario/scenario.hpp"

namespace orrery::evaluate {

// Fills the slowdowns that `failures`, or its preset, leaves to a fault, and says in `assumed` what
// they came to. False, with diagnostics, where the cluster has no such links.
[[nodiscard]] bool add_fault_steps(const scenario::Scenario& scenario,
                                   const EvaluateOptions& options, run::FailureSpec& failures,
                                   std::vector<std::string>& assumed, Diagnostics& diagnostics);

// Where traffic goes that meets a slow or broken link of the cluster: one line for the answer;
// nothing where all links are whole.
[[nodiscard]] std::optional<std::string> reroute_rule(const hardware::ClusterSpec& cluster);

// What an asynchronous save costs the steps beside it when the storage is reached over the network
// of training (checkpoint.storage.network): an addition to its stall.
//
//   stall += write (1 - step(flows) / step(flows, each NIC less the rate of the save))
//
// The save has what it asks for, at most half of a NIC, and then lasts longer. Says in `assumed`
// what that came to. False, with diagnostics, where the step cannot be simulated.
[[nodiscard]] bool add_save_steps(const scenario::Scenario& scenario,
                                  const EvaluateOptions& options, const run::StepInput& step,
                                  run::CheckpointSpec& checkpoint,
                                  std::vector<std::string>& assumed, Diagnostics& diagnostics);

}  // namespace orrery::evaluate
