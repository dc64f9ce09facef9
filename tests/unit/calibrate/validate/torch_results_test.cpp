#include <gtest/gtest.h>

#include "calibrate/validate/validate_command.hpp"
#include "calibrate/validate/validation_record.hpp"
#include "tests/unit/calibrate/validate/planted_profile.hpp"

namespace orrery::calibrate {
namespace {

const std::string kVersions =
    R"("versions": {"torch": "2.8.0", "cuda": "12.8", "device": "NVIDIA H200"}})";
const std::string kStep =
    R"({"schema": "orrery-torch-step/2", "mode": "eager", "shape": "13b hidden=5120 ffn=13824 )"
    R"(heads=40 groups=40 dim=128 layers=2 vocabulary=36864 tokens=3072x1 bf16", )"
    R"("median_us": 81000.5, "p10_us": 80100.0, "p90_us": 82100.0, "count": 20, )"
    R"("sdpa_backend": "cudnn", "ledger_us": {"products": 51000.0, "attention": 4000.0, )"
    R"("memory": 15000.0, "optimizer": 9000.0}, )" +
    kVersions;
const std::string kAttention =
    R"({"schema": "orrery-torch-kernel/1", "call": "scaled_dot_product_attention", "case": )"
    R"("attention forward bf16 sequences=1 heads=40 groups=40 queries=3072 keys=3072 dim_qk=128 )"
    R"(dim_v=128 causal=1", "us": 300.5, "sdpa_backend": "flash", )" +
    kVersions;

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(TorchResults, StandBesideTheOwnStepWithBothLedgers) {
  const ReadTorch read = read_torch("[" + kStep + ", " + kAttention + "]");
  ASSERT_EQ(read.problem, "");
  ASSERT_EQ(read.steps.size(), 1U);
  ASSERT_EQ(read.kernels.size(), 1U);
  EXPECT_EQ(read.steps[0].shape.ffn, 13824);
  EXPECT_EQ(read.steps[0].torch, "2.8.0");
  EXPECT_EQ(read.kernels[0].sdpa_backend, "flash");
  const hardware::GpuProfile gpu = test::planted_gpu();
  test::FormulaStepBench bench(test::machine(gpu, 1.02));
  const StepValidation validation =
      compare_steps(run_validation(bench, validation_options(true)), gpu,
                    {.steps = read.steps, .kernels = read.kernels});
  ASSERT_EQ(validation.torch.size(), 1U);
  const ComparedTorch& one = validation.torch[0];
  EXPECT_EQ(one.own, validation.steps[0].time());
  EXPECT_EQ(one.predicted, validation.steps[0].predicted);
  EXPECT_NEAR(one.ledger.sum() / *one.predicted, 1.0, 1e-12);
  EXPECT_GT(one.ledger.products, one.ledger.memory);
  const std::string text = to_text(validation, false);
  EXPECT_NE(text.find("13b bf16 x2 eager"), std::string::npos) << text;
  EXPECT_NE(text.find("cudnn attention"), std::string::npos) << text;
  EXPECT_NE(text.find("scaled_dot_product_attention by flash"), std::string::npos) << text;
}

// Ours moves 30 bytes per element, PyTorch's 28: at equal rates ours takes 30 / 28 of the time.
TEST(TorchResults, CallsThatMoveOtherBytesAreComparedByTheirRates) {
  const ReadTorch read = read_torch(
      R"({"schema": "orrery-torch-kernel/1", "call": "adamw", "case": "adamw fp32 elements=1000", )"
      R"("us": 28.0, "bytes": 28000, )" +
      kVersions);
  ASSERT_EQ(read.problem, "");
  const double moved = in_bytes(kernels::work_of(read.kernels[0].kernel).moved());
  const ComparedTorchKernel same{.measured = read.kernels[0], .own = microseconds(moved / 1000.0)};
  EXPECT_NEAR(*same.error(), 0.0, 1e-12);
}

TEST(TorchResults, AreRefusedWithWhatTheyLack) {
  EXPECT_EQ(read_torch(R"({"schema": "orrery-torch-step/1"})").problem,
            "orrery-torch-step/1 is neither orrery-torch-step/2 nor orrery-torch-kernel/1: time it "
            "again");
  EXPECT_NE(read_torch("{").problem, "");
  const std::string unnamed =
      "sdpa_backend is missing: without the name of the attention that ran its time means nothing";
  EXPECT_EQ(read_torch(replaced(kStep, R"("sdpa_backend": "cudnn", )", "")).problem, unnamed);
  EXPECT_EQ(read_torch(replaced(kAttention, R"("flash")", "null")).problem, unnamed);
  EXPECT_EQ(read_torch(replaced(kAttention, "scaled_dot_product_attention", "addmm")).problem,
            "\"addmm\" is no call that is compared (mm, _scaled_mm, scaled_dot_product_attention, "
            "adamw)");
  EXPECT_EQ(read_torch(replaced(kAttention, "300.5", "0")).problem, "us is not positive");
  EXPECT_NE(read_torch(replaced(kAttention, "causal=1", "")).problem, "");
}

}  // namespace
}  // namespace orrery::calibrate
