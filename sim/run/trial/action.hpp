#pragma once

// The actions of the job in a trial, and the accounts to which their time is booked.

#include <array>
#include <cstddef>
#include <cstdint>

#include "sim/run/run_category.hpp"
#include "sim/run/run_plan.hpp"
#include "sim/run/run_timeline.hpp"

namespace orrery::run {

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

[[nodiscard]] constexpr bool runs(Action action) {
  return action < Action::wait;
}

[[nodiscard]] constexpr Action action_of(RecoveryStage stage) {
  return static_cast<Action>(static_cast<int>(Action::detect) + static_cast<int>(stage));
}

struct BookedAs {
  RunCategory category;
  RunActivity activity;
};

// By Action.
inline constexpr std::array<BookedAs, 17> kBookings = {{
    {RunCategory::productive, RunActivity::training},
    {RunCategory::checkpoint_stall, RunActivity::checkpoint},
    {RunCategory::checkpoint_stall, RunActivity::checkpoint},
    {RunCategory::evaluation, RunActivity::evaluation},
    {RunCategory::planned_maintenance, RunActivity::planned_maintenance},
    {RunCategory::unitemised, RunActivity::unitemised},
    {RunCategory::rework, RunActivity::rework},
    {RunCategory::waiting_for_capacity, RunActivity::waiting_for_capacity},
    {RunCategory::restart_scheduling, RunActivity::scheduling},
    {RunCategory::checkpoint_stall, RunActivity::checkpoint},
    {RunCategory::restart_communicator, RunActivity::communicator_init},
    {RunCategory::detection, RunActivity::detection},
    {RunCategory::diagnosis, RunActivity::diagnosis},
    {RunCategory::restart_scheduling, RunActivity::scheduling},
    {RunCategory::restart_communicator, RunActivity::communicator_init},
    {RunCategory::restart_load, RunActivity::load},
    {RunCategory::restart_warm_up, RunActivity::warm_up},
}};

[[nodiscard]] constexpr BookedAs booking_of(Action action) {
  return kBookings[static_cast<std::size_t>(action)];
}

}  // namespace orrery::run
