// Keys of `recovery`: how the job comes back.

#include "sim/scenario/table/idle.hpp"
#include "sim/scenario/table/key_makers.hpp"
#include "sim/scenario/table/key_table.hpp"

namespace orrery::scenario {

namespace {

using yaml::at_least;
namespace kind = yaml::kind;

const yaml::Range<Seconds> kRecoverySpan = yaml::at_most(days(365.0));

bool can_hang(const Draft& draft) {
  return any_cause(draft.run.failures,
                   [](const run::FailureCause& c) { return c.symptom == run::Symptom::hang; });
}

Key stage_time_key(KeyText text, Lens<Seconds> lens) {
  return value_key<kind::Time>(std::move(text), kRecoverySpan, std::move(lens));
}

void add_stages(std::vector<Key>& keys) {
  keys.push_back(section_key(
      {.path = "recovery",
       .note = "only loading the checkpoint takes time",
       .meaning = "How long the stages after a failure last, one after the other; each is a time "
                  "or a law.",
       .example = "{detect: 5min, diagnose: {median: 30min, sigma: 1.5}, reschedule: 2min}",
       .idle = {kNoRun, kNothingFails}}));
  keys.push_back(preset_key(
      {.path = "recovery.preset",
       .note = "none",
       .meaning = "Published recovery times; `orrery list` shows their sources. Stages "
                  "beside it replace its own.",
       .example = "megascale-2024"},
      PresetKind::recovery, preset_at(&Preset::recovery, ORRERY_AT(run.recovery.preset))));
  add_recovery_keys(keys, "recovery", {}, ORRERY_AT(run.recovery.stages));
}

void add_communicators(std::vector<Key>& keys) {
  keys.push_back(section_key(
      {.path = "recovery.communicators",
       .note = "recovery.communicator_init, whatever the size of the job",
       .meaning = "communicator_init by number of GPUs, straight between the points "
                  "on logarithmic scales.",
       .example = "{preset: nccl-2026}",
       .idle = {ORRERY_WHEN(
           in_run(d) && d.run.recovery.stages[run::index_of(run::RecoveryStage::communicator_init)]
                            .has_value(),
           "recovery.communicator_init gives its time at any size")}}));
  keys.push_back(preset_key(
      {.path = "recovery.communicators.preset",
       .note = "none",
       .meaning = "Published times; `orrery list` shows their sources.",
       .example = "nccl-2026",
       .idle = {ORRERY_WHEN(
           in_run(d) &&
               !d.run.recovery.stages[run::index_of(run::RecoveryStage::communicator_init)]
                    .has_value() &&
               !d.run.recovery.communicator_points.empty(),
           "points are stated")}},
      PresetKind::communicators,
      preset_at(&Preset::communicators, ORRERY_AT(run.recovery.communicators))));
  keys.push_back(list_key({.path = "recovery.communicators.points",
                           .note = "the preset's",
                           .meaning = "Own measurements, the GPUs rising.",
                           .example = "[{gpus: 1024, time: 8s}, {gpus: 8192, time: 40s}]"},
                          ORRERY_AT(run.recovery.communicator_points)));
  keys.push_back(count_key({.path = "recovery.communicators.points[].gpus",
                            .meaning = "GPUs of the job.",
                            .example = "1024",
                            .required = true},
                           at_least<std::int64_t>(1),
                           ORRERY_AT(run.recovery.communicator_points.back().gpus)));
  keys.push_back(value_key<kind::Time>({.path = "recovery.communicators.points[].time",
                                        .meaning = "communicator_init there.",
                                        .example = "8s",
                                        .required = true},
                                       {Seconds{}, days(365.0), true},
                                       ORRERY_AT(run.recovery.communicator_points.back().time)));
}

void add_detection(std::vector<Key>& keys) {
  keys.push_back(stage_time_key(
      {.path = "recovery.watchdog",
       .note = "recovery.detect",
       .meaning = "Time without progress after which a hang counts as a "
                  "failure; 10 min by default in NCCL's watchdog.",
       .example = "10min",
       .idle = {ORRERY_WHEN(in_run(d) && !can_hang(d), "no cause of failures hangs the job")}},
      ORRERY_AT(run.recovery.watchdog)));
  keys.push_back(stage_time_key(
      {.path = "recovery.inspection",
       .note = "recovery.detect",
       .meaning = "Period of checks that find a hang or a crash by themselves: "
                  "detection is uniform below it. For hangs it counts when it "
                  "is not longer than the watchdog.",
       .example = "30s",
       .idle = {ORRERY_WHEN(
           in_run(d) && !can_hang(d) &&
               d.run.recovery.stages[run::index_of(run::RecoveryStage::detect)].has_value(),
           "recovery.detect gives the time for every crash")}},
      ORRERY_AT(run.recovery.inspection)));
  keys.push_back(
      section_at({.path = "recovery.slow_steps",
                  .note = "recovery.warm_up",
                  .meaning = "Slower steps after a restart, in place of recovery.warm_up.",
                  .example = "{steps: 3, factor: 6}"},
                 ORRERY_AT(run.recovery.slow_steps)));
  keys.push_back(count_key({.path = "recovery.slow_steps.steps",
                            .fallback = "1",
                            .meaning = "How many.",
                            .example = "3"},
                           {1, 1'000'000}, ORRERY_AT(run.recovery.slow_steps->steps)));
  keys.push_back(value_key<kind::Number>(
      {.path = "recovery.slow_steps.factor",
       .meaning = "How many times as long as other steps; up to 6 has been published for the "
                  "first one.",
       .example = "6",
       .required = true},
      yaml::between(1.0, kKilo), ORRERY_AT(run.recovery.slow_steps->factor)));
}

void add_failed_restarts(std::vector<Key>& keys) {
  keys.push_back(value_key<kind::Number>(
      {.path = "recovery.restart_fails",
       .fallback = "0",
       .meaning = "Probability that a restart fails when its communicators are built; it is "
                  "rescheduled then.",
       .example = "0.1"},
      yaml::between(0.0, 0.99), ORRERY_AT(run.recovery.restart_fails)));
  keys.push_back(stage_time_key(
      {.path = "recovery.failed_restart",
       .fallback = "0s",
       .meaning = "Time until a failed restart is given up.",
       .example = "10min",
       .idle = {ORRERY_WHEN(in_run(d) && d.run.recovery.restart_fails == 0.0, "no restart fails")}},
      ORRERY_AT(run.recovery.failed_restart)));
  keys.push_back(
      count_key({.path = "recovery.max_restarts",
                 .note = "no limit",
                 .meaning = "Restarts after which the run is given up; one that only takes in "
                            "nodes that are back does not count.",
                 .example = "100"},
                at_least<std::int64_t>(0), ORRERY_AT(run.recovery.max_restarts)));
}

}  // namespace

std::vector<Key> recovery_keys() {
  std::vector<Key> keys;
  add_stages(keys);
  add_communicators(keys);
  add_detection(keys);
  add_failed_restarts(keys);
  return keys;
}

}  // namespace orrery::scenario
