// The other files of nccl-tests: JSON of -J, and comma-separated values.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "tests/calibrate/import/sample_log.hpp"

namespace orrery::calibration_import::testing {
namespace {

const std::string kJson = R"({"version":2,"start_time":"2026-03-04 05:06:07",
"args":["\/opt\/build\/all_reduce_perf","-b","1G","-e","1G","-J","out.json"],
"env":["PATH=\/usr\/bin","SECRET_TOKEN=hunter2","NCCL_ALGO=Tree","NCCL_NVLS_ENABLE=0"],
"nccl_version":22809,
"config":{"nthreads":1,"ngpus":2,"aggregated_iterations":1,"devices":[
{"rank":0,"group":0,"pid":7,"hostname":"n0","device":0,"device_hex":"0000:1b:00",
"device_info":"NVIDIA H200"},
{"rank":1,"group":0,"pid":7,"hostname":"n0","device":1,"device_hex":"0000:43:00",
"device_info":"NVIDIA H200"}]},
"results":[
{"size":1073741824,"count":268435456,"type":"float","redop":"sum","root":"    -1",
"out_of_place":{"time":5368.709120,"alg_bw":200.000000,"bus_bw":200.000000,"nwrong":0.000000},
"in_place":{"time":5368.709120,"alg_bw":200.000000,"bus_bw":200.000000,"nwrong":null},
"actual_iterations":20,"experiment_name":"t"}],
"out_of_bounds":{"count":0,"okay":"true"},
"average_bus_bandwidth":{"bandwidth":200.0,"okay":"unchecked"},
"end_time":"2026-03-04 05:07:07"})";

TEST(NcclJson, ReadsResultsDevicesAndSettings) {
  Diagnostics diagnostics;
  const auto logs = read_text(kJson, diagnostics, "out.json");
  EXPECT_EQ(to_string(diagnostics), "");
  ASSERT_EQ(logs.size(), 1U);
  const CollectiveLog& log = logs[0];
  EXPECT_EQ(log.operation_name, "all_reduce_perf");
  EXPECT_EQ(log.nccl_version, "2.28.9");
  EXPECT_EQ(log.date, "2026-03-04");
  EXPECT_EQ(log.algorithm, hardware::CollectiveAlgorithm::tree);
  EXPECT_TRUE(log.nvls_off);
  ASSERT_EQ(log.ranks.size(), 2U);
  EXPECT_EQ(log.ranks[1].gpu, "NVIDIA H200");
  EXPECT_EQ(log.ranks[1].device, "0000:43:00");
  ASSERT_EQ(log.rows.size(), 1U);
  EXPECT_EQ(log.rows[0].place, "results[0]");
  EXPECT_DOUBLE_EQ(log.rows[0].out_of_place->time.value, 5368.70912);
  EXPECT_EQ(log.rows[0].out_of_place->wrong, 0.0);
  EXPECT_FALSE(log.rows[0].in_place->wrong);
}

TEST(NcclJson, ReadsAListOfTests) {
  Diagnostics diagnostics;
  EXPECT_EQ(read_text("[" + kJson + "," + kJson + "]", diagnostics).size(), 2U);
}

TEST(NcclJson, RefusesAFileThatEndsEarlyOrLacksFigures) {
  Diagnostics cut;
  read_text(kJson.substr(0, kJson.size() - 200), cut, "out.json");
  EXPECT_EQ(
      to_string(cut),
      "out.json:13:1: error: the JSON ends too early: its test did not finish (import the text "
      "output of the test)\n");
  std::string text = kJson;
  text.replace(text.find("\"time\":5368.709120"), 18, "\"time\":\"nan\"");
  text.replace(text.find("\"alg_bw\":200.000000,\"bus_bw\":200.000000,\"nwrong\":null"), 8,
               "\"b_bw\"  ");
  Diagnostics lacking;
  read_text(text, lacking, "out.json");
  EXPECT_EQ(to_string(lacking),
            "out.json: error: results[0]: is no complete result (size, type, and time, alg_bw, "
            "bus_bw)\n");
}

TEST(NcclCsv, ReadsTheLayoutWithASecondHeadingAndManySettings) {
  const std::string text =
      ",,,,,out-of-place,out-of-place,out-of-place,out-of-place,in-place,in-place,in-place,"
      "in-place,,,\n"
      "size, count, type, redop, root, time, algbw, busbw, #wrong, time, algbw, busbw, #wrong, "
      "nthreads, ngpus, iters\n"
      "(B), (elements),,,,(us),(GB/s),(GB/s),,(us),(GB/s),(GB/s),,,,\n"
      "1073741824, 268435456, float, sum, -1, 4038.8, 265.856648, 465.249134, 0, 4040.0, "
      "265.777681, 465.110941, 0,1,8,20\n";
  Diagnostics diagnostics;
  const auto logs = read_text(text, diagnostics, "all_reduce_8.csv");
  EXPECT_EQ(to_string(diagnostics), "");
  ASSERT_EQ(logs.size(), 1U);
  EXPECT_EQ(logs[0].operation_name, "all_reduce_8.csv");
  ASSERT_EQ(logs[0].rows.size(), 1U);
  EXPECT_DOUBLE_EQ(logs[0].rows[0].out_of_place->time.value, 4038.8);
  EXPECT_DOUBLE_EQ(logs[0].rows[0].in_place->time.value, 4040.0);
}

TEST(NcclCsv, MakesOneTestOfEachOperationAndGroup) {
  const std::string text =
      "operation,ranks,nodes,size(B),count,type,time(us),algbw(GB/s),busbw(GB/s)\n"
      "all_reduce,16,2,1073741824,268435456,float,4294.967296,250,468.75\n"
      "all_reduce,8,1,1073741824,268435456,float,4294.967296,250,437.5\n"
      "alltoall,16,2,1073741824,16777216,float,4294.967296,250,234.375\n";
  Diagnostics diagnostics;
  const auto logs = read_text(text, diagnostics, "all.csv");
  EXPECT_EQ(to_string(diagnostics), "");
  ASSERT_EQ(logs.size(), 3U);
  EXPECT_EQ(logs[0].stated_ranks, 8);
  EXPECT_EQ(logs[1].stated_ranks, 16);
  EXPECT_EQ(logs[1].stated_nodes, 2);
  EXPECT_EQ(logs[2].operation_name, "alltoall");
}

TEST(NcclCsv, ReadsRowsWithoutAnInPlaceHalfAndRefusesOthers) {
  const std::string heading =
      "size,count,type,redop,root,time,algbw,busbw,#wrong,time,algbw,busbw,#wrong\n";
  Diagnostics diagnostics;
  const auto logs = read_text(heading + "1048576,262144,float,none,-1,40,26.21,26.21,0,,,,N/A\n" +
                                  "1048576,262144,float,none,-1,slow,26.21,26.21,0,,,,\n",
                              diagnostics, "sendrecv.csv");
  EXPECT_EQ(to_string(diagnostics),
            "sendrecv.csv:3:1: error: a row that does not fit the heading\n");
  ASSERT_EQ(logs.size(), 1U);
  ASSERT_EQ(logs[0].rows.size(), 1U);
  EXPECT_FALSE(logs[0].rows[0].in_place);
}

}  // namespace
}  // namespace orrery::calibration_import::testing
