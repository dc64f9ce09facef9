// The moments kept are enough to find the peak for any weights, and a few micro-batches show them.

#include "sim/step/schedule/live_peaks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <variant>

namespace orrery::schedule {
namespace {

std::optional<Schedule> made(const ScheduleRequest& request) {
  auto result = generate(request);
  auto* schedule = std::get_if<Schedule>(&result);
  return schedule != nullptr ? std::optional(std::move(*schedule)) : std::nullopt;
}

// Whole numbers, so that sums are exact in any order.
struct Weights {
  std::vector<std::int64_t> kept;
  std::vector<std::int64_t> working;  // of a backward
  std::vector<std::int64_t> gradients;
  std::vector<std::int64_t> layer;  // of what is kept
};

// Along the whole list; merged passes run as the backward, beside a layer of the forward, and then
// hold what the forward leaves.
std::int64_t walked_peak(std::vector<PipelineOp> list, const Weights& weights,
                         bool layer_by_layer) {
  for (std::size_t i = 0; layer_by_layer && i + 1 < list.size(); ++i) {
    if (list[i].with_next) {
      std::swap(list[i], list[i + 1]);
      ++i;
    }
  }
  std::vector<std::int64_t> left(weights.kept.size(), 0);
  const auto releases = [](const PipelineOp& op) {
    return op.kind == OpKind::backward || op.kind == OpKind::backward_weight;
  };
  for (const PipelineOp& op : list) {
    left[static_cast<std::size_t>(op.chunk)] += releases(op) ? 1 : 0;
  }
  std::vector<bool> begun(weights.kept.size(), false);
  std::int64_t live = 0;
  std::int64_t peak = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const PipelineOp& op = list[i];
    const auto chunk = static_cast<std::size_t>(op.chunk);
    std::int64_t working = 0;
    if (op.kind == OpKind::forward) {
      live += weights.kept[chunk];
    } else {
      live += begun[chunk] ? 0 : weights.gradients[chunk];
      begun[chunk] = true;
      working = weights.working[chunk];
      if (layer_by_layer && i + 1 < list.size() && list[i + 1].with_next) {
        working += weights.layer[static_cast<std::size_t>(list[i + 1].chunk)];
      }
    }
    peak = std::max(peak, live + working);
    if (releases(op)) {
      live -= weights.kept[chunk];
      live -= --left[chunk] == 0 ? weights.gradients[chunk] : 0;
    }
  }
  return peak;
}

std::int64_t weighed_peak(const std::vector<LiveMoment>& moments, const Weights& weights) {
  std::int64_t peak = 0;
  for (const LiveMoment& at : moments) {
    std::int64_t sum = at.chunk ? weights.working[static_cast<std::size_t>(*at.chunk)] : 0;
    sum += at.ahead ? weights.layer[static_cast<std::size_t>(*at.ahead)] : 0;
    for (std::size_t c = 0; c < weights.kept.size(); ++c) {
      sum += at.live[c] * weights.kept[c] + (at.gradients[c] ? weights.gradients[c] : 0);
    }
    peak = std::max(peak, sum);
  }
  return peak;
}

TEST(LivePeaks, GiveThePeakOfTheWholeListForAnyWeights) {
  constexpr std::uint32_t kSeed = 7;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  const auto draw = [&random] { return static_cast<std::int64_t>(random() % 1000); };
  int tried = 0;
  for (std::size_t kind = 0; kind < kScheduleKinds; ++kind) {
    for (const int devices : {1, 2, 4, 6}) {
      for (const int chunks : {1, 2, 3}) {
        for (const int micro_batches : {1, 2, 6, 12, 24, 31}) {
          const ScheduleRequest request = {.kind = static_cast<ScheduleKind>(kind),
                                           .devices = devices,
                                           .chunks = chunks,
                                           .micro_batches = micro_batches};
          const auto schedule = made(request);
          if (!schedule) {
            continue;
          }
          const LivePeaks peaks = live_peaks(*schedule);
          const auto few = made(as_few_micro_batches(request));
          ASSERT_TRUE(few);
          const LivePeaks peaks_of_few = live_peaks(*few);
          for (std::size_t d = 0; d < schedule->lists.size(); ++d) {
            Weights weights;
            for (int c = 0; c < chunks; ++c) {
              weights.kept.push_back(draw());
              weights.working.push_back(draw());
              weights.gradients.push_back(draw());
              weights.layer.push_back(draw());
            }
            const std::int64_t peak = walked_peak(
                schedule->lists[d], weights, request.kind == ScheduleKind::interleaved_combined);
            EXPECT_EQ(weighed_peak(peaks.devices[d], weights), peak);
            EXPECT_EQ(weighed_peak(peaks_of_few.devices[d], weights), peak)
                << to_string(request.kind) << " p " << devices << " v " << chunks << " m "
                << micro_batches << " device " << d;
            if (peaks.covered[d]) {
              EXPECT_GE(weighed_peak(peaks.devices[d - 1], weights), peak);
            }
            ++tried;
          }
        }
      }
    }
  }
  EXPECT_GT(tried, 500);
}

TEST(LivePeaks, OfOneForwardOneBackwardAreOneMomentADevice) {
  const auto schedule =
      made({.kind = ScheduleKind::one_f_one_b, .devices = 4, .micro_batches = 16});
  const LivePeaks peaks = live_peaks(*schedule);
  for (std::size_t d = 0; d < 4; ++d) {
    ASSERT_EQ(peaks.devices[d].size(), 1U);
    EXPECT_EQ(peaks.devices[d].front().live.front(), static_cast<std::int32_t>(4 - d));
    EXPECT_EQ(peaks.covered[d], d > 0);
  }
}

TEST(LivePeaks, OfMergedPassesHoldOneMicroBatchAndALayer) {
  const auto schedule = made(
      {.kind = ScheduleKind::interleaved_combined, .devices = 1, .chunks = 1, .micro_batches = 8});
  const LivePeaks peaks = live_peaks(*schedule);
  const LiveMoment merged = {
      .live = {1}, .chunk = std::int16_t{0}, .gradients = {true}, .ahead = std::int16_t{0}};
  EXPECT_EQ(peaks.devices.front(), std::vector{merged});
}

TEST(LivePeaks, NeedFewMicroBatchesInASteadyState) {
  EXPECT_EQ(
      as_few_micro_batches(
          {.kind = ScheduleKind::interleaved, .devices = 8, .chunks = 4, .micro_batches = 1024})
          .micro_batches,
      32);
  EXPECT_EQ(
      as_few_micro_batches({.kind = ScheduleKind::one_f_one_b, .devices = 8, .micro_batches = 1027})
          .micro_batches,
      35);
  EXPECT_EQ(as_few_micro_batches({.kind = ScheduleKind::gpipe, .devices = 8, .micro_batches = 1024})
                .micro_batches,
            1024);
}

}  // namespace
}  // namespace orrery::schedule
