// From logs to tables, and from tables back to the measured times in a scenario's own words.

#include <gtest/gtest.h>

#include <filesystem>

#include "calibrate/import/import_report.hpp"
#include "sim/base/files/file.hpp"
#include "sim/step/cost/collective.hpp"
#include "tests/calibrate/import/sample_log.hpp"
#include "tests/shipped_presets.hpp"

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
    const auto file = std::filesystem::temp_directory_path() / "orrery_import_tables_test.yaml";
    write_file_atomically(file, tables_yaml(report));
    hardware::NetworkSpec network = shipped::network("infiniband-400g");
    network.collectives = file.string();
    Diagnostics diagnostics;
    ASSERT_TRUE(
        hardware::load_collective_tables(network, shipped_search(), {}, "collectives", diagnostics))
        << to_string(diagnostics);
    std::filesystem::remove(file);
    for (const SampleRow& row : sample.rows) {
      const Seconds time = predicted(kind, static_cast<double>(row.size), network);
      // The digits of the log and the shipped tables' weight beside the cluster's own: 1 %.
      EXPECT_NEAR(in_microseconds(time) / row.time, 1.0, 0.01) << program << " " << row.size;
    }
  }
}

}  // namespace
}  // namespace orrery::calibration_import::testing
