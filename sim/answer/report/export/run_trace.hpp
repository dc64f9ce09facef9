#pragma once

// One trial of the run as a trace (trace.hpp).
//
// process | threads and counters
// --------|--------------------------------------------------------------------------------------
// job     | training, checkpoints, planned stops, recovery, failures (marks, with their cause);
//         | nodes in the job, spares, nodes in repair; dollars per hour, where priced
//
// A mark has the node that the failure hits, how many if there are more, and which node takes its
// place.
//
// flow    | through
// --------|--------------------------------------------------------------------------------------
// failure | training that it took, every stage of the recovery, training again
//
// The integral of dollars per hour over the run is what the nodes cost in the bill of that trial.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/answer/report/evaluation.hpp"
#include "sim/answer/report/export/trace.hpp"

namespace orrery::report {

// Needs evaluation.timeline and evaluation.plan.
[[nodiscard]] Trace run_trace(const Evaluation& evaluation);

// The productive share of the run so far, as a counter over time.
//
//   share(t) = training up to t that no later failure took / (t - begin of the run)

struct ShareSample {
  SimTime from;
  // Of the wall time of one trial; at its end the goodput of a job whose size and speed never
  // change
  double share = 0.0;
};

// One sample at the end of every interval, in order of time; empty without a timeline of the run.
[[nodiscard]] std::vector<ShareSample> productive_over_time(const Evaluation& evaluation);

// The failures of the trial that the timeline draws, and the nodes that each of them hits.

struct Failure {
  SimTime at;
  std::int32_t cause = -1;              // index into RunPlan::causes; -1: not known
  std::span<const run::NodeHit> nodes;  // of Evaluation::timeline
};

// In order of time, evictions of slow nodes included; needs Evaluation::plan and timeline.
[[nodiscard]] std::vector<Failure> failures_of(const Evaluation& evaluation);

// "node 1,234, replaced by node 2,050, back after 3.10 h"; "16 nodes from 128 to 143"; empty when
// none was hit.
[[nodiscard]] std::string nodes_text(std::span<const run::NodeHit> nodes);

// "396 of 2,080 nodes are hit, node 875 most often (3 times)."; empty when none is.
[[nodiscard]] std::string hits_sentence(const Evaluation& evaluation);

// "GPU", "network"; "other" where nothing is known.
[[nodiscard]] std::string_view category_word(run::FailureCategory category);

// The stops of the trial that the timeline draws: what ended training, and until it went on.
//
//   stop = [failure or planned stop, training again), with all training before it that it undid
//   cost = (lost + stopped) * mean cost of the run per second
//
// What wrong results spoil reaches back over checkpoints and other stops.

struct Stop {
  SimTime begin;
  std::string what;   // the cause of the failure, or the planned stop
  SimTime from = {};  // begin of the first training that the stop threw away, or of the stop
  SimTime lost = {};  // training that the stop threw away
  run::RunActivity lost_as = run::RunActivity::lost_training;  // or discarded_training
  SimTime stopped = {};  // from the stop until the next one, or until training went on
  std::vector<std::pair<run::RunActivity, SimTime>> parts = {};  // of `stopped`, in order
  std::span<const run::NodeHit> nodes = {};                      // of Evaluation::timeline

  [[nodiscard]] SimTime together() const { return lost + stopped; }
};

// In order of time; needs Evaluation::plan and timeline.
[[nodiscard]] std::vector<Stop> stops_of(const Evaluation& evaluation);

// The stop to which a moment belongs, by what it undid or how long it lasted; nothing in training
// that stays.
[[nodiscard]] std::optional<std::size_t> stop_at(const std::vector<Stop>& stops, SimTime at);

// Mean cost of a second of the run; nothing without prices.
[[nodiscard]] std::optional<DollarsPerSecond> cost_per_second(const Evaluation& evaluation);

// Unix time of the begin of the run; nothing where no date is stated.
[[nodiscard]] std::optional<std::int64_t> unix_start(const Evaluation& evaluation);

}  // namespace orrery::report
