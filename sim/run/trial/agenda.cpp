#include "sim/run/trial/agenda.hpp"

#include <algorithm>

#include "sim/run/trial/run_books.hpp"

namespace orrery::run {

Agenda::Agenda(const RunPlan& plan)
    : plan_(plan),
      target_(plan.target_steps.value_or(kNever)),
      evaluation_(plan.evaluation_steps.value_or(kNever)),
      grows_at_once_(!plan.checkpoint.every_steps ||
                     (plan.capacity.elastic && plan.capacity.elastic->grow == Growth::at_once)) {}

void Agenda::reset() {
  next_evaluation_ = evaluation_;
  next_maintenance_ = plan_.maintenance.period;
  next_unitemised_ = plan_.unitemised.period;
  phase_ = rework_ = 0;
  stalled_until_ = SimTime{};
}

void Agenda::look_ahead(const Moment& moment) {
  next_step_ = std::min({target_, next_evaluation_, phase().until_step});
  if (rework_ < plan_.rework.size()) {
    next_step_ = std::min(next_step_, plan_.rework[rework_].at_step);
  }
  next_stop_ = std::min({next_maintenance_, next_unitemised_, moment.departure});
  const bool grows_later = moment.grows && !grows_at_once_ && moment.next_save > moment.steps;
  if (grows_later) {
    next_step_ = std::min(next_step_, moment.next_save);
  }
  if ((moment.grows && !grows_later) || moment.urgent || stalled_until_ > moment.now) {
    next_stop_ = SimTime{};  // at the next step boundary
  }
  last_quiet_step_ = next_step_ - (next_step_ == target_ || moment.grows ? 1 : 0);
}

void Agenda::go_back(std::int64_t steps) {
  if (next_evaluation_ > steps && evaluation_ != kNever) {
    next_evaluation_ = (steps / evaluation_ + 1) * evaluation_;
  }
  if (leaves_phase(steps)) {
    phase_ = phase_of_step(plan_.phases, steps);
  }
}

const PlannedRework* Agenda::rework_at(std::int64_t steps) const {
  const bool due = rework_ < plan_.rework.size() && steps == plan_.rework[rework_].at_step;
  return due ? &plan_.rework[rework_] : nullptr;
}

void Agenda::end_maintenance(SimTime now) {
  const SimTime period = plan_.maintenance.period;
  next_maintenance_ = period == kForever ? kForever : times(now.ns / period.ns + 1, period);
}

bool Agenda::take_unitemised(SimTime now) {
  if (next_unitemised_ > now) {
    return false;
  }
  next_unitemised_ += plan_.unitemised.period;
  return true;
}

}  // namespace orrery::run
