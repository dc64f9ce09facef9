// What a log says about its machines, what it leaves to the user, and what it may not say.

#include <gtest/gtest.h>

#include "tests/calibrate/import/sample_log.hpp"
#include "tests/shipped_presets.hpp"

namespace orrery::calibration_import::testing {
namespace {

std::string value_of(const ResolvedLog& resolved, std::string_view name, FactOrigin origin) {
  for (const Fact& fact : resolved.facts) {
    if (fact.name == name && fact.origin == origin) {
      return fact.value;
    }
  }
  return "-";
}

struct RigOutcome {
  std::vector<CollectiveLog> logs;  // what `resolved` points into
  std::optional<ResolvedLog> resolved;
  std::string messages;
};

RigOutcome resolve(const std::string& text, RigOptions options = {},
                   const std::string& name = "a.log") {
  RigOutcome outcome;
  Diagnostics diagnostics;
  options.rig = "rig";
  outcome.logs = read_text(text, diagnostics, name);
  if (!outcome.logs.empty()) {
    outcome.resolved = resolve_log(outcome.logs.front(), options, shipped_search(), diagnostics);
  }
  outcome.messages = to_string(diagnostics);
  return outcome;
}

RigOptions infiniband() {
  RigOptions options;
  options.network = shipped::network("infiniband-400g");
  return options;
}

// A log without its list of devices and its name.
std::string bare_text(const SampleLog& sample) { return table_text(sample) + tail_text(); }

TEST(RigFacts, ReadsTheHeadOfALog) {
  const RigOutcome outcome =
      resolve(log_text({.ranks = 16, .hosts = 2, .factor = 1.875}), infiniband());
  EXPECT_EQ(outcome.messages, "");
  ASSERT_TRUE(outcome.resolved);
  const hardware::CollectiveTable& table = outcome.resolved->table;
  EXPECT_EQ(table.gpu, "h100-sxm-80gb");
  EXPECT_EQ(table.ranks, 16);
  EXPECT_EQ(table.nodes, 2);
  EXPECT_EQ(table.nvlink_domain, 8);
  EXPECT_TRUE(table.nvls);
  EXPECT_EQ(table.nics_per_node, 8);
  EXPECT_DOUBLE_EQ(in_gigabits_per_second(table.nic_rate), 400.0);
  EXPECT_EQ(value_of(*outcome.resolved, "nodes", FactOrigin::log), "2");
  EXPECT_EQ(value_of(*outcome.resolved, "nvlink_domain", FactOrigin::assumed), "8");
  EXPECT_EQ(value_of(*outcome.resolved, "nic_rate", FactOrigin::option), "400Gbps");
}

TEST(RigFacts, AsksForTheNetworkOfSeveralHosts) {
  const RigOutcome outcome = resolve(log_text({.ranks = 16, .hosts = 2, .factor = 1.875}));
  EXPECT_FALSE(outcome.resolved);
  EXPECT_EQ(outcome.messages,
            "a.log:1:1: error: --fabric: 2 hosts are joined by a network whose fabric the log does "
            "not say (infiniband, roce, efa, tcpx, tcp; or --network PRESET)\n"
            "a.log:1:1: error: --nic-rate: 2 hosts are joined by a network whose nic_rate the log "
            "does not say (such as 400Gbps; or --network PRESET)\n"
            "a.log:1:1: error: --nics: 2 hosts are joined by a network whose nics_per_node the log "
            "does not say (NICs of one host; or --network PRESET)\n");
}

TEST(RigFacts, AsksForWhatALogWithoutItsHeadLacks) {
  const RigOutcome nameless = resolve(bare_text({}));
  EXPECT_EQ(nameless.messages,
            "a.log:3:1: error: --operation: the log does not name its operation (all_reduce, "
            "all_gather, reduce_scatter, all_to_all, broadcast, send_receive)\n");
  // The name of the file helps; its figures give the ranks; the rest is asked for.
  const RigOutcome named = resolve(bare_text({}), {}, "allreduce-east.log");
  EXPECT_EQ(
      named.messages,
      "allreduce-east.log:3:1: error: --gpu: the log does not name the GPU (the name of a GPU "
      "profile, see orrery list gpus)\n"
      "allreduce-east.log:3:1: error: --nodes: the log does not say on how many hosts its 8 "
      "ranks ran (such as 2)\n");
  RigOptions options;
  options.gpu = "h200-sxm";
  options.nodes = 1;
  const RigOutcome complete = resolve(bare_text({}), options, "allreduce-east.log");
  EXPECT_EQ(complete.messages, "");
  ASSERT_TRUE(complete.resolved);
  EXPECT_EQ(complete.resolved->table.ranks, 8);
  EXPECT_EQ(value_of(*complete.resolved, "gpu", FactOrigin::option), "h200-sxm");
}

TEST(RigFacts, FiguresGiveTheRanksWhereOnlyOneNumberFits) {
  Diagnostics diagnostics;
  const auto ranks = [&diagnostics](const SampleLog& sample, model::CollectiveKind kind) {
    return ranks_by_figures(read_text(bare_text(sample), diagnostics).front(), kind);
  };
  for (const std::int64_t n : {2, 3, 8, 16, 64, 128}) {
    const auto count = static_cast<double>(n);
    EXPECT_EQ(ranks({.factor = 2.0 * (count - 1.0) / count}, model::CollectiveKind::all_reduce), n);
    // All-gather prints its total as size and the share of one rank as count: exact for any n.
    EXPECT_EQ(ranks({.element = 4 * n, .factor = (count - 1.0) / count},
                    model::CollectiveKind::all_gather),
              n);
  }
  EXPECT_FALSE(ranks({.factor = 2.0 * 4095.0 / 4096.0}, model::CollectiveKind::all_reduce));
  EXPECT_FALSE(ranks({.factor = 1.0}, model::CollectiveKind::send_receive));
}

TEST(RigFacts, OptionsMayNotContradictTheLog) {
  RigOptions options;
  options.ranks = 16;
  EXPECT_EQ(resolve(log_text({}), options).messages,
            "a.log:1:1: error: --ranks: is 16, but the log says 8 ranks\n");
  options = {};
  options.nodes = 2;
  EXPECT_EQ(resolve(log_text({}), options).messages,
            "a.log:1:1: error: --nodes: is 2, but the log says 1 hosts\n");
}

// `head` cuts the list of devices; the figures are those of all ranks.
TEST(RigFacts, ACutListOfDevicesIsNotTheRanks) {
  std::string text = log_text({.ranks = 16, .hosts = 2, .factor = 1.875});
  for (int rank = 1; rank < 16; ++rank) {
    const std::size_t at = text.find("Rank", text.find("Rank") + 1);
    const std::size_t begin = text.rfind('\n', at) + 1;
    text.erase(begin, text.find('\n', at) + 1 - begin);
  }
  RigOptions options = infiniband();
  EXPECT_NE(resolve(text, options).messages.find("the list of devices is cut off: it has 1"),
            std::string::npos);
  options.nodes = 2;
  const RigOutcome outcome = resolve(text, options);
  ASSERT_TRUE(outcome.resolved) << outcome.messages;
  EXPECT_EQ(outcome.resolved->table.ranks, 16);
  options.ranks = 16;
  EXPECT_EQ(resolve(text, options).resolved->table.ranks, 16);
}

TEST(RigFacts, HostsOfOneNameMustBeCounted) {
  SampleLog sample{.ranks = 16, .hosts = 2, .factor = 1.875};
  std::string text = log_text(sample);
  for (std::size_t at = text.find("node-1"); at != std::string::npos; at = text.find("node-1")) {
    text.replace(at, 6, "node-0");
  }
  RigOptions options = infiniband();
  EXPECT_EQ(
      resolve(text, options).messages,
      "a.log:1:1: error: --nodes: two ranks are on the same device of a host of the same name "
      "(the number of hosts, if they share a name)\n");
  options.nodes = 2;
  EXPECT_EQ(resolve(text, options).resolved->table.nodes, 2);
}

TEST(RigFacts, RacksMustSayHowFarNvlinkReaches) {
  const SampleLog sample{.gpu = "NVIDIA GB300", .ranks = 8, .hosts = 2};
  EXPECT_EQ(
      resolve(log_text(sample)).messages,
      "a.log:1:1: error: --nvlink-domain: hosts with gb300 may or may not share NVLink (72 in a "
      "rack that is one domain, 4 where every host is its own)\n");
  RigOptions options;
  options.nvlink_domain = 72;
  const RigOutcome outcome = resolve(log_text(sample), options);  // no network is used
  EXPECT_EQ(outcome.messages, "");
  EXPECT_EQ(outcome.resolved->table.domains(), 1);
}

TEST(RigFacts, NvlinkOfOtherGpusEndsAtTheHost) {
  RigOptions options = infiniband();
  options.nvlink_domain = 16;
  EXPECT_EQ(resolve(log_text({.ranks = 16, .hosts = 2, .factor = 1.875}), options).messages,
            "a.log:1:1: error: --nvlink-domain: is 16, but a host holds 8 ranks and NVLink of "
            "h100-sxm-80gb ends there (8)\n");
}

TEST(RigFacts, AFewRanksOfAHostDoNotDriveAllItsNics) {
  const RigOutcome outcome =
      resolve(log_text({.ranks = 2, .hosts = 2, .factor = 1.0}), infiniband());
  EXPECT_TRUE(outcome.resolved);
  EXPECT_EQ(outcome.messages,
            "a.log:1:1: warning: --nics: 8 NICs for 1 rank on a host: count those beside its "
            "ranks\n");
}

TEST(RigFacts, UnknownGpusAreAskedForByName) {
  EXPECT_EQ(
      resolve(log_text({.gpu = "NVIDIA A10G"})).messages,
      "a.log:1:1: error: --gpu: no profile has the name `NVIDIA A10G` (the name or the file of "
      "a GPU profile)\n");
}

TEST(RigFacts, ProcessesThatRanAloneMeasuredNothing) {
  const std::string message =
      "a.log:1:1: error: ranks = 1: every process ran for itself, so nothing was measured (build "
      "nccl-tests with MPI=1, or use -g for the GPUs of one process)\n";
  // Its own list of one device.
  EXPECT_EQ(resolve(log_text({.ranks = 1, .factor = 0.0})).messages, message);
  // busbw 0 in every row, the list cut off.
  const RigOutcome outcome = resolve(bare_text({.factor = 0.0}), {}, "all_reduce.log");
  EXPECT_NE(outcome.messages.find("ranks = 1: every process ran for itself"), std::string::npos);
}

TEST(RigFacts, OperationsThatTablesDoNotHoldAreLeftOut) {
  const RigOutcome outcome = resolve(log_text({.program = "gather_perf"}));
  EXPECT_FALSE(outcome.resolved);
  EXPECT_EQ(outcome.messages,
            "a.log:1:1: warning: gather_perf is left out: tables hold no such operation\n");
}

}  // namespace
}  // namespace orrery::calibration_import::testing
