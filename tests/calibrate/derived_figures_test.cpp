// Figures of a machine that follow from samples under several conditions.

#include "calibrate/profile/derived_figures.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/calibrate/planted_machine.hpp"

namespace orrery::calibrate {
namespace {

const std::string kTiny = "residual_add bf16 rows=8 columns=1024";
const std::string kAnchor = "gemm fprop bf16 m=8192 n=8192 k=8192";

double figure(const std::vector<Sample>& samples, std::string_view name) {
  for (const auto& [key, value] : derived_figures(samples)) {
    if (key == name) {
      return value;
    }
  }
  return 0.0;
}

// A graph of n kernels takes 6 us + 1.5 us n; per call 1.5 + 6 / n.
TEST(DerivedFigures, LaunchesComeFromTheLineOverGraphs) {
  std::vector<Sample> samples;
  for (const double n : {1.0, 64.0, 1024.0}) {
    samples.push_back(
        under(kTiny, "graph calls=" + std::to_string(static_cast<int>(n)), 1.5 + 6.0 / n, 0.0));
  }
  samples.push_back(under(kTiny, "enqueued", 2.75, 0.0));
  EXPECT_NEAR(figure(samples, "graph_node_us"), 1.5, 1e-9);
  EXPECT_NEAR(figure(samples, "graph_launch_us"), 6.0, 1e-9);
  EXPECT_EQ(figure(samples, "stream_launch_us"), 2.75);
}

// 1 + 0.004 x for x = 8, 16, 32 multiprocessors that spin, 1 + 0.009 x where they copy memory; 1.03
// beside a copy to the host, 1.4 on the device; the worse of two groups.
TEST(DerivedFigures, SlowdownsAreRatiosToTheSameCallAlone) {
  std::vector<Sample> samples;
  for (const int removed : {8, 16, 32}) {
    samples.push_back(under(kAnchor,
                            "multiprocessors removed=" + std::to_string(removed),
                            1000.0 * (1.0 + 0.004 * removed),
                            1000.0));
    samples.push_back(under(kAnchor,
                            "multiprocessors streaming=" + std::to_string(removed),
                            1000.0 * (1.0 + 0.009 * removed),
                            1000.0));
  }
  samples.push_back(under(kAnchor, "beside copy bytes=268435456", 1400.0, 1000.0));
  const std::string all_reduce =
      "beside all_reduce bf16 ranks=8 nodes=1 bytes=268435456 in_place=0";
  const std::string pair = "beside all_reduce bf16 ranks=2 nodes=1 bytes=268435456 in_place=0";
  samples.push_back(under(kAnchor, "beside device_to_host bytes=268435456", 1030.0, 1000.0));
  samples.push_back(under(kAnchor, pair, 1060.0, 1000.0));
  samples.push_back(under(kAnchor, all_reduce, 1100.0, 1000.0));
  EXPECT_NEAR(figure(samples, "gemm_slowdown_per_sm_removed"), 0.004, 1e-12);
  EXPECT_NEAR(figure(samples, "gemm_slowdown_per_sm_streaming"), 0.009, 1e-12);
  EXPECT_NEAR(figure(samples, "copy_gemm_slowdown"), 1.4, 1e-12);
  EXPECT_NEAR(figure(samples, "d2h_gemm_slowdown"), 1.03, 1e-12);
  EXPECT_NEAR(figure(samples, "gemm_slowdown_under_collective"), 1.1, 1e-12);
  for (Sample& sample : samples) {
    sample.functional = true;
  }
  EXPECT_TRUE(derived_figures(samples).empty());
}

// Bursts are compared with the point itself, not with the last repeat of the anchor.
TEST(DerivedFigures, RepeatsOfTheAnchorAreNoBurstsEither) {
  PlantedJournal journal(1, 0.0);
  for (const double us : {1100.0, 1000.0, 1300.0}) {
    journal.add(kAnchor, us);
  }
  auto& samples = journal.measurements.samples;
  samples[1].regime = Regime::burst;
  samples[2].repeat = 1;
  EXPECT_NEAR(figure(samples, "burst_over_sustained"), 1.1, 1e-12);
}

}  // namespace
}  // namespace orrery::calibrate
