// Traces of spot capacity as samples in JSON: what is read, and what is said where nothing can be.

#include "sim/scenario/logs/spot_trace_file.hpp"

#include <gtest/gtest.h>

#include <string>

namespace orrery::scenario {
namespace {

std::optional<run::SpotTrace> read(const std::string& text, std::string& problems) {
  Diagnostics diagnostics;
  auto trace =
      read_spot_trace_text(text, "zone", {"s.yaml", 3, 9}, "capacity.spot.traces[0]", diagnostics);
  problems = to_string(diagnostics);
  return trace;
}

TEST(SpotTraceFile, SamplesHoldForTheGapBetweenThem) {
  std::string problems;
  const auto trace =
      read("\n {\"metadata\": {\"gap_seconds\": 300, \"zone\": \"a\"}, \"data\": [4, 4, 1, 2]}\n",
           problems);
  ASSERT_TRUE(trace) << problems;
  EXPECT_TRUE(problems.empty()) << problems;
  ASSERT_EQ(trace->rows.size(), 3U);
  EXPECT_EQ(trace->rows[0], (run::SpotRow{SimTime{}, 4, std::nullopt}));
  EXPECT_EQ(trace->rows[1], (run::SpotRow{to_sim_time(seconds(600.0)), 1, std::nullopt}));
  EXPECT_EQ(trace->rows[2], (run::SpotRow{to_sim_time(seconds(900.0)), 2, std::nullopt}));
  EXPECT_EQ(trace->length, to_sim_time(seconds(1200.0)));
}

TEST(SpotTraceFile, PricesOfInstancesAreNotTakenForThoseOfGpus) {
  std::string problems;
  EXPECT_TRUE(
      read(R"({"metadata": {"gap_seconds": 30}, "data": [1], "prices": [0.918]})", problems));
  EXPECT_EQ(problems,
            "zone:1:58: warning: prices: are not read: they are those of an instance "
            "(prices.spot_gpu_hour of the scenario)\n");
}

TEST(SpotTraceFile, SaysWhichSampleIsWrong) {
  const struct {
    std::string text;
    std::string problem;
  } cases[] = {
      {R"({"data": [1]})",
       "zone:1:1: error: metadata.gap_seconds: is missing (seconds between two samples)\n"},
      {R"({"metadata": {"gap": 5}, "data": [1]})",
       "zone:1:14: error: metadata.gap_seconds: is missing (seconds between two samples)\n"},
      {R"({"metadata": {"gap_seconds": 5}})",
       "zone:1:1: error: data: is missing (nodes, one sample per gap)\n"},
      {R"({"metadata": {"gap_seconds": 5}, "data": 7})",
       "zone:1:42: error: data: is no list ([16, 16, 12, 16])\n"},
      {R"({"metadata": {"gap_seconds": 5}, "data": []})",
       "zone:1:42: error: data: has no samples ([16, 16, 12, 16])\n"},
  };

  for (const auto& one : cases) {
    std::string problems;
    EXPECT_FALSE(read(one.text, problems)) << one.text;
    EXPECT_EQ(problems, one.problem);
  }
  for (const char* sample : {"-1", "1.5", "2000000", "x", "null"}) {
    std::string problems;
    const std::string text =
        std::string(R"({"metadata": {"gap_seconds": 5}, "data": [1, )") + sample + "]}";
    EXPECT_FALSE(read(text, problems)) << sample;
    EXPECT_TRUE(problems.starts_with("zone:1:46: error: data[1]: ")) << problems;
  }
  for (const char* gap : {"0", "-3", "86401", "x"}) {
    std::string problems;
    const std::string text =
        std::string(R"({"metadata": {"gap_seconds": )") + gap + R"(}, "data": [1]})";
    EXPECT_FALSE(read(text, problems)) << gap;
    EXPECT_TRUE(problems.starts_with("zone:1:30: error: metadata.gap_seconds: ")) << problems;
  }
}

TEST(SpotTraceFile, AnythingElseIsReadAsRows) {
  std::string problems;
  EXPECT_TRUE(read("time,available\n0,4\n60,4\n", problems)) << problems;
  EXPECT_FALSE(read("time,available\n0,4\n", problems));
  EXPECT_EQ(problems,
            "s.yaml:3:9: error: capacity.spot.traces[0]: zone: has 1 rows after its header (at "
            "least two: the last one ends the trace)\n");
}

}  // namespace
}  // namespace orrery::scenario
