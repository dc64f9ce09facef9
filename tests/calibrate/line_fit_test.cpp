#include "calibrate/profile/line_fit.hpp"

#include <gtest/gtest.h>

#include "calibrate/plan/sweep_cases.hpp"
#include "sim/step/cost/gemm.hpp"
#include "sim/step/cost/measured_kernels.hpp"
#include "sim/step/kernels/kernel_case.hpp"
#include "tests/calibrate/planted_machine.hpp"

namespace orrery::calibrate {
namespace {

constexpr std::uint64_t kSeed = 20261121;

std::vector<KernelEvidence> evidence_for(const PlantedJournal& journal) {
  const Evidence evidence = evidence_of(journal.measurements.samples, planted_gpu());
  EXPECT_EQ(evidence.size(), 1U);
  return evidence.begin()->second.points;
}

// Without noise the times lie on the line, so that every coefficient comes back.
TEST(LineFit, PlantedCoefficientsComeBackWithoutNoise) {
  PlantedJournal journal(kSeed, 0.0);
  const PlantedLine line;
  for (const auto& shape : planted_shapes()) {
    journal.add(gemm_text("fprop", shape), line(gemm_text("fprop", shape)));
  }
  const LineFit fit = fit_line(evidence_for(journal), true);
  EXPECT_NEAR(in_microseconds(fit.line.a), line.a, 1e-6);
  EXPECT_NEAR(1.0 / fit.line.b / kTera, line.rate, 1e-6);
  EXPECT_NEAR(1.0 / fit.line.c / kGiga, line.bandwidth, 1e-3);
}

TEST(LineFit, PlantedCoefficientsComeBackWithinTheirDeviationUnderNoise) {
  PlantedJournal journal(kSeed, 0.01);
  const PlantedLine line;
  for (const auto& shape : planted_shapes()) {
    journal.add(gemm_text("dgrad", shape), line(gemm_text("dgrad", shape)));
  }
  const auto points = evidence_for(journal);
  const LineFit fit = fit_line(points, true);
  constexpr double kDeviations = 4.0;
  EXPECT_NEAR(fit.line.b, 1.0 / (line.rate * kTera), kDeviations * fit.deviation[1]) << kSeed;
  EXPECT_NEAR(fit.line.c, 1.0 / (line.bandwidth * kGiga), kDeviations * fit.deviation[2]) << kSeed;
  EXPECT_NEAR(1.0 / fit.line.b / kTera, line.rate, 0.01 * line.rate) << kSeed;
  const auto residual = residual_of(left_out_errors(points, true, std::nullopt, points.size()));
  EXPECT_LT(residual.mean, 0.012);
  EXPECT_LT(residual.median, residual.p90);
}

TEST(LineFit, AFewSpoiltPointsDoNotMoveTheLine) {
  PlantedJournal journal(kSeed, 0.002);
  const PlantedLine line;
  std::size_t i = 0;
  for (const auto& shape : planted_shapes()) {
    const std::string text = gemm_text("fprop", shape);
    journal.add(text, line(text) * (i++ % 12 == 5 ? 2.0 : 1.0));
  }
  EXPECT_NEAR(1.0 / fit_line(evidence_for(journal), true).line.b / kTera, line.rate, 7.0);
}

// An anchor is measured after every 20 cases. Counted as points, 42 repeats of one shape draw the
// rate of this machine to their own (1,538 us per TFLOP becomes 1,660), and a leave-one-out
// residual that mostly asks a shape about itself shrinks from 3.9 % to 0.8 %.
TEST(LineFit, RepeatsOfTheAnchorMoveNeitherTheRateNorTheResidual) {
  PlantedJournal journal(kSeed, 0.05);
  const PlantedLine line{.a = 0.0, .rate = 650.0, .bandwidth = kTera};  // 1,538 us per TFLOP
  for (const auto& shape : planted_shapes()) {
    journal.add(gemm_text("fprop", shape), line(gemm_text("fprop", shape)));
  }
  const auto before = evidence_for(journal);
  const std::string anchor = kernels::to_text(anchor_case());
  for (std::int64_t repeat = 1; repeat <= 42; ++repeat) {
    journal.add(anchor, 1.08 * line(anchor));
    journal.measurements.samples.back().repeat = repeat;
  }
  const auto after = evidence_for(journal);
  const LineFit fit = fit_line(after, true);
  EXPECT_EQ(fit.line.b, fit_line(before, true).line.b);
  EXPECT_NEAR(fit.line.b * kTera / kMicro, 1538.0, 0.02 * 1538.0);
  const auto residual = residual_of(left_out_errors(after, true, {}, after.size()));
  EXPECT_EQ(residual.median, residual_of(left_out_errors(before, true, {}, before.size())).median);
  EXPECT_GT(residual.median, 0.02);
}

// A kernel that is only compute: a and c must not become negative to follow the noise.
TEST(LineFit, CoefficientsAreNeverNegative) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    PlantedJournal journal(seed, 0.05);
    for (const auto& shape : planted_shapes()) {
      const std::string text = gemm_text("fprop", shape);
      journal.add(text, PlantedLine{.a = 0.0, .rate = 500.0, .bandwidth = kTera}(text));
    }
    const LineFit fit = fit_line(evidence_for(journal), true);
    EXPECT_GE(in_seconds(fit.line.a), 0.0) << seed;
    EXPECT_GT(fit.line.b, 0.0) << seed;
    EXPECT_GE(fit.line.c, 0.0) << seed;
  }
}

