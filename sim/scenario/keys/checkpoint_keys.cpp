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
constexpr Idle kNothingLoaded = ORRERY_WHEN(never_fails(d) && d.run.training.phases.empty(),
                                            "nothing fails, so nothing is loaded");
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

void interval_key(Rows& keys, std::string_view path, std::string_view meaning,
                  std::string_view example, const std::function<CheckpointInterval&(Draft&)>& field,
                  KeyNotes notes) {
  Key& key = keys.add(path, meaning, example, std::move(notes));
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
}

std::vector<yaml::Choice<CheckpointMode>> modes(bool snapshot) {
  std::vector<yaml::Choice<CheckpointMode>> modes = {{"sync", CheckpointMode::sync},
                                                     {"async", CheckpointMode::async}};
  if (snapshot) {
    modes.push_back({"snapshot", CheckpointMode::snapshot});
  }
  return modes;
}

void add_keep(Rows& keys) {
  Key& key = keys.add("checkpoint.keep",
                      "Newest checkpoints that the storage keeps; all: nothing is deleted.", "3",
                      {.note = "10, and one a day for good", .idle = {kNothingFails}});
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
}

void add_when(Rows& keys) {
  keys.section("checkpoint", "When the state is saved and what a save costs.",
               "{interval: 30min, mode: async}", {.note = "as its keys", .idle = {kNoRun}});
  interval_key(
      keys, "checkpoint.interval",
      "Training time between two saves to the storage. auto: the exact optimum for the stall and "
      "the failure rate, a whole number of steps, at least least_interval; with mode async at "
      "least the time until a save is durable; with tiers the best of all tiers together.",
      "30min", ORRERY_AT(run.checkpoint.interval),
      {.fallback = "auto",
       .idle = {
           ORRERY_WHEN(in_run(d) && !can_fail(d.run) &&
                           std::holds_alternative<run::AutoInterval>(d.run.checkpoint.interval),
                       "auto follows the failures, and nothing fails")}});
  keys.value<kind::Time>(
      "checkpoint.least_interval",
      "Least training time between two saves to the storage that `interval: auto` chooses; the "
      "optimum of losses alone is often shorter than anybody saves.",
      "10min", kSpan, ORRERY_AT(run.checkpoint.least_interval),
      {.note = "5min",
       .idle = {ORRERY_WHEN(in_run(d) && !std::holds_alternative<run::AutoInterval>(
                                             d.run.checkpoint.interval),
                            "checkpoint.interval is stated"),
                ORRERY_WHEN(in_run(d) && d.run.checkpoint.overhead_budget.has_value(),
                            "checkpoint.overhead_budget decides")}});
  keys.value<kind::Fraction>(
      "checkpoint.overhead_budget",
      "Share of the time that stalls may take: `interval: auto` is then the fewest steps that keep "
      "it, and in which a save becomes durable (CheckFreq's rule, 3.5 %).",
      "3.5%", yaml::between(1e-6, 1.0), ORRERY_AT(run.checkpoint.overhead_budget),
      {.note = "the optimum of losses and stalls",
       .idle = {ORRERY_WHEN(
           in_run(d) && !std::holds_alternative<run::AutoInterval>(d.run.checkpoint.interval),
           "checkpoint.interval is stated")}});
}

void add_what(Rows& keys) {
  keys.choice<CheckpointMode>(
      "checkpoint.mode",
      "sync: training waits for the storage; async: only for the copy to host memory; snapshot: "
      "only for what that copy lasts beyond forward and backward (CheckFreq).",
      "async", modes(true), ORRERY_AT(run.checkpoint.mode), {.fallback = "sync"});
  keys.value<kind::Size>(
      "checkpoint.bytes_per_parameter", "Size of a checkpoint per parameter.", "14B",
      yaml::at_most(bytes(100.0)), ORRERY_AT(run.checkpoint.bytes_per_parameter),
      {.note = "2B of weights and the state of precision.optimizer: 14B with adam",
       .idle = {kSizeDoesNotMatter}});
  keys.value<kind::Size>("checkpoint.data_state",
                         "State of the data loader that every data-parallel rank saves beside it.",
                         "2GB", {}, ORRERY_AT(run.checkpoint.data_state),
                         {.fallback = "0B", .idle = {kSizeDoesNotMatter}});
  keys.flag("checkpoint.sharded",
            "Every GPU writes its share; false: only one of each data-parallel group.", "false",
            ORRERY_AT(run.checkpoint.sharded), {.fallback = "true", .idle = {kSizeDoesNotMatter}});
}

