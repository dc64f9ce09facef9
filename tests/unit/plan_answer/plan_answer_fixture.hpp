#pragma once

// Small questions whose plans take a fraction of a second.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "sim/answer/plan/make_plan.hpp"
#include "sim/step/hardware/profile_reader.hpp"
#include "tests/checkout.hpp"
#include "tests/support.hpp"

namespace orrery::plan::test {

inline std::string small_text() {
  return R"(format: orrery/1
name: Small
model: {preset: llama2-7b, sequence_length: 4096}
cluster: {gpu: h100-sxm-80gb, nodes: 2, gpus_per_node: 8, network: {preset: infiniband-400g}}
layout: {tensor: 2, sequence_parallel: true, sharding: zero1}   # as the team runs it
batch: {global: 64, micro: 1}
precision: bf16
recompute: selective
training: {steps: 20000}
failures: {node_rate: 0.05/d}
recovery: {preset: rsc-2024}
checkpoint: {interval: auto}
capacity: {spares: 1}
prices: {gpu_hour: $2.50/h, as_of: 2026-11-01}
simulation: {trials: 20, seed: 3}
)";
}

// Axes that keep the space to some hundreds of layouts.
inline std::string narrow_block() {
  return R"(plan:
  search:
    pipeline: [1, 2]
    tensor: [1, 2, 4]
    micro: [1, 2]
    recompute: [none, selective, full]
    sharding: [zero1, zero3]
    schedule: [none, 1f1b]
  fix: [context, shard_group, offload]
  finalists: 4
)";
}

inline hardware::ProfileSearch profiles() {
  hardware::ProfileSearch search;
  search.directories = {std::string(kSourceDir) + "/scenarios/profiles"};
  return search;
}

inline PlanQuestion question(const std::string& text) {
  Diagnostics diagnostics;
  auto base = scenario::ScenarioTemplate::from_text(text, "small.yaml", diagnostics);
  EXPECT_TRUE(base.has_value()) << to_string(diagnostics);
  auto asked = question_of(*std::move(base), {}, diagnostics);
  EXPECT_TRUE(asked.has_value()) << to_string(diagnostics);
  asked->search = profiles();
  asked->threads = 2;
  return *std::move(asked);
}

inline Plan plan_of(const PlanQuestion& asked) {
  Diagnostics diagnostics;
  auto plan = make_plan(asked, diagnostics);
  EXPECT_TRUE(plan.has_value()) << to_string(diagnostics);
  return plan.value_or(Plan{});
}

inline Plan plan_of(const std::string& text) { return plan_of(question(text)); }

// The errors of a question that has no answer.
inline std::string errors_of(const PlanQuestion& asked) {
  Diagnostics diagnostics;
  EXPECT_FALSE(make_plan(asked, diagnostics).has_value());
  std::string errors;
  for (const Diagnostic& one : diagnostics.all()) {
    if (one.severity == Severity::error) {
      errors += one.key + ": " + one.message + "\n";
    }
  }
  return errors;
}

}  // namespace orrery::plan::test
