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

void add_spares(Rows& keys) {
  keys.count(
      "capacity.spares",
      "Hot spares: nodes held ready beside those of cluster.nodes, in the job at once.", "16",
      {0, kMostNodes}, ORRERY_AT(run.capacity.spares),
      {.fallback = "0",
       .idle = {ORRERY_WHEN((never_fails(d) || nodes_never_fail(d)) && d.run.capacity.spares > 0,
                            "no node is ever replaced; the spares only cost")}});

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
    const auto spares = member_of(capacity, level.spares);
    keys.section(path, level.meaning, "{nodes: 48, ready: 3min}", {.note = "none"});
    keys.count(path + ".nodes", "How many.", "48", {0, kMostNodes},
               member_of(spares, &SpareSpec::nodes), {.fallback = "0"});
    keys.duration(path + ".ready", "From asking for one until it can be placed.", "3min",
                  member_of(spares, &SpareSpec::ready), {.fallback = "0s"});
    keys.flag(path + ".held", "They are allocated, and in the bill, while they wait.",
              level.held == "true" ? "false" : "true", member_of(spares, &SpareSpec::held),
              {.fallback = level.held});
  }
}

void add_repair(Rows& keys) {
  keys.duration(
      "capacity.repair_time",
      "From taking a node out until it is ready again; with capacity.repair.manual its first, "
      "automatic stage, without it all of the repair.",
      "3d", ORRERY_AT(run.capacity.repair_time),
      {.note = "as the preset of failures says: a reset or reboot for most nodes, hands for some",
       .idle = {kNothingFails, ORRERY_WHEN(nodes_never_fail(d), "no node fails, only the job")}});
  keys.section("capacity.repair", "How nodes are repaired.", "{crews: 4}",
               {.note = "one stage that always works, and nobody queues"});
  keys.value<kind::Number>(
      "capacity.repair.fails",
      "Probability that the first stage leaves a bad node bad when it is the last one.", "0.4",
      between(0.0, 1.0), ORRERY_AT(run.capacity.repair.fails),
      {.fallback = "0", .idle = {kNoLemons}});
  keys.count("capacity.repair.crews",
             "Nodes in the last stage of repair at the same time; the others queue.", "4",
             {1, kMostNodes}, ORRERY_AT(run.capacity.repair.crews), {.note = "nobody queues"});
  keys.value<kind::Number>(
      "capacity.repair.retire", "Probability that a repair ends with the node taken out for good.",
      "0.05", between(0.0, 1.0), ORRERY_AT(run.capacity.repair.retire), {.fallback = "0"});
  keys.duration("capacity.repair.replacement", "Until a new node takes the place of a retired one.",
                "30d", ORRERY_AT(run.capacity.repair.replacement),
                {.note = "never",
                 .idle = {ORRERY_WHEN(in_run(d) && d.run.capacity.repair.retire == 0.0 &&
                                          !d.stated("failures.lemons.remove_after"),
                                      "no node is ever retired")}});
  keys.part("capacity.repair.manual", "A second stage by hand, when the first does not help.",
            "{probability: 0.8, time: 2d}", ORRERY_AT(run.capacity.repair.manual),
            {.note = "none"});
  keys.value<kind::Number>("capacity.repair.manual.probability",
                           "How often it follows the first stage.", "0.8", between(0.0, 1.0),
                           ORRERY_AT(run.capacity.repair.manual->escalates), {.fallback = "1"});
  keys.duration("capacity.repair.manual.time", "How long it takes.", "2d",
                ORRERY_AT(run.capacity.repair.manual->time), {.fallback = "0s"});
  keys.value<kind::Number>("capacity.repair.manual.fails",
                           "Probability that it leaves a bad node bad.", "0.2", between(0.0, 1.0),
                           ORRERY_AT(run.capacity.repair.manual->fails),
                           {.fallback = "0", .idle = {kNoLemons}});
}

