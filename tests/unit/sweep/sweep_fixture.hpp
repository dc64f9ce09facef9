#pragma once

// A small scenario, sweeps over it, and a folder of its own per test.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <vector>

#include "sim/answer/sweep/run_sweep.hpp"
#include "sim/answer/sweep/sweep.hpp"
#include "tests/checkout.hpp"
#include "tests/support.hpp"

namespace orrery::sweep::test {

inline std::string small_scenario() {
  return R"(format: orrery/1
name: Small
model: {preset: llama2-7b, sequence_length: 4096}
cluster: {gpu: h100-sxm-80gb, nodes: 2, gpus_per_node: 8, network: {preset: infiniband-400g}}
layout: {tensor: 2, sequence_parallel: true, sharding: zero1}
batch: {global: 64, micro: 1}
precision: bf16
recompute: selective
training: {steps: 20000}
failures: {node_rate: 0.05/d}
recovery: {preset: rsc-2024}
checkpoint: {interval: auto}
capacity: {spares: 1}
prices: {gpu_hour: $2.50/h, as_of: 2026-11-01}
simulation: {trials: 7, seed: 3}
)";
}

inline Sweep make_sweep(const std::vector<std::string>& vary,
                        const std::string& text = small_scenario()) {
  Diagnostics diagnostics;
  auto base = scenario::ScenarioTemplate::from_text(text, "small.yaml", diagnostics);
  Sweep sweep{.base = base.value(), .axes = {}, .points = {}, .columns = all_columns()};
  for (const std::string& argument : vary) {
    sweep.axes.push_back(parse_vary(argument, diagnostics).value());
  }
  sweep.points = make_points(sweep.axes, {}, diagnostics).value();
  sweep.search.directories = {std::string(kSourceDir) + "/scenarios/profiles"};
  check_values(sweep, diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << to_string(diagnostics);
  return sweep;
}

class FolderTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return folder_ / name; }

 private:
  TempFolder folder_;
};

}  // namespace orrery::sweep::test