void add_limits(Rows& keys) {
  keys.value<kind::Bandwidth>("checkpoint.storage.write_per_node",
                              "Rate at which one node can write.", "5GB/s", above(BytesPerSecond{}),
                              ORRERY_AT(run.checkpoint.storage.write_per_node),
                              {.note = "no limit", .idle = {kSaveIsGiven}});
  keys.value<kind::Bandwidth>("checkpoint.storage.read_per_node",
                              "Rate at which one node can read.", "10GB/s", above(BytesPerSecond{}),
                              ORRERY_AT(run.checkpoint.storage.read_per_node),
                              {.note = "no limit", .idle = {kNothingLoaded, kLoadIsGiven}});
  keys.value<kind::Bandwidth>(
      "checkpoint.storage.write_per_client", "Rate at which one process can write.", "200MB/s",
      above(BytesPerSecond{}), ORRERY_AT(run.checkpoint.storage.write_per_client),
      {.note = "no limit", .idle = {kSaveIsGiven}});
  keys.value<kind::Bandwidth>(
      "checkpoint.storage.read_per_client", "Rate at which one process can read.", "400MB/s",
      above(BytesPerSecond{}), ORRERY_AT(run.checkpoint.storage.read_per_client),
      {.note = "no limit", .idle = {kNothingLoaded, kLoadIsGiven}});
  keys.value<kind::Number>("checkpoint.storage.efficiency",
                           "Share of these rates that a checkpoint reaches; 0.16 to 0.25 of the "
                           "nominal rates has been seen.",
                           "0.25", kShare, ORRERY_AT(run.checkpoint.storage.efficiency),
                           {.fallback = "1"});
  keys.value<kind::Bandwidth>("checkpoint.storage.background",
                              "Rate that other jobs take from write and from read.", "50GB/s", {},
                              ORRERY_AT(run.checkpoint.storage.background), {.fallback = "0"});
  keys.flag(
      "checkpoint.storage.on_training_network",
      "Saves of mode async leave the nodes over the NICs of training, and slow steps meanwhile.",
      "true", ORRERY_AT(run.checkpoint.storage.on_training_network),
      {.fallback = "false",
       .idle = {ORRERY_WHEN(in_run(d) && !is_async(d),
                            "training stands while a synchronous save is written")}});
  keys.value<kind::Number>(
      "checkpoint.storage.mass_restart_share",
      "Share of read that is left for this job when a failure of a power domain or of the storage "
      "restarts many jobs at once.",
      "0.25", kShare, ORRERY_AT(run.checkpoint.storage.mass_restart_share),
      {.fallback = "1",
       .idle = {ORRERY_WHEN(in_run(d) && !strikes_many_jobs(d),
                            "no failure of a power domain or of the storage restarts many jobs")}});
}

