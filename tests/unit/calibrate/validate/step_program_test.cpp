#include "calibrate/validate/step_program.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "calibrate/plan/sweep_cases.hpp"
#include "calibrate/validate/reference_step.hpp"
#include "sim/answer/evaluate/inputs/resolve.hpp"
#include "sim/base/random.hpp"
#include "sim/scenario/load.hpp"
#include "sim/step/model/parameters.hpp"
#include "sim/step/model/transformer_ops.hpp"
#include "tests/checkout.hpp"
#include "tests/unit/calibrate/validate/tiny_shapes.hpp"

namespace orrery::calibrate {
namespace {

std::vector<StepShape> all_shapes() {
  std::vector<StepShape> shapes = test::tiny_shapes();
  for (const StepShape& shape : held_out_shapes()) {
    shapes.push_back(shape);
  }
  shapes.push_back(small_shape(kernels::Precision::bf16, false));
  shapes.push_back(small_shape(kernels::Precision::fp8_tensor, false));
  shapes.push_back(small_shape(kernels::Precision::bf16, true));
  return shapes;
}

const Buffer& buffer(const StepProgram& program, int index) {
  return program.buffers.at(static_cast<std::size_t>(index));
}

TEST(StepProgram, ReadsNothingThatWasNotWrittenBefore) {
  for (const StepShape& shape : all_shapes()) {
    const StepProgram program = make_step_program(shape);
    std::set<int> written;
    for (std::size_t i = 0; i < program.buffers.size(); ++i) {
      const BufferKind kind = program.buffers[i].kind;
      if (kind == BufferKind::input || kind == BufferKind::parameter || kind == BufferKind::state) {
        written.insert(static_cast<int>(i));
      }
    }
    for (const StepOperation& operation : program.operations) {
      for (const int read : operation.reads) {
        EXPECT_TRUE(written.contains(read) || written.contains(buffer(program, read).whole))
            << to_text(shape) << ": " << operation.name << " reads " << buffer(program, read).name;
      }
      written.insert(operation.writes.begin(), operation.writes.end());
    }
  }
}

// Between two writes of an activation, and after the last, somebody reads it.
TEST(StepProgram, WritesNothingThatNobodyReads) {
  for (const StepShape& shape : all_shapes()) {
    const StepProgram program = make_step_program(shape);
    std::map<int, std::string> unread;
    for (const StepOperation& operation : program.operations) {
      for (const int read : operation.reads) {
        unread.erase(read);
      }
      for (const int write : operation.writes) {
        if (buffer(program, write).kind == BufferKind::activation) {
          EXPECT_FALSE(unread.contains(write))
              << operation.name << " overwrites " << buffer(program, write).name << " of "
              << unread[write];
          unread[write] = operation.name;
        }
      }
    }
    for (const auto& [index, name] : unread) {
      ADD_FAILURE() << to_text(shape) << ": nobody reads " << buffer(program, index).name << " of "
                    << name;
    }
  }
}

TEST(StepProgram, NeverReadsWhatTheSameCallWritesUnlessItAddsToIt) {
  for (const StepShape& shape : all_shapes()) {
    for (const StepOperation& operation : make_step_program(shape).operations) {
      for (const int write : operation.writes) {
        const bool reads = std::count(operation.reads.begin(), operation.reads.end(), write) > 0;
        const bool adds = operation.kernel.role == kernels::Role::wgrad_accumulate ||
                          operation.kernel.operation == kernels::Operation::adamw ||
                          operation.name == "embedding_backward";
        EXPECT_TRUE(!reads || adds) << operation.name;
      }
    }
  }
}

TEST(StepProgram, WritesTheGradientOfEveryParameter) {
  for (const StepShape& shape : all_shapes()) {
    const StepProgram program = make_step_program(shape);
    for (const Parameter& parameter : program.parameters) {
      const auto calls = std::count_if(
          program.operations.begin(), program.operations.end(), [&](const StepOperation& call) {
            return std::count(call.writes.begin(), call.writes.end(), parameter.gradient) > 0;
          });
      EXPECT_EQ(calls, 1) << parameter.name;
    }
  }
}

TEST(StepProgram, ParametersLieSideBySideWithoutOverlap) {
  const StepProgram program = make_step_program(test::tiny_mixture());
  std::int64_t end = 0;
  for (const Parameter& parameter : program.parameters) {
    const Buffer& narrow = buffer(program, parameter.narrow);
    EXPECT_EQ(narrow.first, buffer(program, parameter.gradient).first);
    EXPECT_EQ(narrow.first % kParameterAlignment, 0);
    EXPECT_GE(narrow.first, end);
    end = narrow.first + narrow.count;
  }
  EXPECT_LE(end, buffer(program, program.narrow).count);
}

// Routers are no part of the step: hidden x experts of every layer.
TEST(StepProgram, HasTheParametersThatTheSimulatorCounts) {
  for (const StepShape& shape : all_shapes()) {
    const std::int64_t routers =
        shape.experts ? shape.layers * shape.hidden * shape.experts->experts : 0;
    std::int64_t count = routers;
    for (const Parameter& parameter : make_step_program(shape).parameters) {
      count += parameter.count();
    }
    EXPECT_EQ(count, model::count_parameters(model_of(shape)).total) << to_text(shape);
  }
}

double simulated_flop(const StepShape& shape) {
  const model::ModelSpec spec = model_of(shape);
  model::OpOptions options;
  options.shard.micro_batch = shape.sequences;
  double sum = 0.0;
  const auto add = [&sum](const model::LayerPasses& passes) {
    for (const model::Pass* pass :
         {&passes.forward, &passes.backward_input, &passes.backward_weight}) {
      for (const model::PassOp& entry : *pass) {
        const auto* gemm = std::get_if<model::GemmOp>(&entry.op);
        const bool router = gemm != nullptr && gemm->part == model::Part::router;
        sum += router ? 0.0 : in_flop(model::flop_count(entry.op));
      }
    }
  };
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    add(model::layer_passes(spec, options, layer));
  }
  add(model::head_passes(spec, options));
  return sum;
}

TEST(StepProgram, DoesTheFlopThatTheSimulatorCounts) {
  for (const StepShape& shape : all_shapes()) {
    const double own = in_flop(flop_of(make_step_program(shape)));
    EXPECT_NEAR(own / simulated_flop(shape), 1.0, 1e-12) << to_text(shape);
  }
}

TEST(StepProgram, NeedsLessMemoryThanOneGpuHas) {
  for (const StepShape& shape : held_out_shapes()) {
    EXPECT_LT(static_cast<double>(memory_bytes(make_step_program(shape))),
              in_bytes(gigabytes(112.0)))
        << to_text(shape);
  }
}

TEST(StepShapes, HeldOutOnesAreSoundAndNotMeasuredBySweeps) {
  std::set<kernels::KernelCase> measured;
  for (const SweepCase& planned : sweep_cases(Depth::full)) {
    measured.insert(planned.kernel);
  }
  for (const StepShape& shape : held_out_shapes()) {
    EXPECT_EQ(problem_of(shape), std::nullopt) << to_text(shape);
    for (const StepOperation& operation : make_step_program(shape).operations) {
      EXPECT_FALSE(measured.contains(operation.kernel)) << kernels::to_text(operation.kernel);
    }
  }
}

// Without a series of its own kind a call has no prediction.
TEST(StepShapes, HeldOutOnesCallOnlyWhatAFullSweepMeasures) {
  using Kind = std::tuple<kernels::Operation, kernels::Role, kernels::Precision>;
  std::set<Kind> measured;
  for (const SweepCase& planned : sweep_cases(Depth::full)) {
    const kernels::KernelCase& kernel = planned.kernel;
    measured.insert({kernel.operation, kernel.role, kernel.precision});
  }
  for (const StepShape& shape : held_out_shapes()) {
    for (const StepOperation& operation : make_step_program(shape).operations) {
      const kernels::KernelCase& kernel = operation.kernel;
      EXPECT_TRUE(measured.contains({kernel.operation, kernel.role, kernel.precision}))
          << kernels::to_text(kernel);
    }
  }
}

TEST(StepShapes, SayWhatIsWrong) {
  StepShape shape = test::tiny_shape();
  shape.groups = 3;
  EXPECT_EQ(problem_of(shape), "4 heads do not share 3 groups evenly");
  shape = test::tiny_mixture();
  shape.experts->largest = 13;
  EXPECT_EQ(problem_of(shape), "the busiest expert has 13 rows: from 6 to 12 are possible");
  shape.experts->experts = 5;
  EXPECT_EQ(problem_of(shape), "24 rows do not spread over 5 experts");
  shape = test::tiny_shape();
  shape.precision = kernels::Precision::mxfp8;
  EXPECT_EQ(problem_of(shape), "mxfp8 is neither bf16 nor fp8_tensor");
}

TEST(StepShapes, TextFormsReadBack) {
  for (const StepShape& shape : all_shapes()) {
    const ReadShape read = read_shape(to_text(shape));
    ASSERT_TRUE(read.shape) << read.problem;
    EXPECT_EQ(to_text(*read.shape), to_text(shape));
  }
  EXPECT_EQ(read_shape("x hidden=5 wide=7").problem, "`wide=7` says nothing of a step's shape");
  EXPECT_EQ(read_shape("x hidden=5").problem, "sequence_length is 0: it must be positive");
}

TEST(StepInputs, DealEveryTokenToDifferentExperts) {
  const StepShape shape = test::tiny_mixture();
  const std::vector<std::int32_t> experts = deal_experts(shape);
  std::vector<int> rows(4);
  for (std::size_t t = 0; t < experts.size(); t += 2) {
    EXPECT_NE(experts[t], experts[t + 1]);
    ++rows[static_cast<std::size_t>(experts[t])];
    ++rows[static_cast<std::size_t>(experts[t + 1])];
  }
  EXPECT_EQ(rows, (std::vector<int>{9, 5, 5, 5}));
  std::vector<std::int32_t> places = step_inputs(shape, 1).places;
  std::sort(places.begin(), places.end());
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_EQ(places[i], static_cast<std::int32_t>(i));
  }
}

