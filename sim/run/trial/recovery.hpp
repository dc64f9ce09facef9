#pragma once

// The stages of recoveries: which comes next, how long it takes, and what luck decides.
//
//   length(stage) = (planned or drawn length) * scale(cause, stage, GPUs) + waits
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
#include "sim/run/trial/states.hpp"

namespace orrery::run {

class Recovery {
 public:
  struct NextStage {
    RecoveryStage stage;
    SimTime length;
  };

  explicit Recovery(const RunPlan& plan);

  void reset(std::uint32_t trial);

  [[nodiscard]] std::int64_t restarts() const { return restarts_; }

  // `nodes` more are lost by `cause`, and of the copies of the state those that were on them.
  void lose(SavedStates& saved, Outage& outage, std::int32_t cause, std::int64_t nodes);

  // A failure stops the job, which ran or recovered. Returns the steps of the newest copy that is
  // left; nothing when the surviving replicas can still save the present state.
  [[nodiscard]] std::optional<std::int64_t> roll_back(SavedStates& saved, Outage& outage,
                                                      std::int32_t cause, std::int64_t taken_nodes,
                                                      bool ran);

  // An outage whose state comes from the last tier.
  [[nodiscard]] Outage from_storage() const {
    return {.source = plan_.checkpoint.tiers.size() - 1};
  }

  // Nodes are missing, by whatever took them.
  [[nodiscard]] Outage shortage() const {
    Outage outage = from_storage();
    outage.cause = missing_by_;
    return outage;
  }

  // Nodes that are back are taken in, which is none of max_restarts: torchrun's agent counts the
  // loss of a node, not its return (torch/distributed/elastic/agent/server/api.py).
  [[nodiscard]] Outage growth() {
    ++growths_;
    return shortage();
  }

  // Nodes are missing from now on because of `cause`.
  void blame_shortage(std::int32_t cause) { missing_by_ = cause; }

  // Nodes that join are ready only after `time`.
  void expect_nodes(SimTime time) { readiness_ = std::max(readiness_, time); }

  // `first` or the next stage that takes time on `gpus` GPUs; those from whose end more follows
  // than the next stage are begun in any case. `resharded`: the state is of another size of the
  // job.
  [[nodiscard]] NextStage next_stage(const Outage& outage, RecoveryStage first, std::int64_t gpus,
                                     bool resharded);

  // More restarts than allowed.
  [[nodiscard]] bool is_exhausted() const { return restarts_ - growths_ > most_restarts_; }

  // Matters of luck: the restart fails, the copy that was loaded cannot be read.
  [[nodiscard]] bool restart_fails();
  [[nodiscard]] bool copy_is_unreadable();

  // The copy before it is tried; returns its steps.
  [[nodiscard]] static std::int64_t drop_copy(SavedStates& saved, Outage& outage,
                                              std::int64_t steps);

 private:
  // The length of a stage at the full size of the job, or the law to draw it from.
  struct Stage {
    SimTime length;
    const Duration* law = nullptr;  // nullptr: always `length`
  };

  using Stages = std::array<Stage, kRecoveryStageCount>;
  using Streams = std::array<RandomStream, kRecoveryStageCount>;

  [[nodiscard]] static Streams streams(std::uint64_t seed, std::uint32_t trial);
  [[nodiscard]] SimTime stage_length(const Outage& outage, RecoveryStage stage, std::int64_t gpus,
                                     bool resharded);

  const RunPlan& plan_;
  const std::int64_t most_restarts_;
  std::vector<Stages> stages_;  // by tier to load from, then by cause
  Streams streams_;
  RandomStream luck_;             // copies that survive, loads and restarts that fail
  std::int32_t missing_by_ = -1;  // cause that took nodes last, or left the job short of them
  SimTime readiness_;             // until the nodes that join are ready
  std::int64_t restarts_ = 0;
  std::int64_t growths_ = 0;
};

}  // namespace orrery::run
