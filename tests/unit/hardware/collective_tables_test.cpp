#include "sim/step/hardware/collective_tables.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/step/hardware/profile_reader.hpp"
#include "tests/checkout.hpp"
#include "tests/unit/hardware/profile_files.hpp"

namespace orrery::hardware {
namespace {

const std::string kTiny = R"(format: orrery-collectives/1
arch: hopper
nvlink: 450GB/s
as_of: 2026-11-21
tables:
  - rig: ours
    gpu: h100-sxm-80gb
    operation: all_reduce
    ranks: 16
    nodes: 2
    nvlink_domain: 8
    fabric: roce
    nic_rate: 400Gbps
    nics_per_node: 8
    source: measured
    citation: nccl-tests on our cluster
    points: [[1MiB, 100us], [16MiB, 400us], [1GiB, 8ms]]
)";

CollectiveTable table_of(const std::vector<std::pair<double, double>>& points) {
  CollectiveTable table;
  table.rig = "test";
  for (const auto& [size, time] : points) {
    table.points.push_back({mebibytes(size), microseconds(time)});
  }
  finish_table(table);
  return table;
}

TEST(CollectiveTables, ATablePassesThroughItsPointsAndStopsAtItsEnds) {
  const CollectiveTable table = table_of({{1.0, 50.0}, {4.0, 60.0}, {16.0, 90.0}, {64.0, 200.0}});
  for (const CollectivePoint& point : table.points) {
    EXPECT_NEAR(in_microseconds(table_time(table, point.size)), in_microseconds(point.time), 1e-9);
  }
  EXPECT_EQ(table_time(table, kibibytes(1.0)), microseconds(50.0));
  EXPECT_EQ(table_time(table, gibibytes(1.0)), microseconds(200.0));
}

// Points of a line alpha + beta S (40 us, 1 us a MiB): the table's own line takes alpha from its
// smallest time, 41 us, so that what is left to interpolate is below 3 %; half way between two
// points the result stays that near to the true line.
TEST(CollectiveTables, BetweenPointsOfALineLiesTheLine) {
  const CollectiveTable table = table_of({{1.0, 41.0}, {8.0, 48.0}, {64.0, 104.0}, {512.0, 552.0}});
  for (const double size : {2.0, 3.0, 20.0, 100.0, 300.0}) {
    EXPECT_NEAR(in_microseconds(table_time(table, mebibytes(size))) / (40.0 + size), 1.0, 0.02)
        << size << " MiB";
  }
}

bool loads(const std::string& text, Diagnostics& diagnostics, NetworkSpec& network) {
  const ProfileFolder folder;
  std::filesystem::create_directories(folder.path() / "collectives");
  folder.write("collectives/tiny.yaml", text);
  return load_collective_tables(network, folder.search(), {}, "cluster", diagnostics);
}

TEST(CollectiveTables, AFileBecomesTablesWithTheirSources) {
  Diagnostics diagnostics;
  NetworkSpec network;
  ASSERT_TRUE(loads(kTiny, diagnostics, network)) << to_string(diagnostics);
  ASSERT_TRUE(network.tables);
  ASSERT_EQ(network.tables->tables.size(), 1U);
  const CollectiveTable& table = network.tables->tables.front();
  EXPECT_EQ(table.rig, "ours");
  EXPECT_EQ(table.domains(), 2);
  EXPECT_EQ(table.fabric, FabricKind::roce);
  EXPECT_EQ(table.source.kind, SourceKind::measured);
  EXPECT_EQ(table.points.size(), 3U);
}

TEST(CollectiveTables, NoneAsksForTheModelAlone) {
  Diagnostics diagnostics;
  NetworkSpec network;
  network.collectives = "none";
  ASSERT_TRUE(loads(kTiny, diagnostics, network));
  EXPECT_FALSE(network.tables);
}

struct Bad {
  std::string from;
  std::string to;
  std::string said;
};

TEST(CollectiveTables, WhatIsWrongInAFileIsSaidWhereItStands) {
  const std::vector<Bad> cases = {
      {"[16MiB, 400us]", "[16MiB]", "needs a size and a time"},
      {"[16MiB, 400us]", "[16MiB, 400]", "400"},
      {"[16MiB, 400us]", "[1KiB, 400us]", "is not larger than the size before it"},
      {"ranks: 16", "ranks: 15", "do not spread evenly over the nodes"},
      {"operation: all_reduce", "operation: all_redcue", "all_reduce"},
      {"    nic_rate: 400Gbps\n", "", "groups over several hosts need nic_rate"},
      {"    citation: nccl-tests on our cluster\n", "", "citation"},
      {"rig: ours", "rigg: ours", "rigg"},
      {"points: [[1MiB, 100us], [16MiB, 400us], [1GiB, 8ms]]", "points: []",
       "a table needs at least one point"}};
  for (const Bad& bad : cases) {
    Diagnostics diagnostics;
    NetworkSpec network;
    EXPECT_FALSE(loads(replaced(kTiny, bad.from, bad.to), diagnostics, network)) << bad.to;
    const std::string said = to_string(diagnostics);
    EXPECT_NE(said.find(bad.said), std::string::npos) << said;
    EXPECT_NE(said.find("tiny.yaml:"), std::string::npos) << said;
  }
}

// A file whose name begins with an architecture is read for GPUs of that one alone, and holds no
// other.
TEST(CollectiveTables, AFileOfAnotherArchitectureIsNotRead) {
  const ProfileFolder folder;
  std::filesystem::create_directories(folder.path() / "collectives");
  folder.write("collectives/cdna3-tiny.yaml", "broken: [");
  folder.write("collectives/hopper-tiny.yaml", kTiny);
  const ProfileSearch shipped{{std::filesystem::path(kSourceDir) / "scenarios/profiles"}};
  Diagnostics none;
  const auto hopper = load_gpu_profile("h100-sxm-80gb", shipped, {}, "gpu", none);
  const auto amd = load_gpu_profile("mi300x", shipped, {}, "gpu", none);
  ASSERT_TRUE(hopper && amd) << to_string(none);
  const auto reads = [&folder](std::vector<const GpuProfile*> gpus, Diagnostics& diagnostics) {
    NetworkSpec network;
    return load_collective_tables(network, folder.search(), {}, "cluster", diagnostics, gpus);
  };
  Diagnostics diagnostics;
  EXPECT_TRUE(reads({&*hopper}, diagnostics)) << to_string(diagnostics);
  EXPECT_FALSE(reads({&*hopper, &*amd}, diagnostics));
  EXPECT_FALSE(reads({}, diagnostics));
  folder.write("collectives/cdna3-tiny.yaml", kTiny);
  Diagnostics named;
  EXPECT_FALSE(reads({&*amd}, named));
  EXPECT_NE(to_string(named).find("arch: is another architecture"), std::string::npos)
      << to_string(named);
}

TEST(CollectiveTables, AMissingFileIsNamed) {
  Diagnostics diagnostics;
  NetworkSpec network;
  network.collectives = "./nowhere.yaml";
  EXPECT_FALSE(loads(kTiny, diagnostics, network));
  EXPECT_NE(to_string(diagnostics).find("there is no file `./nowhere.yaml`"), std::string::npos)
      << to_string(diagnostics);
}

TEST(CollectiveTables, TheShippedFilesAreValid) {
  Diagnostics diagnostics;
  NetworkSpec network;
  const ProfileSearch search{{std::filesystem::path(kSourceDir) / "scenarios/profiles"}};
  ASSERT_TRUE(load_collective_tables(network, search, {}, "cluster", diagnostics))
      << to_string(diagnostics);
  ASSERT_TRUE(network.tables);
  EXPECT_GE(network.tables->tables.size(), 90U);
  for (const CollectiveTable& table : network.tables->tables) {
    EXPECT_GT(table.source.citation.size(), 10U) << table.rig;
    EXPECT_GE(table.beta, 0.0) << table.rig;
  }
}

// A table whose GPU is called otherwise than its profile counts as one of a foreign GPU.
TEST(CollectiveTables, EveryGpuOfTheShippedFilesIsThatOfAProfile) {
  Diagnostics diagnostics;
  NetworkSpec network;
  const ProfileSearch search{{std::filesystem::path(kSourceDir) / "scenarios/profiles"}};
  ASSERT_TRUE(load_collective_tables(network, search, {}, "cluster", diagnostics));
  for (const CollectiveTable& table : network.tables->tables) {
    if (table.gpu == "pcie") {  // no profile: a GB10, cards whose log does not name them
      continue;
    }
    const auto gpu = load_gpu_profile(table.gpu, search, {}, table.rig, diagnostics);
    ASSERT_TRUE(gpu) << to_string(diagnostics);
    EXPECT_EQ(gpu->arch, table.arch) << table.rig;
    EXPECT_EQ(gpu->nvlink.has_value(), table.nvlink > BytesPerSecond()) << table.rig;
  }
}

}  // namespace
}  // namespace orrery::hardware
