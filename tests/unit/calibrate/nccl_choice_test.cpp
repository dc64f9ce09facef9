#include "calibrate/sweep/nccl_choice.hpp"

#include <gtest/gtest.h>

namespace orrery::calibrate {
namespace {

TEST(NcclChoice, IsThatOfTheLastLineThatHasOne) {
  const auto choice = last_nccl_choice(
      "node0:71:71 [0] NCCL INFO AllReduce: 4 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..0}\n"
      "node0:71:71 [0] NCCL INFO AllReduce: 268435456 Bytes -> Algo NVLS proto SIMPLE "
      "channel{Lo..Hi}={0..15} cgaClusterSize 4\n"
      "node0:71:71 [0] NCCL INFO comm 0x1 rank 0 nRanks 8\n");
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->algorithm, "NVLS");
  EXPECT_EQ(choice->protocol, "SIMPLE");
  EXPECT_EQ(choice->channels, 16);
}

TEST(NcclChoice, SendsAndReceivesHaveNone) {
  EXPECT_FALSE(last_nccl_choice(""));
  EXPECT_FALSE(last_nccl_choice("node0:71:71 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P\n"));
}

}  // namespace
}  // namespace orrery::calibrate
