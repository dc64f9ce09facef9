// Keys of `checkpoint`: when the state is saved and what a save costs.

#include "sim/scenario/key_makers.hpp"
#include "sim/scenario/key_table.hpp"

namespace orrery::scenario {

namespace {

using run::CheckpointMode;
using run::CheckpointSpec;
using yaml::above;
namespace kind = yaml::kind;

// Simulated time holds 73 years between two events (run/run_plan.hpp).
const yaml::Range<Seconds> kSpan = yaml::at_most(days(25'000.0));

void read_interval(const yaml::Value& value, const std::string& path, Reading& reading) {
  if (yaml::is_word(value, "auto")) {
    reading.draft.run.checkpoint.interval = run::AutoInterval{};
    return;
  }
  const auto interval = yaml::read_value<kind::StepsOrDuration>(value, path, reading.diagnostics);
  if (!interval) {
    return;
  }
  if (const yaml::Steps* steps = std::get_if<yaml::Steps>(&*interval)) {
    reading.draft.run.checkpoint.interval = run::StepsInterval{steps->count};
    return;
  }
  const Seconds time = std::get<Seconds>(*interval);
  if (time <= Seconds{} || time > *kSpan.max) {
    yaml::report(reading.diagnostics,
                 value.where,
                 path,
                 yaml::display(value.text) + " is no interval",
                 "auto, a number of steps, or a time above 0 up to 25,000 d");
    return;
  }
  reading.draft.run.checkpoint.interval = run::TimeInterval{time};
}

Key rate(KeyText text, std::function<BytesPerSecond&(CheckpointSpec&)> field) {
  return value_key<kind::Bandwidth>(
      std::move(text),
      above(BytesPerSecond{}),
      [field = std::move(field)](Draft& draft, const BytesPerSecond& value) {
        field(draft.run.checkpoint) = value;
      });
}

Key save_time(KeyText text, std::optional<Seconds> CheckpointSpec::*field) {
  return value_key<kind::Time>(std::move(text), kSpan, [field](Draft& draft, const Seconds& value) {
    draft.run.checkpoint.*field = value;
  });
}

void add_checkpoint(std::vector<Key>& keys) {
  keys.push_back(section_key({.path = "checkpoint",
                              .note = "as its keys",
                              .meaning = "When the state is saved and what a save costs.",
                              .example = "{interval: 30min, mode: async}"}));
  Key interval = key_of({.path = "checkpoint.interval",
                         .fallback = "auto",
                         .meaning = "Training time between two saves. auto: the exact optimum for "
                                    "the stall and the failure rate, a whole number of steps; with "
                                    "mode async at least the time until a save is durable.",
                         .example = "30min"});
  interval.forms = {words_form({"auto"}), form_of<kind::StepsOrDuration>({})};
  interval.read = read_interval;
  keys.push_back(std::move(interval));
  keys.push_back(choice_key<CheckpointMode>(
      {.path = "checkpoint.mode",
       .fallback = "sync",
       .meaning = "sync: training waits for the storage; async: only for the copy to host memory.",
       .example = "async"},
      {{"sync", CheckpointMode::sync}, {"async", CheckpointMode::async}},
      [](Draft& draft, CheckpointMode value) { draft.run.checkpoint.mode = value; }));
  keys.push_back(value_key<kind::Size>(
      {.path = "checkpoint.bytes_per_parameter",
       .note = "2B of weights and the state of precision.optimizer: 14B with adam",
       .meaning = "Size of a checkpoint per parameter.",
       .example = "14B"},
      yaml::at_most(bytes(100.0)),
      [](Draft& draft, const Bytes& value) { draft.run.checkpoint.bytes_per_parameter = value; }));
  keys.push_back(section_key({.path = "checkpoint.storage",
                              .note = "as its keys",
                              .meaning = "Rates of the storage for the whole job.",
                              .example = "{write: 100GB/s, read: 200GB/s}"}));
  keys.push_back(rate({.path = "checkpoint.storage.write",
                       .fallback = "2TB/s",
                       .meaning = "Rate of writing.",
                       .example = "100GB/s"},
                      [](CheckpointSpec& c) -> BytesPerSecond& { return c.storage.write; }));
  keys.push_back(rate({.path = "checkpoint.storage.read",
                       .fallback = "2TB/s",
                       .meaning = "Rate of reading, for recovery.load.",
                       .example = "200GB/s"},
                      [](CheckpointSpec& c) -> BytesPerSecond& { return c.storage.read; }));
  keys.push_back(rate({.path = "checkpoint.device_to_host",
                       .note = "host_bandwidth of the GPU profile",
                       .meaning = "Rate at which one GPU copies its share to host memory (mode "
                                  "async).",
                       .example = "40GB/s"},
                      [](CheckpointSpec& c) -> BytesPerSecond& { return c.device_to_host; }));
  keys.push_back(save_time({.path = "checkpoint.stall",
                            .note = "computed from size and rates",
                            .meaning = "Training blocked by one save.",
                            .example = "40s"},
                           &CheckpointSpec::stall));
  keys.push_back(save_time({.path = "checkpoint.durable",
                            .note = "computed from size and rates",
                            .meaning = "From the begin of a save until it protects; not below the "
                                       "stall.",
                            .example = "3min"},
                           &CheckpointSpec::durable));
  keys.push_back(value_key<kind::Boolean>(
      {.path = "checkpoint.final_save",
       .fallback = "true",
       .meaning = "Save once more when the target is reached, and wait for it.",
       .example = "false"},
      {},
      [](Draft& draft, const bool& value) { draft.run.checkpoint.final_save = value; }));
}

}  // namespace

std::vector<Key> checkpoint_keys() {
  std::vector<Key> keys;
  add_checkpoint(keys);
  return keys;
}

}  // namespace orrery::scenario
