// From logs to tables, and from tables back to the measured times in a scenario's own words.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "calibrate/import/import_report.hpp"
#include "sim/base/files/file.hpp"
#include "sim/step/cost/collective.hpp"
#include "tests/calibrate/import/sample_log.hpp"
#include "tests/checkout.hpp"
#include "tests/shipped_presets.hpp"
#include "tests/support.hpp"

namespace orrery::calibration_import::testing {
namespace {

using model::CollectiveKind;

hardware::SharedCollectiveTables shipped_tables() {
  hardware::NetworkSpec network;
  Diagnostics diagnostics;
  EXPECT_TRUE(
      hardware::load_collective_tables(network, shipped_search(), {}, "collectives", diagnostics));
  return network.tables;
}

struct Imported {
  std::vector<CollectiveLog> logs;
  std::vector<ImportedTable> tables;
  std::string messages;
};

Imported import_logs(const std::vector<std::string>& texts, bool in_place = false) {
  RigOptions options;
  options.rig = "east";
  options.network = shipped::network("infiniband-400g");
  Imported result;
  Diagnostics diagnostics;
  for (const std::string& text : texts) {
    for (CollectiveLog& log : read_text(text, diagnostics, "a.log")) {
      result.logs.push_back(std::move(log));
    }
  }
  std::vector<ResolvedLog> resolved;
  for (const CollectiveLog& log : result.logs) {
    if (auto facts = resolve_log(log, options, shipped_search(), diagnostics)) {
      resolved.push_back(std::move(*facts));
    }
  }
  result.tables = build_tables(resolved, in_place, shipped_tables(), diagnostics);
  result.messages = to_string(diagnostics);
  return result;
}

// Two hosts of eight H100 at 350 GB/s of bus bandwidth, latency 55 us.
SampleLog two_hosts() {
  SampleLog sample{.ranks = 16, .hosts = 2, .factor = 1.875, .rows = {}};
  for (std::int64_t size = 65536; size <= 4294967296; size *= 4) {
    sample.rows.push_back({size, 55.0 + static_cast<double>(size) * 1.875 / 350000.0});
  }
  return sample;
}

TEST(BuildTables, OneTablePerOperationAndGroup) {
  const Imported imported = import_logs({log_text({}), log_text(two_hosts()),
                                         log_text({.program = "all_gather_perf",
                                                   .redop = "none",
                                                   .factor = 0.875,
                                                   .rows = {{1073741824, 2600.0}}})});
  EXPECT_EQ(imported.messages, "");
  ASSERT_EQ(imported.tables.size(), 3U);
  for (const ImportedTable& table : imported.tables) {
    EXPECT_EQ(table.table.rig, "east");
    EXPECT_FALSE(table.table.degraded);
    EXPECT_EQ(table.table.source.kind, SourceKind::measured);
  }
  EXPECT_EQ(imported.tables[0].table.source.citation,
            "nccl-tests 2.17.1 a.log, float, out of place, NCCL 2.28.9");
}

TEST(BuildTables, SeveralRunsOfOneSizeGiveTheirMedian) {
  const Imported imported = import_logs({log_text({.rows = {{1073741824, 4038.8}}}),
                                         log_text({.rows = {{1073741824, 4100.0}}}),
                                         log_text({.rows = {{1073741824, 5900.0}}})});
  ASSERT_EQ(imported.tables.size(), 1U);
  ASSERT_EQ(imported.tables[0].table.points.size(), 1U);
  EXPECT_DOUBLE_EQ(in_microseconds(imported.tables[0].table.points[0].time), 4100.0);
}

TEST(BuildTables, TakesTheTypeThatTrainingSendsAndKeepsNarrowOnesApart) {
  const auto of_type = [](const std::string& type, std::int64_t element, double time) {
    return log_text({.type = type, .element = element, .rows = {{1073741824, time}}});
  };
  const Imported imported = import_logs(
      {of_type("float", 4, 4038.8), of_type("bfloat16", 2, 4050.0), of_type("f8e4m3", 1, 5000.0)});
  ASSERT_EQ(imported.tables.size(), 2U);
  EXPECT_EQ(imported.tables[0].type, "bfloat16");
  EXPECT_FALSE(imported.tables[0].table.narrow);
  EXPECT_EQ(imported.tables[1].type, "f8e4m3");
  EXPECT_TRUE(imported.tables[1].table.narrow);
  EXPECT_EQ(imported.messages,
            "a.log:1:1: warning: rows of other types or reductions than bfloat16 sum: 1 left "
            "out\n");
}

// The published log of a misconfigured cluster (nccl-tests issue 290): 155 to 166 GB/s.
TEST(BuildTables, MarksADegradedFabric) {
  SampleLog sample{.ranks = 16,
                   .hosts = 2,
                   .factor = 1.875,
                   .rows = {{268435456, 3027.9}, {1073741824, 13435.0}, {8589934592, 103530.0}}};
  const Imported imported = import_logs({log_text(sample)});
  ASSERT_EQ(imported.tables.size(), 1U);
  EXPECT_TRUE(imported.tables[0].table.degraded);
  EXPECT_LT(imported.tables[0].plateau.measured / imported.tables[0].plateau.expected, 0.5);
  EXPECT_EQ(imported.messages.substr(0, 65),
            "a.log:1:1: warning: all_reduce on 16 ranks: busbw 166 GB/s at 256");
  EXPECT_NE(imported.messages.find("the fabric is degraded; the table is marked so"),
            std::string::npos);
}

TEST(BuildTables, WarnsOfWhatCannotBeAndOfWhatIsTooSmallToTell) {
  const Imported fast = import_logs({log_text({.rows = {{1073741824, 2000.0}}})});
  EXPECT_NE(fast.messages.find("faster than its wires should be (check the GPU, --nic-rate, --nics "
                               "and --nvlink-domain)"),
            std::string::npos);
  const Imported small = import_logs({log_text({.rows = {{65536, 60.0}}})});
  EXPECT_EQ(small.messages,
            "a.log:1:1: warning: all_reduce on 8 ranks: no size from 64 MiB on, so the fabric is "
            "not judged and large messages are extrapolated\n");
  EXPECT_FALSE(small.tables[0].table.degraded);
}

TEST(BuildTables, RefusesToMixClassesOfLinks) {
  const Imported imported = import_logs({log_text({}), log_text({.gpu = "NVIDIA B200"})});
  EXPECT_TRUE(imported.tables.empty());
  EXPECT_EQ(imported.messages,
            "a.log:1:1: error: b200-sxm and h100-sxm-80gb have different links (one file of tables "
            "for each class of GPUs)\n");
}

// What a scenario that names the file predicts for a collective of the measured group and size.
Seconds predicted(CollectiveKind kind, double size, const hardware::NetworkSpec& network) {
  Diagnostics diagnostics;
  const auto gpu =
      hardware::load_gpu_profile("h100-sxm-80gb", shipped_search(), {}, "gpu", diagnostics);
  hardware::ClusterSpec cluster;
  cluster.gpu = "h100-sxm-80gb";
  cluster.nodes = 2;
  cluster.gpus_per_node = 8;
  cluster.network = network;
  const layout::GroupPlacement group{
      .ranks = 16, .nodes = 2, .ranks_per_node = 8, .domains = 2, .ranks_per_domain = 8};
  const bool gathers = kind == CollectiveKind::all_gather;
  const bool exchanges = kind == CollectiveKind::all_to_all;
  return cost::collective_time(kind, bytes(gathers ? size / 16.0 : size),
                               bytes(exchanges ? size * 16.0 : size), model::Dtype::bf16, group,
                               *gpu, cluster)
      .total();
}

// A degraded rig included: its own tables are evidence for itself.
TEST(BuildTables, AScenarioWithTheTablesHasTheMeasuredTimes) {
  const std::tuple<std::string, CollectiveKind, double, double> cases[] = {
      {"all_reduce_perf", CollectiveKind::all_reduce, 1.875, 1.0},
      {"all_reduce_perf", CollectiveKind::all_reduce, 1.875, 3.0},
      {"all_gather_perf", CollectiveKind::all_gather, 0.9375, 1.0},
      {"reduce_scatter_perf", CollectiveKind::reduce_scatter, 0.9375, 1.0},
      {"alltoall_perf", CollectiveKind::all_to_all, 0.9375, 4.0}};
  for (const auto& [program, kind, factor, slowness] : cases) {
    SampleLog sample = two_hosts();
    sample.program = program;
    sample.factor = factor;
    for (SampleRow& row : sample.rows) {
      row.time *= slowness;
    }
    ImportReport report;
    report.rig = "east";
    report.as_of = {"as_of", "2026-11-21", FactOrigin::option, ""};
    report.files = {{"a.log", "nccl-tests text"}};
    report.tables = import_logs({log_text(sample)}).tables;
    ASSERT_EQ(report.tables.size(), 1U);
    const TempFolder folder;
    const auto file = folder.write("tables.yaml", tables_yaml(report));
    hardware::NetworkSpec network = shipped::network("infiniband-400g");
    network.collectives = file.string();
    Diagnostics diagnostics;
    ASSERT_TRUE(
        hardware::load_collective_tables(network, shipped_search(), {}, "collectives", diagnostics))
        << to_string(diagnostics);
    for (const SampleRow& row : sample.rows) {
      const Seconds time = predicted(kind, static_cast<double>(row.size), network);
      // The digits of the log and the shipped tables' weight beside the cluster's own: 1 %.
      EXPECT_NEAR(in_microseconds(time) / row.time, 1.0, 0.01) << program << " " << row.size;
    }
  }
}

// nvbandwidth's matrices become keys of a GPU profile.

std::string matrices(const std::string& gpu) {
  return "nvbandwidth Version: v0.8\nBuilt from Git version: v0.8\n\n"
         "CUDA Runtime Version: 12080\nDriver Version: 570.1\n\n"
         "Device 0: " +
         gpu + " (00000000:1b:00)\nDevice 1: " + gpu +
         " (00000000:43:00)\n\n"
         "Running host_to_device_memcpy_ce.\n"
         "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n"
         "           0         1\n 0     55.60     55.40\n\nSUM host_to_device_memcpy_ce 111.00\n\n"
         "Running device_to_host_memcpy_ce.\n"
         "memcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)\n"
         "           0         1\n 0     57.10     57.30\n\n"
         "Running device_to_device_memcpy_read_ce.\n"
         "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n"
         "           0         1\n 0       N/A     48.10\n 1     48.30       N/A\n\n"
         "Running device_to_device_memcpy_write_ce.\n"
         "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)\n"
         "          0         1\n0      0.00     49.10\n1     49.30      0.00\n";
}

struct CopyOutcome {
  std::optional<CopyRates> rates;
  std::string messages;
};

CopyOutcome copies(const std::string& text, RigOptions options = {}) {
  Findings findings;
  Diagnostics diagnostics;
  read_log({"nvb.txt", text}, findings, diagnostics);
  CopyOutcome outcome;
  if (!findings.copies.empty()) {
    outcome.rates = copy_rates(findings.copies, options, shipped_search(), diagnostics);
  }
  outcome.messages = to_string(diagnostics);
  return outcome;
}

TEST(CopyRates, TakesTheSlowerDirectionToTheHost) {
  const CopyOutcome outcome = copies(matrices("NVIDIA H100 80GB HBM3"));
  EXPECT_EQ(outcome.messages, "");
  ASSERT_TRUE(outcome.rates);
  EXPECT_EQ(outcome.rates->gpu, "h100-sxm-80gb");
  ASSERT_EQ(outcome.rates->results.size(), 4U);
  EXPECT_EQ(outcome.rates->results[2].values, 2U);  // the diagonal is no pair
  EXPECT_EQ(outcome.rates->results[3].values, 2U);  // nor in releases that print it as 0.00
  // NVLink's rate is the datasheet's: peer copies give no key here.
  ASSERT_EQ(outcome.rates->coefficients.size(), 1U);
  EXPECT_EQ(outcome.rates->coefficients[0].key, "host_bandwidth");
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(outcome.rates->coefficients[0].value), 55.5);
}

TEST(CopyRates, WithoutNvlinkPeersMeasurePcie) {
  RigOptions options;
  options.gpu = "l4";
  const CopyOutcome outcome = copies(matrices("NVIDIA L4"), options);
  ASSERT_EQ(outcome.rates->coefficients.size(), 2U);
  EXPECT_EQ(outcome.rates->coefficients[1].key, "pcie_bandwidth");
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(outcome.rates->coefficients[1].value), 48.2);
}