void add_elastic(Rows& keys) {
  keys.part("capacity.elastic",
            "The job goes on with fewer data-parallel replicas when nodes are missing; "
            "accumulation keeps the global batch.",
            "{min_nodes: 1900}", ORRERY_AT(run.capacity.elastic),
            {.note = "the job waits for missing nodes"});
  keys.count("capacity.elastic.min_nodes", "The smallest size; cluster.nodes is the largest.",
             "1900", {1, kMostNodes}, ORRERY_AT(run.capacity.elastic->min_nodes),
             {.fallback = "1"});
  keys.choice<Growth>(
      "capacity.elastic.grow",
      "When a shrunk job restarts on more nodes after some have returned: after the next "
      "checkpoint, at once (after saving one), or only at its next failure.",
      "at_once",
      {{"at_checkpoint", Growth::at_checkpoint},
       {"at_once", Growth::at_once},
       {"never", Growth::never}},
      ORRERY_AT(run.capacity.elastic->grow), {.fallback = "at_checkpoint"});
  keys.part(
      "capacity.elastic.batch",
      "The replicas of a shrunk job have equal shares, so that its batch is the multiple of micro "
      "x replicas next to batch.global. A warning tells at which sizes that leaves the range.",
      "{min: 1900, max: 2200}", ORRERY_AT(run.capacity.elastic->batch),
      {.note = "unequal shares keep batch.global"});
  keys.count("capacity.elastic.batch.min",
             "The fewest sequences of one step; at most batch.global.", "1900", {1, kMostSequences},
             ORRERY_AT(run.capacity.elastic->batch->min), {.fallback = "1"});
  keys.count("capacity.elastic.batch.max", "The most sequences of one step; at least batch.global.",
             "2200", {1, kMostSequences}, ORRERY_AT(run.capacity.elastic->batch->max),
             {.note = "no bound"});
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

void add_spot_supply(Rows& keys) {
  keys.value<kind::EventRate>("capacity.spot.rate",
                              "Preemptions of one node: a memoryless process.", "0.1/h", {},
                              ORRERY_AT(run.capacity.spot->rate), {.note = "capacity.spot.traces"});
  keys.count("capacity.spot.burst",
             "With a rate: nodes that go in one event. The rate of each node stays.", "4",
             {1, kMostNodes}, ORRERY_AT(run.capacity.spot->burst),
             {.fallback = "1",
              .idle = {ORRERY_WHEN(in_run(d) && d.run.capacity.spot && !d.run.capacity.spot->rate,
                                   "the traces say how many nodes go")}});
  keys.duration(
      "capacity.spot.returns", "With a rate: until a preempted node can be had again.",
      "{mean: 30min}", ORRERY_AT(run.capacity.spot->returns),
      {.fallback = "0s",
       .idle = {ORRERY_WHEN(in_run(d) && d.run.capacity.spot && !d.run.capacity.spot->rate,
                            "the traces say when nodes return")}});
  Key& traces =
      keys.add("capacity.spot.traces",
               "Files, one per zone: CSV `time,available[,price]` (seconds, nodes that can be had, "
               "dollars per GPU-hour), or the JSON samples of spot-traces. Beside the scenario or "
               "from the working directory. The job is in one zone at a time.",
               "[zone-a.csv, zone-b.csv]", {.note = "capacity.spot.rate"});
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
  keys.choice<TraceStart>(
      "capacity.spot.start", "Where in the traces a trial begins; traces repeat.", "beginning",
      {{"random", TraceStart::random}, {"beginning", TraceStart::beginning}},
      ORRERY_AT(run.capacity.spot->start),
      {.fallback = "random",
       .idle = {ORRERY_WHEN(in_run(d) && d.run.capacity.spot && d.run.capacity.spot->rate,
                            "there are no traces")}});
}

void add_spot(Rows& keys) {
  keys.part("capacity.spot",
            "Nodes of the job that the provider can take away. Exactly one of rate and traces.",
            "{rate: 0.1/h, notice: 2min}", ORRERY_AT(run.capacity.spot),
            {.note = "nobody takes nodes away"});
  keys.value<kind::Number>(
      "capacity.spot.share", "Share of cluster.nodes on spot; the others stay.", "0.75",
      between(0.0, 1.0), ORRERY_AT(run.capacity.spot->share), {.fallback = "1"});
  add_spot_supply(keys);
  keys.value<kind::Time>(
      "capacity.spot.notice",
      "Warning before nodes go: long enough, and the job saves a last checkpoint.", "2min", kSpan,
      ORRERY_AT(run.capacity.spot->notice), {.fallback = "0s"});
  keys.duration("capacity.spot.ready", "From asking for a spot node until it can be placed.",
                "5min", ORRERY_AT(run.capacity.spot->ready), {.fallback = "0s"});
  keys.duration(
      "capacity.spot.migration",
      "The same when the job moves to another zone: image, data, checkpoint.", "15min",
      ORRERY_AT(run.capacity.spot->migration),
      {.fallback = "0s",
       .idle = {ORRERY_WHEN(in_run(d) && d.run.capacity.spot && d.run.capacity.spot->rate,
                            "there are no zones"),
                ORRERY_WHEN(in_run(d) && d.run.capacity.spot && !d.run.capacity.spot->rate &&
                                d.run.capacity.spot->zones.size() < 2,
                            "there is one zone")}});
}

}  // namespace

void capacity_keys(Rows& keys) {
  keys.section("capacity", "Nodes that replace missing ones.", "{spares: 16, repair_time: 2d}",
               {.note = "no spares", .idle = {kNoRun}});
  add_spares(keys);
  add_repair(keys);
  add_elastic(keys);
  add_spot(keys);
}

}  // namespace orrery::scenario
