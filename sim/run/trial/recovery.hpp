#pragma once

// The recovery in progress: its cause, the copy it loads from, and the stage that comes next.
//
//   length(stage) = (planned or drawn length) * scale(cause, stage, GPUs) + waits
//
// symbol | meaning                                                             | unit | origin
// -------|---------------------------------------------------------------------|------|----------
// scale  | how the stage grows with the job (RecoveryPlan::scale)              | -    | run plan
// waits  | nodes that join get ready; a state of another size is cut anew      | ns   | pool, plan
//
// An outage of a failure log replaces all stages. O(1) per stage.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/run/checkpoints/saved_states.hpp"
#include "sim/run/run_plan.hpp"

namespace orrery::run {

class Recovery {
 public:
  struct NextStage {
    RecoveryStage stage;
    SimTime length;
  };

  explicit Recovery(const RunPlan& plan);

  void reset(std::uint32_t trial);

  // Of the recovery in progress; -1: the job runs, or nothing is known to blame.
  [[nodiscard]] std::int32_t cause() const {
    return cause_;
  }

  // The surviving replicas will save the state that the job had.
  [[nodiscard]] bool saves_late() const {
    return late_save_;
  }

  // Nodes lost since the job last ran.
  [[nodiscard]] std::int64_t lost_nodes() const {
    return lost_nodes_;
  }

  [[nodiscard]] std::int64_t restarts() const {
    return restarts_;
  }

  // `nodes` more are lost by `cause`, and of the copies of the state those that were on them.
  void lose(SavedStates& saved, std::int32_t cause, std::int64_t nodes);

  // A failure stops the job, which ran or recovered. Returns the steps of the newest copy that is
  // left; nothing when the surviving replicas can still save the present state.
  [[nodiscard]] std::optional<std::int64_t> roll_back(SavedStates& saved,
                                                      std::int32_t cause,
                                                      std::int64_t taken_nodes,
                                                      bool ran);

  // The state will come from this tier; its last one, the storage, without an argument.
  void load_from(std::size_t tier);
  void load_from_storage();

  // Begins with `cause`; `outage` replaces its stages.
  void begin(std::int32_t cause, std::optional<SimTime> outage = {});

  // Begins for want of nodes, by whatever took them.
  void begin_shortage();

  // The same to take in nodes that are back, which is none of max_restarts: torchrun's agent counts
  // the loss of a node, not its return (torch/distributed/elastic/agent/server/api.py).
  void begin_growth();

  // Nodes are missing from now on because of the recovery in progress.
  void blame_shortage() {
    missing_by_ = cause_;
  }

  // Nodes that join are ready only after `time`.
  void expect_nodes(SimTime time) {
    readiness_ = std::max(readiness_, time);
  }

  // `first` or the next stage that takes time on `gpus` GPUs; those from whose end more follows
  // than the next stage are begun in any case. `resharded`: the state is of another size of the
  // job.
  [[nodiscard]] NextStage next_stage(RecoveryStage first, std::int64_t gpus, bool resharded);

  // More restarts than allowed.
  [[nodiscard]] bool is_exhausted() const {
    return restarts_ - growths_ > most_restarts_;
  }

  void end_late_save() {
    late_save_ = false;
  }

  // Matters of luck: the restart fails, the copy that was loaded cannot be read.
  [[nodiscard]] bool restart_fails();
  [[nodiscard]] bool copy_is_unreadable();

  // The copy before it is tried; returns its steps.
  [[nodiscard]] std::int64_t drop_copy(SavedStates& saved, std::int64_t steps);

  // The job runs.
  void end();

 private:
  // The length of a stage at the full size of the job, or the law to draw it from.
  struct Stage {
    SimTime length;
    const Duration* law = nullptr;  // nullptr: always `length`
  };

  using Stages = std::array<Stage, kRecoveryStageCount>;
  using Streams = std::array<RandomStream, kRecoveryStageCount>;

  [[nodiscard]] static Streams streams(std::uint64_t seed, std::uint32_t trial);
  [[nodiscard]] SimTime stage_length(RecoveryStage stage, std::int64_t gpus, bool resharded);

  const RunPlan& plan_;
  const std::int64_t most_restarts_;
  std::vector<Stages> stages_;  // by tier to load from, then by cause
  Streams streams_;
  RandomStream luck_;  // copies that survive, loads and restarts that fail
  std::int32_t cause_ = -1;
  std::int32_t missing_by_ = -1;  // cause that took nodes last, or left the job short of them
  std::size_t source_ = 0;        // tier from which it loads
  std::int64_t lost_nodes_ = 0;
  bool late_save_ = false;
  SimTime readiness_;              // until the nodes that join are ready
  std::optional<SimTime> outage_;  // replaces the stages
  std::int64_t restarts_ = 0;
  std::int64_t growths_ = 0;
};

}  // namespace orrery::run
