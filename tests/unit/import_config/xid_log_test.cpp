#include "sim/import_config/logs/xid_log.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/scenario/load.hpp"

namespace orrery::import_config {
namespace {

constexpr std::string_view kJournal = R"(2026-10-01T00:00:00+0000 n1 kernel: Linux version 6.8
2026-10-03T04:00:00+0000 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=77, GPU has fallen off
2026-10-03T04:00:01+0000 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 45, pid=77, Ch 00000008
2026-10-03T04:20:00+0000 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 119, pid=77, Timeout after 6s
2026-10-05T04:00:00+0000 n2 kernel: NVRM: Xid (PCI:0000:3b:00): 31, pid=9, name=python, MMU Fault
2026-10-06T04:00:00+0000 n2 kernel: NVRM: Xid (PCI:0000:ab:00): 94, pid=9, Contained: SM (0x1)
2026-10-07T04:00:00+0000 n2 kernel: NVRM: Xid (PCI:0000:ab:00): 63, pid=9, Row Remapper: New row
2026-10-09T04:00:00+0000 n2 kernel: NVRM: Xid (PCI:0000:ab:00): 79, pid=9, GPU has fallen off
2026-10-11T00:00:00+0000 n2 kernel: usb 1-1: new device
)";

std::optional<XidFailures> found(const std::string& text, const XidOptions& options,
                                 std::string* said = nullptr) {
  Diagnostics diagnostics;
  const std::vector<ConfigFile> files = {{"kernel.log", text, std::nullopt}};
  auto result = failures_by_xid(files, options, diagnostics);
  if (said != nullptr) {
    *said = to_string(diagnostics);
  }
  return result;
}

TEST(XidLog, CountsFailuresByTheirFirstXidAndPassesOverTheApplication) {
  ASSERT_TRUE(is_xid_log(kJournal));
  const auto log = found(std::string(kJournal), {.nodes = 100});
  ASSERT_TRUE(log);
  EXPECT_EQ(log->events, 7);
  EXPECT_EQ(log->total(), 3);
  ASSERT_EQ(log->failures.size(), 2U);
  EXPECT_EQ(log->failures[0].xid, 79);
  EXPECT_EQ(log->failures[0].count, 2);
  EXPECT_EQ(log->failures[1].xid, 94);
  EXPECT_FALSE(log->failures[1].takes_node);
  EXPECT_EQ(log->repeats, 1);  // 119, 20 minutes after 79 of the same host
  ASSERT_EQ(log->application.size(), 1U);
  EXPECT_EQ(log->application[0].xid, 31);
  EXPECT_EQ(log->reports.size(), 2U);  // 45 and 63
  EXPECT_EQ(log->hosts, 2);
  EXPECT_DOUBLE_EQ(in_seconds(log->span), 10.0 * kSecondsPerDay);
}

// 3 failures in 100 nodes x 10 d: 3 per 1,000 node-days; 95 %: chi2(0.025, 6) / 2 = 0.6187 and
// chi2(0.975, 8) / 2 = 8.7673.
TEST(XidLog, ThePresetHasTheRateAndItsInterval) {
  const auto log = found(std::string(kJournal), {.nodes = 100});
  ASSERT_TRUE(log);
  const std::string preset = preset_of(*log, "our-fleet");
  EXPECT_NE(preset.find("node_rate: 0.003/d"), std::string::npos) << preset;
  EXPECT_NE(preset.find("95 %: 0.619 to 8.77 per 1,000 node-days"), std::string::npos) << preset;
  EXPECT_NE(preset.find("{name: \"Xid 79, GPU fallen off the bus\", category: gpu, weight: 2}"),
            std::string::npos)
      << preset;
  EXPECT_NE(preset.find("weight: 1, takes_node: false}"), std::string::npos) << preset;
  EXPECT_NE(xid_report(*log).find("Xid 31, memory page fault"), std::string::npos);
  EXPECT_NE(xid_report_json(*log).find("\"rate_per_node_day\": 0.003"), std::string::npos);
}

TEST(XidLog, HostsAndTimeThatNoLineTellsAreAskedFor) {
  std::string said;
  EXPECT_FALSE(found(std::string(kJournal), {}, &said));
  EXPECT_NE(said.find("--nodes: how many hosts"), std::string::npos) << said;
  EXPECT_FALSE(found(std::string(kJournal), {.nodes = 1}, &said));
  EXPECT_NE(said.find("2 hosts have lines here, more than --nodes says"), std::string::npos);
  const std::string one =
      "[Sat Oct  3 04:00:00 2026] NVRM: Xid (PCI:0000:3b:00): 79, pid=77, GPU has fallen off\n";
  EXPECT_FALSE(found(one, {.nodes = 4}, &said));
  EXPECT_NE(said.find("--span 30d"), std::string::npos) << said;
  const auto spanned = found(one, {.nodes = 4, .span = days(30.0)});
  ASSERT_TRUE(spanned);
  EXPECT_EQ(spanned->total(), 1);
  EXPECT_FALSE(found("NVRM: Xid (PCI:0000:3b:00): 79, pid=77, gone\n", {.nodes = 4}, &said));
  EXPECT_NE(said.find("kernel.log:1:1: error: holds an Xid without a date"), std::string::npos)
      << said;
}

// syslog prints no year, dmesg without -T the seconds since the start.
TEST(XidLog, DatesOfEveryKernelLogAreRead) {
  const auto turn = found(
      "Dec 30 00:00:00 n1 kernel: up\n"
      "Dec 31 00:00:00 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 48, pid=1, DBE\n"
      "Jan  2 00:00:00 n2 kernel: NVRM: Xid (PCI:0000:3b:00): 74, pid=1, NVLink\n",
      {.nodes = 2});
  ASSERT_TRUE(turn);
  EXPECT_EQ(turn->total(), 2);
  EXPECT_DOUBLE_EQ(in_seconds(turn->span), 3.0 * kSecondsPerDay);
  const auto boot = found(
      "[    0.000000] Linux version\n"
      "[86400.500000] NVRM: Xid (PCI:0000:3b:00): 777, pid=1, new\n",
      {.nodes = 1});
  ASSERT_TRUE(boot);
  EXPECT_DOUBLE_EQ(in_seconds(boot->span), 86400.5);
  EXPECT_FALSE(boot->failures.front().known);
  EXPECT_NE(preset_of(*boot, "x").find("category: unknown, weight: 1, takes_node: true"),
            std::string::npos);
}

// The metric keeps the last Xid of a GPU: a change is an event, a value that stays is none.
TEST(XidLog, ATableOfTheMetricGivesItsChanges) {
  const std::string table =
      "timestamp,Hostname,gpu,DCGM_FI_DEV_XID_ERRORS\n"
      "1790000000,n1,0,0\n1790003600,n1,0,79\n1790007200,n1,0,79\n"
      "1790000000,n1,1,79\n1790086400,n1,1,79\n"
      "1790000000,n2,0,0\n1790043200,n2,0,13\n1790086400,n2,0,48\n";
  ASSERT_TRUE(is_xid_log(table));
  EXPECT_FALSE(is_xid_log("step,step_time,xid\n1,2.5,0\n"));  // metrics of training
  const auto log = found(table, {.nodes = 2});
  ASSERT_TRUE(log);
  EXPECT_EQ(log->total(), 2);
  EXPECT_EQ(log->application.size(), 1U);
  EXPECT_DOUBLE_EQ(in_seconds(log->span), kSecondsPerDay);
  std::string said;
  EXPECT_FALSE(found("timestamp,Hostname,gpu,xid\n1790000000,n1,0,many\n", {.nodes = 2}, &said));
  EXPECT_NE(said.find("kernel.log:2:1: error: holds no date, or no Xid"), std::string::npos)
      << said;
}

}  // namespace
}  // namespace orrery::import_config
