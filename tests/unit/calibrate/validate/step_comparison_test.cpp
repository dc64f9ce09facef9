#include "calibrate/validate/step_comparison.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "calibrate/validate/validate_command.hpp"
#include "calibrate/validate/validation_record.hpp"
#include "sim/base/error.hpp"
#include "sim/step/cost/gemm.hpp"
#include "sim/step/hardware/profile_reader.hpp"
#include "tests/checkout.hpp"
#include "tests/support.hpp"
#include "tests/unit/calibrate/validate/planted_profile.hpp"
#include "tests/unit/calibrate/validate/tiny_shapes.hpp"

namespace orrery::calibrate {
namespace {

using kernels::KernelCase;
using kernels::Operation;

using test::gate;
using test::machine;
using test::planted_gpu;
using test::shipped_gpu;

ValidationOptions two_shapes() {
  ValidationOptions options = validation_options(true);
  return options;
}

// On a machine whose kernels all lie on one line the simulator's own list of operations must cost
// what the step's kernels cost, but for the router, a few launches, and rows of experts that differ
// by chance where those of a kernel are as its case states them.
TEST(SimulatedStep, CostsWhatTheKernelsOfTheStepCost) {
  const hardware::GpuProfile gpu = planted_gpu();
  for (const StepShape& shape : held_out_shapes()) {
    const auto simulated = simulated_time(shape, gpu);
    ASSERT_TRUE(simulated) << to_text(shape);
    Seconds kernels;
    for (const StepOperation& operation : make_step_program(shape).operations) {
      kernels += predict_case(operation.kernel, gpu)->time;
    }
    EXPECT_NEAR(*simulated / kernels, 1.0, shape.experts ? 0.015 : 0.01) << to_text(shape);
  }
}

TEST(CasePrediction, OfThreeRulesFollowsFromTheDatasheet) {
  const hardware::GpuProfile gpu = shipped_gpu();
  const KernelCase product{
      .operation = Operation::gemm, .role = kernels::Role::fprop, .extents = {8192, 8192, 8192}};
  bool substituted = false;
  const hardware::GemmRate& rate = cost::gemm_rate(gpu, model::Dtype::bf16, substituted);
  ASSERT_FALSE(substituted);
  const double peak = in_flop_per_second(rate.peak.value());
  const double work = 2.0 * 8192.0 * 8192.0 * 8192.0;
  EXPECT_NEAR(in_seconds(roofline_time(product, gpu)), work / peak, 1e-9);
  EXPECT_NEAR(in_seconds(fixed_mfu_time(flop(work), kernels::Precision::bf16, gpu)),
              work / peak / 0.45, 1e-9);
  const KernelCase stream{.operation = Operation::copy, .extents = {1 << 30}};
  EXPECT_NEAR(in_seconds(roofline_time(stream, gpu)),
              2.0 * (1 << 30) / in_bytes_per_second(gpu.hbm_bandwidth.value()), 1e-12);
  EXPECT_GT(burst_time(stream, gpu), roofline_time(stream, gpu));
}

// A machine 2 % slower than its profile in every kernel, whose steps take 1 % more than the sum of
// their kernels: interpolation 1 / 1.02 - 1, composition 1 / 1.01 - 1, prediction the product.
TEST(StepComparison, TellsInterpolationFromComposition) {
  const hardware::GpuProfile gpu = planted_gpu();
  test::FormulaStepBench bench(machine(gpu, 1.02));
  bench.composition = 1.01;
  const StepValidation validation = compare_steps(run_validation(bench, two_shapes()), gpu, {});
  ASSERT_EQ(validation.steps.size(), 2U);
  for (const ComparedStep& step : validation.steps) {
    EXPECT_NEAR(*step.composition(), 1.0 / 1.01 - 1.0, 1e-9);
    EXPECT_NEAR(*step.prediction(), 1.0 / 1.02 / 1.01 - 1.0, 1e-9);
    for (const ComparedKernel& one : step.kernels) {
      EXPECT_NEAR(*one.error(), 1.0 / 1.02 - 1.0, 1e-9) << one.name;
    }
  }
  ASSERT_EQ(validation.layers.size(), 1U);
  EXPECT_NEAR(*validation.layers[0].predicted / validation.layers[0].measured, 1.0 / 1.02 / 1.01,
              1e-9);
  EXPECT_NEAR(gate(validation, "unseen shape, median"), 1.0 - 1.0 / 1.02, 1e-9);
  EXPECT_NEAR(gate(validation, "copy to the host"), 1.0 - 1.0 / 1.02, 1e-9);
  EXPECT_TRUE(passed(validation)) << to_text(validation, false);
}

TEST(StepComparison, FailsWhereTheProfileIsOff) {
  const hardware::GpuProfile gpu = planted_gpu();
  test::FormulaStepBench bench(machine(gpu, 1.10));
  const StepValidation validation = compare_steps(run_validation(bench, two_shapes()), gpu, {});
  EXPECT_FALSE(passed(validation));
  for (const Gate& one : validation.gates) {
    const bool slack = one.name == "copy to the host" || one.name == "gradients that are wrong" ||
                       one.name == "step, mean, below the best rule of thumb";
    EXPECT_TRUE(one.failed() || slack || !one.value) << one.name;
  }
}

TEST(StepComparison, KeepsItsTextWithinAPage) {
  const hardware::GpuProfile gpu = planted_gpu();
  test::FormulaStepBench bench(machine(gpu, 1.02));
  ValidationOptions options = validation_options(false);
  options.shapes.push_back(small_shape(kernels::Precision::bf16, false));
  bench.single().unsupported.insert(kernels::Precision::fp8_tensor);
  const StepValidation validation = compare_steps(run_validation(bench, options), gpu, {});
  const std::string text = to_text(validation, true);
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    EXPECT_LE(end - begin, 100U) << text.substr(begin, end - begin);
    begin = end + 1;
  }
  EXPECT_NE(text.find("not timed: 15 NOT_SUPPORTED"), std::string::npos) << text;
  const auto json = nlohmann::json::parse(to_json(validation));
  EXPECT_EQ(json.at("schema"), "orrery-hardware-validation/1");
  EXPECT_EQ(json.at("gates").size(), 17U);
}

TEST(ValidationRecord, ReadsBackAndComparesTheSame) {
  const hardware::GpuProfile gpu = planted_gpu();
  test::FormulaStepBench bench(machine(gpu, 1.02));
  const ValidationRecord record = run_validation(bench, two_shapes());
  Diagnostics diagnostics;
  const auto again = read_record(to_yaml(record), "v.yaml", diagnostics);
  ASSERT_TRUE(again) << to_string(diagnostics);
  EXPECT_EQ(to_yaml(*again), to_yaml(record));
  EXPECT_EQ(to_json(compare_steps(*again, gpu, {})), to_json(compare_steps(record, gpu, {})));
}

TEST(ValidationRecord, SaysWhatIsWrongWithAFile) {
  Diagnostics diagnostics;
  EXPECT_FALSE(read_record("schema: other/1\n", "v.yaml", diagnostics));
  EXPECT_EQ(to_string(diagnostics),
            "v.yaml:1:1: error: schema: this is no orrery-hardware-validation-record/1\n");
}

TEST(Validation, ChecksSmallStepsBeforeItTimesLargeOnes) {
  const hardware::GpuProfile gpu = planted_gpu();
  test::FormulaStepBench bench(machine(gpu, 1.0));
  const ValidationRecord record = run_validation(bench, two_shapes());
  EXPECT_EQ(bench.checked.size(), 3U);  // dense in two precisions, and a mixture
  EXPECT_EQ(bench.single().soaks, std::vector<double>{2.0});
  std::set<KernelCase> cases;
  for (const RecordedKernel& entry : record.kernels) {
    EXPECT_TRUE(cases.insert(entry.kernel).second);
  }
  EXPECT_TRUE(cases.contains(transfer_case()));
}

// Times of wrong steps mean nothing; nothing of it passes.
TEST(RunValidation, DoesNotTimeStepsWhoseGradientsAreWrong) {
  const hardware::GpuProfile gpu = planted_gpu();
  test::FormulaStepBench bench(machine(gpu, 1.0));
  bench.worst = 0.5;
  const ValidationRecord record = run_validation(bench, two_shapes());
  ASSERT_EQ(record.steps.size(), 2U);
  for (const RecordedStep& step : record.steps) {
    EXPECT_EQ(step.status, "its small step is not right on this GPU");
  }
  const StepValidation validation = compare_steps(record, gpu, {});
  EXPECT_EQ(gate(validation, "gradients that are wrong"), 1.0);
  EXPECT_FALSE(passed(validation));
}

TEST(RunValidation, KeepsWhatItHasWhenTheDeviceFails) {
  const hardware::GpuProfile gpu = planted_gpu();
  test::FormulaStepBench bench(machine(gpu, 1.0));
  bench.single().on_case = [&bench](const KernelCase& kernel) {
    if (kernel.operation == Operation::adamw) {
      bench.single().alive = false;
      throw Error(ErrorKind::device, "an illegal address");
    }
  };
  const ValidationRecord record = run_validation(bench, two_shapes());
  ASSERT_EQ(record.steps.size(), 1U);  // the kernels of the first lost the GPU
  EXPECT_EQ(record.steps[0].status, "");
  EXPECT_EQ(record.kernels.back().status, "failed: an illegal address");
  const StepValidation validation = compare_steps(record, gpu, {});
  EXPECT_EQ(gate(validation, "calls that failed"), 1.0);
  EXPECT_FALSE(passed(validation));
}

TEST(ValidateOptions, TakeAShippedProfileAndRefuseAnUnknownOne) {
  const std::string folder = std::string(kSourceDir) + "/scenarios/profiles";
  const char* const words[] = {"orrery-calibrate", "--validate", "h200-sxm", "--profiles",
                               folder.c_str()};
  const StepBenchFactory no_gpu = [](int) -> std::unique_ptr<StepBench> {
    throw Error(ErrorKind::device, "no GPU");
  };
  EXPECT_TRUE(asks_to_validate(5, words));
  EXPECT_FALSE(asks_to_validate(1, words));
  EXPECT_THROW((void)validate_command(5, words, no_gpu), Error) << "it asks for the GPU";
  const char* const unknown[] = {"orrery-calibrate", "--validate=h201", "--profiles",
                                 folder.c_str()};
  EXPECT_EQ(validate_command(4, unknown, no_gpu), cli::ExitCode::device);
}

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
