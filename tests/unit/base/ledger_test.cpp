#include "sim/base/ledger.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>

#include "sim/base/random.hpp"

namespace orrery {
namespace {

enum class Use { work, wait, lost, count_ };

TEST(Ledger, HoldsSixteenThousandGpusForFiftyFourDaysExactly) {
  // 16,384 GPUs x 54 d x 86,400 s/d x 10^9 ns/s = 76,441,190,400 x 10^9 GPU ns: 8.3 times int64.
  Ledger<Use> ledger;
  ledger.book(Use::work, 16384, to_sim_time(days(54.0)));
  const Int128 expected = Int128{76'441'190'400} * kNanosecondsPerSecond;
  EXPECT_TRUE(ledger.total() == expected);
  EXPECT_TRUE(ledger.total() > Int128{std::numeric_limits<std::int64_t>::max()} * 8);
  EXPECT_DOUBLE_EQ(in_seconds(ledger.total_gpu_time()), 76'441'190'400.0);
  ledger.book(Use::wait, 1, SimTime{1});  // one GPU for one nanosecond is not rounded away
  EXPECT_TRUE(ledger.total() - expected == 1);
}

TEST(Ledger, DoesNotDependOnTheOrderOfBooking) {
  constexpr std::uint64_t kSeed = 7;
  RandomStream random(kSeed, 0, Purpose::property_test);
  Ledger<Use> forward;
  std::array<Ledger<Use>, 2> halves;
  Int128 sum = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    const auto use = static_cast<Use>(random.uniform_int(Ledger<Use>::kCategories));
    const auto gpus = static_cast<std::int64_t>(random.uniform_int(20000));
    const SimTime wall{static_cast<std::int64_t>(random.next_u64() >> 2U)};
    forward.book(use, gpus, wall);
    halves.at(i % 2).book(use, gpus, wall);
    sum += static_cast<Int128>(gpus) * wall.ns;
  }
  Ledger<Use> backward = halves[1];
  backward += halves[0];
  EXPECT_EQ(forward, backward) << "seed " << kSeed;
  EXPECT_TRUE(forward.total() == sum) << "seed " << kSeed;
}

TEST(Ledger, SharesSumToOne) {
  Ledger<Use> ledger;
  ledger.book(Use::work, 8, SimTime{900});
  ledger.book(Use::wait, 8, SimTime{75});
  ledger.book(Use::lost, 8, SimTime{25});
  EXPECT_DOUBLE_EQ(ledger.share(Use::work), 0.9);
  EXPECT_DOUBLE_EQ(ledger.share(Use::wait), 0.075);
  EXPECT_DOUBLE_EQ(ledger.share(Use::lost), 0.025);
  EXPECT_DOUBLE_EQ(in_nanoseconds(ledger.gpu_time(Use::lost)), 200.0);
}

TEST(Ledger, AnEmptyLedgerHasNoShares) {
  const Ledger<Use> ledger;
  EXPECT_TRUE(ledger.total() == 0);
  EXPECT_EQ(ledger.share(Use::work), 0.0);
  EXPECT_EQ(ledger, Ledger<Use>{});
}

}  // namespace
}  // namespace orrery
