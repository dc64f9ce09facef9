#include "calibrate/validate/step_program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "calibrate/plan/sweep_cases.hpp"
#include "sim/step/model/parameters.hpp"
#include "sim/step/model/transformer_ops.hpp"
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

}  // namespace
}  // namespace orrery::calibrate
