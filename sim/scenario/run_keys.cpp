// Keys of the run: `capacity`, `prices`, `simulation`.

#include "sim/scenario/key_makers.hpp"
#include "sim/scenario/key_table.hpp"

namespace orrery::scenario {

namespace {

using yaml::between;
namespace kind = yaml::kind;

// Simulated time holds 73 years between two events (run/run_plan.hpp).
const yaml::Range<Seconds> kSpan = yaml::at_most(days(25'000.0));
const yaml::Range<Seconds> kPositiveSpan = {Seconds{}, days(25'000.0), true};

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
  add_capacity(keys);
  add_prices(keys);
  add_simulation(keys);
  return keys;
}

}  // namespace orrery::scenario
