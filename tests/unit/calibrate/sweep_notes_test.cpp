#include <gtest/gtest.h>

#include "calibrate/sweep/sweep_runner.hpp"

namespace orrery::calibrate {

namespace {

Sample sample_of(const std::string& text, double time, Regime regime = Regime::sustained) {
  Sample sample;
  sample.kernel = kernels::parse_case(text).kernel.value();
  sample.regime = regime;
  sample.times = {time, time, time};
  sample.implementation = "cublaslt";
  return sample;
}

constexpr const char* kProduct = "gemm fprop bf16 m=8192 n=8192 k=8192";
constexpr const char* kAttention =
    "attention forward bf16 sequences=1 heads=8 groups=8 queries=1024 keys=1024 dim_qk=128 "
    "dim_v=128 causal=1";

TEST(SweepNotes, AQuietSweepNeedsNone) {
  EXPECT_TRUE(sweep_notes({sample_of(kProduct, 1380.0, Regime::burst), sample_of(kProduct, 1600.0)})
                  .empty());
  EXPECT_TRUE(sweep_notes({}).empty());
}

TEST(SweepNotes, ABurstBelowTheSustainedRateIsSaid) {
  EXPECT_EQ(
      sweep_notes({sample_of(kProduct, 1700.0, Regime::burst), sample_of(kProduct, 1600.0)}),
      std::vector<std::string>{std::string(kProduct) +
                               " took 6.2 % longer in a burst than sustained: the GPU was not at "
                               "rest before"});
}

TEST(SweepNotes, AttentionOfOurOwnNeverEntersAProfileUnnoticed) {
  Sample own = sample_of(kAttention, 100.0);
  own.implementation = "own";
  own.details = {{"without_cudnn", "no cuDNN: libcudnn.so.9 is not on this machine"}};
  EXPECT_EQ(sweep_notes({own}),
            std::vector<std::string>{
                "1 cases of attention ran on kernels of our own, slower than what training uses: "
                "no cuDNN: libcudnn.so.9 is not on this machine"});
}

TEST(SweepNotes, WhatDidNotSettleOrWasHeldBackIsCounted) {
  Sample moving = sample_of(kProduct, 1600.0);
  moving.details = {{"not_settled_after_ms", "1002"}};
  moving.state.discarded = 40;
  moving.state.late = 1;
  EXPECT_EQ(sweep_notes({moving}),
            (std::vector<std::string>{
                "the time or the clock of 1 cases still moved when they were timed",
                "the GPU was held back by heat or hardware in 1 of 1 cases; those replays are "
                "discarded",
                "the host was late in 1 of 1 cases: the GPU rested between some of their "
                "replays"}));
}

TEST(SweepNotes, AFirstChoiceThatIsNotTheBestIsSaid) {
  std::vector<Sample> samples;
  for (const double ratio : {1.0, 1.01, 1.02, 1.09}) {
    samples.push_back(sample_of(kProduct, 1600.0));
    samples.back().first_choice = ratio;
  }
  samples.push_back(sample_of(kProduct, 1600.0));  // not searched
  const FirstChoices choices = first_choices(samples);
  EXPECT_EQ(choices.searched, 4U);
  EXPECT_DOUBLE_EQ(choices.median, 1.015);
  EXPECT_EQ(choices.worst, 1.09);
  EXPECT_EQ(choices.beyond, 1U);
  ASSERT_EQ(sweep_notes(samples).size(), 1U);
  EXPECT_TRUE(sweep_notes(samples)[0].starts_with(
      "cuBLASLt's first choice is more than 2 % slower than its best for 1 of 4 products, at worst "
      "by 9.0 %"));
}

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