TEST(CopyRates, ReadsJson) {
  const std::string text = R"json({"nvbandwidth":{"CUDA Runtime Version":12080,"version":"v0.8",
"testcases":[{"name":"host_to_device_memcpy_ce","status":"Passed","sum":111.0,
"bandwidth_description":"memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)",
"bandwidth_matrix":[["55.6","55.4"]]},
{"name":"device_to_host_memcpy_ce","status":"Waived"}]}})json";
  RigOptions options;
  options.gpu = "h100-sxm-80gb";
  const CopyOutcome outcome = copies(text, options);
  EXPECT_EQ(outcome.messages,
            "nvb.txt: warning: device_to_host_memcpy_ce has no results; it was waived or failed\n");
  ASSERT_TRUE(outcome.rates);
  EXPECT_EQ(outcome.rates->coefficients[0].citation,
            "nvbandwidth v0.8 (nvb.txt): one copy at a time, pinned, host to device 55.5 GB/s "
            "(median of 2)");
}

TEST(CopyRates, WarnsOfNarrowAndUnevenLinks) {
  std::string text = matrices("NVIDIA H100 80GB HBM3");
  text.replace(text.find("55.60     55.40"), 15, "13.90     27.80");
  const CopyOutcome outcome = copies(text);
  EXPECT_EQ(outcome.messages,
            "nvb.txt:1:1: warning: host_to_device_memcpy_ce: the slowest GPU has 13.9 GB/s, the "
            "median 20.85: a narrow link or a far memory\n"
            "nvb.txt:1:1: warning: host_bandwidth is 20.9 GB/s, expected 55.6 GB/s of a "
            "h100-sxm-80gb: the link is degraded\n");
}

