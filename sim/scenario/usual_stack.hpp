#pragma once

// The training stack of a layout where the scenario names none, and the other likely choice for it,
// from the `default_for` of the profiles of stacks:
//
//   default_for:
//     - when: {layout.sharding: [zero2, zero3, hsdp], layout.pipeline: 1}
//       other: megatron-core
//
// An entry holds where all of its conditions do (has_value); the one with the most
// decides. Two stacks with equally many are an error of the scenario, which then has to name its
// stack, and a failure of the shipped profiles' test.

#include <string>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/step/hardware/software_profile.hpp"

namespace orrery::scenario {

struct Reading;

struct UsualCondition {
  std::string key;  // of the layout
  std::vector<std::string> words;
};

struct UsualStack {
  std::string name;
  std::string other;
  std::vector<UsualCondition> when;
};

// The `default_for` of a profile, in its order.
[[nodiscard]] std::vector<UsualStack> read_default_for(const hardware::SoftwareProfile& profile,
                                                       Diagnostics& diagnostics);

// Those that hold with the most conditions: one, if profiles are right.
[[nodiscard]] std::vector<UsualStack> usual_stacks(const Scenario& scenario);

// Whether its stack is the one that a scenario with its layout takes.
[[nodiscard]] bool is_usual_stack(const Scenario& scenario);

// Chooses the stack where the scenario names none, else puts the profile's name in place of another
// name of it. After the layout is complete.
void settle_stack(Reading& reading);

}  // namespace orrery::scenario
