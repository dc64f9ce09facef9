// Two independent ways to the kernels of one GPU's step: the operations of the simulator
// (step_cases) and the program that a GPU executes.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "calibrate/plan/step_cases.hpp"
#include "calibrate/validate/step_program.hpp"
#include "sim/answer/evaluate/inputs/resolve.hpp"
#include "sim/scenario/load.hpp"
#include "tests/checkout.hpp"
#include "tests/unit/calibrate/validate/tiny_shapes.hpp"

namespace orrery::calibrate {
namespace {

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