void add_storage(Rows& keys) {
  keys.section(
      "checkpoint.storage",
      "Rates of the storage: the narrowest of the whole, of the nodes and of the processes counts.",
      "{write: 100GB/s, read: 200GB/s}", {.note = "as its keys"});
  keys.preset("checkpoint.storage.preset",
              "Published rates of one storage; `orrery list` shows their sources. Keys beside it "
              "replace its own.",
              "bloom-gpfs-2022", PresetKind::storage,
              {[](Draft& draft, const PresetPtr& preset) {
                 draft.run.checkpoint.storage = preset->storage;
               },
               {}},
              {.note = "as its keys"});
  keys.value<kind::Bandwidth>("checkpoint.storage.write", "Rate of writing, the whole storage.",
                              "100GB/s", above(BytesPerSecond{}),
                              ORRERY_AT(run.checkpoint.storage.write),
                              {.fallback = "2TB/s", .idle = {kSaveIsGiven}});
  keys.value<kind::Bandwidth>("checkpoint.storage.read",
                              "Rate of reading, the whole storage, for recovery.load.", "200GB/s",
                              above(BytesPerSecond{}), ORRERY_AT(run.checkpoint.storage.read),
                              {.fallback = "2TB/s", .idle = {kNothingLoaded, kLoadIsGiven}});
  add_limits(keys);
  keys.value<kind::Bandwidth>(
      "checkpoint.device_to_host", "Rate at which one GPU copies its share to host memory.",
      "40GB/s", above(BytesPerSecond{}), ORRERY_AT(run.checkpoint.device_to_host),
      {.note = "host_bandwidth of the GPU profile",
       .idle = {ORRERY_WHEN(in_run(d) && !is_async(d) && d.run.checkpoint.tiers.empty(),
                            "a synchronous save goes straight to the storage"),
                ORRERY_WHEN(in_run(d) && is_async(d) && d.run.checkpoint.stall &&
                                d.run.checkpoint.tiers.empty(),
                            "the stall is given")}});
  keys.value<kind::Bandwidth>(
      "checkpoint.data_reads",
      "Rate that the input pipeline reads from the same storage while a save of mode async is "
      "written.",
      "20GB/s", {}, ORRERY_AT(run.checkpoint.data_reads),
      {.fallback = "0",
       .idle = {ORRERY_WHEN(in_run(d) && !is_async(d),
                            "a synchronous save stops the input pipeline too"),
                ORRERY_WHEN(in_run(d) && is_async(d) && save_is_given(d),
                            "the time of a save is given")}});
}

void add_saves(Rows& keys) {
  keys.value<kind::Time>("checkpoint.stall", "Training blocked by one save.", "40s", kSpan,
                         ORRERY_AT(run.checkpoint.stall),
                         {.note = "computed from size and rates; async: at least 1s"});
  keys.value<kind::Time>(
      "checkpoint.durable", "From the begin of a save until it protects; not below the stall.",
      "3min", kSpan, ORRERY_AT(run.checkpoint.durable), {.note = "computed from size and rates"});
  keys.flag("checkpoint.final_save", "Save once more when the target is reached, and wait for it.",
            "false", ORRERY_AT(run.checkpoint.final_save),
            {.fallback = "true",
             .idle = {ORRERY_WHEN(in_run(d) && d.run.training.duration,
                                  "training.duration has no target to reach")}});
  add_keep(keys);
  keys.count("checkpoint.keep_every", "Every n-th checkpoint is kept beside those, for good.", "20",
             at_least<std::int64_t>(1), ORRERY_AT(run.checkpoint.keep_every),
             {.note = "none",
              .idle = {kNothingFails, ORRERY_WHEN(in_run(d) && d.run.checkpoint.keep_all,
                                                  "every checkpoint is kept")}});
  keys.value<kind::Number>("checkpoint.corrupt",
                           "Share of checkpoints on the storage that turn out to be unreadable "
                           "when they are loaded; then the one before is loaded.",
                           "0.01", between(0.0, 0.99), ORRERY_AT(run.checkpoint.corrupt),
                           {.fallback = "0", .idle = {kNothingFails}});
  keys.choice<LoadReaders>("checkpoint.readers",
                           "one: each part is read once and broadcast to the other data-parallel "
                           "replicas; all: every replica reads from the storage.",
                           "all", {{"one", LoadReaders::one}, {"all", LoadReaders::all}},
                           ORRERY_AT(run.checkpoint.readers),
                           {.fallback = "one", .idle = {kNothingLoaded, kLoadIsGiven}});
  keys.value<kind::Bandwidth>("checkpoint.reshard",
                              "Rate of converting a checkpoint when the job continues on another "
                              "number of nodes. 2.46 TB in 47 min is 0.87GB/s.",
                              "1GB/s", above(BytesPerSecond{}), ORRERY_AT(run.checkpoint.reshard),
                              {.note = "no time"});
}