TEST(CopyRates, RefusesALogWithoutTheHost) {
  const std::string text = matrices("NVIDIA H100 80GB HBM3");
  const std::size_t from = text.find("Running host_to_device");
  const std::size_t to = text.find("Running device_to_device_memcpy_read");
  EXPECT_EQ(copies(text.substr(0, from) + text.substr(to)).messages,
            "nvb.txt:1:1: error: holds no rate between GPU and host (run nvbandwidth -t "
            "host_to_device_memcpy_ce device_to_host_memcpy_ce)\n");
}

// The fragment in place of the shipped keys makes a profile that loads with the measured rate.
TEST(CopyRates, FragmentFitsIntoAProfile) {
  ImportReport report;
  report.copies = copies(matrices("NVIDIA H100 80GB HBM3")).rates;
  const std::string fragment = fragment_yaml(report);
  std::string profile =
      read_file(std::string(kSourceDir) + "/scenarios/profiles/gpu/h100-sxm-80gb.yaml", 1U << 20U);
  const std::size_t from = profile.find("host_bandwidth:");
  const std::size_t to = profile.find("pcie_bandwidth:");
  profile = profile.substr(0, from) + fragment + profile.substr(to);
  const TempFolder folder;
  const auto file = folder.write("fragment.yaml", profile);
  Diagnostics diagnostics;
  const auto gpu =
      hardware::load_gpu_profile(file.string(), shipped_search(), {}, "gpu", diagnostics);
  EXPECT_EQ(to_string(diagnostics), "");
  ASSERT_TRUE(gpu);
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(gpu->host_bandwidth.value()), 55.5);
  EXPECT_EQ(gpu->host_bandwidth.source().kind, SourceKind::measured);
}

