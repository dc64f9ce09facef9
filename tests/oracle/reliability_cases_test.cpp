// Publications and closed forms of failures, checkpoints and recovery, as rows of
// reliability/cases.yaml: {function, inputs, expected}. The table below is all that a row may name.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/base/sim_time.hpp"
#include "sim/base/units.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/base/yaml/scalar.hpp"
#include "sim/run/failures/failure_sources.hpp"
#include "sim/run/monte_carlo.hpp"
#include "sim/run/recovery/recovery_spec.hpp"
#include "sim/run/run_plan.hpp"
#include "sim/run/theory/theory.hpp"
#include "sim/run/theory/time_law.hpp"
#include "sim/validate/rows/data_row.hpp"
#include "sim/validate/rows/run_case.hpp"
#include "tests/checkout.hpp"
#include "tests/oracle/run_times.hpp"
#include "tests/shipped_presets.hpp"

namespace orrery::run::test {
namespace {

// Duration of a job on a fleet with lemons, standbys and two stages
// of repair. The process is that of AIReSim (arXiv 2603.07041):
// work until a failure is kept, nothing fails during a recovery.
//
// symbol     | meaning                                                    | unit  | origin
// -----------|------------------------------------------------------------|-------|-------
// job        | servers that train                                         | nodes | case
// standbys   | swapped in at once; the rest of the pool after `selection` | nodes | case
// rate       | failures of a good server                                  | 1/s   | case
// bad, times | share of bad servers, and their hazard in terms of `rate`  | 1     | case
// first      | automatic repair, which fails with `first_fails`           | s, 1  | case
// manual     | follows with `escalates`, fails with `manual_fails`        | s, 1  | case
//
// Through the run simulator, with a save without stall after every second of training. A repair
// that works makes a bad server good.

struct FleetCase {
  std::int64_t job = 1;
  std::int64_t standbys = 0;
  std::int64_t selected = 0;  // beside job and standbys, after a selection
  Seconds length;             // of the training
  PerSecond rate;
  double bad_share = 0.0;
  double bad_times = 1.0;
  Seconds recovery;
  Seconds selection;
  Seconds first_repair;
  double first_fails = 0.0;
  double escalates = 0.0;
  Seconds manual_repair;
  double manual_fails = 0.0;
};

struct FleetTimes {
  Seconds total;         // mean of the trials
  double trained = 0.0;  // share of it
};

constexpr std::int64_t kFleetTrials = 30;
constexpr double kFleetLongest = 20.0;  // times the training
const Seconds kFleetStep = seconds(1.0);

// A save without stall after every step of a second comes close to work that is never lost.
RunSpec spec_of(const FleetCase& asked) {
  RunSpec spec;
  spec.training.steps = static_cast<std::int64_t>(asked.length / kFleetStep);
  spec.checkpoint.interval = StepsInterval{1};
  spec.checkpoint.stall = Seconds{};
  spec.checkpoint.final_save = false;
  spec.recovery.stages[index_of(RecoveryStage::reschedule)] = fixed(asked.recovery);
  spec.recovery.stages[index_of(RecoveryStage::load)] = fixed(Seconds{});
  spec.failures.node_rate = asked.rate;
  spec.failures.causes = {failure_cause("server", FailureCategory::host)};
  LemonSpec lemons;
  lemons.fraction = asked.bad_share;
  lemons.factor = asked.bad_times;
  spec.failures.lemons = lemons;
  spec.failures.during_recovery = false;
  spec.capacity.spares = asked.standbys;
  spec.capacity.warm.nodes = asked.selected;
  spec.capacity.warm.ready = fixed(asked.selection);
  spec.capacity.repair_time = fixed(asked.first_repair);
  spec.capacity.repair.fails = asked.first_fails;
  if (asked.escalates > 0.0) {
    spec.capacity.repair.manual = ManualRepairSpec{.escalates = asked.escalates,
                                                   .time = fixed(asked.manual_repair),
                                                   .fails = asked.manual_fails};
  }
  spec.simulation.trials = kFleetTrials;
  spec.simulation.max_wall = kFleetLongest * asked.length;
  return spec;
}

std::optional<FleetTimes> simulate_fleet(const FleetCase& asked) {
  const StepInput step = {.step_time = to_sim_time(kFleetStep),
                          .tokens_per_step = tokens(1.0),
                          .gpus = asked.job,
                          .nodes = asked.job,
                          .gpus_per_node = 1,
                          .parameters = 0.0};
  std::vector<RunProblem> problems;
  const auto plan = resolve_run(spec_of(asked), step, problems);
  const auto result = plan ? simulate(*plan, {}) : std::optional<MonteCarloResult>();
  if (!result) {
    return std::nullopt;
  }
  FleetTimes times;
  times.total = seconds(result->wall.mean());
  times.trained = asked.length / times.total;
  return times;
}

// Failure rate of a system whose parts age and are renewed one by one.
//
// symbol    | meaning                                                   | unit | origin
// ----------|-----------------------------------------------------------|------|-------
// parts     | components that fail independently                        | -    | case
// mean_life | of each of them, whatever the shape                       | s    | case
// shape     | of the Weibull law of their lives                         | 1    | case
//
// By the renewal theorem the answer is mean_life / parts for any shape.

struct RenewalCase {
  std::int64_t parts = 1;
  Seconds mean_life;
  double shape = 1.0;
};

constexpr double kLives = 200.0;        // of every part, on average
constexpr double kStrikes = 200'000.0;  // counted, all trials together
constexpr double kMostTrials = kKilo;
const Seconds kRenewalLongest = days(20'000.0);

// Parts that begin new, one on each node, and run for the window.
std::optional<RunPlan> plan_of(const RenewalCase& asked, Seconds window) {
  RunSpec spec;
  spec.training.duration = window;
  FailureCause part = failure_cause("part", FailureCategory::host);
  part.life = weibull_of_mean(asked.shape, asked.mean_life);
  part.age.kind = AgeKind::fresh;
  spec.failures.causes = {part};
  const StepInput step = {.step_time = to_sim_time(window),
                          .tokens_per_step = tokens(1.0),
                          .gpus = asked.parts,
                          .nodes = asked.parts,
                          .gpus_per_node = 1,
                          .parameters = 0.0};
  std::vector<RunProblem> problems;
  return resolve_run(spec, step, problems);
}

Seconds simulate_renewal(const RenewalCase& asked) {
  const Seconds window = std::min(kLives * asked.mean_life, kRenewalLongest);
  const auto plan = plan_of(asked, window);
  if (!plan) {
    return seconds(std::nan(""));
  }
  // The first quarter belongs to the ages that all parts share at the start.
  const SimTime begin = to_sim_time(0.25 * window);
  const SimTime end = to_sim_time(window);
  const double expected = static_cast<double>(asked.parts) * (0.75 * window / asked.mean_life);
  const auto trials = static_cast<std::uint32_t>(
      std::clamp(std::ceil(kStrikes / std::max(expected, 1.0)), 1.0, kMostTrials));
  FailureSources sources(*plan);
  std::int64_t strikes = 0;
  for (std::uint32_t trial = 0; trial < trials; ++trial) {
    sources.reset(trial);
    while (sources.next() < end) {
      const SimTime at = sources.next();
      static_cast<void>(sources.take(at));
      strikes += at >= begin ? 1 : 0;
    }
  }
  if (strikes == 0) {
    return seconds(std::nan(""));
  }
  return 0.75 * window * (static_cast<double>(trials) / static_cast<double>(strikes));
}

// Mean time of one segment of Daly's run (interval and save), by Monte Carlo.

Seconds simulate_segment(const DalyRun& run) {
  constexpr std::int64_t kTrials = 2'000;
  constexpr std::int64_t kSegments = 1'000;  // of one trial
  RunSpec spec;
  spec.training.steps = kSegments;
  spec.checkpoint.interval = StepsInterval{1};
  spec.checkpoint.stall = run.checkpoint;
  spec.recovery.stages[index_of(RecoveryStage::reschedule)] = fixed(run.restart);
  spec.recovery.stages[index_of(RecoveryStage::load)] = fixed(Seconds{});
  spec.failures.job_rate = 1.0 / run.mtbf;
  spec.simulation.trials = kTrials;
  spec.simulation.max_wall = days(25'000.0);
  const StepInput step = {.step_time = to_sim_time(run.interval),
                          .tokens_per_step = tokens(1.0),
                          .gpus = 1,
                          .nodes = 1,
                          .gpus_per_node = 1,
                          .parameters = 0.0};
  std::vector<RunProblem> problems;
  const auto plan = resolve_run(spec, step, problems);
  return plan ? seconds(simulate(*plan, {})->wall.mean() / static_cast<double>(kSegments))
              : seconds(std::nan(""));
}

using validate::DataRow;

// A bare number, or a time in seconds.
double amount(const std::string& text) {
  if (const auto number = yaml::parse_number(text).value) {
    return *number;
  }
  const auto time = yaml::parse_time(text).value;
  EXPECT_TRUE(time.has_value()) << text;
  return time ? in_seconds(*time) : std::nan("");
}

class Inputs {
 public:
  explicit Inputs(const DataRow& row) : row_(row) {}

  [[nodiscard]] bool has(const char* key) const { return row_.has(key); }

  [[nodiscard]] std::string text(const char* key) const {
    EXPECT_TRUE(row_.has(key)) << key;
    return row_.text(key);
  }

  [[nodiscard]] double number(const char* key) const {
    return yaml::parse_number(text(key)).value.value_or(std::nan(""));
  }

  [[nodiscard]] std::int64_t count(const char* key) const {
    return static_cast<std::int64_t>(number(key));
  }

  [[nodiscard]] Seconds time(const char* key) const {
    return yaml::parse_time(text(key)).value.value_or(seconds(std::nan("")));
  }

  [[nodiscard]] PerSecond rate(const char* key) const {
    return yaml::parse_event_rate(text(key)).value.value_or(per_second(std::nan("")));
  }

  [[nodiscard]] CheckpointCost cost() const { return {time("checkpoint"), time("mtbf")}; }

 private:
  DataRow row_;
};

using Values = std::vector<double>;
using Function = std::function<Values(const Inputs&)>;

Values seconds_of(Seconds time) { return {in_seconds(time)}; }

Values interval_errors(const Inputs& in) {
  const CheckpointCost cost{seconds(in.number("checkpoint_over_mtbf")), seconds(1.0)};
  const Seconds exact = optimal_interval(cost);
  return {young_interval(cost) / exact - 1.0, daly_first_order_interval(cost) / exact - 1.0,
          daly_higher_order_interval(cost) / exact - 1.0};
}

DalyRun daly_run(const Inputs& in) {
  return {.useful = in.has("useful") ? in.time("useful") : in.time("interval"),
          .interval = in.time("interval"),
          .checkpoint = in.time("checkpoint"),
          .restart = in.time("restart"),
          .mtbf = in.time("mtbf")};
}

Values ettr(const Inputs& in) {
  return {expected_ettr({.nodes = in.number("nodes"),
                         .node_rate = in.rate("node_rate"),
                         .restart = in.time("restart"),
                         .interval = in.time("interval"),
                         .write = in.time("write")})};
}

Values repair_load(const Inputs& in) {
  const RepairLoad load = nodes_in_repair(in.rate("failures"), in.time("repair"));
  return {load.mean, static_cast<double>(load.p99)};
}

Values fleet(const Inputs& in) {
  const auto times = simulate_fleet({.job = in.count("job"),
                                     .standbys = in.count("standbys"),
                                     .selected = in.count("selected"),
                                     .length = in.time("length"),
                                     .rate = in.rate("rate"),
                                     .bad_share = in.number("bad_share"),
                                     .bad_times = in.number("bad_times"),
                                     .recovery = in.time("recovery"),
                                     .selection = in.time("selection"),
                                     .first_repair = in.time("first_repair"),
                                     .first_fails = in.number("first_fails"),
                                     .escalates = in.number("escalates"),
                                     .manual_repair = in.time("manual_repair"),
                                     .manual_fails = in.number("manual_fails")});
  return times ? Values{in_seconds(times->total), times->trained} : Values{};
}

Values restart(const Inputs& in) {
  const auto preset = shipped::recovery(in.text("preset"));
  Seconds sum;
  for (const GpuCurve& curve : preset->curves) {
    sum += curve.empty() ? Seconds{} : value_at(curve, in.number("gpus"));
  }
  return seconds_of(sum);
}

Values scripted_run(const Inputs& in) {
  validate::RunCase run{.steps = in.count("steps"),
                        .step = in.time("step"),
                        .save_every = in.count("save_every"),
                        .stall = in.time("stall"),
                        .restart = in.time("restart")};
  for (const char* key : {"failure", "second_failure"}) {
    if (in.has(key)) {
      run.failures.push_back(in.time(key));
    }
  }
  const auto times = validate::run_case(run);
  return times ? Values{in_seconds(times->wall), in_seconds(times->lost),
                        in_seconds(times->checkpoint), in_seconds(times->restart)}
               : Values{};
}

const std::map<std::string, Function>& functions() {
  static const std::map<std::string, Function> table = {
      {"young_waste",
       [](const Inputs& in) {
         return Values{first_order_waste(in.cost(), young_interval(in.cost()))};
       }},
      {"daly_higher_order_interval",
       [](const Inputs& in) { return seconds_of(daly_higher_order_interval(in.cost())); }},
      {"optimal_interval",
       [](const Inputs& in) { return seconds_of(optimal_interval(in.cost())); }},
      {"interval_errors", interval_errors},
      {"daly_run_time", [](const Inputs& in) { return seconds_of(daly_run_time(daly_run(in))); }},
      {"simulated_segment",
       [](const Inputs& in) { return seconds_of(simulate_segment(daly_run(in))); }},
      {"expected_ettr", ettr},
      {"job_mtbf",
       [](const Inputs& in) {
         return seconds_of(job_mtbf(in.number("nodes"), in.rate("node_rate")));
       }},
      {"binomial_quantile",
       [](const Inputs& in) {
         return Values{
             static_cast<double>(binomial_quantile(in.count("n"), in.number("p"), in.number("q")))};
       }},
      {"nodes_in_repair", repair_load},
      {"simulated_renewals",
       [](const Inputs& in) {
         return seconds_of(simulate_renewal(
             {.parts = in.count("n"), .mean_life = in.time("mean"), .shape = in.number("shape")}));
       }},
      {"lognormal_sigma",
       [](const Inputs& in) {
         return Values{lognormal_sigma(in.time("mean"), in.time("median"))};
       }},
      {"simulated_fleet", fleet},
      {"restart_by_gpus", restart},
      {"simulated_run", scripted_run}};
  return table;
}

TEST(ReliabilityCases, EveryFunctionGivesWhatIsPublishedOrFollowsInClosedForm) {
  Diagnostics diagnostics;
  const auto document = yaml::parse_file(
      std::string(kSourceDir) + "/tests/oracle/reliability/cases.yaml", {}, diagnostics);
  ASSERT_TRUE(document.has_value()) << to_string(diagnostics);
  const std::vector<DataRow> cases = validate::data_rows(*document, "cases");
  ASSERT_GE(cases.size(), 35U);
  for (const DataRow& row : cases) {
    SCOPED_TRACE(row.text("id"));
    const auto function = functions().find(row.text("function"));
    ASSERT_NE(function, functions().end()) << row.text("function");
    const Values values = function->second(Inputs(row.row("inputs")));
    const std::vector<std::string> expected = row.texts("expected");
    ASSERT_EQ(values.size(), expected.size());
    const double relative = row.has("abs") ? 0.0 : row.number("rel").value_or(1e-9);
    const double absolute = row.has("abs") ? amount(row.text("abs")) : 0.0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double wanted = amount(expected[i]);
      EXPECT_NEAR(values[i], wanted, absolute + relative * std::abs(wanted)) << "value " << i;
    }
  }
}

}  // namespace
}  // namespace orrery::run::test
