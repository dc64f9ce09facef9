#include "sim/run/plan_checkpoints.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "sim/run/theory.hpp"

namespace orrery::run {

// The stall and the durable time of a save.
void plan_saves(const CheckpointSpec& spec, RunPlan& plan, Findings& findings) {
  findings.require(is_positive(in_bytes_per_second(spec.storage.write)),
                   "checkpoint.storage.write",
                   "the rate must be positive");
  findings.require(is_positive(in_bytes_per_second(spec.storage.read)),
                   "checkpoint.storage.read",
                   "the rate must be positive");
  findings.require(is_positive(in_bytes_per_second(spec.device_to_host)),
                   "checkpoint.device_to_host",
                   "the rate must be positive");
  findings.require(std::isfinite(in_bytes(spec.bytes_per_parameter)) &&
                       spec.bytes_per_parameter >= Bytes{} && plan.step.parameters >= 0.0,
                   "checkpoint.bytes_per_parameter",
                   "the size must not be negative");
  if (!findings.sound()) {
    return;
  }
  plan.checkpoint_mode = spec.mode;
  plan.checkpoint_size = plan.step.parameters * spec.bytes_per_parameter;
  const Seconds write = plan.checkpoint_size / spec.storage.write;
  const Bytes per_gpu = plan.checkpoint_size / static_cast<double>(plan.step.gpus);
  const Seconds copy = per_gpu / spec.device_to_host;
  Seconds stall = spec.stall.value_or(std::max(write, copy));  // the slower of the two streams
  Seconds durable = stall;
  if (spec.mode == CheckpointMode::async) {
    stall = spec.stall.value_or(copy);
    durable = spec.durable.value_or(stall + write);
    findings.require(
        durable >= stall, "checkpoint.durable", "a save cannot protect before its stall is over");
  } else {
    findings.require(!spec.durable || !spec.stall || *spec.durable == stall,
                     "checkpoint.durable",
                     "a synchronous save protects when its stall is over");
    stall = spec.stall ? stall : spec.durable.value_or(stall);
    durable = stall;
  }
  findings.require(in_range(stall) && in_range(durable),
                   "checkpoint.stall",
                   "a save must take between 0 s and 73 years");
  plan.stall = bounded_time(stall);
  plan.durable = bounded_time(durable);
  plan.final_save = spec.final_save;
}

namespace {

// Whole steps nearest to `interval`, at least `least`.
std::int64_t to_steps(Seconds interval, SimTime step_time, std::int64_t least) {
  const double steps =
      std::nearbyint(std::min(interval, to_seconds(kLongestTime)) / to_seconds(step_time));
  return std::max(least, static_cast<std::int64_t>(steps));
}

}  // namespace

void plan_interval(const CheckpointSpec& spec, RunPlan& plan, Findings& findings) {
  const SimTime step_time = plan.step.step_time;
  if (const auto* steps = std::get_if<StepsInterval>(&spec.interval)) {
    if (findings.require(steps->steps >= 1, "checkpoint.interval", "must be at least 1 step")) {
      plan.checkpoint_steps = steps->steps;
    }
  } else if (const auto* time = std::get_if<TimeInterval>(&spec.interval)) {
    if (findings.require(in_range(time->value) && time->value > Seconds{},
                         "checkpoint.interval",
                         "must be positive and below 73 years")) {
      plan.checkpoint_steps = to_steps(time->value, step_time, 1);
    }
  } else if (plan.mtbf) {
    std::int64_t least = 1;
    if (spec.mode == CheckpointMode::async) {
      least = std::max(least, (plan.durable.ns + step_time.ns - 1) / step_time.ns);
    }
    plan.checkpoint_steps =
        to_steps(optimal_interval({to_seconds(plan.stall), *plan.mtbf}), step_time, least);
  }
  const std::int64_t most = kLongestTime.ns / step_time.ns;
  if (plan.checkpoint_steps && *plan.checkpoint_steps > most) {
    plan.checkpoint_steps.reset();  // later than any run can last
  }
  if (plan.checkpoint_steps && spec.mode == CheckpointMode::async &&
      to_seconds(plan.durable) >
          static_cast<double>(*plan.checkpoint_steps) * to_seconds(step_time) +
              to_seconds(plan.stall)) {
    findings.warn("checkpoint.interval",
                  fmt::format("a save takes {:.3g} s until it is durable, longer than the interval "
                              "of {} steps: saves will wait for one another",
                              in_seconds(to_seconds(plan.durable)),
                              *plan.checkpoint_steps));
  }
}

}  // namespace orrery::run