void add_just_in_time(Rows& keys) {
  keys.flag("checkpoint.just_in_time",
            "Data-parallel replicas that survive a failure save their state then: only the step in "
            "progress is lost. A crash of the whole job leaves none.",
            "true", ORRERY_AT(run.checkpoint.just_in_time),
            {.fallback = "false", .idle = {kNothingFails}});
  keys.value<kind::Time>("checkpoint.just_in_time_save", "Time of that save.", "15s", kSpan,
                         ORRERY_AT(run.checkpoint.just_in_time_save),
                         {.note = "as a save of mode sync",
                          .idle = {ORRERY_WHEN(in_run(d) && !d.run.checkpoint.just_in_time,
                                               "checkpoint.just_in_time is off")}});
}

void add_tier_times(Rows& keys) {
  keys.value<kind::Bandwidth>("checkpoint.tiers[].write", "Rate at which one node writes to it.",
                              "6GB/s", above(BytesPerSecond{}),
                              ORRERY_AT(run.checkpoint.tiers.back().write),
                              {.note = "memory: device_to_host of its GPUs; disk: required"});
  keys.value<kind::Bandwidth>("checkpoint.tiers[].read", "Rate at which one node reads from it.",
                              "12GB/s", above(BytesPerSecond{}),
                              ORRERY_AT(run.checkpoint.tiers.back().read),
                              {.note = "memory: device_to_host of its GPUs; disk: required"});
  keys.value<kind::Time>("checkpoint.tiers[].stall", "Training blocked by one save to it.", "500ms",
                         kSpan, ORRERY_AT(run.checkpoint.tiers.back().stall),
                         {.note = "computed from size and rates"});
  keys.value<kind::Time>("checkpoint.tiers[].durable",
                         "From the begin of a save until its copies protect.", "5s", kSpan,
                         ORRERY_AT(run.checkpoint.tiers.back().durable),
                         {.note = "computed from size and rates"});
  keys.value<kind::Time>("checkpoint.tiers[].load", "Reading the state back from it.", "5s", kSpan,
                         ORRERY_AT(run.checkpoint.tiers.back().load),
                         {.note = "computed from size and rates"});
}

void add_copy_tiers(Rows& keys) {
  keys.list("checkpoint.tiers",
            "Faster places for copies in front of the storage, fastest first. A save to one of "
            "them goes to the faster ones too.",
            "[{medium: memory, replicas: 2, interval: 10 steps}]", ORRERY_AT(run.checkpoint.tiers),
            {.note = "none"});
  keys.text("checkpoint.tiers[].name", "What reports call it.", "NVMe",
            ORRERY_AT(run.checkpoint.tiers.back().name), {.note = "its medium"});
  keys.choice<TierMedium>(
      "checkpoint.tiers[].medium",
      "memory: host memory, which survives the processes of the job; disk: local disks, which "
      "survive a reboot of their node too. Both leave with their node.",
      "memory", {{"memory", TierMedium::memory}, {"disk", TierMedium::disk}},
      ORRERY_AT(run.checkpoint.tiers.back().medium), {.required = true});
  interval_key(keys, "checkpoint.tiers[].interval",
               "Training time between two saves to it, rounded to a multiple of that of the tier "
               "before it. auto: the best of all tiers together.",
               "10 steps", ORRERY_AT(run.checkpoint.tiers.back().interval), {.fallback = "auto"});
  keys.choice<CheckpointMode>(
      "checkpoint.tiers[].mode",
      "sync: training waits until its copies protect; async: only for the copy to host memory.",
      "sync", modes(false), ORRERY_AT(run.checkpoint.tiers.back().mode), {.fallback = "async"});
  keys.count("checkpoint.tiers[].replicas",
             "Nodes that hold the same copy: groups of so many nodes keep each other's state "
             "(GEMINI), and only the loss of a whole group loses it.",
             "2", {1, 1'000'000}, ORRERY_AT(run.checkpoint.tiers.back().replicas),
             {.fallback = "1"});
  add_tier_times(keys);
}

}  // namespace

void checkpoint_keys(Rows& keys) {
  add_when(keys);
  add_what(keys);
  add_storage(keys);
  add_saves(keys);
  add_just_in_time(keys);
  add_copy_tiers(keys);
}

}  // namespace orrery::scenario
