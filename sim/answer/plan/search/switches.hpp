#pragma once

// Switches of the training stack that make the best layouts faster: values that its recipes set
// for other models of the kind on the same GPU and release (scenario/recipes/recipe.hpp), and those
// of the published layout of the model, beside those that are axes of the search.
//
// They are tried on the best few layouts, on the best of some other shapes and on the published
// one, there all of its own first, one more at a time as long as the step gets shorter by
// kWorthSwitching and leaves the headroom. A switch changes which layout is the best, so the search
// is made again with them.

#include <string_view>
#include <vector>

#include "sim/answer/plan/search/search.hpp"
#include "sim/scenario/variant.hpp"

namespace orrery::plan {

inline constexpr double kWorthSwitching = 0.005;  // of the time of a step

// Whether a key that a recipe sets is one: no axis of the search, and not what is trained.
[[nodiscard]] bool is_switch(std::string_view key);

// In the order in which they pay; none where none does. `best` by score. Heeds no stop: the
// processes of a team must all find the same.
[[nodiscard]] std::vector<scenario::KeyValue> better_switches(const Workbench& bench,
                                                              const std::vector<Ranked>& best);

// Those of the published layout, where the stack has them.
[[nodiscard]] std::vector<scenario::KeyValue> published_switches(const Workbench& bench);

// The workbench of the same scenario with these keys stated.
[[nodiscard]] Workbench with_switches(Workbench bench,
                                      const std::vector<scenario::KeyValue>& switches);

}  // namespace orrery::plan
