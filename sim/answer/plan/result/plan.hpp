#pragma once

// The result of a search: ranked plans, why the others lose, what trades off, what nearly fits.
//
// part        | meaning                                                      | origin
// ------------|--------------------------------------------------------------|------------------
// counts      | layouts seen, and what became of them                        | search.hpp
// current     | the scenario as it stands, beside the winner                 | evaluate/
// published   | the published layout of the model, beside the winner         | evaluate/
// aside       | what one step aside on each axis loses                       | estimates
// finalists   | the best, simulated in full with failures, best first        | evaluate/
// fronts      | plans that no other beats in two figures at once             | pool, or estimates
// neighbours  | layouts that would win but do not fit, and what would help   | estimates
// stability   | the ranking with coefficients moved by their error           | estimates
//
// All plans share the seed, so that they differ by their keys and not by luck: differences are
// judged trial by trial. A tie is a difference whose 95 % interval holds zero, or that is below
// PlanSpec::tie of the winner's figure. The GUI, text, JSON and CSV show this struct and compute
// nothing.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/answer/plan/result/reason.hpp"
#include "sim/answer/plan/search/objective.hpp"
#include "sim/answer/plan/search/search.hpp"
#include "sim/answer/plan/space/candidate.hpp"
#include "sim/answer/plan/space/published_layouts.hpp"
#include "sim/answer/plan/trial_values.hpp"
#include "sim/answer/report/evaluation.hpp"
#include "sim/answer/report/metric_band.hpp"
#include "sim/answer/report/metrics.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/scenario/plan_spec.hpp"
#include "sim/scenario/variant.hpp"

namespace orrery::plan {

// One word about a layout for tables: ("tensor", "8").
struct Trait {
  std::string name;
  std::string value;
};

// Another layout whose step spends all its time as the plan's does, and what differs.
struct Variant {
  std::string axis;   // "sharding"
  std::string value;  // "zero2"
  std::vector<scenario::KeyValue> changes;
};

// A layout that differs in what is recomputed or in the number of chunks alone, and is no faster.
struct NearLayout {
  std::vector<Trait> differs;  // ("vpp", "4")
  double slower = 0.0;         // step time, relative to that of the plan
  std::vector<scenario::KeyValue> changes;
};

// A plan on its way: which keys turn the scenario into it.
struct Proposal {
  Candidate candidate;
  std::string tag;
  std::string words;                        // "tensor 8, pipeline 4 (1f1b), data 16, ..."
  std::vector<Trait> traits;                // every axis, in a fixed order
  std::vector<scenario::KeyValue> changes;  // against the scenario, those of the run included
  std::int64_t gpus = 1;
  std::vector<Variant> alike = {};
  std::vector<NearLayout> near = {};
};

// A tie: the trials do not tell it from the best, or it is behind by less than predictions of such
// differences err (stability.hpp).
enum class Standing { best, tie, behind };

[[nodiscard]] constexpr std::string_view to_string(Standing standing) {
  constexpr std::array<std::string_view, 3> kNames = {"best", "tie", "behind"};
  return kNames[static_cast<std::size_t>(standing)];
}

struct Finalist {
  Proposal proposal;
  report::Evaluation evaluation;
  Facts facts;
  double value = 0.0;       // objective, base units
  PairedDifference behind;  // against the winner, trial by trial
  // Of what that is the difference: the objective; finish_time where as many GPUs are the fewest.
  Objective behind_in = Objective::step_time;
  bool paired = false;  // false: nothing varies over trials, or the simulation was cut short
  Standing standing = Standing::behind;
  std::string reason;   // why it loses; empty for the winner
  std::string problem;  // why it may not win at all, of the scenario as it stands: deadline, budget
};

// Something that was simulated in full, finalist or not.
struct PoolPoint {
  Proposal proposal;
  bool fits = true;
  std::string problem;  // why it is out: memory, budget, deadline; empty: a valid plan
  std::optional<double> step_time;
  std::optional<double> finish_time;
  std::optional<double> cost;
  std::optional<double> cost_per_token;  // per million
  std::optional<double> energy;
  std::optional<double> memory_headroom;
  std::optional<double> objective;
};

// What one axis of a front shows.
struct FrontAxis {
  std::string name;  // "cost"
  std::string json_key;
  std::string title;  // "cost"
  report::Dimension dimension = report::Dimension::time;
};

struct FrontPoint {
  Proposal proposal;
  double x = 0.0;
  double y = 0.0;
  bool on_front = true;  // false: shown for comparison only
  bool winner = false;
};

// Lower is better in both.
struct Front {
  FrontAxis x;
  FrontAxis y;
  std::vector<FrontPoint> points;  // by x
  bool simulated = true;           // false: estimates without failures
};

// A layout that would beat the winner if memory were enough.
struct Neighbour {
  Proposal proposal;
  double step_time = 0.0;  // s, if it fitted
  double short_by = 0.0;   // bytes on the fullest GPU
  std::int64_t stage = 0;
  double gain = 0.0;  // relative to the winner's step time per sequence; positive: faster

