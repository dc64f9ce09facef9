// Every layout in which nccl-tests and its launchers print results.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/calibrate/import/sample_log.hpp"

namespace orrery::calibration_import::testing {
namespace {

std::vector<CollectiveLog> read_cleanly(const std::string& text) {
  Diagnostics diagnostics;
  auto logs = read_text(text, diagnostics);
  EXPECT_EQ(to_string(diagnostics), "");
  return logs;
}

// The rows of a sample came through, whatever stood around them.
void expect_sample(const std::vector<CollectiveLog>& logs, const SampleLog& sample) {
  ASSERT_EQ(logs.size(), 1U);
  const CollectiveLog& log = logs.front();
  EXPECT_EQ(log.operation_name, sample.program);
  ASSERT_EQ(log.rows.size(), sample.rows.size());
  for (std::size_t i = 0; i < sample.rows.size(); ++i) {
    EXPECT_EQ(log.rows[i].size, sample.rows[i].size);
    ASSERT_TRUE(log.rows[i].out_of_place);
    EXPECT_NEAR(log.rows[i].out_of_place->time.value, sample.rows[i].time, 0.5);
  }
}

TEST(NcclText, ReadsTheColumnsAndTheDevices) {
  const SampleLog sample{.ranks = 16, .hosts = 2, .factor = 1.875};
  const auto logs = read_cleanly(log_text(sample));
  expect_sample(logs, sample);
  const CollectiveLog& log = logs.front();
  EXPECT_EQ(log.tool_version, "2.17.1");
  EXPECT_EQ(log.nccl_version, "2.28.9");
  ASSERT_EQ(log.ranks.size(), 16U);
  EXPECT_EQ(log.ranks[9].host, "node-1");
  EXPECT_EQ(log.ranks[9].device, "0000:11:00");
  EXPECT_EQ(log.ranks[9].gpu, "NVIDIA H100 80GB HBM3");
  EXPECT_TRUE(log.concluded);
  EXPECT_EQ(log.out_of_bounds, 0);
  const LogRow& last = log.rows.back();
  EXPECT_EQ(last.type, "float");
  EXPECT_EQ(last.redop, "sum");
  ASSERT_TRUE(last.in_place);
  EXPECT_EQ(last.in_place->wrong, 0.0);
  // 4038.80: half a step is 0.005 us.
  EXPECT_DOUBLE_EQ(last.out_of_place->time.half_step, 0.005);
}

TEST(NcclText, StepsOverThePrefixesOfLaunchers) {
  const SampleLog sample;
  const std::string text = log_text(sample);
  for (const std::string prefix :
       {"0: ", "  0: ", "[1,0]<stdout>:", "[1,0]<stdout>: ", "[0] ",
        "2025-11-02T10:15:30.123456789Z ", "2025-11-02 10:15:30 ", "nccl-test-worker-0 ",
        "[pod/nccl-launcher-x7/main] ", "worker-0  | ", "\x1b[32m[INFO]\x1b[0m "}) {
    SCOPED_TRACE(prefix);
    expect_sample(read_cleanly(prefixed(text, prefix)), sample);
  }
}

TEST(NcclText, IgnoresColoursAndCarriageReturns) {
  const SampleLog sample;
  std::string text;
  for (const char c : log_text(sample)) {
    text += c == '\n' ? std::string("\x1b[0m\r\n") : std::string(1, c);
  }
  expect_sample(read_cleanly("\x1b[1m" + text), sample);
}

TEST(NcclText, ReadsRanksThatArePrintedBetweenOtherLines) {
  const SampleLog sample;
  std::string text = log_text(sample);
  const std::size_t at = text.find("#  Rank  3");
  text.insert(at, "node-0:4001:4050 [1] NCCL INFO Bootstrap : Using eth0:10.0.0.4<0>\n");
  text.insert(text.find("#                       "), "NCCL version 2.21.5+cuda12.4\n");
  const auto logs = read_cleanly(text);
  expect_sample(logs, sample);
  EXPECT_EQ(logs.front().ranks.size(), 8U);
  EXPECT_EQ(logs.front().nccl_version, "2.21.5");
}

TEST(NcclText, ReadsWhatIsNotApplicable) {
  SampleLog sample{.program = "alltoall_perf", .redop = "none", .factor = 0.875};
  std::string text = log_text(sample);
  for (std::size_t at = text.find("      0\n"); at != std::string::npos;
       at = text.find("      0\n", at + 1)) {
    text.replace(at, 8, "    N/A\n");
  }
  const auto logs = read_cleanly(text);
  expect_sample(logs, sample);
  EXPECT_EQ(logs.front().rows[0].redop, "none");
  EXPECT_FALSE(logs.front().rows[0].in_place->wrong);
}

TEST(NcclText, ReadsRowsWithoutTheirInPlaceHalf) {
  const std::string text =
      "# sendrecv_perf -b 1G\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
      "time   algbw   busbw #wrong\n"
      "  1073741824     268435456     float    none      -1   5503.4  195.10  195.10      0\n"
      "# Out of bounds values : 0 OK\n";
  const auto logs = read_cleanly(text);
  ASSERT_EQ(logs.size(), 1U);
  EXPECT_EQ(logs[0].operation_name, "sendrecv_perf");
  ASSERT_EQ(logs[0].rows.size(), 1U);
  EXPECT_FALSE(logs[0].rows[0].in_place);
}

// Before about 2.12: no root, and the largest error where later the count of wrong values stands.
TEST(NcclText, ReadsOldLayouts) {
  const std::string old =
      "# nThread 1 nGpus 8 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20 "
      "validation: 1 \n#\n# Using devices\n"
      "#   Rank  0 Pid  12345 on     node-0 device  0 [0x07] NVIDIA A100-SXM4-40GB\n"
      "#   Rank  1 Pid  12345 on     node-0 device  1 [0x0f] NVIDIA A100-SXM4-40GB\n"
      "#\n#                                                     out-of-place           in-place\n"
      "#       size         count    type   redop     time   algbw   busbw  error     time   algbw "
      "  busbw  error\n"
      "#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s) "
      " (GB/s)       \n"
      "   134217728      33554432   float     sum    671.1  200.00  200.00  5e-07    671.1  200.00 "
      " 200.00  5e-07\n"
      "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 200\n";
  const auto logs = read_cleanly(old);
  ASSERT_EQ(logs.size(), 1U);
  ASSERT_EQ(logs[0].rows.size(), 1U);
  EXPECT_EQ(logs[0].ranks.size(), 2U);
  EXPECT_EQ(logs[0].ranks[1].device, "0x0f");
  EXPECT_FALSE(logs[0].rows[0].out_of_place->wrong);  // an error is no count
  // All-to-all of some releases has no redop either; here also without any heading.
  const auto bare = read_cleanly(
      "   134217728      33554432   float    671.1  200.00  100.00  0e+00    671.1  200.00  100.00 "
      " 0e+00\n");
  ASSERT_EQ(bare.size(), 1U);
  EXPECT_EQ(bare[0].rows[0].redop, "none");
  EXPECT_DOUBLE_EQ(bare[0].rows[0].in_place->busbw.value, 100.0);
  EXPECT_FALSE(bare[0].rows[0].out_of_place->wrong);
}

TEST(NcclText, ReadsPerIterationColumnsAndTimestamps) {
  const std::string heading =
      "# all_reduce_perf -I 1 -S 1\n"
      "#       size         count      type   redop    root     time   algbw   busbw  #wrong    "
      "i_min    i_max    i_p99    i_cv%     time   algbw   busbw  #wrong    i_min    i_max    i_p99"
      "    i_cv%           timestamp\n";
  const std::string place = "   1139.2  235.63  412.36       0  1130.1  1150.2  1149.0     0.5";
  const std::string row = "   268435456      67108864     float     sum      -1" + place + place;
  const auto logs =
      read_cleanly(heading + row + "  2025-11-02 10:15:30\n# Avg bus bandwidth : 1\n");
  ASSERT_EQ(logs.size(), 1U);
  ASSERT_EQ(logs[0].rows.size(), 1U);
  EXPECT_DOUBLE_EQ(logs[0].rows[0].in_place->busbw.value, 412.36);
  // The same row in a file that lost its heading.
  EXPECT_EQ(read_cleanly(row + "\n")[0].rows.size(), 1U);
  EXPECT_EQ(read_cleanly(row + " 2025-11-02 10:15:30\n")[0].rows.size(), 1U);
}

TEST(NcclText, ReadsEveryElementTypeAndTimesWithExponents) {
  for (const std::string type : {"int8", "uint8", "int32", "uint32", "int64", "uint64", "half",
                                 "float", "double", "bfloat16", "f8e4m3", "f8e5m2", "fp8_e4m3"}) {
    const auto logs =
        read_cleanly("# all_reduce_perf -b 8\n  17179869184  4294967296  " + type +
                     "  sum  -1  1.2e+06  14.32  25.05  0  1.2e+06  14.32  25.05  0\n");
    ASSERT_EQ(logs.size(), 1U) << type;
    EXPECT_EQ(logs[0].rows[0].type, type);
    EXPECT_DOUBLE_EQ(logs[0].rows[0].out_of_place->time.value, 1.2e6);
    EXPECT_DOUBLE_EQ(logs[0].rows[0].out_of_place->time.half_step, 0.5e5);
  }
}

TEST(NcclText, SeparatesTheTestsOfOneFile) {
  const SampleLog reduce;
  const SampleLog gather{.program = "all_gather_perf", .redop = "none", .factor = 0.875};
  const auto logs = read_cleanly("+ mpirun -np 8 ./build/all_reduce_perf -b 1M -e 1G\n" +
                                 log_text(reduce) + "\n" + log_text(gather));
  ASSERT_EQ(logs.size(), 2U);
  EXPECT_EQ(logs[0].operation_name, "all_reduce_perf");
  EXPECT_EQ(logs[1].operation_name, "all_gather_perf");
  EXPECT_EQ(logs[1].ranks.size(), 8U);
  EXPECT_EQ(logs[1].rows.size(), 3U);
}

TEST(NcclText, TakesTheOperationFromTheCommandLine) {
  const SampleLog sample{.program = "reduce_scatter_perf"};
  std::string text = log_text(sample);
  const std::size_t at = text.find("# Collective test starting");
  text.erase(at, text.find('\n', at) + 1 - at);
  const auto logs =
      read_cleanly("$ srun /opt/nccl-tests/build/reduce_scatter_perf_mpi -b 8 -a 2\n" + text);
  ASSERT_EQ(logs.size(), 1U);
  EXPECT_EQ(logs[0].operation_name, "reduce_scatter_perf");
  EXPECT_EQ(logs[0].average, '2');
}

TEST(NcclText, TakesTheOperationFromALineOfItsOwn) {
  const auto logs = read_cleanly("== alltoall_perf\n" + table_text({}) + tail_text());
  ASSERT_EQ(logs.size(), 1U);
  EXPECT_EQ(logs[0].operation_name, "alltoall_perf");
}

TEST(NcclText, ReadsTheFabricFromDebugLines) {
  const std::string debug =
      "n0:9:9 [0] NCCL INFO NCCL_ALGO set by environment to Ring.\n"
      "n0:9:9 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB e0:1<0>\n"
      "n0:9:9 [0] NCCL INFO Using network IB\n";
  const auto logs = read_cleanly(debug + log_text({}));
  EXPECT_EQ(logs[0].fabric, hardware::FabricKind::roce);
  EXPECT_EQ(logs[0].nics, 2);
  EXPECT_EQ(logs[0].algorithm, hardware::CollectiveAlgorithm::ring);
  const auto efa =
      read_cleanly("n0:9:9 [0] NCCL INFO Using network AWS Libfabric\n" + log_text({}));
  EXPECT_EQ(efa[0].fabric, hardware::FabricKind::efa);
  EXPECT_FALSE(efa[0].nics);
  // A mixture names no fabric: the storage network is in the list, too.
  const auto mixed = read_cleanly(
      "n0:9:9 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE ; OOB e0:1<0>\n" +
      log_text({}));
  EXPECT_FALSE(mixed[0].fabric);
}

TEST(NcclText, TakesTheCompleteRowsOfATestThatWasCutOff) {
  const std::string text = head_text({}) + table_text({});
  Diagnostics diagnostics;
  const auto logs = read_text(text.substr(0, text.size() - 40), diagnostics);
  ASSERT_EQ(logs.size(), 1U);
  EXPECT_EQ(logs[0].rows.size(), 2U);
  EXPECT_EQ(to_string(diagnostics),
            "sample.log:20:1: warning: the test was cut off; its 2 complete rows are taken\n");
}

TEST(NcclText, RefusesARowThatIsBrokenInTheMiddle) {
  std::string text = log_text({});
  const std::size_t at = text.find("   268435456");
  text.insert(at + 60, " 12.3 ");
  Diagnostics diagnostics;
  read_text(text, diagnostics);
  EXPECT_EQ(to_string(diagnostics),
            "sample.log:19:1: error: a row of 15 words fits no release of nccl-tests (size count "
            "type redop root, then time algbw busbw #wrong once or twice)\n");
}

// Killed at any byte, or with any byte overwritten, a log is read or refused; its rows never grow.
TEST(NcclText, SurvivesEveryCutAndRandomDamage) {
  const std::string text = log_text({}) + log_text({.program = "all_gather_perf", .factor = 0.875});
  for (std::size_t length = 0; length < text.size(); ++length) {
    Diagnostics diagnostics;
    std::size_t rows = 0;
    for (const CollectiveLog& log : read_text(text.substr(0, length), diagnostics)) {
      rows += log.rows.size();
    }
    EXPECT_LE(rows, 6U);
  }
  constexpr unsigned kSeed = 20261121;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  for (int round = 0; round < 500; ++round) {
    std::string damaged = text;
    for (int i = 0; i < 20; ++i) {
      damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
    }
    Diagnostics diagnostics;
    RigOptions options;
    options.rig = "rig";
    for (const CollectiveLog& log : read_text(damaged, diagnostics)) {
      const auto resolved = resolve_log(log, options, shipped_search(), diagnostics);
      EXPECT_TRUE(resolved || !to_string(diagnostics).empty());
    }
  }
}

TEST(NcclText, RefusesWhatIsNoLog) {
  Diagnostics nothing;
  read_text("", nothing, "notes.txt");
  EXPECT_EQ(to_string(nothing), "notes.txt: error: is empty\n");
  Diagnostics large;
  read_text(std::string(std::size_t{5} << 20U, 'x'), large, "notes.txt");
  EXPECT_TRUE(to_string(large).starts_with(
      "notes.txt: error: holds no results of a known program, and is too large for a training "
      "configuration (4 MiB) ("))
      << to_string(large);
  for (const std::string text : {"hello\n8 processes were started\n", "{\"a\": 1}"}) {
    Diagnostics diagnostics;
    read_text(text, diagnostics, "notes.txt");
    EXPECT_EQ(
        to_string(diagnostics),
        "notes.txt: error: holds no results of a known program (text, CSV or JSON of "
        "nccl-tests, text or JSON of nvbandwidth, or the configuration or log of a training run, "
        "see orrery import --help; of a log of another program, orrery import --pattern says where "
        "the time of a step stands)\n");
  }
  Diagnostics packed;
  read_text("\x1F\x8B\x08", packed, "train.log.gz");
  EXPECT_EQ(to_string(packed),
            "train.log.gz: error: is packed with gzip (the file behind gunzip -k)\n");
}

// The other files of nccl-tests: JSON of -J, and comma-separated values.

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
