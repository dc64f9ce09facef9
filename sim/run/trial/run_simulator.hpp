#pragma once

// Discrete-event simulation of one trial of the run: training, saves, failures and recoveries,
// until the end of the run.
//
//   between two events training advances in closed form: n steps take n * pace, exactly
//   lost work at a failure = time of the steps since the state it goes back to
//                            + time into the current step
//
// Order at a step boundary: changes of pace, save (when due), evaluation, next phase, rework,
// planned stop (after a save it waits for), unitemised stop, training. Order of events at the same
// nanosecond: a save becomes durable, nodes come and go, the job's own action completes, something
// becomes slow or corrupt, a failure strikes, the run ends. So a failure at the very end of an
// action finds it completed.
//
// Assumptions
// - A failure during recovery starts it again, unless the plan says that nothing fails then. While
//   the job waits for nodes, those it still holds are idle and, like idle spares, do not fail;
//   only the failures of a log strike then.
// - Several preemptions can be announced at a time; each has its own save (departures.hpp), where
//   that ends before the nodes leave.
// - A node leaves when its failure has been diagnosed; a spare takes its place, or the job shrinks,
//   or it waits for a repair.
// - A failure aborts the saves in flight. A save that is due while a copy to one of its tiers is
//   still being written begins at the first step boundary after that one became durable.
// - The job comes back from the newest usable copy; of equally new ones from the fastest tier.
// - A slowdown holds from the step boundary after its begin to the one after its end; of several at
//   a time the worst one counts.
// - Silent corruption taints all states saved after it. When it is found the job goes back to the
//   newest state before it, or to the start.
// - A planned stop that falls due during a recovery is done in its shadow and costs nothing more.
// - A trial gives up at RunPlan::end, after RecoveryPlan::max_restarts, after 10,000 failures in a
//   row without a durable checkpoint, after a million failures (30 times as many as 100,000 GPUs
//   have in a year), or after ten million slowdowns, corruptions,
//   spikes, and preemptions while it waits.
//
// Checked after every trial, exactly: the ledger adds up to the held GPUs integrated over the wall
// time (spares and nodes in repair included).
//
// Complexity: O(1) per event. Whole cycles of training and save that end before the next event are
// skipped in one step unless `event_by_event`; the result is the same to the nanosecond. A saver
// with several tiers is simulated save by save.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "sim/run/capacity/departures.hpp"
#include "sim/run/capacity/node_pool.hpp"
#include "sim/run/failures/failure_sources.hpp"
#include "sim/run/run_plan.hpp"
#include "sim/run/run_result.hpp"
#include "sim/run/run_timeline.hpp"
#include "sim/run/trial/action.hpp"
#include "sim/run/trial/agenda.hpp"
#include "sim/run/trial/disturbances.hpp"
#include "sim/run/trial/pace_record.hpp"
#include "sim/run/trial/recovery.hpp"
#include "sim/run/trial/run_books.hpp"
#include "sim/run/trial/saves.hpp"

namespace orrery::run {

struct ScriptedFailure {
  SimTime at;
  std::int32_t cause = 0;  // index into RunPlan::causes
};

struct TrialOptions {
  std::uint32_t trial = 0;          // number of the random streams
  bool event_by_event = false;      // one event per save and training interval, nothing skipped
  RunTimeline* timeline = nullptr;  // receives every interval; implies event_by_event
  // In order of time; they replace the random ones.
  std::optional<std::span<const ScriptedFailure>> failures = {};
  // Ascending; `progress` receives the steps done (and kept so far) at each of them.
  std::span<const SimTime> samples = {};
  std::vector<double>* progress = nullptr;
  std::stop_token stop = {};  // ends the trial soon, with StopReason::interrupted
};

// Reusable for any number of trials; one object per thread. Keeps a reference to the plan.
class RunSimulator {
 public:
  explicit RunSimulator(const RunPlan& plan);

  // Aborts when the ledger does not balance.
  [[nodiscard]] RunResult run(const TrialOptions& options);

 private:
  // What can interrupt the job.
  enum class Interrupt : std::uint8_t { pool, disturbance, sample, failure, end };

