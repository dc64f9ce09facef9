#include "kernels/nvml/nvml.hpp"

#include <gtest/gtest.h>

namespace orrery::kernels {
namespace {

TEST(Nvml, WithoutItsLibraryEverythingIsAbsentAndItSaysWhy) {
  const Nvml nvml("0000:1b:00.0", "libno-such-nvml.so.1");
  EXPECT_EQ(nvml.absence(), "libno-such-nvml.so.1 is not on this machine");
  EXPECT_FALSE(nvml.read().power.has_value());
  EXPECT_FALSE(nvml.read().reasons.has_value());
  EXPECT_FALSE(nvml.limits().driver.has_value());
}

TEST(Nvml, ALibraryWithoutItsFunctionsIsNamed) {
  const Nvml nvml("0000:1b:00.0", "libm.so.6");
  EXPECT_EQ(nvml.absence(), "libm.so.6 lacks nvmlInit_v2 or nvmlDeviceGetHandleByPciBusId_v2");
}

TEST(Nvml, ReadsWhatIsAnsweredAndLeavesTheRestAbsent) {
  const Nvml nvml("0000:1b:00.0", FAKE_NVML);
  EXPECT_EQ(nvml.absence(), "");
  const GpuReading reading = nvml.read();
  EXPECT_EQ(reading.sm_clock, 1455.0);
  EXPECT_EQ(reading.memory_clock, 3201.0);
  EXPECT_DOUBLE_EQ(reading.power.value(), 480.25) << "now, not over the last second";
  EXPECT_EQ(reading.temperature, 61.0);
  EXPECT_EQ(reading.reasons, 0x4U);
  EXPECT_FALSE(nvml.energy().has_value()) << "not supported is absent, not 0";
  const GpuLimits limits = nvml.limits();
  EXPECT_EQ(limits.sm_clock, 1980.0);
  EXPECT_FALSE(limits.memory_clock.has_value());
  EXPECT_DOUBLE_EQ(limits.power_limit.value(), 700.0);
  EXPECT_EQ(limits.mig, false);
  EXPECT_EQ(limits.driver, "580.95.05");
  EXPECT_FALSE(limits.pcie_width.has_value()) << "a missing function is absent";
}

TEST(Nvml, ABoardThatDoesNotSayWhatItDrawsNowSaysItOverTheLastSecond) {
  EXPECT_DOUBLE_EQ(Nvml("0000:2a:00.0", FAKE_NVML).read().power.value(), 699.5);
}

TEST(Nvml, CountsTheLinksThatAreUpAndWhereTheyLead) {
  const Nvml nvml("0000:1b:00.0", FAKE_NVML);
  const std::optional<NvLinks> links = nvml.links();
  ASSERT_TRUE(links);
  EXPECT_EQ(links->links, 3);
  EXPECT_EQ(links->version, "4.0");
  EXPECT_EQ(links->switched, 1);
  const PciAddress other{.domain = 0, .bus = 0x2a, .device = 0};
  EXPECT_EQ(links->peers, (std::vector<PciAddress>{other, other}));
  EXPECT_EQ(parse_pci("00000000:2A:00.0"), other);
  EXPECT_FALSE(parse_pci("a GPU"));
  EXPECT_FALSE(Nvml("0000:1b:00.0", "libno-such-nvml.so.1").links());
}

TEST(SharedLibrary, IsAbsentWithASentenceOrHasFunctions) {
  const SharedLibrary none("libno-such-nccl.so.2");
  EXPECT_FALSE(none.found());
  EXPECT_EQ(none.absence(), "libno-such-nccl.so.2 is not on this machine");
  EXPECT_EQ(none.find<int()>("ncclGroupStart"), nullptr);
  const SharedLibrary there(FAKE_NVML);
  EXPECT_EQ(there.absence(), "");
  ASSERT_NE(there.find<int()>("nvmlInit_v2"), nullptr);
  EXPECT_EQ(there.find<int()>("nvmlInit_v2")(), 0);
  EXPECT_EQ(there.find<int()>("nvmlInit_v3"), nullptr);
}

TEST(Nvml, AnUnknownGpuIsNamed) {
  const Nvml nvml("0000:ff:00.0", FAKE_NVML);
  EXPECT_EQ(nvml.absence(), "NVML does not know the GPU 0000:ff:00.0 (status 6)");
  EXPECT_FALSE(nvml.read().power.has_value());
}

TEST(GpuList, NamesEveryGpuAndTheDriver) {
  const GpuList list = list_gpus(FAKE_NVML);
  EXPECT_TRUE(list.installed);
  EXPECT_EQ(list.absence, "");
  EXPECT_EQ(list.driver, "580.95.05");
  EXPECT_EQ(list.cuda, "13.0");
  ASSERT_EQ(list.gpus.size(), 2U);
  EXPECT_EQ(list.gpus[0].name, "NVIDIA H200");
  EXPECT_EQ(in_bytes(list.gpus[0].memory.value()), 150754820096.0);
  EXPECT_EQ(list.gpus[1].name, "a GPU that does not answer");
  EXPECT_FALSE(list.gpus[1].memory.has_value());
}

TEST(GpuList, NoDriverIsNoErrorButABrokenOneIsTold) {
  const GpuList none = list_gpus("libno-such-nvml.so.1");
  EXPECT_FALSE(none.installed);
  EXPECT_EQ(none.absence, "libno-such-nvml.so.1 is not on this machine");
  const GpuList broken = list_gpus("libm.so.6");
  EXPECT_TRUE(broken.installed);
  EXPECT_EQ(broken.absence, "libm.so.6 lacks nvmlInit_v2 or nvmlDeviceGetCount_v2");
  EXPECT_TRUE(broken.gpus.empty());
}

TEST(Nvml, ReasonsHaveNamesAndOnlySomeOfThemThrottle) {
  EXPECT_EQ(reason_names(0x1 | 0x40 | 0x1000),
            (std::vector<std::string>{"gpu_idle", "hw_thermal_slowdown", "bit_12"}));
  EXPECT_TRUE(reason_names(0).empty());
  EXPECT_FALSE(is_throttled(0x1 | 0x2 | 0x100));
  EXPECT_TRUE(is_throttled(0x4));
  EXPECT_TRUE(is_throttled(0x1 | 0x80));
  EXPECT_FALSE(is_braked(0x1 | 0x4)) << "the power limit is where a training run stays";
  EXPECT_TRUE(is_braked(0x4 | 0x40));
}

}  // namespace
}  // namespace orrery::kernels
