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

void add_stages(Rows& keys) {
  keys.section(
      "recovery",
      "How long the stages after a failure last, one after the other; each is a time or a law.",
      "{detect: 5min, diagnose: {median: 30min, sigma: 1.5}, reschedule: 2min}",
      {.note = "only loading the checkpoint takes time", .idle = {kNoRun, kNothingFails}});
  keys.preset("recovery.preset",
              "Published recovery times; `orrery list` shows their sources. Stages beside it "
              "replace its own.",
              "megascale-2024", PresetKind::recovery,
              preset_at(&Preset::recovery, ORRERY_AT(run.recovery.preset)), {.note = "none"});
  keys.recovery("recovery", {}, ORRERY_AT(run.recovery.stages));
}

void add_communicators(Rows& keys) {
  keys.section(
      "recovery.communicators",
      "communicator_init by number of GPUs, straight between the points on logarithmic scales.",
      "{preset: nccl-2026}",
      {.note = "recovery.communicator_init, whatever the size of the job",
       .idle = {ORRERY_WHEN(
           in_run(d) && d.run.recovery.stages[run::index_of(run::RecoveryStage::communicator_init)]
                            .has_value(),
           "recovery.communicator_init gives its time at any size")}});
  keys.preset("recovery.communicators.preset",
              "Published times; `orrery list` shows their sources.", "nccl-2026",
              PresetKind::communicators,
              preset_at(&Preset::communicators, ORRERY_AT(run.recovery.communicators)),
              {.note = "none",
               .idle = {ORRERY_WHEN(
                   in_run(d) &&
                       !d.run.recovery.stages[run::index_of(run::RecoveryStage::communicator_init)]
                            .has_value() &&
                       !d.run.recovery.communicator_points.empty(),
                   "points are stated")}});
  keys.list("recovery.communicators.points", "Own measurements, the GPUs rising.",
            "[{gpus: 1024, time: 8s}, {gpus: 8192, time: 40s}]",
            ORRERY_AT(run.recovery.communicator_points), {.note = "the preset's"});
  keys.count("recovery.communicators.points[].gpus", "GPUs of the job.", "1024",
             at_least<std::int64_t>(1), ORRERY_AT(run.recovery.communicator_points.back().gpus),
             {.required = true});
  keys.value<kind::Time>("recovery.communicators.points[].time", "communicator_init there.", "8s",
                         {Seconds{}, days(365.0), true},
                         ORRERY_AT(run.recovery.communicator_points.back().time),
                         {.required = true});
}

void add_detection(Rows& keys) {
  keys.value<kind::Time>(
      "recovery.watchdog",
      "Time without progress after which a hang counts as a failure; 10 min by default in NCCL's "
      "watchdog.",
      "10min", kRecoverySpan, ORRERY_AT(run.recovery.watchdog),
      {.note = "recovery.detect",
       .idle = {ORRERY_WHEN(in_run(d) && !can_hang(d), "no cause of failures hangs the job")}});
  keys.value<kind::Time>(
      "recovery.inspection",
      "Period of checks that find a hang or a crash by themselves: detection is uniform below it. "
      "For hangs it counts when it is not longer than the watchdog.",
      "30s", kRecoverySpan, ORRERY_AT(run.recovery.inspection),
      {.note = "recovery.detect",
       .idle = {ORRERY_WHEN(
           in_run(d) && !can_hang(d) &&
               d.run.recovery.stages[run::index_of(run::RecoveryStage::detect)].has_value(),
           "recovery.detect gives the time for every crash")}});
  keys.part("recovery.slow_steps", "Slower steps after a restart, in place of recovery.warm_up.",
            "{steps: 3, factor: 6}", ORRERY_AT(run.recovery.slow_steps),
            {.note = "recovery.warm_up"});
  keys.count("recovery.slow_steps.steps", "How many.", "3", {1, 1'000'000},
             ORRERY_AT(run.recovery.slow_steps->steps), {.fallback = "1"});
  keys.value<kind::Number>(
      "recovery.slow_steps.factor",
      "How many times as long as other steps; up to 6 has been published for the first one.", "6",
      yaml::between(1.0, kKilo), ORRERY_AT(run.recovery.slow_steps->factor), {.required = true});
}

void add_failed_restarts(Rows& keys) {
  keys.value<kind::Number>(
      "recovery.restart_fails",
      "Probability that a restart fails when its communicators are built; it is rescheduled then.",
      "0.1", yaml::between(0.0, 0.99), ORRERY_AT(run.recovery.restart_fails), {.fallback = "0"});
  keys.value<kind::Time>("recovery.failed_restart", "Time until a failed restart is given up.",
                         "10min", kRecoverySpan, ORRERY_AT(run.recovery.failed_restart),
                         {.fallback = "0s",
                          .idle = {ORRERY_WHEN(in_run(d) && d.run.recovery.restart_fails == 0.0,
                                               "no restart fails")}});
  keys.count("recovery.max_restarts",
             "Restarts after which the run is given up; one that only takes in nodes that are back "
             "does not count.",
             "100", at_least<std::int64_t>(0), ORRERY_AT(run.recovery.max_restarts),
             {.note = "no limit"});
}

}  // namespace

void recovery_keys(Rows& keys) {
  add_stages(keys);
  add_communicators(keys);
  add_detection(keys);
  add_failed_restarts(keys);
}

}  // namespace orrery::scenario
