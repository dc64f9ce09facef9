// Keys of `simulation`.

#include "sim/scenario/table/idle.hpp"
#include "sim/scenario/table/key_makers.hpp"
#include "sim/scenario/table/key_table.hpp"
#include "sim/scenario/table/limits.hpp"

namespace orrery::scenario {

namespace {

using yaml::between;
namespace kind = yaml::kind;

// Simulated time holds 73 years between two events (run/run_plan.hpp).

void add_simulation(std::vector<Key>& keys) {
  keys.push_back(section_key({.path = "simulation",
                              .note = "as its keys",
                              .meaning = "How often the run is drawn.",
                              .example = "{trials: 1000, seed: 1}",
                              .idle = {kNoRun}}));
  keys.push_back(count_key({.path = "simulation.trials",
                            .fallback = "1000",
                            .meaning = "Independent trials of the run.",
                            .example = "10k"},
                           {1, 1'000'000}, ORRERY_AT(run.simulation.trials)));
  keys.push_back(count_key({.path = "simulation.seed",
                            .fallback = "1",
                            .meaning = "Start of the random streams.",
                            .example = "7"},
                           yaml::at_least<std::int64_t>(0), ORRERY_AT(run.simulation.seed)));
  keys.push_back(
      value_key<kind::Time>({.path = "simulation.max_wall",
                             .note = "10 times the fault-free run and 30 d",
                             .meaning = "A trial that has not reached its target by then gives up.",
                             .example = "365d",
                             .idle = {ORRERY_WHEN(in_run(d) && d.run.training.duration,
                                                  "training.duration is the window")}},
                            kPositiveSpan, ORRERY_AT(run.simulation.max_wall)));
}

}  // namespace

std::vector<Key> run_keys() {
  std::vector<Key> keys;
  add_simulation(keys);
  return keys;
}

}  // namespace orrery::scenario
