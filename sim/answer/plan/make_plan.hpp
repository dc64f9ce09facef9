#pragma once

// The entry point of `orrery plan` and of the GUI: the best layout, number of GPUs and run.
//
//   space -> every layout estimated (search) -> the best of every cluster size, times the listed
//   values of the run -> simulated in full under common random numbers -> ranked, ties called ties
//   -> reasons, fronts, neighbours, stability
//
// The result is bit-identical for any number of threads and processes. After a stop request it is
// the best of what was seen, and says so.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "sim/answer/plan/result/plan.hpp"
#include "sim/answer/sweep/team.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/scenario/plan_spec.hpp"
#include "sim/scenario/variant.hpp"
#include "sim/step/hardware/profile_reader.hpp"

namespace orrery::plan {

enum class Stage { search, simulate, rank };

[[nodiscard]] constexpr std::string_view to_string(Stage stage) {
  constexpr std::array<std::string_view, 3> kNames = {"search", "simulate", "rank"};
  return kNames[static_cast<std::size_t>(stage)];
}

struct PlanQuestion {
  scenario::ScenarioTemplate base;
  PlanSpec spec;  // of the scenario's `plan:` block, changed as the user likes
  std::optional<std::int64_t> trials = {};
  std::optional<std::uint64_t> seed = {};
  hardware::ProfileSearch search = {};
  int threads = 0;                                    // 0: all cores
  std::optional<std::filesystem::path> journal = {};  // simulated plans; none: nothing outlives it
  bool keeps_data = false;                            // as many replicas as the scenario states
  // Keys in which a plan may differ from the stated layout (changes_of); switches stay.
  std::optional<std::int64_t> most_changes = {};
  bool resume = false;                   // take what the journal has
  std::string version = {};              // of the program, for the journal
  std::vector<std::string> pareto = {};  // two of kFrontFigures; empty: as they fit
  bool fronts = true;
  bool stability = true;
  bool neighbours = true;
  std::stop_token stop = {};
  // Ends the search alone: the best that it has found are simulated and ranked. Absent: `stop`.
  std::optional<std::stop_token> search_stop = {};
  // Ends the rest, once the time that a plan may take is over, or with `stop`: what is not
  // simulated by then has the figures of its step. Absent: `stop`.
  std::optional<std::stop_token> time_stop = {};
  // Layouts or plans done of all; called by one thread at a time.
  std::function<void(Stage stage, std::int64_t done, std::int64_t all)> progress = {};
  // The step of the best layout so far, when a better one is found.
  std::function<void(Seconds step)> found = {};
};

// The question that the scenario itself asks: its `plan:` block with these of its keys changed, or
// the defaults without one. Nothing after an error.
[[nodiscard]] std::optional<PlanQuestion> question_of(
    scenario::ScenarioTemplate base, const std::vector<scenario::KeyValue>& changes,
    Diagnostics& diagnostics);

// Nothing after an error in `diagnostics`. Members of the team that do not lead get nothing as
// well: they only work. Throws Error(io), also for what the journal throws.
[[nodiscard]] std::optional<Plan> make_plan(const PlanQuestion& question, sweep::Team& team,
                                            Diagnostics& diagnostics);

// With the threads of this process.
[[nodiscard]] std::optional<Plan> make_plan(const PlanQuestion& question, Diagnostics& diagnostics);

}  // namespace orrery::plan
