#include "kernels/device/memory.hpp"

#include <gtest/gtest.h>

namespace orrery::kernels {
namespace {

TEST(OperandSets, TogetherTheyExceedWhatIsRotated) {
  const std::int64_t most = std::int64_t{1} << 40;
  for (const std::int64_t set : {std::int64_t{1} << 20, std::int64_t{3'000'000}}) {
    for (const std::int64_t rotated : {set - 1, set, set + 1, 7 * set, 7 * set + 5}) {
      const std::int64_t sets = operand_sets(set, rotated, most);
      EXPECT_GT(sets * set, rotated);
      EXPECT_LE((sets - 1) * set, rotated) << "one set too many";
    }
  }
}

TEST(OperandSets, OneWhenNothingIsRotated) {
  EXPECT_EQ(operand_sets(1000, 0, 1000), 1);
}

TEST(OperandSets, AsManyAsFitWhenMemoryIsShort) {
  EXPECT_EQ(operand_sets(1000, 10'000, 3500), 3);
}

TEST(OperandSets, SmallOperandsStopAtTheCap) {
  EXPECT_EQ(operand_sets(1, 1'000'000, 2'000'000), kMostSets);
}

TEST(OperandSets, ACaseThatDoesNotFitIsUnsupported) {
  try {
    static_cast<void>(operand_sets(1001, 0, 1000));
    FAIL() << "nothing thrown";
  } catch (const Unsupported& unsupported) {
    EXPECT_STREQ(unsupported.what(), "needs 1001 bytes of device memory, 1000 are free");
    EXPECT_EQ(unsupported.status(), "CUDA status 2 (cudaErrorMemoryAllocation)");
  }
}

TEST(MemoryBudget, IsWhatTheOptionsSay) {
  PrepareOptions options;
  options.most_bytes = 12345;
  EXPECT_EQ(memory_budget(options), 12345);
}

TEST(Buffers, EmptyOnesNeedNoDevice) {
  const DeviceBuffer device(0);
  EXPECT_EQ(device.data(), nullptr);
  const PinnedBuffer pinned(0);
  EXPECT_EQ(pinned.data(), nullptr);
}

TEST(Aligned, IsTheNextMultiple) {
  EXPECT_EQ(aligned(0), 0);
  EXPECT_EQ(aligned(1), 256);
  EXPECT_EQ(aligned(256), 256);
  EXPECT_EQ(aligned(257), 512);
}

}  // namespace
}  // namespace orrery::kernels
