// Keys of the run: `training`, `evaluation`, `capacity`, `prices`, `simulation`.

#include "sim/scenario/key_makers.hpp"
#include "sim/scenario/key_table.hpp"

namespace orrery::scenario {

namespace {

using yaml::between;
namespace kind = yaml::kind;

// Simulated time holds 73 years between two events (run/run_plan.hpp).
const yaml::Range<Seconds> kSpan = yaml::at_most(days(25'000.0));
const yaml::Range<Seconds> kPositiveSpan = {Seconds{}, days(25'000.0), true};
constexpr std::int64_t kMostSteps = std::int64_t{1} << 53U;  // doubles hold such counts exactly

void add_training(std::vector<Key>& keys) {
  keys.push_back(
      section_key({.path = "training",
                   .note = "only the step is asked for, no run",
                   .meaning = "How long the run lasts: exactly one of duration, tokens and steps.",
                   .example = "{tokens: 15.6T, start: 2026-11-01}"}));
  keys.push_back(value_key<kind::Time>(
      {.path = "training.duration",
       .note = "one of three",
       .meaning = "A window of wall-clock time; the answer is what was done in it.",
       .example = "54d"},
      kPositiveSpan,
      [](Draft& draft, const Seconds& value) { draft.run.training.duration = value; }));
  keys.push_back(
      value_key<kind::Count>({.path = "training.tokens",
                              .note = "one of three",
                              .meaning = "Tokens to train on; the answer is when they are done.",
                              .example = "15.6T"},
                             yaml::at_least<std::int64_t>(1),
                             [](Draft& draft, const std::int64_t& value) {
                               draft.run.training.tokens = tokens(static_cast<double>(value));
                             }));
  keys.push_back(value_key<kind::Count>(
      {.path = "training.steps",
       .aliases = {"train_iters"},
       .note = "one of three",
       .meaning = "Optimizer steps to do; the answer is when they are done.",
       .example = "82072"},
      between<std::int64_t>(1, kMostSteps),
      [](Draft& draft, const std::int64_t& value) { draft.run.training.steps = value; }));
  keys.push_back(value_key<kind::Date>(
      {.path = "training.start",
       .note = "no dates, only durations",
       .meaning = "When the run starts (UTC); only printed dates depend on it.",
       .example = "2024-04-01T00:00Z"},
      {},
      [](Draft& draft, const yaml::DateTime& value) {
        draft.run.training.start = value.unix_seconds;
      }));
}

void read_every(const yaml::Value& value, const std::string& path, Reading& reading) {
  const auto every = yaml::read_value<kind::StepsOrDuration>(value, path, reading.diagnostics);
  if (!every) {
    return;
  }
  const yaml::Steps* steps = std::get_if<yaml::Steps>(&*every);
  if (steps == nullptr || steps->count > kMostSteps) {
    yaml::report(reading.diagnostics,
                 value.where,
                 path,
                 yaml::display(value.text) + " is not a number of steps up to 2^53",
                 "a number of steps such as `1000 steps`");
    return;
  }
  reading.draft.run.evaluation->every_steps = steps->count;
}

void add_evaluation(std::vector<Key>& keys) {
  keys.push_back(section_key({.path = "evaluation",
                              .note = "never",
                              .meaning = "Regular pauses of training for an evaluation.",
                              .example = "{every: 1000 steps, duration: 12min}"},
                             [](Draft& draft) { draft.run.evaluation.emplace(); }));
  Key every = key_of({.path = "evaluation.every",
                      .meaning = "Steps between two evaluations.",
                      .example = "1000 steps",
                      .required = true});
  every.forms = {form_of<kind::StepsOrDuration>({})};
  every.forms.front().name = "a number of steps";
  every.forms.front().pattern = "^(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)? ?[kMBT]? ?steps?$";
  every.read = read_every;
  keys.push_back(std::move(every));
  keys.push_back(value_key<kind::Time>(
      {.path = "evaluation.duration",
       .meaning = "Time of one evaluation.",
       .example = "12min",
       .required = true},
      kSpan,
      [](Draft& draft, const Seconds& value) { draft.run.evaluation->duration = value; }));
}

void add_capacity(std::vector<Key>& keys) {
  keys.push_back(section_key({.path = "capacity",
                              .note = "no spares",
                              .meaning = "Nodes that replace broken ones.",
                              .example = "{spares: 16, repair_time: 2d}"}));
  keys.push_back(value_key<kind::Count>(
      {.path = "capacity.spares",
       .fallback = "0",
       .meaning = "Nodes held ready beside those of cluster.nodes.",
       .example = "16"},
      between<std::int64_t>(0, 1'000'000),
      [](Draft& draft, const std::int64_t& value) { draft.run.capacity.spares = value; }));
  add_duration_keys(
      keys,
      {.path = "capacity.repair_time",
       .fallback = "2d",
       .meaning = "From taking a node out until it is ready again; the default is "
                  "assumed.",
       .example = "3d"},
      [](Draft& draft, const run::Duration& value) { draft.run.capacity.repair_time = value; });
}

void add_prices(std::vector<Key>& keys) {
  keys.push_back(section_key({.path = "prices",
                              .note = "no dollars in the answer",
                              .meaning = "What the GPUs cost.",
                              .example = "{gpu_hour: $2.50/h, as_of: 2026-11-01}"}));
  keys.push_back(value_key<kind::PriceRate>(
      {.path = "prices.gpu_hour",
       .note = "no dollars in the answer",
       .meaning = "Price of one GPU.",
       .example = "$2.50/h"},
      {},
      [](Draft& draft, const DollarsPerSecond& value) { draft.run.prices.gpu_hour = value; }));
  Key as_of = value_key<kind::Date>({.path = "prices.as_of",
                                     .note = "not printed",
                                     .meaning = "Date of the price, printed beside the cost.",
                                     .example = "2026-11-01"},
                                    {},
                                    [](Draft&, const yaml::DateTime&) {});
  as_of.read = [](const yaml::Value& value, const std::string& path, Reading& reading) {
    if (yaml::read_value<kind::Date>(value, path, reading.diagnostics)) {
      reading.draft.run.prices.as_of = value.text;
    }
  };
  keys.push_back(std::move(as_of));
  keys.push_back(value_key<kind::Boolean>(
      {.path = "prices.bill_spares",
       .fallback = "true",
       .meaning = "Spares and nodes in repair cost as much as the others.",
       .example = "false"},
      {},
      [](Draft& draft, const bool& value) { draft.run.prices.bill_spares = value; }));
}

void add_simulation(std::vector<Key>& keys) {
  keys.push_back(section_key({.path = "simulation",
                              .note = "as its keys",
                              .meaning = "How often the run is drawn.",
                              .example = "{trials: 1000, seed: 1}"}));
  keys.push_back(value_key<kind::Count>(
      {.path = "simulation.trials",
       .fallback = "1000",
       .meaning = "Independent trials of the run.",
       .example = "10k"},
      between<std::int64_t>(1, 1'000'000),
      [](Draft& draft, const std::int64_t& value) { draft.run.simulation.trials = value; }));
  keys.push_back(value_key<kind::Count>({.path = "simulation.seed",
                                         .fallback = "1",
                                         .meaning = "Start of the random streams.",
                                         .example = "7"},
                                        yaml::at_least<std::int64_t>(0),
                                        [](Draft& draft, const std::int64_t& value) {
                                          draft.run.simulation.seed =
                                              static_cast<std::uint64_t>(value);
                                        }));
  keys.push_back(value_key<kind::Time>(
      {.path = "simulation.max_wall",
       .note = "10 times the fault-free run and 30 d",
       .meaning = "A trial that has not reached its target by then gives up.",
       .example = "365d"},
      kPositiveSpan,
      [](Draft& draft, const Seconds& value) { draft.run.simulation.max_wall = value; }));
}

}  // namespace

std::vector<Key> run_keys() {
  std::vector<Key> keys;
  add_training(keys);
  add_evaluation(keys);
  add_capacity(keys);
  add_prices(keys);
  add_simulation(keys);
  return keys;
}

}  // namespace orrery::scenario
