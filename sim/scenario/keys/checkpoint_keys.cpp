// Keys of `checkpoint`: when the state is saved, what a save costs, and where its copies lie.

#include "sim/scenario/table/idle.hpp"
#include "sim/scenario/table/key.hpp"
#include "sim/scenario/table/key_makers.hpp"
#include "sim/scenario/table/key_table.hpp"

namespace orrery::scenario {

namespace {

using run::CheckpointInterval;
using run::CheckpointMode;
using run::CheckpointSpec;
using run::LoadReaders;
using run::TierMedium;
using yaml::above;
using yaml::at_least;
using yaml::between;
namespace kind = yaml::kind;

bool is_async(const Draft& draft) { return draft.run.checkpoint.mode != CheckpointMode::sync; }

// The times of saves and loads that are given make the sizes and rates behind them idle.
bool save_is_given(const Draft& draft) {
  const CheckpointSpec& checkpoint = draft.run.checkpoint;
  return checkpoint.durable || (!is_async(draft) && checkpoint.stall);
}

bool load_is_given(const Draft& draft) {
  const run::RecoverySpec& recovery = draft.run.recovery;
  const std::size_t load = run::index_of(run::RecoveryStage::load);
  return recovery.stages[load] || (recovery.preset && recovery.preset->stages[load]);
}

bool all_times_are_given(const Draft& draft) {
  const CheckpointSpec& checkpoint = draft.run.checkpoint;
  return save_is_given(draft) && (never_fails(draft) || load_is_given(draft)) &&
         (!is_async(draft) || checkpoint.stall) && checkpoint.tiers.empty();
}

bool strikes_many_jobs(const Draft& draft) {
  return any_cause(draft.run.failures, [](const run::FailureCause& c) {
    return c.scope == run::FailureScope::power_domain || c.scope == run::FailureScope::storage;
  });
}

constexpr Idle kSaveIsGiven = ORRERY_WHEN(
    in_run(d) && save_is_given(d) && !d.run.checkpoint.just_in_time, "the time of a save is given");
constexpr Idle kNothingLoaded = ORRERY_WHEN(never_fails(d), "nothing fails, so nothing is loaded");
constexpr Idle kLoadIsGiven =
    ORRERY_WHEN(in_run(d) && !never_fails(d) && load_is_given(d), "the time of a load is given");
constexpr Idle kSizeDoesNotMatter =
    ORRERY_WHEN(in_run(d) && all_times_are_given(d), "the times of saves and loads are given");

// Simulated time holds 73 years between two events (run/run_plan.hpp).
const yaml::Range<double> kShare = {0.0, 1.0, true};

void read_interval(const yaml::Value& value, const std::string& path, CheckpointInterval& interval,
                   Diagnostics& diagnostics) {
  if (yaml::is_word(value, "auto")) {
    interval = run::AutoInterval{};
    return;
  }
  const auto read = yaml::read_value<kind::StepsOrDuration>(value, path, diagnostics);
  if (!read) {
    return;
  }
  if (const yaml::Steps* steps = std::get_if<yaml::Steps>(&*read)) {
    interval = run::StepsInterval{steps->count};
    return;
  }
  const Seconds time = std::get<Seconds>(*read);
  if (time <= Seconds{} || time > *kSpan.max) {
    yaml::report(diagnostics, value.where, path, yaml::display(value.text) + " is no interval",
                 "auto, a number of steps, or a time above 0 up to 25,000 d");
    return;
  }
  interval = run::TimeInterval{time};
}

Key interval_key(KeyText text, const std::function<CheckpointInterval&(Draft&)>& field) {
  Key key = key_of(std::move(text));
  key.print = [field](Draft& draft) -> std::optional<std::string> {
    const CheckpointInterval& interval = field(draft);
    if (const auto* steps = std::get_if<run::StepsInterval>(&interval)) {
      return kind::StepsOrDuration::format(yaml::Steps{steps->steps});
    }
    const auto* time = std::get_if<run::TimeInterval>(&interval);
    return time != nullptr ? kind::Time::format(time->value) : "auto";
  };
  key.forms = {words_form({"auto"}), form_of<kind::StepsOrDuration>({})};
  key.read = [field](const yaml::Value& value, const std::string& path, Reading& reading) {
    read_interval(value, path, field(reading.draft), reading.diagnostics);
  };
  return key;
}

Key mode_key(KeyText text, bool snapshot, Lens<CheckpointMode> lens) {
  std::vector<yaml::Choice<CheckpointMode>> modes = {{"sync", CheckpointMode::sync},
                                                     {"async", CheckpointMode::async}};
  if (snapshot) {
    modes.push_back({"snapshot", CheckpointMode::snapshot});
  }
  return choice_key<CheckpointMode>(std::move(text), std::move(modes), std::move(lens));
}

Key rate(KeyText text, Lens<BytesPerSecond> lens) {
  return value_key<kind::Bandwidth>(std::move(text), above(BytesPerSecond{}), std::move(lens));
}

Key time_key(KeyText text, Lens<Seconds> lens) {
  return value_key<kind::Time>(std::move(text), kSpan, std::move(lens));
}

Key keep_key(KeyText text) {
  Key key = key_of(std::move(text));
  const auto range = at_least<std::int64_t>(1);
  key.forms = {words_form({"all"}), form_of<kind::Count>(range)};
  key.print = [](Draft& draft) -> std::optional<std::string> {
    const CheckpointSpec& checkpoint = draft.run.checkpoint;
    return checkpoint.keep_all ? std::optional<std::string>("all")
           : checkpoint.keep   ? std::optional(kind::Count::format(*checkpoint.keep))
                               : std::nullopt;
  };
  key.read = [range](const yaml::Value& value, const std::string& path, Reading& reading) {
    CheckpointSpec& checkpoint = reading.draft.run.checkpoint;
    checkpoint.keep_all = yaml::is_word(value, "all");
    if (!checkpoint.keep_all) {
      checkpoint.keep = yaml::read_value<kind::Count>(value, path, reading.diagnostics, range);
    }
  };
  return key;
}

void add_when(std::vector<Key>& keys) {
  keys.push_back(section_key({.path = "checkpoint",
                              .note = "as its keys",
                              .meaning = "When the state is saved and what a save costs.",
                              .example = "{interval: 30min, mode: async}",
                              .idle = {kNoRun}}));
  keys.push_back(interval_key(
      {.path = "checkpoint.interval",
       .fallback = "auto",
       .meaning =
           "Training time between two saves to the storage. auto: the exact optimum for the "
           "stall and the failure rate, a whole number of steps, at least least_interval; with "
           "mode async at least the time until a save is durable; with tiers the best of "
           "all tiers together.",
       .example = "30min",
       .idle = {ORRERY_WHEN(
           in_run(d) && !can_fail(d.run) &&
               std::holds_alternative<run::AutoInterval>(d.run.checkpoint.interval),
           "auto follows the failures, and nothing fails")}},
      ORRERY_AT(run.checkpoint.interval)));
  keys.push_back(time_key(
      {.path = "checkpoint.least_interval",
       .note = "5min",
       .meaning =
           "Least training time between two saves to the storage that `interval: auto` chooses; "
           "the optimum of losses alone is often shorter than anybody saves.",
       .example = "10min",
       .idle = {ORRERY_WHEN(in_run(d) && !std::holds_alternative<run::AutoInterval>(
                                             d.run.checkpoint.interval),
                            "checkpoint.interval is stated"),
                ORRERY_WHEN(in_run(d) && d.run.checkpoint.overhead_budget.has_value(),
                            "checkpoint.overhead_budget decides")}},
      ORRERY_AT(run.checkpoint.least_interval)));
  keys.push_back(value_key<kind::Fraction>(
      {.path = "checkpoint.overhead_budget",
       .note = "the optimum of losses and stalls",
       .meaning =
           "Share of the time that stalls may take: `interval: auto` is then the fewest steps "
           "that keep it, and in which a save becomes durable (CheckFreq's rule, 3.5 %).",
       .example = "3.5%",
       .idle = {ORRERY_WHEN(
           in_run(d) && !std::holds_alternative<run::AutoInterval>(d.run.checkpoint.interval),
           "checkpoint.interval is stated")}},
      yaml::between(1e-6, 1.0), ORRERY_AT(run.checkpoint.overhead_budget)));
}

void add_what(std::vector<Key>& keys) {
  keys.push_back(mode_key(
      {.path = "checkpoint.mode",
       .fallback = "sync",
       .meaning =
           "sync: training waits for the storage; async: only for the copy to host memory; "
           "snapshot: only for what that copy lasts beyond forward and backward (CheckFreq).",
       .example = "async"},
      true, ORRERY_AT(run.checkpoint.mode)));
  keys.push_back(value_key<kind::Size>(
      {.path = "checkpoint.bytes_per_parameter",
       .note = "2B of weights and the state of precision.optimizer: 14B with adam",
       .meaning = "Size of a checkpoint per parameter.",
       .example = "14B",
       .idle = {kSizeDoesNotMatter}},
      yaml::at_most(bytes(100.0)), ORRERY_AT(run.checkpoint.bytes_per_parameter)));
  keys.push_back(value_key<kind::Size>(
      {.path = "checkpoint.data_state",
       .fallback = "0B",
       .meaning = "State of the data loader that every data-parallel rank saves beside it.",
       .example = "2GB",
       .idle = {kSizeDoesNotMatter}},
      {}, ORRERY_AT(run.checkpoint.data_state)));
  keys.push_back(flag_key(
      {.path = "checkpoint.sharded",
       .fallback = "true",
       .meaning = "Every GPU writes its share; false: only one of each data-parallel group.",
       .example = "false",
       .idle = {kSizeDoesNotMatter}},
      ORRERY_AT(run.checkpoint.sharded)));
}

void add_limits(std::vector<Key>& keys) {
  keys.push_back(rate({.path = "checkpoint.storage.write_per_node",
                       .note = "no limit",
                       .meaning = "Rate at which one node can write.",
                       .example = "5GB/s",
                       .idle = {kSaveIsGiven}},
                      ORRERY_AT(run.checkpoint.storage.write_per_node)));
  keys.push_back(rate({.path = "checkpoint.storage.read_per_node",
                       .note = "no limit",
                       .meaning = "Rate at which one node can read.",
                       .example = "10GB/s",
                       .idle = {kNothingLoaded, kLoadIsGiven}},
                      ORRERY_AT(run.checkpoint.storage.read_per_node)));
  keys.push_back(rate({.path = "checkpoint.storage.write_per_client",
                       .note = "no limit",
                       .meaning = "Rate at which one process can write.",
                       .example = "200MB/s",
                       .idle = {kSaveIsGiven}},
                      ORRERY_AT(run.checkpoint.storage.write_per_client)));
  keys.push_back(rate({.path = "checkpoint.storage.read_per_client",
                       .note = "no limit",
                       .meaning = "Rate at which one process can read.",
                       .example = "400MB/s",
                       .idle = {kNothingLoaded, kLoadIsGiven}},
                      ORRERY_AT(run.checkpoint.storage.read_per_client)));
  keys.push_back(value_key<kind::Number>(
      {.path = "checkpoint.storage.efficiency",
       .fallback = "1",
       .meaning = "Share of these rates that a checkpoint reaches; 0.16 to 0.25 of the nominal "
                  "rates has been seen.",
       .example = "0.25"},
      kShare, ORRERY_AT(run.checkpoint.storage.efficiency)));
  keys.push_back(
      value_key<kind::Bandwidth>({.path = "checkpoint.storage.background",
                                  .fallback = "0",
                                  .meaning = "Rate that other jobs take from write and from read.",
                                  .example = "50GB/s"},
                                 {}, ORRERY_AT(run.checkpoint.storage.background)));
  keys.push_back(flag_key(
      {.path = "checkpoint.storage.on_training_network",
       .fallback = "false",
       .meaning = "Saves of mode async leave the nodes over the NICs of training, and slow steps "
                  "meanwhile.",
       .example = "true",
       .idle = {ORRERY_WHEN(in_run(d) && !is_async(d),
                            "training stands while a synchronous save is written")}},
      ORRERY_AT(run.checkpoint.storage.on_training_network)));
  keys.push_back(value_key<kind::Number>(
      {.path = "checkpoint.storage.mass_restart_share",
       .fallback = "1",
       .meaning = "Share of read that is left for this job when a failure of a power domain or of "
                  "the storage restarts many jobs at once.",
       .example = "0.25",
       .idle = {ORRERY_WHEN(in_run(d) && !strikes_many_jobs(d),
                            "no failure of a power domain or of the storage restarts many jobs")}},
      kShare, ORRERY_AT(run.checkpoint.storage.mass_restart_share)));
}

void add_storage(std::vector<Key>& keys) {
  keys.push_back(section_key({.path = "checkpoint.storage",
                              .note = "as its keys",
                              .meaning = "Rates of the storage: the narrowest of the whole, of the "
                                         "nodes and of the processes counts.",
                              .example = "{write: 100GB/s, read: 200GB/s}"}));
  keys.push_back(preset_key(
      {.path = "checkpoint.storage.preset",
       .note = "as its keys",
       .meaning = "Published rates of one storage; `orrery list` shows their sources. Keys beside "
                  "it replace its own.",
       .example = "bloom-gpfs-2022"},
      PresetKind::storage,
      {[](Draft& draft, const PresetPtr& preset) {
         draft.run.checkpoint.storage = preset->storage;
       },
       {}}));
  keys.push_back(rate({.path = "checkpoint.storage.write",
                       .fallback = "2TB/s",
                       .meaning = "Rate of writing, the whole storage.",
                       .example = "100GB/s",
                       .idle = {kSaveIsGiven}},
                      ORRERY_AT(run.checkpoint.storage.write)));
  keys.push_back(rate({.path = "checkpoint.storage.read",
                       .fallback = "2TB/s",
                       .meaning = "Rate of reading, the whole storage, for recovery.load.",
                       .example = "200GB/s",
                       .idle = {kNothingLoaded, kLoadIsGiven}},
                      ORRERY_AT(run.checkpoint.storage.read)));
  add_limits(keys);
  keys.push_back(
      rate({.path = "checkpoint.device_to_host",
            .note = "host_bandwidth of the GPU profile",
            .meaning = "Rate at which one GPU copies its share to host memory.",
            .example = "40GB/s",
            .idle = {ORRERY_WHEN(in_run(d) && !is_async(d) && d.run.checkpoint.tiers.empty(),
                                 "a synchronous save goes straight to the storage"),
                     ORRERY_WHEN(in_run(d) && is_async(d) && d.run.checkpoint.stall &&
                                     d.run.checkpoint.tiers.empty(),
                                 "the stall is given")}},
           ORRERY_AT(run.checkpoint.device_to_host)));
  keys.push_back(value_key<kind::Bandwidth>(
      {.path = "checkpoint.data_reads",
       .fallback = "0",
       .meaning = "Rate that the input pipeline reads from the same storage while a save of mode "
                  "async is written.",
       .example = "20GB/s",
       .idle = {ORRERY_WHEN(in_run(d) && !is_async(d),
                            "a synchronous save stops the input pipeline too"),
                ORRERY_WHEN(in_run(d) && is_async(d) && save_is_given(d),
                            "the time of a save is given")}},
      {}, ORRERY_AT(run.checkpoint.data_reads)));
}

void add_saves(std::vector<Key>& keys) {
  keys.push_back(time_key({.path = "checkpoint.stall",
                           .note = "computed from size and rates; async: at least 1s",
                           .meaning = "Training blocked by one save.",
                           .example = "40s"},
                          ORRERY_AT(run.checkpoint.stall)));
  keys.push_back(time_key({.path = "checkpoint.durable",
                           .note = "computed from size and rates",
                           .meaning = "From the begin of a save until it protects; not below the "
                                      "stall.",
                           .example = "3min"},
                          ORRERY_AT(run.checkpoint.durable)));
  keys.push_back(flag_key({.path = "checkpoint.final_save",
                           .fallback = "true",
                           .meaning = "Save once more when the target is reached, and wait for it.",
                           .example = "false",
                           .idle = {ORRERY_WHEN(in_run(d) && d.run.training.duration,
                                                "training.duration has no target to reach")}},
                          ORRERY_AT(run.checkpoint.final_save)));
  keys.push_back(keep_key({.path = "checkpoint.keep",
                           .note = "10, and one a day for good",
                           .meaning = "Newest checkpoints that the storage keeps; all: nothing is "
                                      "deleted.",
                           .example = "3",
                           .idle = {kNothingFails}}));
  keys.push_back(count_key(
      {.path = "checkpoint.keep_every",
       .note = "none",
       .meaning = "Every n-th checkpoint is kept beside those, for good.",
       .example = "20",
       .idle = {kNothingFails,
                ORRERY_WHEN(in_run(d) && d.run.checkpoint.keep_all, "every checkpoint is kept")}},
      at_least<std::int64_t>(1), ORRERY_AT(run.checkpoint.keep_every)));
  keys.push_back(value_key<kind::Number>(
      {.path = "checkpoint.corrupt",
       .fallback = "0",
       .meaning = "Share of checkpoints on the storage that turn out to be unreadable when they "
                  "are loaded; then the one before is loaded.",
       .example = "0.01",
       .idle = {kNothingFails}},
      between(0.0, 0.99), ORRERY_AT(run.checkpoint.corrupt)));
  keys.push_back(choice_key<LoadReaders>(
      {.path = "checkpoint.readers",
       .fallback = "one",
       .meaning = "one: each part is read once and broadcast to the other data-parallel replicas; "
                  "all: every replica reads from the storage.",
       .example = "all",
       .idle = {kNothingLoaded, kLoadIsGiven}},
      {{"one", LoadReaders::one}, {"all", LoadReaders::all}}, ORRERY_AT(run.checkpoint.readers)));
  keys.push_back(rate({.path = "checkpoint.reshard",
                       .note = "no time",
                       .meaning = "Rate of converting a checkpoint when the job continues on "
                                  "another number of nodes. 2.46 TB in 47 min is 0.87GB/s.",
                       .example = "1GB/s"},
                      ORRERY_AT(run.checkpoint.reshard)));
}

void add_just_in_time(std::vector<Key>& keys) {
  keys.push_back(flag_key(
      {.path = "checkpoint.just_in_time",
       .fallback = "false",
       .meaning = "Data-parallel replicas that survive a failure save their state then: only the "
                  "step in progress is lost. A crash of the whole job leaves none.",
       .example = "true",
       .idle = {kNothingFails}},
      ORRERY_AT(run.checkpoint.just_in_time)));
  keys.push_back(time_key({.path = "checkpoint.just_in_time_save",
                           .note = "as a save of mode sync",
                           .meaning = "Time of that save.",
                           .example = "15s",
                           .idle = {ORRERY_WHEN(in_run(d) && !d.run.checkpoint.just_in_time,
                                                "checkpoint.just_in_time is off")}},
                          ORRERY_AT(run.checkpoint.just_in_time_save)));
}

void add_tier_times(std::vector<Key>& keys) {
  keys.push_back(rate({.path = "checkpoint.tiers[].write",
                       .note = "memory: device_to_host of its GPUs; disk: required",
                       .meaning = "Rate at which one node writes to it.",
                       .example = "6GB/s"},
                      ORRERY_AT(run.checkpoint.tiers.back().write)));
  keys.push_back(rate({.path = "checkpoint.tiers[].read",
                       .note = "memory: device_to_host of its GPUs; disk: required",
                       .meaning = "Rate at which one node reads from it.",
                       .example = "12GB/s"},
                      ORRERY_AT(run.checkpoint.tiers.back().read)));
  keys.push_back(time_key({.path = "checkpoint.tiers[].stall",
                           .note = "computed from size and rates",
                           .meaning = "Training blocked by one save to it.",
                           .example = "500ms"},
                          ORRERY_AT(run.checkpoint.tiers.back().stall)));
  keys.push_back(time_key({.path = "checkpoint.tiers[].durable",
                           .note = "computed from size and rates",
                           .meaning = "From the begin of a save until its copies protect.",
                           .example = "5s"},
                          ORRERY_AT(run.checkpoint.tiers.back().durable)));
  keys.push_back(time_key({.path = "checkpoint.tiers[].load",
                           .note = "computed from size and rates",
                           .meaning = "Reading the state back from it.",
                           .example = "5s"},
                          ORRERY_AT(run.checkpoint.tiers.back().load)));
}

void add_copy_tiers(std::vector<Key>& keys) {
  keys.push_back(list_key({.path = "checkpoint.tiers",
                           .note = "none",
                           .meaning = "Faster places for copies in front of the storage, fastest "
                                      "first. A save to one of them goes to the faster ones too.",
                           .example = "[{medium: memory, replicas: 2, interval: 10 steps}]"},
                          ORRERY_AT(run.checkpoint.tiers)));
  keys.push_back(text_key({.path = "checkpoint.tiers[].name",
                           .note = "its medium",
                           .meaning = "What reports call it.",
                           .example = "NVMe"},
                          ORRERY_AT(run.checkpoint.tiers.back().name)));
  keys.push_back(choice_key<TierMedium>(
      {.path = "checkpoint.tiers[].medium",
       .meaning = "memory: host memory, which survives the processes of the job; disk: local "
                  "disks, which survive a reboot of their node too. Both leave with their node.",
       .example = "memory",
       .required = true},
      {{"memory", TierMedium::memory}, {"disk", TierMedium::disk}},
      ORRERY_AT(run.checkpoint.tiers.back().medium)));
  keys.push_back(interval_key(
      {.path = "checkpoint.tiers[].interval",
       .fallback = "auto",
       .meaning = "Training time between two saves to it, rounded to a multiple of that of the "
                  "tier before it. auto: the best of all tiers together.",
       .example = "10 steps"},
      ORRERY_AT(run.checkpoint.tiers.back().interval)));
  keys.push_back(
      mode_key({.path = "checkpoint.tiers[].mode",
                .fallback = "async",
                .meaning = "sync: training waits until its copies protect; async: only for the "
                           "copy to host memory.",
                .example = "sync"},
               false, ORRERY_AT(run.checkpoint.tiers.back().mode)));
  keys.push_back(count_key(
      {.path = "checkpoint.tiers[].replicas",
       .fallback = "1",
       .meaning = "Nodes that hold the same copy: groups of so many nodes keep each other's state "
                  "(GEMINI), and only the loss of a whole group loses it.",
       .example = "2"},
      {1, 1'000'000}, ORRERY_AT(run.checkpoint.tiers.back().replicas)));
  add_tier_times(keys);
}

}  // namespace

std::vector<Key> checkpoint_keys() {
  std::vector<Key> keys;
  add_when(keys);
  add_what(keys);
  add_storage(keys);
  add_saves(keys);
  add_just_in_time(keys);
  add_copy_tiers(keys);
  return keys;
}

}  // namespace orrery::scenario
