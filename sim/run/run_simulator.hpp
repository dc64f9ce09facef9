#pragma once

// What happens to the run in one trial? Training, saves, failures and recoveries as discrete
// events.
//
//   between two events training advances in closed form: n steps take n * step_time, exactly
//   lost work at a failure = (steps done - steps of the last durable checkpoint) * step_time
//                            + time into the current step
//
// Order at a step boundary: save (when due), evaluation, planned stop (after a save it waits for),
// unitemised stop, training. Order of events at the same nanosecond: a save becomes durable, a node
// comes back from repair, the job's own action completes, a failure strikes, the run ends. So a
// failure at the very end of an action finds it completed.
//
// Assumptions
// - Failures of all nodes are one Poisson process of rate nodes * node_rate + job_rate. It runs
//   through training, saves, stops and recovery; a failure during recovery starts it again. While
//   the job waits for nodes, only the nodes it still holds can fail.
// - A node leaves when its failure has been diagnosed; a spare takes its place at once, or the job
//   waits for a repair. Repaired nodes are good and return to the pool.
// - A failure aborts a save in flight. An asynchronous save that is due while another is in flight
//   begins at the first step boundary after that one became durable.
// - A planned stop that falls due during a recovery is done in its shadow and costs nothing more.
// - A trial gives up at RunPlan::end, or after 10,000 failures in a row without a durable
// checkpoint.
//
// Checked after every trial, exactly: the ledger adds up to the allocated GPUs times the wall time
// (spares and nodes in repair included), and its productive part to the steps done.
//
// Complexity: O(1) per event. Whole cycles of training and save that end before the next event are
// skipped in one step unless `event_by_event`; the result is the same to the nanosecond.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/engine/event_queue.hpp"
#include "sim/run/run_plan.hpp"
#include "sim/run/run_result.hpp"
#include "sim/run/run_timeline.hpp"

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
    wait,    // for nodes
    detect,  // from here on in the order of RecoveryStage
    diagnose,
    reschedule,
    communicator_init,
    load,
    warm_up,
  };

  // Order at the same nanosecond; the job's own action comes between repair and failure.
  static constexpr std::uint8_t kRepairDone = 0;
  static constexpr std::uint8_t kFailure = 1;
  static constexpr std::uint8_t kEndOfRun = 2;

  // A stage of a recovery: its fixed length, or the law to draw it from.
  struct Stage {
    SimTime length;
    const Duration* law = nullptr;
  };

  static constexpr std::int64_t kNever = std::int64_t{1} << 62;
  static constexpr std::int64_t kHopelessFailures = 10'000;

  void reset(const TrialOptions& options);
  void advance();
  void begin(Action action, SimTime length);
  void next_action();
  void special_action();
  void begin_training();
  void begin_save();
  void begin_blocking_save();
  bool begin_stop();
  void begin_stages(Action first);
  void skip_cycles();
  [[nodiscard]] bool complete_other_action();
  void plan_ahead();
  void handle_event();
  void strike(std::int32_t cause, double thinning);
  void roll_back();
  void send_to_repair(std::int64_t nodes);
  void replace_nodes();
  void node_returns();
  void schedule_failure(bool replaces_top);
  void book_action();
  void record_action() const;
  void settle_pool();
  void stop(StopReason reason);
  [[nodiscard]] SimTime next_maintenance() const;
  [[nodiscard]] bool is_skippable() const;
  [[nodiscard]] std::int64_t steps_until(SimTime time) const;
  [[nodiscard]] RunResult result();

  SimTime& spent(RunCategory category) {
    return spent_[static_cast<std::size_t>(category)];
  }

  // Notes the action that ends now; one predictable branch without a timeline.
  void record() const {
    if (options_.timeline != nullptr) [[unlikely]] {
      record_action();
    }
  }

  void save_is_durable(std::int64_t steps) {
    durable_steps_ = steps;
    fruitless_failures_ = 0;
    ++checkpoints_;
  }

  const RunPlan& plan_;
  const SimTime step_time_;
  const std::int64_t target_;      // steps, or a number never reached
  const std::int64_t checkpoint_;  // steps between saves, or a number never reached
  const std::int64_t evaluation_;  // steps between evaluations, or a number never reached
  const std::int64_t longest_;     // steps of one training action, bounded by the end of the run
  const SimTime stall_;
  const bool asynchronous_;
  std::vector<std::array<Stage, kRecoveryStageCount>> stages_;  // by cause
  TrialOptions options_;
  engine::EventQueue queue_;  // what can interrupt the job: failure, repairs, the end
  engine::Event next_event_;  // its first event

  SimTime now_;
  Action action_ = Action::train;
  SimTime action_begin_;
  SimTime action_end_;
  std::int64_t action_steps_ = 0;
  SimTime durable_at_;                // of the save in flight, kForever without one
  std::int64_t steps_ = 0;            // done and kept
  std::int64_t saved_steps_ = 0;      // state of the latest save begun
  std::int64_t durable_steps_ = 0;    // state of the latest durable save
  std::int64_t next_evaluation_ = 0;  // step of the first evaluation not done yet
  std::int64_t next_special_ = 0;     // step of the next evaluation or of the target
  std::int64_t checkpoints_ = 0;      // durable ones
  std::array<SimTime, RunLedger::kCategories> spent_{};  // by the whole job, all nodes present
  SimTime tail_;  // training of an unfinished step when the run ends
  SimTime next_maintenance_;
  SimTime next_unitemised_;
  SimTime next_stop_;  // the earlier of the two

  std::int64_t job_nodes_ = 0;
  std::int64_t idle_spares_ = 0;
  std::int64_t in_repair_ = 0;
  std::int64_t broken_ = 0;  // nodes of the job known or about to be known as broken
  SimTime pool_since_;       // idle_spares_ and in_repair_ are booked up to here

  std::int32_t cause_ = -1;  // of the recovery in progress
  std::int64_t fruitless_failures_ = 0;
  std::size_t scripted_ = 0;
  RandomStream failure_time_;
  RandomStream failure_cause_;
  RandomStream repair_;
  std::array<RandomStream, kRecoveryStageCount> stage_;
  bool over_ = false;
  RunResult result_;
};

}  // namespace orrery::run
