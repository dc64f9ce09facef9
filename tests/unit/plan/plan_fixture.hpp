#pragma once

// Small scenarios with their workbench and space, for the tests of the plan.

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/answer/plan/search/search.hpp"
#include "sim/scenario/load.hpp"
#include "sim/scenario/variant.hpp"
#include "tests/checkout.hpp"
#include "tests/support.hpp"

namespace orrery::plan::test {

inline hardware::ProfileSearch shipped_profiles() {
  return {.directories = {std::string(kSourceDir) + "/scenarios/profiles"}};
}

// 2 nodes, 32 layers: tensor, pipeline and data all have room.
inline std::string dense_text() {
  return R"(format: orrery/1
name: Dense
model: {preset: llama2-7b, sequence_length: 4096}
cluster: {gpu: h100-sxm-80gb, nodes: 2, gpus_per_node: 8, network: {preset: infiniband-400g}}
layout: {tensor: 2, sequence_parallel: true, pipeline: 2, schedule: 1f1b, sharding: zero1}
batch: {global: 64, micro: 1}
precision: bf16
recompute: selective
)";
}

inline std::string mixture_text() {
  return R"(format: orrery/1
name: Mixture
model: {preset: mixtral-8x7b, sequence_length: 4096}
cluster: {gpu: h100-sxm-80gb, nodes: 4, gpus_per_node: 8, network: {preset: infiniband-400g}}
layout: {tensor: 2, expert: 4, expert_tensor: 1, pipeline: 2, schedule: 1f1b, sharding: zero1}
batch: {global: 64, micro: 1}
precision: bf16
)";
}

struct Bench {
  std::string text;
  scenario::ScenarioTemplate base;
  Workbench bench;
  Space space;
  PlanSpec spec;
};

inline AxisChoice fixed() { return {.mode = AxisChoice::Mode::fixed}; }

inline AxisChoice listed(std::vector<std::string> values) {
  return {.mode = AxisChoice::Mode::listed, .values = std::move(values), .key = "plan.search.axis"};
}

inline std::optional<Bench> try_bench(const std::string& text, const PlanSpec& spec,
                                      Diagnostics& diagnostics) {
  auto base = scenario::ScenarioTemplate::from_text(text, "plan.yaml", diagnostics);
  auto scenario = scenario::load_text(text, "plan.yaml", diagnostics);
  if (!base || !scenario) {
    return std::nullopt;
  }
  auto bench = make_workbench(*scenario, spec, shipped_profiles(), diagnostics);
  if (!bench) {
    return std::nullopt;
  }
  auto space = make_space(*bench, spec, diagnostics);
  if (!space) {
    return std::nullopt;
  }
  return Bench{text, *std::move(base), *std::move(bench), *std::move(space), spec};
}

inline Bench make_bench(const std::string& text, const PlanSpec& spec = {}) {
  Diagnostics diagnostics;
  auto made = try_bench(text, spec, diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << to_string(diagnostics);
  return std::move(made).value();
}

inline std::string text_of(const std::vector<scenario::KeyValue>& keys) {
  std::string text;
  for (const scenario::KeyValue& key : keys) {
    text += key.key + "=" + key.value + " ";
  }
  return text;
}

}  // namespace orrery::plan::test
