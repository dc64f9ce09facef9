// Figures by rank and blocks of the fabric: closed forms.

#include "sim/answer/report/picture/rank_values.hpp"

#include <gtest/gtest.h>

#include "sim/answer/report/picture/fabric_reach.hpp"

namespace orrery::report {
namespace {

TEST(RankValues, SayWhichStagesDoMostAndLeast) {
  RankValues ranks;
  ranks.stages = {0, 0, 1, 1};
  EXPECT_EQ(extremes_sentence(ranks, "waits", Dimension::time, {2.0, 3.0, 1.0, 2.0}),
            "Stage 0 waits most, 3.00 s; stage 1 least, 1.00 s.");
  EXPECT_EQ(extremes_sentence(ranks, "waits", Dimension::time, {2.0, 2.0, 2.0, 2.0}), "");
}

TEST(FabricBlocks, HoldEveryNodeOnceAndAreFew) {
  const auto small = fabric_blocks({.name = "rack", .nodes = 4}, 9);
  ASSERT_EQ(small.size(), 3U);
  EXPECT_EQ(small[0].name, "nodes 0 to 3");
  EXPECT_EQ(small[2].name, "node 8") << "the last one has what is left";
  EXPECT_EQ(small[1].begin, small[0].end);
  const auto many = fabric_blocks({.name = "node", .nodes = 1}, 2048);
  EXPECT_EQ(many.size(), 512U);
  EXPECT_EQ(many.back().name, "nodes 2,044 to 2,047");
}

}  // namespace
}  // namespace orrery::report
