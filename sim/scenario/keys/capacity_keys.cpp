// Keys of `capacity`: spares, repair, elastic sizes, spot nodes.

#include <filesystem>
#include <system_error>

#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"
#include "sim/scenario/logs/spot_trace_file.hpp"
#include "sim/scenario/table/idle.hpp"
#include "sim/scenario/table/key.hpp"
#include "sim/scenario/table/key_makers.hpp"
#include "sim/scenario/table/key_table.hpp"

namespace orrery::scenario {

namespace {

using run::CapacitySpec;
using run::Growth;
using run::SpareSpec;
using run::TraceStart;
using yaml::between;
namespace kind = yaml::kind;

constexpr Idle kNoLemons =
    ORRERY_WHEN(in_run(d) && !d.run.failures.lemons, "no node is bad (failures.lemons)");

CapacitySpec& capacity(Draft& draft) { return draft.run.capacity; }

void add_spares(std::vector<Key>& keys) {
  keys.push_back(count_key(
      {.path = "capacity.spares",
       .fallback = "0",
       .meaning = "Hot spares: nodes held ready beside those of cluster.nodes, in the job at once.",
       .example = "16",
       .idle = {ORRERY_WHEN((never_fails(d) || nodes_never_fail(d)) && d.run.capacity.spares > 0,
                            "no node is ever replaced; the spares only cost")}},
      {0, kMostNodes}, ORRERY_AT(run.capacity.spares)));

  struct Level {
    std::string name;
    SpareSpec CapacitySpec::*spares;
    std::string meaning;
    std::string held;
  };

  const Level levels[] = {{"warm", &CapacitySpec::warm,
                           "Spares that are taken when no hot one is left, and need time.", "true"},
                          {"cold", &CapacitySpec::cold,
                           "Spares that are taken when no warm one is left, such as nodes of jobs "
                           "that have to give way.",
                           "false"}};
  for (const Level& level : levels) {
    const std::string path = "capacity." + level.name;
    keys.push_back(section_key({.path = path,
                                .note = "none",
                                .meaning = level.meaning,
                                .example = "{nodes: 48, ready: 3min}"}));
    keys.push_back(count_key(
        {.path = path + ".nodes", .fallback = "0", .meaning = "How many.", .example = "48"},
        {0, kMostNodes}, [spares = level.spares](Draft & draft) -> auto& {
          return (capacity(draft).*spares).nodes;
        }));
    add_duration_keys(
        keys,
        {.path = path + ".ready",
         .fallback = "0s",
         .meaning = "From asking for one until it can be placed.",
         .example = "3min"},
        [spares = level.spares](Draft & draft) -> auto& {
          return (capacity(draft).*spares).ready;
        });
    keys.push_back(flag_key(
        {.path = path + ".held",
         .fallback = level.held,
         .meaning = "They are allocated, and in the bill, while they wait.",
         .example = level.held == "true" ? "false" : "true"},
        [spares = level.spares](Draft & draft) -> auto& {
          return (capacity(draft).*spares).held;
        }));
  }
}

Key probability(KeyText text, Lens<double> lens) {
  return value_key<kind::Number>(std::move(text), between(0.0, 1.0), std::move(lens));
}

void add_repair(std::vector<Key>& keys) {
  add_duration_keys(
      keys,
      {.path = "capacity.repair_time",
       .note = "as the preset of failures says: a reset or reboot for most nodes, hands for some",
       .meaning = "From taking a node out until it is ready again; with capacity.repair.manual "
                  "its first, automatic stage, without it all of the repair.",
       .example = "3d",
       .idle = {kNothingFails, ORRERY_WHEN(nodes_never_fail(d), "no node fails, only the job")}},
      ORRERY_AT(run.capacity.repair_time));
  keys.push_back(section_key({.path = "capacity.repair",
                              .note = "one stage that always works, and nobody queues",
                              .meaning = "How nodes are repaired.",
                              .example = "{crews: 4}"}));
  keys.push_back(probability(
      {.path = "capacity.repair.fails",
       .fallback = "0",
       .meaning = "Probability that the first stage leaves a bad node bad when it is the last one.",
       .example = "0.4",
       .idle = {kNoLemons}},
      ORRERY_AT(run.capacity.repair.fails)));
  keys.push_back(
      count_key({.path = "capacity.repair.crews",
                 .note = "nobody queues",
                 .meaning = "Nodes in the last stage of repair at the same time; the others queue.",
                 .example = "4"},
                {1, kMostNodes}, ORRERY_AT(run.capacity.repair.crews)));
  keys.push_back(
      probability({.path = "capacity.repair.retire",
                   .fallback = "0",
                   .meaning = "Probability that a repair ends with the node taken out for good.",
                   .example = "0.05"},
                  ORRERY_AT(run.capacity.repair.retire)));
  add_duration_keys(keys,
                    {.path = "capacity.repair.replacement",
                     .note = "never",
                     .meaning = "Until a new node takes the place of a retired one.",
                     .example = "30d",
                     .idle = {ORRERY_WHEN(in_run(d) && d.run.capacity.repair.retire == 0.0 &&
                                              !d.stated("failures.lemons.remove_after"),
                                          "no node is ever retired")}},
                    ORRERY_AT(run.capacity.repair.replacement));
  keys.push_back(section_at({.path = "capacity.repair.manual",
                             .note = "none",
                             .meaning = "A second stage by hand, when the first does not help.",
                             .example = "{probability: 0.8, time: 2d}"},
                            ORRERY_AT(run.capacity.repair.manual)));
  keys.push_back(probability({.path = "capacity.repair.manual.probability",
                              .fallback = "1",
                              .meaning = "How often it follows the first stage.",
                              .example = "0.8"},
                             ORRERY_AT(run.capacity.repair.manual->escalates)));
  add_duration_keys(keys,
                    {.path = "capacity.repair.manual.time",
                     .fallback = "0s",
                     .meaning = "How long it takes.",
                     .example = "2d"},
                    ORRERY_AT(run.capacity.repair.manual->time));
  keys.push_back(probability({.path = "capacity.repair.manual.fails",
                              .fallback = "0",
                              .meaning = "Probability that it leaves a bad node bad.",
                              .example = "0.2",
                              .idle = {kNoLemons}},
                             ORRERY_AT(run.capacity.repair.manual->fails)));
}

void add_elastic(std::vector<Key>& keys) {
  keys.push_back(section_at(
      {.path = "capacity.elastic",
       .note = "the job waits for missing nodes",
       .meaning = "The job goes on with fewer data-parallel replicas when nodes are missing; "
                  "accumulation keeps the global batch.",
       .example = "{min_nodes: 1900}"},
      ORRERY_AT(run.capacity.elastic)));
  keys.push_back(count_key({.path = "capacity.elastic.min_nodes",
                            .fallback = "1",
                            .meaning = "The smallest size; cluster.nodes is the largest.",
                            .example = "1900"},
                           {1, kMostNodes}, ORRERY_AT(run.capacity.elastic->min_nodes)));
  keys.push_back(choice_key<Growth>(
      {.path = "capacity.elastic.grow",
       .fallback = "at_checkpoint",
       .meaning = "When a shrunk job restarts on more nodes after some have returned: after the "
                  "next checkpoint, at once (after saving one), or only at its next failure.",
       .example = "at_once"},
      {{"at_checkpoint", Growth::at_checkpoint},
       {"at_once", Growth::at_once},
       {"never", Growth::never}},
      ORRERY_AT(run.capacity.elastic->grow)));
  keys.push_back(section_at(
      {.path = "capacity.elastic.batch",
       .note = "unequal shares keep batch.global",
       .meaning = "The replicas of a shrunk job have equal shares, so that its batch is the "
                  "multiple of micro x replicas next to batch.global. A warning tells at which "
                  "sizes that leaves the range.",
       .example = "{min: 1900, max: 2200}"},
      ORRERY_AT(run.capacity.elastic->batch)));
  keys.push_back(count_key({.path = "capacity.elastic.batch.min",
                            .fallback = "1",
                            .meaning = "The fewest sequences of one step; at most batch.global.",
                            .example = "1900"},
                           {1, kMostSequences}, ORRERY_AT(run.capacity.elastic->batch->min)));
  keys.push_back(count_key({.path = "capacity.elastic.batch.max",
                            .note = "no bound",
                            .meaning = "The most sequences of one step; at least batch.global.",
                            .example = "2200"},
                           {1, kMostSequences}, ORRERY_AT(run.capacity.elastic->batch->max)));
}

// Beside the scenario, else as it stands.
std::filesystem::path beside(const std::string& scenario_file, const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path here = fs::path(scenario_file).parent_path() / path;
  std::error_code unknown;
  return fs::path(path).is_absolute() || !fs::exists(here, unknown) ? fs::path(path) : here;
}

void read_trace(const yaml::Value& value, const std::string& path, Reading& reading) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 28U;
  const std::string* name =
      yaml::read_text(value, path, "the path of a file", "zone-a.csv", reading.diagnostics);
  if (name == nullptr) {
    return;
  }
  std::string text;
  try {
    text = read_file(beside(reading.draft.scenario.file, *name), kMostBytes);
  } catch (const Error& error) {
    yaml::report(reading.diagnostics, value.where, path, error.what(),
                 "a file beside the scenario or in the working directory");
    return;
  }
  std::optional<run::SpotTrace> trace =
      read_spot_trace_text(text, *name, value.where, path, reading.diagnostics);
  if (!trace) {
    return;
  }
  trace->name = std::filesystem::path(*name).stem().string();
  capacity(reading.draft).spot->zones.push_back({trace->name, *name, std::move(trace)});
}

void add_spot_supply(std::vector<Key>& keys) {
  keys.push_back(
      value_key<kind::EventRate>({.path = "capacity.spot.rate",
                                  .note = "capacity.spot.traces",
                                  .meaning = "Preemptions of one node: a memoryless process.",
                                  .example = "0.1/h"},
                                 {}, ORRERY_AT(run.capacity.spot->rate)));
  keys.push_back(count_key(
      {.path = "capacity.spot.burst",
       .fallback = "1",
       .meaning = "With a rate: nodes that go in one event. The rate of each node stays.",
       .example = "4",
       .idle = {ORRERY_WHEN(in_run(d) && d.run.capacity.spot && !d.run.capacity.spot->rate,
                            "the traces say how many nodes go")}},
      {1, kMostNodes}, ORRERY_AT(run.capacity.spot->burst)));
  add_duration_keys(
      keys,
      {.path = "capacity.spot.returns",
       .fallback = "0s",
       .meaning = "With a rate: until a preempted node can be had again.",
       .example = "{mean: 30min}",
       .idle = {ORRERY_WHEN(in_run(d) && d.run.capacity.spot && !d.run.capacity.spot->rate,
                            "the traces say when nodes return")}},
      ORRERY_AT(run.capacity.spot->returns));
  Key traces =
      key_of({.path = "capacity.spot.traces",
              .note = "capacity.spot.rate",
              .meaning = "Files, one per zone: CSV `time,available[,price]` (seconds, nodes "
                         "that can be had, dollars per GPU-hour), or the JSON samples of "
                         "spot-traces. Beside the scenario or from the working directory. "
                         "The job is in one zone at a time.",
              .example = "[zone-a.csv, zone-b.csv]"});
  traces.forms = {text_form()};
  traces.forms.front().list = true;
  traces.read = [](const yaml::Value& value, const std::string& path, Reading& reading) {
    if (value.kind != yaml::Value::Kind::sequence) {
      yaml::report(reading.diagnostics, value.where, path, "is no list", "[zone-a.csv]");
      return;
    }
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      read_trace(value.items[i], path + "[" + std::to_string(i) + "]", reading);
    }
  };
  keys.push_back(std::move(traces));
  keys.push_back(choice_key<TraceStart>(
      {.path = "capacity.spot.start",
       .fallback = "random",
       .meaning = "Where in the traces a trial begins; traces repeat.",
       .example = "beginning",
       .idle = {ORRERY_WHEN(in_run(d) && d.run.capacity.spot && d.run.capacity.spot->rate,
                            "there are no traces")}},
      {{"random", TraceStart::random}, {"beginning", TraceStart::beginning}},
      ORRERY_AT(run.capacity.spot->start)));
}

