#include "sim/base/parallel.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <vector>

#include "sim/base/random.hpp"

namespace orrery {
namespace {

TEST(ParallelFor, RunsEveryIndexOnce) {
  for (const int threads : {0, 1, 2, 7}) {
    for (const std::int64_t grain : {1, 3, 64, 5000}) {
      constexpr std::int64_t kIndices = 1000;
      std::vector<std::atomic<int>> visits(kIndices);
      const bool complete = parallel_for(kIndices, {.threads = threads, .grain = grain},
                                         [&](std::int64_t begin, std::int64_t end) {
                                           EXPECT_LE(end - begin, grain);
                                           EXPECT_LE(end, kIndices);
                                           for (std::int64_t i = begin; i < end; ++i) {
                                             ++visits[static_cast<std::size_t>(i)];
                                           }
                                         });
      EXPECT_TRUE(complete);
      for (const auto& count : visits) {
        ASSERT_EQ(count, 1) << threads << " threads, grain " << grain;
      }
    }
  }
}

TEST(ParallelFor, NothingToDoIsComplete) {
  bool called = false;
  EXPECT_TRUE(parallel_for(0, {}, [&](std::int64_t, std::int64_t) { called = true; }));
  EXPECT_FALSE(called);
}

TEST(ParallelFor, AnExceptionReachesTheCaller) {
  for (const int threads : {1, 4}) {
    std::string message;
    try {
      parallel_for(100, {.threads = threads}, [](std::int64_t begin, std::int64_t) {
        if (begin == 37) {
          throw std::runtime_error("trial 37 failed");
        }
      });
    } catch (const std::runtime_error& error) {
      message = error.what();
    }
    EXPECT_EQ(message, "trial 37 failed") << threads << " threads";
  }
}

TEST(ParallelFor, AStopRequestSkipsWhatHasNotStarted) {
  for (const int threads : {1, 2}) {
    std::stop_source stop;
    std::atomic<int> chunks = 0;
    const ParallelOptions options{.threads = threads, .grain = 1, .stop = stop.get_token()};
    const bool complete = parallel_for(10000, options, [&](std::int64_t, std::int64_t) {
      if (++chunks == 10) {
        stop.request_stop();
      }
    });
    EXPECT_FALSE(complete);
    EXPECT_GE(chunks, 10);
    EXPECT_LT(chunks, 10000) << threads << " threads";
  }
}

TEST(ParallelFor, AnEarlierStopRequestRunsNothing) {
  std::stop_source stop;
  stop.request_stop();
  bool called = false;
  EXPECT_FALSE(parallel_for(10, {.stop = stop.get_token()},
                            [&](std::int64_t, std::int64_t) { called = true; }));
  EXPECT_FALSE(called);
}

std::vector<double> draws_by_trial(int threads, std::int64_t grain) {
  constexpr std::uint64_t kSeed = 11;
  std::vector<double> slots(500);
  parallel_for(static_cast<std::int64_t>(slots.size()), {.threads = threads, .grain = grain},
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   RandomStream random(kSeed, static_cast<std::uint32_t>(i),
                                       Purpose::property_test);
                   slots[static_cast<std::size_t>(i)] = in_hours(random.exponential(hours(3.0)));
                 }
               });
  return slots;
}

TEST(ParallelFor, ResultsAreBitIdenticalForAnyNumberOfThreads) {
  const std::vector<double> one = draws_by_trial(1, 1);
  for (const int threads : {2, 3, 8, 0}) {
    EXPECT_EQ(draws_by_trial(threads, 1), one) << threads << " threads";
    EXPECT_EQ(draws_by_trial(threads, 17), one) << threads << " threads";
  }
}

TEST(ParallelForDeathTest, AZeroGrainIsAProgrammingError) {
  EXPECT_DEATH(parallel_for(10, {.grain = 0}, [](std::int64_t, std::int64_t) {}),
               "grain must be at least 1, is 0");
}

}  // namespace
}  // namespace orrery