TEST(LineFit, MemoryBoundKernelsAreLatencyAndBandwidth) {
  PlantedJournal journal(kSeed, 0.0);
  for (const std::int64_t rows : {1024, 4096, 16384, 65536}) {
    const std::string text = "rms_norm forward bf16 rows=" + std::to_string(rows) + " columns=8192";
    const double moved = 2.0 * 2.0 * 8192.0 * static_cast<double>(rows);
    journal.add(text, 3.0 + moved / (4200.0 * kGiga) / kMicro, "own");
  }
  const LineFit fit = fit_line(evidence_for(journal), false);
  EXPECT_NEAR(in_microseconds(fit.line.a), 3.0, 1e-6);
  EXPECT_EQ(fit.line.b, 0.0);
  EXPECT_NEAR(1.0 / fit.line.c / kGiga, 4200.0, 1e-3);
}

TEST(LineFit, FewPointsGiveTheRateAlone) {
  PlantedJournal journal(kSeed, 0.0);
  journal.add("gemm fprop bf16 m=4096 n=4096 k=4096", 200.0);
  const LineFit fit = fit_line(evidence_for(journal), true);
  EXPECT_EQ(in_seconds(fit.line.a), 0.0);
  EXPECT_EQ(fit.line.c, 0.0);
  const auto& sample = journal.measurements.samples.front();
  const double work = in_flop(fit_work(sample.kernel, planted_gpu()));
  EXPECT_NEAR(fit.line.b * work / kMicro, 200.0, 1e-9);
}

// The library takes a slower kernel for shallow products: what a line cannot follow, neighbours do.
TEST(LineFit, NeighboursAreAskedWhereTheyPredictBetterThanTheLine) {
  PlantedJournal bent(kSeed, 0.002);
  PlantedJournal straight(kSeed, 0.002);
  const PlantedLine line;
  for (const auto& shape : planted_shapes()) {
    const std::string text = gemm_text("fprop", shape);
    bent.add(text, line(text) * (shape[1] < 5000 ? 1.3 : 1.0));
    straight.add(text, line(text));
  }
  const std::vector<std::vector<KernelEvidence>> roles = {evidence_for(bent)};
  const auto trust = choose_trust(roles, true);
  ASSERT_TRUE(trust);
  const auto with = residual_of(left_out_errors(roles[0], true, trust, roles[0].size()));
  const auto without = residual_of(left_out_errors(roles[0], true, {}, roles[0].size()));
  EXPECT_LT(with.mean, 0.9 * without.mean);
  const std::vector<std::vector<KernelEvidence>> easy = {evidence_for(straight)};
  EXPECT_FALSE(choose_trust(easy, true));
}

// Bytes of products are counted by the same rule in sim/step/kernels and sim/step/cost.
TEST(KernelWork, ProductsMoveTheSameBytesInCasesAndInTheStep) {
  for (const std::string role : {"fprop", "dgrad", "wgrad", "wgrad_accumulate"}) {
    for (const std::string precision : {"bf16", "fp16", "tf32", "fp32", "fp8_tensor"}) {
      const std::string text = "gemm " + role + " " + precision + " m=512 n=1024 k=256";
      const auto kernel = *kernels::parse_case(text).kernel;
      EXPECT_EQ(in_bytes(fit_bytes(kernel)), in_bytes(kernels::work_of(kernel).moved())) << text;
    }
  }
}

TEST(KernelEvidence, LeavesOutWhatIsNoEvidence) {
  PlantedJournal journal(kSeed, 0.0);
  const std::string text = "gemm fprop bf16 m=512 n=1024 k=256";
  for (int i = 0; i < 7; ++i) {
    journal.add(text, 100.0);
  }
  auto& samples = journal.measurements.samples;
  samples[0].regime = Regime::burst;
  samples[1].functional = true;
  samples[2].supported = false;
  samples[3].error = 1.5;
  samples[4].repeat = 1;
  samples[5].drifted = true;
  const Evidence evidence = evidence_of(samples, planted_gpu());
  ASSERT_EQ(evidence.size(), 1U);
  ASSERT_EQ(evidence.begin()->second.points.size(), 1U);
  EXPECT_EQ(evidence.begin()->second.points[0].point.id, "s7");
}

TEST(KernelEvidence, TheLibraryComesBeforeOurOwnKernels) {
  PlantedJournal journal(kSeed, 0.0);
  const auto text = [](const std::string& length) {
    return "attention forward bf16 sequences=1 heads=8 groups=8 queries=" + length +
           " keys=" + length + " dim_qk=128 dim_v=128 causal=1";
  };
  journal.add(text("2048"), 300.0, "own");
  journal.add(text("4096"), 300.0, "own");
  journal.add(text("8192"), 100.0, "cudnn");
  const Evidence evidence = evidence_of(journal.measurements.samples, planted_gpu());
  EXPECT_EQ(evidence.begin()->second.implementation, "cudnn");
  EXPECT_EQ(evidence.begin()->second.points.size(), 1U);
}

}  // namespace
}  // namespace orrery::calibrate