void add_spot(std::vector<Key>& keys) {
  keys.push_back(section_at({.path = "capacity.spot",
                             .note = "nobody takes nodes away",
                             .meaning = "Nodes of the job that the provider can take away. Exactly "
                                        "one of rate and traces.",
                             .example = "{rate: 0.1/h, notice: 2min}"},
                            ORRERY_AT(run.capacity.spot)));
  keys.push_back(probability({.path = "capacity.spot.share",
                              .fallback = "1",
                              .meaning = "Share of cluster.nodes on spot; the others stay.",
                              .example = "0.75"},
                             ORRERY_AT(run.capacity.spot->share)));
  add_spot_supply(keys);
  keys.push_back(value_key<kind::Time>(
      {.path = "capacity.spot.notice",
       .fallback = "0s",
       .meaning = "Warning before nodes go: long enough, and the job saves a last checkpoint.",
       .example = "2min"},
      kSpan, ORRERY_AT(run.capacity.spot->notice)));
  add_duration_keys(keys,
                    {.path = "capacity.spot.ready",
                     .fallback = "0s",
                     .meaning = "From asking for a spot node until it can be placed.",
                     .example = "5min"},
                    ORRERY_AT(run.capacity.spot->ready));
  add_duration_keys(
      keys,
      {.path = "capacity.spot.migration",
       .fallback = "0s",
       .meaning = "The same when the job moves to another zone: image, data, checkpoint.",
       .example = "15min",
       .idle = {ORRERY_WHEN(in_run(d) && d.run.capacity.spot && d.run.capacity.spot->rate,
                            "there are no zones"),
                ORRERY_WHEN(in_run(d) && d.run.capacity.spot && !d.run.capacity.spot->rate &&
                                d.run.capacity.spot->zones.size() < 2,
                            "there is one zone")}},
      ORRERY_AT(run.capacity.spot->migration));
}

}  // namespace

std::vector<Key> capacity_keys() {
  std::vector<Key> keys;
  keys.push_back(section_key({.path = "capacity",
                              .note = "no spares",
                              .meaning = "Nodes that replace missing ones.",
                              .example = "{spares: 16, repair_time: 2d}",
                              .idle = {kNoRun}}));
  add_spares(keys);
  add_repair(keys);
  add_elastic(keys);
  add_spot(keys);
  return keys;
}

}  // namespace orrery::scenario
