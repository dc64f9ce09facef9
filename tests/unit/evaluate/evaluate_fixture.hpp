#pragma once

// Scenarios as text, evaluated with the shipped profiles.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "sim/answer/evaluate/evaluate.hpp"
#include "sim/scenario/load.hpp"
#include "tests/checkout.hpp"
#include "tests/support.hpp"

namespace orrery::evaluate::test {

// A small run that every key below has an effect on.
inline constexpr std::string_view kBase = R"(format: orrery/1
name: small
model: {preset: llama3-8b, sequence_length: 8192}
cluster: {gpu: h100-sxm-80gb, nodes: 8, gpus_per_node: 8, network: {preset: infiniband-400g}}
layout: {tensor: 2, sequence_parallel: true, pipeline: 4,
         virtual_stages: 2, sharding: zero1, schedule: interleaved}
batch: {global: 128, micro: 1}
precision: bf16
recompute: none
software: megatron-core
training: {tokens: 300B, start: 2026-01-01T00:00Z}
evaluation: {every: 1000 steps, duration: 10min}
failures: {node_rate: 0.05/d, job_rate: 0.1/d}
checkpoint: {interval: 1h, mode: sync, storage: {write: 10GB/s, read: 10GB/s}}
recovery: {detect: 10min, diagnose: 10min, reschedule: 5min, communicator_init: 1min, warm_up: 2min}
capacity: {spares: 1, repair_time: 2d}
prices: {gpu_hour: $4/h}
simulation: {trials: 200, seed: 7}
)";

// `from` must occur once.
inline std::optional<report::Evaluation> evaluate_text(std::string_view text,
                                                       Diagnostics& diagnostics,
                                                       EvaluateOptions options = {}) {
  options.search = hardware::ProfileSearch{{std::string(kSourceDir) + "/scenarios/profiles"}};
  const auto scenario = scenario::load_text(text, "test.yaml", diagnostics);
  return scenario ? evaluate(*scenario, options, diagnostics) : std::nullopt;
}

inline report::Evaluation must_evaluate(std::string_view text, EvaluateOptions options = {}) {
  Diagnostics diagnostics;
  auto evaluation = evaluate_text(text, diagnostics, std::move(options));
  EXPECT_TRUE(evaluation.has_value()) << to_string(diagnostics) << text;
  return evaluation ? *std::move(evaluation) : report::Evaluation{};
}

inline double value(const report::Evaluation& evaluation, std::string_view metric) {
  const report::MetricInfo* info = report::find_metric(metric);
  EXPECT_NE(info, nullptr) << metric;
  const report::MetricValue* found = evaluation.metrics.find(info->id);
  EXPECT_NE(found, nullptr) << metric;
  return found != nullptr ? found->value : 0.0;
}

}  // namespace orrery::evaluate::test