  struct Remedy {
    Trait change;  // the one axis that makes it fit: ("recompute", "selective")
    Proposal proposal;
    double step_time = 0.0;
    bool winner = false;  // this is the winner itself
  };

  std::optional<Remedy> remedy;
};

// The ranking when one coefficient is off by its error.
struct Perturbation {
  std::string coefficient;  // "rate of matrix products"
  double change = 0.0;      // relative, signed
  std::optional<Proposal> overtaker;
  double by = 0.0;     // relative lead over the winner; 0 without one
  bool known = false;  // the error is the fit's own residual; false: assumed
};

// A plan of the ranking beside the winner, and how well predictions tell such plans apart.
struct Rival {
  std::size_t rank = 0;  // from 1
  std::string differs;   // "tensor, micro"
  double lead = 0.0;     // of the winner, relative to its figure
  double error = 0.0;    // within it 8 of 10 measured pairs that differ so (layout_errors.hpp)

  [[nodiscard]] bool told_apart() const { return report::told_apart(lead, error); }
};

struct Stability {
  bool checked = false;
  bool stable = true;         // every rival is told apart, and no moved coefficient lets one lead
  bool errors_known = false;  // the table of errors was found
  std::vector<Rival> rivals = {};
  std::vector<Perturbation> perturbations;
  double memory_margin = 0.0;  // free memory / peak of the winner
};

// How much memory every plan leaves free on the fullest GPU, and why that much.
struct Headroom {
  double bytes = 0.0;   // of the scenario's GPU type
  bool stated = false;  // plan.constraints.memory_headroom; else by the error
  double error = 0.0;   // of the stack's predicted peaks
  std::string source;   // of that error
};

// What the search did not try, since the training stack does not offer it.
struct NotOffered {
  std::string stack;
  std::vector<std::string> what;  // empty: nothing was left out
  std::string source;
};

// What all plans but the scenario's own switch on beside the axes (search/switches.hpp).
struct Switches {
  std::vector<scenario::KeyValue> keys;
  double before = 0.0;  // s: the step of the best layout without them
};

// The published layout of the model on this GPU, run as the scenario runs.
struct Published {
  PublishedLayout from;
  std::optional<Finalist> plan;     // beside the winner; nothing where it could not be evaluated
  bool winner = false;              // it is the best plan
  bool shorter = false;             // it was measured with shorter sequences
  std::string problem;              // why it is not ranked; empty: it is
  std::optional<std::size_t> rank;  // among the ranked; nothing: behind all of them
  double error = 0.0;               // of predicted differences between it and the winner
};

// One axis of the winner a step aside, everything else as it is.
struct StepAside {
  Trait change;       // ("tp", "4")
  bool fits = false;  // with the headroom
  double loss = 0.0;  // of the step, relative to the winner's
};

struct Plan {
  std::string name;  // of the scenario
  std::string file;
  std::string sha256;
  std::string gpu;                             // full name; of all that are searched
  PlanSpec spec;                               // as it was asked
  Objective ranked_by = Objective::step_time;  // the objective, unless the search was cut short
  std::int64_t trials = 0;
  std::uint64_t seed = 0;
  SearchCounts counts;
  NotOffered not_offered = {};
  Switches switches = {};
  Headroom headroom = {};
  std::optional<std::int64_t> most_changes = {};  // as it was asked
  std::int64_t simulated = 0;                     // pool points done in full
  std::int64_t pool = 0;                          // of so many
  std::optional<Finalist> current;
  std::optional<Published> published;
  std::vector<StepAside> aside;     // by axis, the value below and the one above
  std::vector<Finalist> finalists;  // empty: nothing meets the constraints
  std::vector<Front> fronts;
  std::vector<Neighbour> neighbours;
  Stability stability;
  std::vector<std::string> notes;  // what a reader must know: interruption, constraints nobody met
  bool searched_all = true;        // false: stopped during the search
  bool limited = false;            // something was left out when the time was over that it had
  bool simulated_all = true;       // false: stopped during the simulations
  bool examined = true;            // false: stopped when what stands beside the ranking was left
  Diagnostics diagnostics;         // warnings

  [[nodiscard]] bool complete() const {
    return limited || (searched_all && simulated_all && examined);
  }
};

}  // namespace orrery::plan
