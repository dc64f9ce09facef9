#pragma once

// What happens to the run in one trial? Training, saves, failures and recoveries as discrete
// events.
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
//   the job waits for nodes, those it still holds stand idle and, like idle spares, do not fail;
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

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/engine/event_queue.hpp"
#include "sim/run/capacity/departures.hpp"
#include "sim/run/capacity/node_pool.hpp"
#include "sim/run/checkpoints/saved_states.hpp"
#include "sim/run/failures/active_slowdowns.hpp"
#include "sim/run/failures/failure_sources.hpp"
#include "sim/run/prices/billing.hpp"
#include "sim/run/run_plan.hpp"
#include "sim/run/run_result.hpp"
#include "sim/run/trial/pace_record.hpp"
#include "sim/run/trial/run_timeline.hpp"

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
  enum class Action : std::uint8_t {
    train,
    save,           // blocks for the stall
    blocking_save,  // blocks until durable
    evaluate,
    planned_stop,
    unitemised_stop,
    rework_stop,  // stands still, or trains steps in vain
    wait,         // for nodes; from here on the job does not run
    phase_change,
    late_save,  // by the replicas that survived
    failed_restart,
    detect,  // from here on in the order of RecoveryStage
    diagnose,
    reschedule,
    communicator_init,
    load,
    warm_up,
  };

  static constexpr std::size_t kActions = 17;

  // What can interrupt the job.
  enum class Interrupt : std::uint8_t { pool, internal, failure, end };

  // Events of the simulator's own queue, in their order at the same nanosecond.
  enum class Internal : std::uint8_t { slowdown_ends, eviction, detection, corruption, sample };

  // A stage of a recovery: its length at the full size of the job, or the law to draw it from.
  struct Stage {
    SimTime length;
    const Duration* law = nullptr;  // nullptr: always `length`
  };

  using Stages = std::array<Stage, kRecoveryStageCount>;

  // Results of a host that computes wrong ones, since the step after `clean_steps`.
  struct Taint {
    bool active = false;
    std::int64_t clean_steps = 0;
    bool repeats = false;  // the host stays: it corrupts again after the recovery in progress
    bool recovering = false;
  };

  static constexpr std::int64_t kNever = std::int64_t{1} << 62;
  static constexpr std::int64_t kHopelessFailures = 10'000;
  static constexpr std::int64_t kMostFailures = 1'000'000;
  static constexpr std::int64_t kMostDisturbances = 10'000'000;

  struct BookedAs {
    RunCategory category;
    RunActivity activity;
  };

  [[nodiscard]] static BookedAs booking_of(Action action);
  [[nodiscard]] static std::array<RandomStream, kRecoveryStageCount> stage_streams(
      std::uint64_t seed, std::uint32_t trial);

  // The hot path: run_simulator.cpp.
  void advance();

  void begin(Action action, SimTime length) {
    action_ = action;
    action_begin_ = now_;
    action_end_ = now_ + length;
  }

  void next_action();
  void begin_training();
  void begin_save();
  void run_cycles();
  void skip_cycles();
  [[nodiscard]] bool is_skippable() const;
  [[nodiscard]] std::int64_t steps_until(SimTime time) const;

  void copies_are_durable(std::int64_t copies) {
    fruitless_failures_ = 0;
    checkpoints_ += copies;
  }

  // Step boundaries with more to do: run_boundary.cpp.
  void special_action();
  [[nodiscard]] bool begin_pending_change();
  [[nodiscard]] bool begin_due_stop();
  void begin_blocking_save();
  [[nodiscard]] SimTime blocking_save_time() const;
  void enter_phase();
  void begin_rework();
  void grow();
  void evict();
  void plan_ahead();
  void set_pace();
  [[nodiscard]] Pace pace_now();
  [[nodiscard]] bool complete_other_action();
  void complete_recovery();
  void cut_training(SimTime at);
  [[nodiscard]] bool grows_at_once() const;
  [[nodiscard]] bool change_size();
  [[nodiscard]] SimTime next_maintenance() const;

  // Failures and recoveries: run_recovery.cpp.
  void handle_interrupt();
  void find_interrupt();
  void end_of_run();
  void cut_off();
  void handle_failure();
  void strike(const Strike& failure);
  void strike_while_waiting(const Strike& failure);
  void roll_back(std::int32_t cause, std::int64_t taken_nodes);
  void go_back(std::int64_t to, RunCategory category, std::int32_t cause);
  void begin_recovery(std::int32_t cause);
  void begin_stages(Action first);
  [[nodiscard]] SimTime stage_length(RecoveryStage stage);
  void complete_communicators();
  void complete_load();
  [[nodiscard]] bool gives_up();
  [[nodiscard]] bool fails_too_often();

  // Nodes that leave and come: run_nodes.cpp.
  void handle_pool();
  void replace_nodes();
  void restart_or_wait();
  void wait_for_nodes();
  void fit_nodes();
  void nodes_return();
  void consider_growth();
  void nodes_leave(const PoolEvent& event);
  void expect_departure();
  void change_nodes();
  void expose(bool trains);
  [[nodiscard]] std::int64_t wanted_nodes() const;
  [[nodiscard]] bool can_run_on(std::int64_t nodes) const;

  // What is slow, corrupt or in vain: run_disturbance.cpp.
  void handle_internal();
  void disturb(const PlannedCause& cause);
  void begin_slowdown(std::int32_t index);
  void end_slowdown(std::uint32_t id);
  void repace();
  void begin_corruption(std::int32_t index);
  void detect_corruption(std::int32_t index);
  void end_corruptions();
  void begin_spike(std::int32_t index);
  [[nodiscard]] std::int64_t steps_now() const;

  // The books: run_books.cpp.
  void reset(const TrialOptions& options);
  void book_action();
  void blame(std::int32_t cause, Int128 gpu_ns);
  void record_action() const;
  void settle();
  void stop(StopReason reason);
  [[nodiscard]] RunResult result();

  // Notes the action that ends now; one predictable branch without a timeline.
  void record() const {
    if (options_.timeline != nullptr) [[unlikely]] {
      record_action();
    }
  }

  [[nodiscard]] bool is_running() const {
    return action_ < Action::wait;
  }

  const RunPlan& plan_;
  const std::int64_t gpus_per_node_;
  const std::int64_t target_;      // steps, or a number never reached
  const std::int64_t checkpoint_;  // steps between saves, or a number never reached
  const std::int64_t evaluation_;  // steps between evaluations, or a number never reached
  const bool saves_alike_;         // one tier: every save is the first one
  const bool saves_stall_;         // ... and durable when its stall is over
  std::vector<Stages> stages_;     // by tier to load from, then by cause
  TrialOptions options_;
  NodePool pool_;
  FailureSources failures_;
  SavedStates saved_;
  PaceRecord paces_;
  Billing billing_;
  engine::EventQueue queue_;  // of Internal events
  SimTime interrupt_;         // the first of all interrupts
  Interrupt interrupt_kind_ = Interrupt::end;

  SimTime now_;
  Action action_ = Action::train;
  SimTime action_begin_;
  SimTime action_end_;
  std::int64_t action_steps_ = 0;
  SimTime step_time_;             // at the present pace
  std::int64_t longest_ = 0;      // steps of one training action, bounded by the end of the run
  std::int64_t steps_ = 0;        // done and kept
  std::int64_t saved_steps_ = 0;  // state of the latest save begun
  std::int64_t saves_ = 0;        // begun
  const PlannedSave* save_ = nullptr;  // in progress
  bool save_stalls_ = false;           // a copy of it is durable when its stall ends
  SimTime blocked_until_;              // the next save waits for copies in flight until then
  std::int64_t next_evaluation_ = 0;   // step of the first evaluation not done yet
  std::int64_t next_special_ = 0;      // the first step at which more is due than a save
  std::int64_t checkpoints_ = 0;       // durable copies
  std::array<SimTime, RunLedger::kCategories> spent_{};  // on the present nodes of the job
  SimTime next_maintenance_;
  SimTime next_unitemised_;
  SimTime next_stop_;  // the earliest thing due at a step boundary by time

  std::size_t phase_ = 0;
  std::size_t rework_ = 0;  // first one still to come
  SimTime stalled_until_;   // by the last one, whatever else stops the job meanwhile
  std::int64_t job_gpus_ = 0;
  std::int64_t broken_ = 0;  // nodes of the job known or about to be known as broken
  std::int64_t broken_bad_ = 0;
  SimTime settled_;           // books of nodes are complete up to here
  Int128 held_gpu_ns_ = 0;    // GPUs held, integrated over time
  Int128 wanted_gpu_ns_ = 0;  // GPUs that the phases ask for, integrated over time

  std::int32_t cause_ = -1;        // of the recovery in progress
  std::int32_t missing_by_ = -1;   // cause that took nodes last, or left the job short of them
  std::size_t source_ = 0;         // tier from which it loads
  std::int64_t lost_nodes_ = 0;    // since the job last ran
  std::int64_t gpus_saved_ = 0;    // GPUs of the job at the latest save
  bool late_save_ = false;         // the surviving replicas will save
  SimTime readiness_;              // until the nodes that join are ready
  std::optional<SimTime> outage_;  // replaces the stages
  std::int64_t restarts_ = 0;
  std::int64_t fruitless_failures_ = 0;
  std::int64_t disturbances_ = 0;
  std::size_t scripted_ = 0;

  bool repace_ = false;         // the pace changes at the next step boundary
  bool pace_is_stale_ = false;  // nodes or phase are others than when the pace was set
  bool grow_pending_ = false;   // nodes are ready that would make the job larger
  std::int64_t steps_in_vain_ = 0;
  Departures departures_;
  std::vector<std::uint32_t> evictions_;  // slowdowns that wait for a step boundary
  ActiveSlowdowns slowdowns_;
  std::vector<Taint> taints_;  // by FailurePlan::silent
  std::size_t sampled_ = 0;

  RandomStream luck_;         // copies that survive, loads and restarts that fail
  RandomStream disturbance_;  // factors and durations of slowdowns, delays of detection
  std::array<RandomStream, kRecoveryStageCount> stage_;
  bool over_ = false;
  RunResult result_;
};

}  // namespace orrery::run