  // The frequent path, begin and end of a trial: run_simulator.cpp.
  [[gnu::noinline]] void reset(const TrialOptions& options);
  [[nodiscard, gnu::noinline]] RunResult result();
  void advance();
  void next_action();
  void begin_training();
  [[nodiscard]] std::int64_t steps_until(SimTime time) const;
  void book_action();
  void settle();

  void begin(Action action, SimTime length) {
    action_ = action;
    action_begin_ = now_;
    action_end_ = now_ + length;
  }

  void stop(StopReason reason) {
    over_ = true;
    result_.stop = reason;
  }

  // Step boundaries with more to do: run_boundary.cpp. The frequent path keeps its registers
  // only when what is rare is not inlined.
  [[gnu::noinline]] void special_action();
  [[nodiscard]] bool begin_pending_change();
  [[nodiscard]] bool begin_due_stop();
  void begin_blocking_save();
  void enter_phase();
  void begin_rework(const PlannedRework& rework);
  void grow();
  void evict();
  void look_ahead();
  void set_pace();
  [[nodiscard]] Pace pace_now();
  [[nodiscard, gnu::noinline]] bool complete_other_action();
  void cut_training(SimTime at);
  [[nodiscard]] bool change_size();

  // Interrupts, failures and recoveries: run_recovery.cpp.
  void find_interrupt();
  void handle_interrupt();
  void cut_off();
  void handle_disturbance();
  void detect_corruption(std::int32_t index);
  void handle_failure();
  void strike(const Strike& failure);
  void strike_while_waiting(const Strike& failure);
  void disturb(const PlannedCause& cause);
  void begin_spike(const PlannedSpike& plan);
  void note_failure(std::int32_t cause);
  void remove_nodes(std::int32_t cause);
  void roll_back(std::int32_t cause, std::int64_t taken_nodes);
  void go_back(std::int64_t to, RunCategory category, std::int32_t cause);
  void begin_recovery(std::int32_t cause, std::optional<SimTime> outage = {});
  void begin_stages(RecoveryStage first);
  void complete_communicators();
  void complete_load();
  void complete_recovery();
  [[nodiscard]] bool gives_up();
  [[nodiscard]] bool fails_too_often();
  [[nodiscard]] std::int64_t steps_now() const;

  // Nodes that leave and come: run_nodes.cpp.
  void handle_pool();
  void replace_nodes();
  void restart_or_wait();
  void wait_for_nodes();
  void fit_nodes();
  void nodes_return();
  void consider_growth();
  void nodes_leave(std::int64_t nodes);
  void expect_departure();
  void change_nodes();
  void expose(bool trains);
  [[nodiscard]] bool can_run_on(std::int64_t nodes) const;

  [[nodiscard]] std::int64_t wanted_nodes() const {
    return agenda_.phase().nodes;
  }

  const RunPlan& plan_;
  TrialOptions options_;
  NodePool pool_;
  FailureSources failures_;
  Departures departures_;
  Disturbances disturbances_;
  Recovery recovery_;
  Agenda agenda_;
  Saves saves_;
  PaceRecord paces_;
  RunBooks books_;

  SimTime now_;
  SimTime interrupt_;  // the first of all interrupts
  Interrupt interrupt_kind_ = Interrupt::end;
  Action action_ = Action::train;
  SimTime action_begin_;
  SimTime action_end_;
  std::int64_t action_steps_ = 0;
  SimTime step_time_;           // at the present pace
  bool pace_is_stale_ = false;  // nodes or phase are others than when the pace was set
  std::int64_t longest_ = 0;    // steps of one training action, bounded by the end of the run
  std::int64_t steps_ = 0;      // done and kept
  std::int64_t job_gpus_ = 0;
  std::int64_t broken_ = 0;  // nodes of the job known or about to be known as broken
  std::int64_t broken_bad_ = 0;
  std::size_t scripted_ = 0;  // failures of TrialOptions so far
  std::size_t sampled_ = 0;
  bool over_ = false;
  RunResult result_;
};

}  // namespace orrery::run
