// Publications and closed forms of failures, checkpoints and recovery, as rows of
// reliability/cases.yaml: {function, inputs, expected}. The table below is all that a row may name.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/base/yaml/scalar.hpp"
#include "sim/run/recovery/recovery_spec.hpp"
#include "sim/run/theory/theory.hpp"
#include "sim/run/theory/time_law.hpp"
#include "sim/validate/rows/data_row.hpp"
#include "sim/validate/rows/run_case.hpp"
#include "tests/checkout.hpp"
#include "tests/oracle/reliability/fleet_case.hpp"
#include "tests/oracle/reliability/renewal_case.hpp"
#include "tests/oracle/reliability/segment_case.hpp"
#include "tests/oracle/run_times.hpp"
#include "tests/shipped_presets.hpp"

namespace orrery::run::test {
namespace {

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

Values two_levels(const Inputs& in) {
  const TwoLevelOptimum best =
      two_level_optimum({.near_checkpoint = in.time("near_checkpoint"),
                         .far_checkpoint = in.time("far_checkpoint"),
                         .mtbf = in.time("mtbf"),
                         .near_recoverable = in.number("near_recoverable")});
  return {in_seconds(best.near_interval), in_seconds(best.far_interval), best.waste};
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
      {"two_level_optimum", two_levels},
      {"expected_ettr", ettr},
      {"job_mtbf",
       [](const Inputs& in) {
         return seconds_of(job_mtbf(in.number("nodes"), in.rate("node_rate")));
       }},
      {"effective_time",
       [](const Inputs& in) {
         return Values{effective_time(in.time("mtbf"), in.time("stall"), in.time("degraded"),
                                      in.number("lost"))};
       }},
      {"replica_survival",
       [](const Inputs& in) {
         return Values{replica_survival(in.count("machines"), in.count("group"), in.count("lost"))};
       }},
      {"binomial_quantile",
       [](const Inputs& in) {
         return Values{
             static_cast<double>(binomial_quantile(in.count("n"), in.number("p"), in.number("q")))};
       }},
      {"nodes_in_repair", repair_load},
      {"fresh_minimum_mean",
       [](const Inputs& in) {
         return seconds_of(fresh_minimum_mean(in.number("n"), in.time("mean"), in.number("shape")));
       }},
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
      {"one_failure_per_interval_ettr",
       [](const Inputs& in) {
         return Values{
             one_failure_per_interval_ettr(in.time("interval"), in.time("save"), in.time("load"))};
       }},
      {"simulated_run", scripted_run}};
  return table;
}

TEST(ReliabilityCases, EveryFunctionGivesWhatIsPublishedOrFollowsInClosedForm) {
  Diagnostics diagnostics;
  const auto document = yaml::parse_file(
      std::string(kSourceDir) + "/tests/oracle/reliability/cases.yaml", {}, diagnostics);
  ASSERT_TRUE(document.has_value()) << to_string(diagnostics);
  const std::vector<DataRow> cases = validate::data_rows(*document, "cases");
  ASSERT_GE(cases.size(), 40U);
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