constexpr std::uint64_t kSeed = 11;

struct Prepared {
  explicit Prepared(const StepShape& shape)
      : program(make_step_program(shape)), inputs(step_inputs(shape, kSeed)) {}

  [[nodiscard]] ReferenceStep step() const { return {program, inputs, kSeed}; }

  StepProgram program;
  StepInputs inputs;
};

std::vector<double> gradients_of(const Prepared& prepared) {
  ReferenceStep step = prepared.step();
  step.run();
  const auto values = step.values(prepared.program.gradients);
  return {values.begin(), values.end()};
}

// Central differences (L(w + e) - L(w - e)) / 2 e of step 1e-4 are off by e^2 L''' / 6, about 1e-8
// here, and by 1e-16 L / e: 1e-12.
TEST(ReferenceStep, GradientsAreCentralDifferencesOfTheLoss) {
  for (const StepShape& shape : {test::tiny_shape(), test::tiny_mixture()}) {
    const Prepared prepared(shape);
    ReferenceStep step = prepared.step();
    ReferenceStep ran = prepared.step();
    ran.run();
    RandomStream random(kSeed, 0, Purpose::property_test);
    for (const Parameter& parameter : prepared.program.parameters) {
      const auto weights = step.values(parameter.narrow);
      const auto gradient = ran.values(parameter.gradient);
      for (int draw = 0; draw < 4; ++draw) {
        const std::size_t i = random.uniform_int(weights.size());
        const double before = weights[i];
        constexpr double kStep = 1e-4;
        weights[i] = before + kStep;
        step.run_forward();
        const double above = step.loss();
        weights[i] = before - kStep;
        step.run_forward();
        const double below = step.loss();
        weights[i] = before;
        EXPECT_NEAR(gradient[i], (above - below) / (2.0 * kStep), 1e-7)
            << shape.name << " " << parameter.layer << " " << parameter.name << " " << i;
      }
    }
  }
}

