#include "kernels/products/candidates.hpp"

#include <gtest/gtest.h>

#include "kernels/device/runnable.hpp"
#include "sim/base/error.hpp"

namespace orrery::kernels {
namespace {

bool alive() {
  return true;
}

void fail(std::size_t candidate) {
  throw Error(ErrorKind::device, "the GPU failed to run candidate " + std::to_string(candidate));
}

// A failure at run time is Error, not Unsupported: it must not take the other candidates with it.
TEST(Candidates, OneThatFailsAtRunTimeLosesOnlyItself) {
  const CandidateTimes found = time_candidates(
      4,
      {.rounds = 3},
      [](std::size_t i) {
        if (i == 1) {
          fail(i);
        }
        if (i == 2) {
          throw Unsupported("refused by the call", "15");
        }
        return i == 0 ? 2e-3 : 1.9e-3;
      },
      alive);
  EXPECT_EQ(found.fastest, 3U);
  EXPECT_EQ(found.seconds[0], 2e-3);
  EXPECT_FALSE(found.seconds[1]);
  EXPECT_FALSE(found.seconds[2]);
}

TEST(Candidates, OneThatFailsInALaterRoundIsOutToo) {
  int calls = 0;
  const CandidateTimes found = time_candidates(
      2,
      {.rounds = 3},
      [&calls](std::size_t i) {
        if (i == 0 && ++calls == 3) {
          fail(i);
        }
        return i == 0 ? 1e-3 : 2e-3;
      },
      alive);
  EXPECT_EQ(found.fastest, 1U);
}

// A clock that falls from round to round: candidates of a round are compared with each other.
TEST(Candidates, AClockThatMovesDoesNotChooseTheFirst) {
  double slowness = 1.0;
  const CandidateTimes found = time_candidates(
      8,
      {.rounds = 5},
      [&slowness](std::size_t i) {
        slowness *= 1.002;
        return slowness * (i == 5 ? 0.97e-3 : 1e-3);
      },
      alive);
  EXPECT_EQ(found.fastest, 5U);
}

// Sixteen candidates for a product of 50 ms: nine rounds would take 7 s of each search.
TEST(Candidates, ASearchEndsWithItsTimeAndKnowsThoseThatItReached) {
  double spent = 0.0;
  std::vector<int> calls(16);
  const CandidateTimes found = time_candidates(
      calls.size(),
      {},
      [&](std::size_t i) {
        ++calls[i];
        const double time = i == 6 ? 0.045 : 0.05;
        spent += time;
        return time;
      },
      alive);
  EXPECT_LE(spent, 1.0 + 2 * 0.05);
  EXPECT_EQ(found.fastest, 6U);
  EXPECT_EQ(calls[0], 2) << "the first call loads the kernel and does not count";
  EXPECT_EQ(found.seconds[0], 0.05);
  EXPECT_FALSE(found.seconds[15]) << "nobody knows";
  const CandidateTimes quick = time_candidates(
      calls.size(), {}, [](std::size_t i) { return 1e-4 * static_cast<double>(16 - i); }, alive);
  EXPECT_EQ(quick.fastest, 15U);
}

TEST(Candidates, ALostDeviceEndsTheSearchAndNoneAtAllIsSaid) {
  const auto failing = [](std::size_t i) -> double {
    fail(i);
    return 0.0;
  };
  EXPECT_THROW((void)time_candidates(2, {.rounds = 1}, failing, [] { return false; }), Error);
  EXPECT_FALSE(time_candidates(2, {.rounds = 1}, failing, alive).fastest);
}

TEST(Candidates, TheFirstThatRunsIsChosen) {
  EXPECT_EQ(first_that_runs(
                3, [](std::size_t) {}, alive),
            0U);
  EXPECT_EQ(first_that_runs(
                3, [](std::size_t i) { i < 2 ? fail(i) : void(); }, alive),
            2U);
  EXPECT_THROW((void)first_that_runs(3, fail, alive), Error);
  const auto bad_input = [](std::size_t) { throw Error(ErrorKind::io, "a file"); };
  EXPECT_THROW((void)first_that_runs(3, bad_input, alive), Error);
}

}  // namespace
}  // namespace orrery::kernels