// Logs that cannot be true are refused with the line and the reason; doubtful ones are warned of.

struct Outcome {
  bool sound = false;
  std::string messages;
};

Outcome check(const std::string& text, bool in_place = false) {
  Diagnostics diagnostics;
  RigOptions options;
  options.rig = "rig";
  const auto logs = read_text(text, diagnostics, "a.log");
  Outcome outcome;
  if (!logs.empty()) {
    const auto resolved = resolve_log(logs.front(), options, shipped_search(), diagnostics);
    outcome.sound = resolved && check_rows(*resolved, in_place, diagnostics);
  }
  outcome.messages = to_string(diagnostics);
  return outcome;
}

std::string with(std::string text, const std::string& old, const std::string& replacement) {
  const std::size_t at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  text.replace(at, old.size(), replacement);
  return text;
}

void expect_refused(const Outcome& outcome, const std::string& message) {
  EXPECT_FALSE(outcome.sound);
  EXPECT_EQ(outcome.messages, message);
}

TEST(CheckRows, SoundLogsPassInSilence) {
  for (const std::int64_t ranks : {2, 4, 8}) {
    const auto n = static_cast<double>(ranks);
    const Outcome outcome = check(log_text({.ranks = ranks, .factor = 2.0 * (n - 1.0) / n}));
    EXPECT_TRUE(outcome.sound);
    EXPECT_EQ(outcome.messages, "");
  }
}

TEST(CheckRows, WrongValuesAreRefused) {
  expect_refused(check(with(log_text({}), "235.64  412.36       0", "235.64  412.36      17")),
                 "a.log:19:1: error: 17 values were wrong at 256MiB\n");
  expect_refused(check(with(log_text({}), "values : 0 OK", "values : 3 FAILED")),
                 "a.log:1:1: error: 3 values were out of bounds: the data did not arrive\n");
}

TEST(CheckRows, AlgbwMustBeSizeOverTime) {
  expect_refused(
      check(with(log_text({}), "1139.20  235.64  412.36", "1339.20  235.64  412.36")),
      "a.log:19:1: error: algbw is 235.64 GB/s, but 256MiB in 1339.2 us are 200.4 GB/s\n");
}