// The embedding of a token that does not occur has no gradient; all other parameters have one.
TEST(ReferenceStep, EveryParameterHasAGradient) {
  const Prepared prepared(test::tiny_mixture());
  ReferenceStep step = prepared.step();
  step.run();
  for (const Parameter& parameter : prepared.program.parameters) {
    const auto gradient = step.values(parameter.gradient);
    EXPECT_GT(std::count_if(gradient.begin(), gradient.end(), [](double g) { return g != 0.0; }),
              static_cast<std::ptrdiff_t>(gradient.size() / 4))
        << parameter.name;
  }
}

// Rows of the experts' weights for their own gradient: dL/dw = sum of what unpermute says.
TEST(ReferenceStep, RoutingWeightsHaveTheGradientOfTheLoss) {
  const Prepared prepared(test::tiny_mixture());
  ReferenceStep ran = prepared.step();
  ran.run();
  ReferenceStep step = prepared.step();
  const auto weights = step.values(prepared.program.weights);
  constexpr double kStep = 1e-4;
  double found = 0.0;
  for (std::size_t i = 0; i < prepared.program.buffers.size(); ++i) {
    if (prepared.program.buffers[i].name.find("weights.gradient") != std::string::npos) {
      found += ran.values(static_cast<int>(i))[3];
    }
  }
  const double before = weights[3];
  weights[3] = before + kStep;
  step.run_forward();
  const double above = step.loss();
  weights[3] = before - kStep;
  step.run_forward();
  EXPECT_NEAR(found, (above - step.loss()) / (2.0 * kStep), 1e-7);
}

// Casts keep the values: an FP8 program moves the same numbers through other buffers.
TEST(ReferenceStep, CastsAndTransposedCopiesReachTheSameProducts) {
  for (const StepShape& shape : {test::tiny_shape(), test::tiny_mixture()}) {
    const std::vector<double> wide = gradients_of(Prepared(shape));
    const std::vector<double> narrow = gradients_of(Prepared(test::in_fp8(shape)));
    ASSERT_EQ(wide.size(), narrow.size());
    for (std::size_t i = 0; i < wide.size(); ++i) {
      ASSERT_NEAR(wide[i], narrow[i], 1e-13);
    }
  }
}

