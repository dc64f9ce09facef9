#pragma once

// The states of a trial: what the job does.
//
//   state      | the job                                        | it alone has
//   -----------|------------------------------------------------|---------------------------------
//   Training   | makes steps                                    | how many until it looks up again
//   Saving     | stands still for a save                        | whether until it is durable
//   Waiting    | has too few nodes                              | the outage
//   Stopped    | stands still on purpose                        | why
//   Recovering | goes through the stages of a recovery          | the outage, the stage
//
// All times of a state but those of training are booked when it is left (kBookings).

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>

#include "sim/base/sim_time.hpp"
#include "sim/run/run_result.hpp"
#include "sim/run/run_timeline.hpp"

namespace orrery::run {

// From what stopped the job until it trains again.
struct Outage {
  std::int32_t cause = -1;      // -1: nothing is known to blame
  std::int64_t lost = 0;        // nodes lost since the job last ran
  std::int64_t broken = 0;      // nodes of the job known or about to be known as broken
  std::int64_t broken_bad = 0;  // how many of them are lemons
  std::size_t source = 0;       // tier from which the state will come
  bool saves_late = false;      // the surviving replicas will save the state that the job had
  std::optional<SimTime> logged = {};  // of a failure log: replaces all stages

  void load_from(std::size_t tier) {
    source = tier;
    saves_late = false;
  }
};

struct Training {
  std::int64_t steps = 0;
};

struct Saving {
  bool blocks = false;
};

struct Waiting {
  Outage outage;
};

enum class Stop : std::uint8_t { evaluation, maintenance, unitemised, rework, phase_change };

struct Stopped {
  Stop why = Stop::evaluation;
};

// The first six as RecoveryStage.
enum class Stage : std::uint8_t {
  detect,
  diagnose,
  reschedule,
  communicator_init,
  load,
  warm_up,
  late_save,  // by the replicas that survived
  failed_restart,
};

struct Recovering {
  Outage outage;
  Stage stage = Stage::detect;
};

using State = std::variant<Training, Saving, Waiting, Stopped, Recovering>;

// The processes of the job run: slow nodes slow it down, wrong results spoil it.
[[nodiscard]] inline bool runs(const State& state) {
  const auto* stopped = std::get_if<Stopped>(&state);
  return stopped != nullptr ? stopped->why != Stop::phase_change : state.index() < 2;
}

[[nodiscard]] inline const Outage* outage_of(const State& state) {
  if (const auto* recovering = std::get_if<Recovering>(&state)) {
    return &recovering->outage;
  }
  const auto* waiting = std::get_if<Waiting>(&state);
  return waiting != nullptr ? &waiting->outage : nullptr;
}

// What the time is blamed on; -1: nothing.
[[nodiscard]] inline std::int32_t cause_of(const State& state) {
  const Outage* outage = outage_of(state);
  return outage != nullptr ? outage->cause : -1;
}

struct BookedAs {
  RunCategory category;
  RunActivity activity;
};

// Training, Saving, Waiting, then by Stop, then by Stage.
inline constexpr std::array<BookedAs, 16> kBookings = {{
    {RunCategory::productive, RunActivity::training},
    {RunCategory::checkpoint_stall, RunActivity::checkpoint},
    {RunCategory::waiting_for_capacity, RunActivity::waiting_for_capacity},
    {RunCategory::evaluation, RunActivity::evaluation},
    {RunCategory::planned_maintenance, RunActivity::planned_maintenance},
    {RunCategory::unitemised, RunActivity::unitemised},
    {RunCategory::rework, RunActivity::rework},
    {RunCategory::restart_scheduling, RunActivity::scheduling},
    {RunCategory::detection, RunActivity::detection},
    {RunCategory::diagnosis, RunActivity::diagnosis},
    {RunCategory::restart_scheduling, RunActivity::scheduling},
    {RunCategory::restart_communicator, RunActivity::communicator_init},
    {RunCategory::restart_load, RunActivity::load},
    {RunCategory::restart_warm_up, RunActivity::warm_up},
    {RunCategory::checkpoint_stall, RunActivity::checkpoint},
    {RunCategory::restart_communicator, RunActivity::communicator_init},
}};

[[nodiscard]] inline BookedAs booked_as(const State& state) {
  constexpr std::size_t kFirstStop = 3;
  constexpr std::size_t kFirstStage = 8;
  std::size_t row = state.index();
  if (const auto* recovering = std::get_if<Recovering>(&state)) {
    row = kFirstStage + static_cast<std::size_t>(recovering->stage);
  } else if (const auto* stopped = std::get_if<Stopped>(&state)) {
    row = kFirstStop + static_cast<std::size_t>(stopped->why);
  }
  return kBookings[row];
}

}  // namespace orrery::run
