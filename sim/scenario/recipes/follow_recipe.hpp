#pragma once

// The keys that the stack sets where the scenario is silent: from the recipes of its profile
// (recipe_document.hpp) that hold for its model, machine, precision and layout.
//
// Entries are read in order, later ones over earlier ones; what the scenario states holds over all,
// and `software: {recipe: plain}` follows none. Keys that a recipe sets are not stated: they have
// no place in the file, and no warning says that they have no effect.

#include <string_view>

#include "sim/scenario/scenario.hpp"
#include "sim/scenario/table/key.hpp"

namespace orrery::scenario {

// After the sections model, cluster, layout and software are complete. Errors are those of the
// profile's `recipes`; a profile that cannot be read is left to whoever evaluates.
void follow_recipe(Reading& reading);

}  // namespace orrery::scenario