TEST(ReferenceStep, OneUpdateLowersTheLoss) {
  for (const StepShape& shape : test::tiny_shapes()) {
    const Prepared prepared(shape);
    ReferenceStep step = prepared.step();
    step.settings.rate = 1e-3;
    step.run();
    const double before = step.loss();
    step.run_forward();
    EXPECT_LT(step.loss(), before - 1e-3) << shape.name;
  }
}

TEST(ReferenceStep, TheNormIsThatOfAllGradients) {
  const Prepared prepared(test::tiny_shape());
  ReferenceStep step = prepared.step();
  step.run();
  double sum = 0.0;
  for (const double g : step.values(prepared.program.gradients)) {
    sum += g * g;
  }
  EXPECT_NEAR(step.values(prepared.program.norm)[0], std::sqrt(sum), 1e-12);
}

// A fresh model knows nothing: the loss is near log of the vocabulary, above it by the spread of
// the logits.
TEST(ReferenceStep, TheFirstLossIsThatOfGuessing) {
  const Prepared prepared(test::tiny_shape());
  ReferenceStep step = prepared.step();
  step.run_forward();
  EXPECT_NEAR(step.loss(), std::log(24.0), 1.2);
}

// Two independent ways to the kernels of one GPU's step: the operations of the simulator
// (step_cases) and the program that a GPU executes.

std::string scenario_of(const StepShape& shape) {
  const bool narrow = shape.precision != kernels::Precision::bf16;
  const std::string experts =
      shape.experts ? fmt::format(", moe: {{num_experts: {}, top_k: {}, ffn_hidden_size: {}}}",
                                  shape.experts->experts, shape.experts->copies, shape.ffn)
                    : "";
  return fmt::format(
      R"(format: orrery/1
name: one GPU
model: {{hidden_size: {}, num_layers: {}, num_attention_heads: {}, num_query_groups: {},
        head_dim: {}, ffn_hidden_size: {}, gated_mlp: true, vocab_size: {},
        sequence_length: {}{}}}
cluster: {{gpu: h100-sxm-80gb, nodes: 1, gpus_per_node: 1, network: {{preset: clos-400g}}}}
layout: {{data: 1}}
batch: {{global: {}, micro: {}}}
precision: {{compute: {}}}
software: megatron-core
training: {{steps: 10}}
)",
      shape.hidden, shape.layers, shape.heads, shape.groups, shape.head_dim, shape.ffn,
      shape.vocabulary, shape.sequence_length, experts, shape.sequences, shape.sequences,
      narrow ? "fp8-delayed" : "bf16");
}

std::map<std::string, double> simulated(const StepShape& shape) {
  Diagnostics diagnostics;
  const auto scenario = scenario::load_text(scenario_of(shape), "test.yaml", diagnostics);
  EXPECT_TRUE(scenario) << to_string(diagnostics);
  const hardware::ProfileSearch search{
      {std::filesystem::path(kSourceDir) / "scenarios" / "profiles"}};
  const auto resolved = evaluate::resolve(*scenario, search, diagnostics);
  EXPECT_TRUE(resolved) << to_string(diagnostics);
  std::map<std::string, double> calls;
  for (const StepCase& one :
       step_cases(evaluate::step_input(*scenario, *resolved), resolved->costs)) {
    // The router is not part of the program.
    const bool router = shape.experts && one.kernel.operation == kernels::Operation::gemm &&
                        (one.kernel.extents[0] == shape.experts->experts ||
                         one.kernel.extents[1] == shape.experts->experts ||
                         one.kernel.extents[2] == shape.experts->experts);
    if (!router) {
      calls[kernels::to_text(one.kernel)] += one.calls;
    }
  }
  return calls;
}

std::map<std::string, double> programmed(const StepShape& shape) {
  std::map<std::string, double> calls;
  for (const StepOperation& operation : make_step_program(shape).operations) {
    if (in_flop(kernels::work_of(operation.kernel).flop) > 0.0) {
      calls[kernels::to_text(operation.kernel)] += 1.0;
    }
  }
  return calls;
}

TEST(StepProgram, CallsTheProductsAndAttentionThatTheSimulatorPlans) {
  StepShape dense = small_shape(kernels::Precision::bf16, false);
  StepShape mixture = small_shape(kernels::Precision::bf16, true);
  mixture.experts->largest = 0;
  for (const StepShape& shape : {dense, mixture, small_shape(kernels::Precision::fp8_tensor, false),
                                 held_out_shapes().front()}) {
    EXPECT_EQ(programmed(shape), simulated(shape)) << to_text(shape);
  }
}

}  // namespace
}  // namespace orrery::calibrate
