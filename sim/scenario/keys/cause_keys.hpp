#pragma once

// Builders of the rows of `failures`: the rows of one cause, of a life law, of an age, and the two
// groups that failure_keys() consists of. Internal to scenario/.

#include <functional>
#include <string>
#include <vector>

#include "sim/scenario/table/key_makers.hpp"

namespace orrery::scenario {

using CauseOf = std::function<run::FailureCause&(Draft&)>;

// What a cause is called, hits and takes, its law and its recovery, below `path`.
void add_cause_keys(Rows& keys, const std::string& path, const CauseOf& cause);

// A life law: a mean time, or the mapping of a law with one row per parameter.
void add_life_keys(Rows& keys, const std::string& path, std::string_view meaning,
                   std::string_view example, const Lens<run::LifeLaw>& lens, KeyNotes notes);

// The age of components at the start: stationary, new, or a time.
void age_key(Rows& keys, const std::string& path, std::string_view meaning,
             std::string_view example, const Lens<run::InitialAge>& lens, KeyNotes notes);

// Domains, burn-in, heat, episodes, lemons and the log of failures.
void add_hazard_keys(Rows& keys);

// Stragglers, degraded links, silent corruption and loss spikes.
void add_silent_keys(Rows& keys);

}  // namespace orrery::scenario
