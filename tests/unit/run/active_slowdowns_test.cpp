// The worst of the slowdowns in progress against a list of all.

#include <gtest/gtest.h>

#include <map>

#include "sim/base/random.hpp"
#include "sim/run/trial/disturbances.hpp"

namespace orrery::run {
namespace {

TEST(ActiveSlowdowns, OfNoneTheFactorIsOne) {
  ActiveSlowdowns active;
  EXPECT_EQ(active.worst(), 1.0);
  const std::uint32_t faster = active.begin(0.5, 3);
  EXPECT_EQ(active.worst(), 1.0);
  EXPECT_EQ(active.end(faster), 3);
  EXPECT_EQ(active.worst(), 1.0);
}

TEST(ActiveSlowdowns, AgreeWithAListOnRandomBeginsAndEnds) {
  constexpr std::uint64_t kSeed = 20261121;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  RandomStream draw(kSeed, 0, Purpose::property_test);
  ActiveSlowdowns active;
  std::map<std::uint32_t, std::pair<double, std::int32_t>> list;
  for (int round = 0; round < 20'000; ++round) {
    if (list.empty() || draw.uniform01() < 0.5) {
      const double factor = 1.0 + static_cast<double>(draw.uniform_int(50));  // ties are common
      const auto index = static_cast<std::int32_t>(draw.uniform_int(9));
      const std::uint32_t id = active.begin(factor, index);
      EXPECT_TRUE(list.emplace(id, std::pair(factor, index)).second) << "id " << id << " is taken";
    } else {
      auto one = list.begin();
      std::advance(one, static_cast<std::ptrdiff_t>(draw.uniform_int(list.size())));
      EXPECT_EQ(active.end(one->first), one->second.second);
      list.erase(one);
    }
    double worst = 1.0;
    for (const auto& [id, slow] : list) {
      worst = std::max(worst, slow.first);
    }
    ASSERT_EQ(active.worst(), worst) << "round " << round;
  }
  // One that outlasts thousands of milder ones.
  const std::uint32_t longest = active.begin(99.0, 0);
  for (int i = 0; i < 5'000; ++i) {
    active.end(active.begin(2.0, 1));
    ASSERT_EQ(active.worst(), 99.0);
  }
  EXPECT_EQ(active.end(longest), 0);
  active.clear();
  EXPECT_EQ(active.worst(), 1.0);
}

}  // namespace
}  // namespace orrery::run
