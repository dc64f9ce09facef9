#pragma once

// Steps of named models on shipped profiles, for the tests of the step stage.

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/step/hardware/profile_reader.hpp"
#include "sim/step/simulate/step_simulator.hpp"
#include "tests/checkout.hpp"
#include "tests/shipped_presets.hpp"

namespace orrery::step::test {

struct Case {
  std::string model = "llama3-8b";
  std::optional<model::ModelSpec> model_spec;  // in place of the named model
  std::string gpu = "h100-sxm-80gb";
  std::string software = "megatron-core";
  std::string network = "infiniband-400g";
  std::int64_t nodes = 1;
  std::int64_t gpus_per_node = 8;
  std::optional<std::int64_t> sequence_length;
  layout::LayoutSpec layout = {};
  layout::BatchSpec batch = {.global = 64, .micro = 1};
  StepSpec step = {};
};

inline hardware::ProfileSearch shipped_profiles() {
  return {.directories = {std::string(kSourceDir) + "/scenarios/profiles"}};
}

struct Prepared {
  StepInput input;
  cost::CostModel costs;
};

inline model::ModelSpec model_of(const Case& what) {
  model::ModelSpec spec = what.model_spec ? *what.model_spec : shipped::model(what.model);
  spec.sequence_length = what.sequence_length.value_or(spec.sequence_length);
  return model::resolve(spec);
}

inline cost::CostModel costs_of(const Case& what) {
  Diagnostics diagnostics;
  const auto search = shipped_profiles();
  auto gpu = hardware::load_gpu_profile(what.gpu, search, {}, "gpu", diagnostics);
  auto software = hardware::load_software_profile(what.software, search, {}, "sw", diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << to_string(diagnostics);
  hardware::ClusterSpec cluster;
  cluster.gpu = what.gpu;
  cluster.nodes = what.nodes;
  cluster.gpus_per_node = what.gpus_per_node;
  cluster.network = shipped::network(what.network);
  return {*std::move(gpu), *std::move(software), cluster};
}

inline StepInput settled(StepInput input, const cost::CostModel& costs) {
  settle(input, costs);
  return input;
}

// The layout, or nothing when its rules do not hold.
inline std::optional<StepInput> try_input(const Case& what, const cost::CostModel& costs) {
  const auto shape = hardware::cluster_shape(costs.cluster(), costs.gpu().nvlink.has_value());
  const model::ModelSpec model = model_of(what);
  auto layout = layout::resolve_layout(what.layout, what.batch, model, shape);
  if (!std::holds_alternative<layout::Layout>(layout)) {
    return std::nullopt;
  }
  return settled({model, std::get<layout::Layout>(std::move(layout)), shape, what.step}, costs);
}

inline StepInput input_of(const Case& what, const cost::CostModel& costs) {
  const auto shape = hardware::cluster_shape(costs.cluster(), costs.gpu().nvlink.has_value());
  auto layout = layout::resolve_layout(what.layout, what.batch, model_of(what), shape,
                                       schedule::traits_of(what.step.schedule).placement);
  if (const auto* problems = std::get_if<std::vector<layout::LayoutProblem>>(&layout)) {
    for (const auto& problem : *problems) {
      ADD_FAILURE() << problem.key << ": " << problem.message;
    }
  }
  return settled({model_of(what), std::get<layout::Layout>(std::move(layout)), shape, what.step},
                 costs);
}

inline Prepared prepare(const Case& what) {
  cost::CostModel costs = costs_of(what);
  StepInput input = input_of(what, costs);
  return {std::move(input), std::move(costs)};
}

inline StepResult simulate(const StepInput& input, const cost::CostModel& costs) {
  auto result = simulate_step(input, costs);
  if (const auto* problem = std::get_if<StepProblem>(&result)) {
    ADD_FAILURE() << problem->key << ": " << problem->message;
    return {};
  }
  return std::get<StepResult>(std::move(result));
}

inline StepResult simulate(const Case& what) {
  const Prepared prepared = prepare(what);
  return simulate(prepared.input, prepared.costs);
}

// Copies of a cost model with one profile changed.
template <typename Change>
cost::CostModel with_software(const cost::CostModel& costs, Change change) {
  hardware::SoftwareProfile software = costs.software();
  change(software);
  return {costs.gpu(), std::move(software), costs.cluster()};
}

template <typename Change>
cost::CostModel with_gpu(const cost::CostModel& costs, Change change) {
  hardware::GpuProfile gpu = costs.gpu();
  change(gpu);
  return {std::move(gpu), costs.software(), costs.cluster()};
}

inline double step_seconds(const StepResult& result) {
  return in_seconds(to_seconds(result.step_time));
}

}  // namespace orrery::step::test