TEST(CheckRows, BusbwMustFitTheRanks) {
  // Figures of sixteen ranks under a list of eight.
  expect_refused(check(log_text({.factor = 1.875, .rows = {{1073741824, 4038.8}}})),
                 "a.log:18:1: error: busbw is 498.48 GB/s, but algbw 265.86 x 1.75 of all_reduce "
                 "on 8 ranks is "
                 "465.3 (its figures fit 16 ranks)\n");
  // Figures of an all-gather.
  const Outcome gather = check(log_text({.factor = 0.875, .rows = {{1073741824, 4038.8}}}));
  EXPECT_FALSE(gather.sound);
}

TEST(CheckRows, TimesMustBeAboveZeroAndGrow) {
  expect_refused(check(with(log_text({}), "   40.50   25.89   45.31", "    0.00   25.89   45.31")),
                 "a.log:18:1: error: a time of 0 us\n");
  expect_refused(check(log_text({.rows = {{1048576, 95.0}, {268435456, 94.0}}})),
                 "a.log:19:1: error: the time does not grow with the size: 95 us for 1MiB, 94 us "
                 "for 256MiB\n");
}

TEST(CheckRows, TimesOfTheCpuAreRefused) {
  expect_refused(
      check(with(log_text({}), "root     time", "root  cputime")),
      "a.log:1:1: error: has the times of the CPU, not of the collective (run it with -C 0)\n");
}

TEST(CheckRows, ATestWithoutResultsIsRefused) {
  expect_refused(check(head_text({})), "a.log:1:1: error: the test printed no result\n");
}

TEST(CheckRows, ManyErrorsOfOneLogAreCut) {
  SampleLog sample{.factor = 1.875, .rows = {}};
  for (std::int64_t size = 67108864; size <= 68719476736; size *= 2) {
    sample.rows.push_back({size, static_cast<double>(size) / 200000.0});
  }
  const std::string messages = check(log_text(sample)).messages;
  EXPECT_EQ(std::count(messages.begin(), messages.end(), '\n'), 6);
  EXPECT_TRUE(messages.ends_with("a.log:1:1: error: and 6 more\n"));
}

TEST(CheckRows, WarnsOfNoiseAndOfRowsWithoutASize) {
  const Outcome noisy =
      check(log_text({.rows = {{16777216, 304.3}, {33554432, 176.9}, {1073741824, 4038.8}}}));
  EXPECT_TRUE(noisy.sound);
  EXPECT_EQ(noisy.messages,
            "a.log:18:1: warning: 304.3 us for 16MiB are more than 176.9 us for 32MiB: a noisy "
            "point, kept as measured\n");
  const std::string zero =
      "           0             0     float     sum      -1    12.34    0.00    "
      "0.00       0    12.30    0.00    0.00       0\n";
  for (const std::string size : {"           0 ", "          -1 "}) {
    std::string text = log_text({});
    text.insert(text.find("     1048576"), size + zero.substr(size.size()));
    const Outcome outcome = check(text);
    EXPECT_TRUE(outcome.sound);
    EXPECT_EQ(outcome.messages, "a.log:1:1: warning: 1 row without a size: left out\n");
  }
}

TEST(CheckRows, WarnsOfAveragesGroupsAndBatches) {
  const std::string command = "mpirun build/all_reduce_perf -b 1M -a 2\n";
  EXPECT_EQ(check(command + log_text({})).messages,
            "a.log:2:1: warning: -a 2: times of the fastest rank, not the mean over the ranks\n");
  EXPECT_EQ(check(with(log_text({}), "agg iters: 1", "agg iters: 4")).messages,
            "a.log:1:1: warning: 4 operations in one launch: small sizes look faster than they are "
            "alone\n");
  std::string groups = log_text({.ranks = 8, .factor = 1.5});
  for (const std::string rank : {"4", "5", "6", "7"}) {
    groups = with(groups, "Rank  " + rank + " Group  0", "Rank  " + rank + " Group  1");
  }
  EXPECT_EQ(check(groups).messages,
            "a.log:1:1: warning: 2 groups ran at once: the times hold their sharing of the "
            "network, which a scenario adds once more\n");
}

TEST(CheckRows, InPlaceNeedsTimesInPlace) {
  EXPECT_TRUE(check(log_text({}), true).sound);
  std::string text = head_text({}) + table_text({});
  text = text.substr(0, text.find("     1048576"));
  text += "  1073741824     268435456     float     sum      -1   4038.8  265.86  465.25       0\n";
  expect_refused(check(text + tail_text(), true), "a.log:1:1: error: no row has a time in place\n");
}

}  // namespace
}  // namespace orrery::calibration_import::testing
