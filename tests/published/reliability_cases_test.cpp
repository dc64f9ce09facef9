// Every published reliability case within its own tolerance, through `orrery validate`; and cases
// of the same kinds in other words, units and numbers, whose answers follow by hand.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/published/case_file.hpp"

namespace orrery::validate::test {
namespace {

TEST(ReliabilityCases, AllAreWithinTheirTolerance) {
  const Validation validation = published("reliability_cases.yaml");
  ASSERT_GE(validation.rows.size(), 70U);
  std::size_t traces = 0;
  for (const ValidationRow& row : validation.rows) {
    if (row.skipped.find("lies neither beside the data set") != std::string::npos) {
      ++traces;  // the traces are not shipped
      continue;
    }
    EXPECT_EQ(row.skipped, "") << row.id;
    EXPECT_TRUE(row.within.value_or(false))
        << row.id << ": " << row.predicted << " for " << row.measured;
  }
  EXPECT_EQ(traces, 6U);  // three cases of two values
}

struct Wording {
  std::string quantity;
  std::string inputs;
  std::string expected;
  std::string unit;
  std::string tolerance = "{rel: 1.0e-9}";
};

// Each expected value is computed by hand in the comment above it.
std::vector<Wording> wordings() {
  return {
      // sqrt(2 * 10 s * 7200 s) = 379.473319220 s
      {"Young interval", "C_s: 10, M_h: 2", "379.473319220206", "s"},
      // the same in minutes and by other names
      {"optimal checkpoint interval, Young",
       "save_s: 10, mtbf_min: 120",
       "6.32455532033676",
       "min"},
      // sqrt(2 * 10 * 7200) - 10
      {"tau_opt, Daly first order", "delta_s: 10, M_s: 7200", "369.473319220206", "s"},
      // 3600 e^(600/3600) (e^((1200 + 60)/3600) - 1) * 36000 / 1200
      {"expected run time",
       "M_h: 1, delta_min: 1, R_min: 10, Ts_h: 10, tau_min: 20",
       "14.8523",
       "h",
       "{rel: 1.0e-4}"},
      // C/tau + tau/2M = 60/1200 + 1200/7200
      {"first-order waste", "C_s: 60, tau_s: 1200, M_h: 1", "0.216666666666667", "fraction"},
      // 24 / (512/8 * 0.0065) h
      {"MTTF of a job",
       "gpus: 512, gpus_per_node: 8, r_per_node_day: 0.0065",
       "57.6923076923077",
       "h"},
      {"job MTTF", "nodes: 64, failures_per_1000_node_days: 6.5", "2.40384615384615", "d"},
      // 1000 * 205 / (120 * 200)
      {"failures per 1000 node-days",
       "days: 120, failures: 205, gpus: 1600, gpus_per_node: 8",
       "8.54166666666667",
       "per 1000 node-days"},
      // 24 / 7.9 / 128 * 1000
      {"implied node rate per 1000 node-days",
       "mttf_h: 7.9, gpus: 1024, gpus_per_node: 8",
       "23.7341772151899",
       "per 1000 node-days"},
      {"sum of the categories", "counts: [1, 2, 3]", "6", "count"},
      {"host share (7+3+3+2+2+2+2)/419",
       "host_counts: [7, 3, 3, 2, 2, 2, 2]",
       "0.0501193317422434",
       "fraction"},
      {"network share", "counts: [35], total: 419", "8.35322195704057", "percent"},
      {"sum of the printed column", "printed: [30.1, 17.2]", "47.3", "percent"},
      // 405e9 * 14 bytes over 16,384 GPUs
      {"checkpoint size per GPU",
       "params: 405.0e9, bytes_per_param: 14, gpus: 16384",
       "0.346069335937500",
       "GB"},
      // 405e9 * 16 / 2e12
      {"write time at the sustained rate",
       "params: 405.0e9, bytes_per_param: 16, bandwidth_TB_s: 2",
       "3.24",
       "s"},
      {"aggregate write bandwidth", "size_GB: 268, save_s: 20", "13.4", "GB/s"},
      {"bandwidth per rank", "bytes: 2.464e12, save_s: 40, ranks: 384", "160.416666666667", "MB/s"},
      // 20 / (50 * 10 + 20)
      {"share of time in saves",
       "save_s: 20, steps: 50, step_s: 10",
       "0.0384615384615385",
       "fraction"},
  };
}

std::vector<Wording> more_wordings() {
  return {
      // (18 - 10) / 18
      {"effective time, synchronous",
       "mtbf_min: 18, stall_min: 10",
       "0.444444444444444",
       "fraction"},
      // (60 - 4 - 20 / 8) / 60
      {"elastic effective time",
       "mtbf_min: 60, stall_min: 4, degraded_min: 20, replicas: 8",
       "0.891666666666667",
       "fraction"},
      // 24 * 60 / (4 * 2.0e-3 * 1000) min over 90 min
      {"MTBF by scaling over measured",
       "nodes: 4000, r_per_1000_node_days: 2, measured_min: 90",
       "2",
       "ratio"},
      // groups of 2 of 4 machines, one lost: always; two lost: 4 of 6 pairs
      {"P(recover from RAM)", "N: 4, m: 2, k: 1", "1", "probability"},
      {"P(recover from RAM)", "N: 4, m: 2, k: 2", "0.666666666666667", "probability"},
      {"P50 of Binomial", "n: 10, p: 0.5, q: 0.5", "5", "machines"},
      {"mean nodes in repair", "failures_per_day: 3, mean_repair_h: 12", "1.5", "nodes"},
      // 1000 * 100^(-1/0.5) h
      {"mean of the minimum of fresh lives", "n: 100, mean_h: 1000, shape: 0.5", "0.1", "h"},
      {"slowdown S", "t_original_s: 3, t_ideal_s: 2", "1.5", "ratio"},
      // 1 - (40 + 10 + 50) / (40 + 10 + 100)
      {"ETTR of ByteCheckpoint",
       "T_save: 40, T_load: 10, N_t: 100",
       "0.333333333333333",
       "fraction"},
      {"cluster rate", "gpus: 100, usd_gpu_h: 2.5", "250", "USD/h"},
      {"cost of two days", "gpus: 100, usd_per_gpu_hour: 2.5, days: 2", "12000", "USD"},
      {"cost", "gpu_hours: 1000, usd_gpu_h: 2", "0.002", "M USD"},
      // 800 / 8 * 10 kW * 24 h * 1.2
      {"energy", "gpus: 800, gpus_per_node: 8, node_kw: 10, days: 1, pue: 1.2", "28.8", "MWh"},
      {"cost of the energy in USD",
       "gpus: 1000, watts: 700, hours: 10, usd_per_kwh: 0.08",
       "560",
       "USD"},
      // 6 * 7e9 * 1e6 / (64 * 400e12)
      {"time of a step",
       "params: 7.0e9, batch_tokens: 1.0e6, gpus: 64, tflops: 400",
       "1.640625",
       "s"},
      // 6 * 7e9 * 1e12 / (100000 * 3600)
      {"average rate",
       "params: 7.0e9, tokens: 1.0e12, gpu_hours: 100000",
       "116.666666666667",
       "TFLOP/s per GPU"},
      {"whole-run MFU",
       "params: 7.0e9, tokens: 1.0e12, gpu_hours: 100000, peak_tflops: 312",
       "0.373931623931624",
       "fraction"},
      {"drops per instance-hour", "drops: 10, instance_hours: 200", "0.05", "1/h"},
      {"sigma of the lognormal", "mean_s: 2334, median_s: 222", "2.169176", "1", "{abs: 1.0e-5}"},
      {"wasted share",
       "wasted_gpu_hours: 178000, gpus: 992, days: 60",
       "0.124607974910394",
       "fraction"},
      {"unattributed minutes",
       "phases_min: [0.52, 1.5, 1.73, 0.92, 1.09], total_min: 6.47",
       "0.71",
       "min"},
      // 1000 * 6.2208 s / (2 * 3.093 h)
      {"share of the window lost",
       "steps: 1000, step_s: 6.2208, mtbf_h: 3.093",
       "0.279340446168768",
       "fraction"},
      {"interval of 1000 steps", "steps: 1000, step_s: 6.2208", "1.728", "h"},
      {"steps in ten minutes", "interval_min: 10, step_s: 6.25", "96", "count"},
      {"aggregate of all ranks", "per_rank_GB_s: 30, ranks: 16384", "491.52", "TB/s"},
      {"price of a GPU", "usd_per_instance_hour: 55.04, gpus: 8", "6.88", "USD/GPU-h"},
      {"spot below on demand", "on_demand: 7.91, spot: 3.40", "0.570164348925411", "fraction"},
      {"Megatron restart downtime", "gpus: [128, 512]", "[190, 260]", "s"},
      {"NCCL communicator init", "gpus: [16384]", "[17]", "s"},
      // the long-run MTBF of renewed parts does not know the shape
      {"long-run MTBF of the system", "n: 64, mean_d: 64, shape: 0.7", "1", "d", "{rel: 0.02}"},
  };
}

TEST(ReliabilityCases, OtherWordsUnitsAndNumbersAreUnderstood) {
  std::vector<Wording> all = wordings();
  const std::vector<Wording> more = more_wordings();
  all.insert(all.end(), more.begin(), more.end());
  for (const Wording& wording : all) {
    SCOPED_TRACE(wording.quantity + " {" + wording.inputs + "}");
    const Validation validation = validation_of_text(reliability_case(
        wording.quantity, wording.inputs, wording.expected, wording.unit, wording.tolerance));
    ASSERT_GE(validation.rows.size(), 1U);
    for (const ValidationRow& row : validation.rows) {
      EXPECT_EQ(row.skipped, "");
      EXPECT_TRUE(row.within.value_or(false)) << row.predicted << " for " << row.measured;
    }
  }
}

// Seven samples an hour apart: there in four of them, taken away twice.
TEST(ReliabilityCases, TracesBesideTheDataSetAreRead) {
  const Validation validation =
      validation_of_text(reliability_case("[available fraction, drops per instance-hour]",
                                          "file: trace.json, gap_s: 3600",
                                          "[0.571428571428571, 0.5]",
                                          "fraction, 1/h"),
                         R"({"metadata": {"gap_seconds": 3600}, "data": [1, 1, 0, 1, 0, 0, 1]})");
  ASSERT_EQ(validation.rows.size(), 2U);
  for (const ValidationRow& row : validation.rows) {
    EXPECT_TRUE(row.within.value_or(false)) << row.skipped << row.predicted;
  }
}

TEST(ReliabilityCases, BoundsAreJudgedAsBounds) {
  const auto row = [](const std::string& relation, const std::string& bound) {
    const Validation validation = validation_of_text(reliability_case(
        "Young interval", "C_s: 10, M_h: 2, relation: '" + relation + "'", bound, "s"));
    return validation.rows.at(0);
  };
  EXPECT_TRUE(row(">=", "300").match.value_or(false));
  EXPECT_FALSE(row("at least", "400").match.value_or(true));
  EXPECT_TRUE(row("<=", "400").match.value_or(false));
  EXPECT_EQ(row("<=", "300").mismatches.front(), "379.4733192 is not at most 300");
}

TEST(ReliabilityCases, WhatIsMissingIsNamed) {
  const auto reason = [](const std::string& quantity, const std::string& inputs) {
    return validation_of_text(reliability_case(quantity, inputs, "1", "s")).rows.at(0).skipped;
  };
  EXPECT_EQ(reason("two-level optimum: waste", "C1_s: 1, C2_s: 10, M_h: 1"),
            "the case does not state p_recoverable_level1");
  EXPECT_EQ(reason("phase of the moon", "day: 3"),
            "no stage computes this quantity from these inputs");
  EXPECT_EQ(reason("[available fraction, drops per hour]", "file: a/b.json, gap_s: 195"),
            "the trace a/b.json lies neither beside the data set nor in a folder of --traces, and "
            "the case states neither drops nor instance-hours");
}

TEST(ReliabilityCases, AbsurdInputsEndInAReason) {
  for (const char* inputs : {"C_s: 10, M_h: 0",
                             "C_s: -1, M_h: 1",
                             "C_s: 1e300, M_s: 1e-300",
                             "C1_s: 1, C2_s: 1, M_s: 1, p: 2",
                             "N: 7, m: 2, k: 3",
                             "N: 4, m: 2, k: 9",
                             "n: 10, p: 0.5, q: 1",
                             "steps: 1e18, step_s: 1, failures_s: []",
                             "gpus: 0, usd_gpu_h: 4, hours: 1"}) {
    const Validation validation =
        validation_of_text(reliability_case("tau_opt exact, two-level waste", inputs, "1", "s"));
    ASSERT_EQ(validation.rows.size(), 1U) << inputs;
  }
}

}  // namespace
}  // namespace orrery::validate::test
