#include "sim/run/trial/recovery.hpp"

#include <limits>
#include <variant>

namespace orrery::run {

Recovery::Streams Recovery::streams(std::uint64_t seed, std::uint32_t trial) {
  const auto later = [&](RecoveryStage stage) {
    return RandomStream(seed, trial, Purpose::recovery, static_cast<std::uint32_t>(stage));
  };
  return {RandomStream(seed, trial, Purpose::detection),
          RandomStream(seed, trial, Purpose::diagnosis),
          later(RecoveryStage::reschedule),
          later(RecoveryStage::communicator_init),
          later(RecoveryStage::load),
          later(RecoveryStage::warm_up)};
}

Recovery::Recovery(const RunPlan& plan)
    : plan_(plan),
      most_restarts_(plan.recovery.max_restarts.value_or(std::numeric_limits<std::int64_t>::max())),
      streams_(streams(plan.simulation.seed, 0)),
      luck_(plan.simulation.seed, 0, Purpose::recovery_luck) {
  for (const PlannedTier& tier : plan.checkpoint.tiers) {
    for (std::size_t cause = 0; cause < plan.causes.size(); ++cause) {
      Stages& stages = stages_.emplace_back();
      for (std::size_t i = 0; i < kRecoveryStageCount; ++i) {
        const bool loads = i == index_of(RecoveryStage::load);
        const Duration& law = loads ? tier.load[cause] : plan.recovery.stages[cause][i];
        const auto* fixed = std::get_if<FixedLaw>(&law);
        stages[i] =
            fixed != nullptr ? Stage{bounded_time(fixed->value), nullptr} : Stage{SimTime{}, &law};
      }
    }
  }
}

void Recovery::reset(std::uint32_t trial) {
  const std::uint64_t seed = plan_.simulation.seed;
  streams_ = streams(seed, trial);
  luck_ = RandomStream(seed, trial, Purpose::recovery_luck);
  missing_by_ = plan_.capacity.spot ? plan_.capacity.spot->cause : -1;
  readiness_ = SimTime{};
  restarts_ = growths_ = 0;
}

void Recovery::lose(SavedStates& saved, Outage& outage, std::int32_t cause, std::int64_t nodes) {
  saved.strike(cause, outage.lost, outage.lost + nodes, luck_);
  outage.lost += nodes;
}

std::optional<std::int64_t> Recovery::roll_back(SavedStates& saved, Outage& outage,
                                                std::int32_t cause, std::int64_t taken_nodes,
                                                bool ran) {
  const std::int64_t before = outage.lost;
  saved.abort();
  lose(saved, outage, cause, taken_nodes);
  outage.saves_late = false;
  if (ran && plan_.checkpoint.just_in_time) {
    const double survives = plan_.checkpoint.just_in_time->survival.of(cause, before, outage.lost);
    outage.saves_late = survives >= 1.0 || (survives > 0.0 && luck_.uniform01() < survives);
  }
  if (outage.saves_late) {
    outage.source = plan_.checkpoint.tiers.size() - 1;
    return std::nullopt;
  }
  const SavedStates::Source newest = saved.newest();
  outage.source = newest.tier;
  return newest.steps;
}

SimTime Recovery::stage_length(const Outage& outage, RecoveryStage stage, std::int64_t gpus,
                               bool resharded) {
  if (outage.logged) {
    return stage == RecoveryStage::reschedule ? *outage.logged : SimTime{};
  }
  SimTime length;
  if (outage.cause >= 0) {
    const auto cause = static_cast<std::size_t>(outage.cause);
    const std::size_t index = index_of(stage);
    const Stage& planned = stages_[outage.source * plan_.causes.size() + cause][index];
    length = planned.length;
    if (planned.law != nullptr) {
      length = bounded_time(sample(*planned.law, streams_[index]));
    }
    if (gpus != plan_.recovery.gpus) {
      length = bounded_time(plan_.recovery.scale(cause, stage, gpus) * to_seconds(length));
    }
  }
  if (stage == RecoveryStage::reschedule) {
    length += readiness_;
    readiness_ = SimTime{};
  } else if (stage == RecoveryStage::load && resharded) {
    length += plan_.checkpoint.reshard;
  }
  return length;
}

Recovery::NextStage Recovery::next_stage(const Outage& outage, RecoveryStage first,
                                         std::int64_t gpus, bool resharded) {
  for (auto stage = static_cast<int>(first);; ++stage) {
    const auto next = static_cast<RecoveryStage>(stage);
    if (next == RecoveryStage::reschedule) {
      ++restarts_;
    }
    const SimTime length = stage_length(outage, next, gpus, resharded);
    const bool passes_by =
        (next == RecoveryStage::detect && !outage.saves_late) || next == RecoveryStage::reschedule;
    if (length > SimTime{} || !passes_by) {
      return {next, length};
    }
  }
}

bool Recovery::restart_fails() {
  const double fails = plan_.recovery.restart_fails;
  return fails > 0.0 && luck_.uniform01() < fails;
}

bool Recovery::copy_is_unreadable() {
  const double corrupt = plan_.checkpoint.corrupt;
  return corrupt > 0.0 && luck_.uniform01() < corrupt;
}

std::int64_t Recovery::drop_copy(SavedStates& saved, Outage& outage, std::int64_t steps) {
  saved.drop(outage.source);
  const SavedStates::Source older = saved.newest_until(steps);
  outage.source = older.tier;
  return older.steps;
}

}  // namespace orrery::run
