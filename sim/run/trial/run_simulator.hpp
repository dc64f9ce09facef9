#pragma once

// Discrete-event simulation of one trial of the run: training, saves, failures and recoveries,
// until the end of the run.
//
//   between two events training advances in closed form: n steps take n * pace, exactly
//   lost work at a failure = time of the steps since the state it goes back to
//                            + time into the current step
//
// A trial is in one state at a time (states.hpp). An event ends it or interrupts it: on() says what
// state follows and marks what that changes, and commit() draws the consequences, all in one order.
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
// - Several preemptions can be announced at a time; each has its own save (agenda.hpp), where
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

#include "sim/run/capacity/node_pool.hpp"
#include "sim/run/failures/failure_sources.hpp"
#include "sim/run/run_plan.hpp"
#include "sim/run/run_result.hpp"
#include "sim/run/run_timeline.hpp"
#include "sim/run/trial/agenda.hpp"
#include "sim/run/trial/disturbances.hpp"
#include "sim/run/trial/recovery.hpp"
#include "sim/run/trial/run_books.hpp"
#include "sim/run/trial/saves.hpp"
#include "sim/run/trial/states.hpp"

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

  // What an event has changed, of which commit() draws the consequences.
  struct Changes {
    bool nodes = false;   // of the job, or how many are held
    bool agenda = false;  // or what it looks at: disturbances, departures, steps undone
    bool pace = false;    // the job stands at a step boundary, where its pace can change

    [[nodiscard]] bool any() const { return nodes || agenda || pace; }
  };

  // What waits for a step boundary.
  struct Wishes {
    bool pace = false;    // another one
    bool growth = false;  // nodes are ready that would make the job larger
  };

  // The frequent path, begin and end of a trial, commit(): run_simulator.cpp.
  [[gnu::noinline]] void reset(const TrialOptions& options);
  [[nodiscard, gnu::noinline]] RunResult result();
  void advance();
  void next_state();
  void begin_training();
  void handle_interrupt();
  void commit();
  void expose();
  void set_pace();
  [[nodiscard]] Pace pace_now();
  void expect_departure();
  void cut_training();
  void find_interrupt();
  void book_state();
  void settle();
  [[nodiscard]] NodePool& change_pool();
  [[nodiscard]] std::int64_t steps_now() const;

  template <typename Next>
  void enter(const Next& next, SimTime length) {
    state_.emplace<Next>(next);
    begin_ = now_;
    end_ = now_ + length;
  }

  void stop(StopReason reason) {
    over_ = true;
    result_.stop = reason;
  }

  // What follows at a step boundary with more to do than a save, and when a state has ended:
  // boundaries.cpp. The frequent path keeps its registers only when what is rare is not inlined.
  [[gnu::noinline]] void choose_state();
  [[nodiscard]] bool begin_pending_change();
  [[nodiscard]] bool begin_due_stop();
  void begin_blocking_save();
  void enter_phase();
  void begin_rework(const PlannedRework& rework);
  void grow();
  void evict();
  [[nodiscard, gnu::noinline]] bool end_other_state();
  [[nodiscard]] bool end_state();
  [[nodiscard]] bool end_stage(Recovering& state);
  void begin_stages(Recovering& state, RecoveryStage first);
  void begin_stage(Recovering& state, Stage stage, SimTime length);
  void replace_nodes(Recovering& state);
  [[nodiscard]] bool change_size();
  void fit_nodes();
  void note_shrinking(const Outage& outage);
  [[nodiscard]] bool can_run() const;
  void consider_growth();

  // What interrupts the job: interrupts.cpp.
  void on(const PoolEvent& event);
  void on(const Disturbances::Event& event);
  void on(const Strike& strike);
  [[nodiscard]] Strike scripted_strike();
  void nodes_return();
  void nodes_leave(std::int64_t nodes);
  void detect_corruption(std::int32_t index);
  void disturb(const PlannedCause& cause);
  void corrupt(std::int32_t index);
  void begin_spike(const PlannedSpike& plan);
  void begin_recovery_unless_hopeless(std::int32_t cause, std::optional<SimTime> logged = {});
  void note_failure(std::int32_t cause);
  void count_failure(std::int32_t cause);
  [[nodiscard]] Outage& outage();
  [[nodiscard]] bool fails_too_often();
  void lose_nodes(Outage& outage, std::int32_t cause);
  void roll_back(Outage& outage, std::int32_t cause, std::int64_t taken_nodes, bool ran);
  void go_back(std::int64_t to, RunCategory category, std::int32_t cause);
  void begin_recovery(std::int32_t cause, std::optional<SimTime> logged = {});
  void cut_off();

  [[nodiscard]] std::int64_t wanted_nodes() const { return agenda_.phase().nodes; }

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
  State state_;
  SimTime begin_;  // of the state
  SimTime end_;
  Changes changes_;           // since the last commit()
  SimTime step_time_;         // at the present pace
  std::int64_t longest_ = 0;  // steps of one stretch of training, bounded by the end of the run
  std::int64_t steps_ = 0;    // done and kept
  std::int64_t job_gpus_ = 0;
  UndoneWork part_;           // of a step, in which training was broken off
  std::size_t scripted_ = 0;  // failures of TrialOptions so far
  std::size_t sampled_ = 0;
  Wishes wishes_;
  bool over_ = false;
  RunResult result_;
};

}  // namespace orrery::run
