// Speed of a search: layouts decided per second of CPU time,
// and the time that a whole space takes.
//
// case           | what                                                                | bar
// ---------------|---------------------------------------------------------------------|----------
// gpt3_64_a100   | GPT-3 175B, 64 A100, batch 64: the space that Calculon did not       | 20,000
//                | finish in minutes; it decided 75 layouts per CPU-second              | layouts/s
// llama3_16384   | Llama 3 405B, 16,384 H100, batch 2048, all axes                      | 10 s on
//                |                                                                     | 2 threads
// deepseek_2048  | DeepSeek-V3, 2,048 H800, all axes with experts                       | 20,000/s
// every_...      | the same space with every layout estimated in full: no bounds        | -
//
// Counters: `layouts` of the space, those decided `per_cpu_s` (user and system time of the
// process), `estimated` in full, `bounded` by a least time, `over_memory`; `x_bar`: CPU time over
// the bar.

#include <benchmark/benchmark.h>
#include <fmt/core.h>
#include <sys/resource.h>

#include <optional>
#include <string>
#include <vector>

#include "sim/answer/plan/search/search.hpp"
#include "sim/answer/plan/search/step_estimator.hpp"
#include "sim/base/check.hpp"
#include "sim/scenario/load.hpp"
#include "tests/checkout.hpp"

namespace orrery::bench {
namespace {

constexpr double kLayoutsPerSecond = 20e3;

const std::string& gpt3() {
  static const std::string text = R"(format: orrery/1
name: GPT-3 175B
model: {preset: gpt3-175b, sequence_length: 2048}
cluster: {gpu: a100-sxm-80gb, nodes: 8, gpus_per_node: 8, network: {preset: infiniband-200g}}
layout: {tensor: 8, sequence_parallel: true, pipeline: 8, schedule: 1f1b}
batch: {global: 64, micro: 1}
precision: fp16
recompute: selective
software: megatron-lm
)";
  return text;
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds_of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * kMicro;
  };
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

struct Question {
  plan::Workbench bench;
  plan::PlanSpec spec;
  plan::Space space;
};

Question ask(std::optional<scenario::Scenario> scenario, Diagnostics& diagnostics) {
  const hardware::ProfileSearch search = {
      .directories = {std::string(kSourceDir) + "/scenarios/profiles"}};
  ORRERY_CHECK(scenario.has_value(), "scenario: {}", to_string(diagnostics));
  plan::PlanSpec spec;
  spec.any_stack = true;  // every axis whole
  auto bench = plan::make_workbench(*scenario, spec, search, diagnostics);
  ORRERY_CHECK(bench.has_value(), "workbench: {}", to_string(diagnostics));
  auto space = plan::make_space(*bench, spec, diagnostics);
  ORRERY_CHECK(space.has_value(), "space: {}", to_string(diagnostics));
  return {*std::move(bench), spec, *std::move(space)};
}

Question ask_file(const std::string& name) {
  Diagnostics diagnostics;
  return ask(scenario::load_file(std::string(kSourceDir) + "/scenarios/" + name, diagnostics),
             diagnostics);
}

Question ask_text(const std::string& text) {
  Diagnostics diagnostics;
  return ask(scenario::load_text(text, "bench.yaml", diagnostics), diagnostics);
}

void run(benchmark::State& state, const Question& question, int threads, bool prune) {
  plan::SearchCounts counts;
  const double before = cpu_seconds();
  for (auto _ : state) {
    counts = plan::search(question.bench, question.space, question.spec,
                          {.threads = threads, .keep = 32, .prune = prune})
                 .counts;
  }
  const double used = (cpu_seconds() - before) / static_cast<double>(state.iterations());
  const auto layouts = static_cast<double>(counts.layouts);
  state.counters["grid"] = counts.grid;
  state.counters["layouts"] = layouts;
  state.counters["estimated"] = static_cast<double>(counts.estimated);
  state.counters["bounded"] = static_cast<double>(counts.bounded);
  state.counters["over_memory"] = static_cast<double>(counts.over_memory);
  state.counters["per_cpu_s"] = layouts / used;
  state.counters["x_bar"] = used * kLayoutsPerSecond / layouts;
}

void gpt3_64_a100(benchmark::State& state) { run(state, ask_text(gpt3()), 1, true); }

void every_gpt3_64_a100(benchmark::State& state) { run(state, ask_text(gpt3()), 1, false); }

void llama3_16384(benchmark::State& state) {
  run(state, ask_file("llama3-405b-16k.yaml"), 2, true);
}

void deepseek_2048(benchmark::State& state) {
  run(state, ask_file("deepseek-v3-2048h800.yaml"), 2, true);
}

// A value of a physical key that was never seen, as from Python: key set, step estimated.
void new_value(benchmark::State& state) {
  const std::string file = std::string(kSourceDir) + "/scenarios/llama3-70b-64h100.yaml";
  Diagnostics diagnostics;
  const hardware::ProfileSearch search = hardware::default_search(file);
  const auto base = scenario::ScenarioTemplate::from_file(file, diagnostics, search);
  plan::StepEstimator estimator;
  double rate = 100.0;
  const auto estimate_next = [&] {
    rate += 1e-3;
    const std::vector<scenario::KeyValue> changes = {
        {"cluster.network.nic_rate", fmt::format("{:.3f}Gbps", rate), {"set", 0, 0}}};
    const auto scenario = base->with(changes, diagnostics);
    const auto estimate = estimator.estimate(*scenario, changes, search, diagnostics);
    ORRERY_CHECK(estimate.has_value(), "{}", to_string(diagnostics));
    benchmark::DoNotOptimize(estimate->step_time);
  };
  estimate_next();  // reads all profiles
  for (auto _ : state) {
    estimate_next();
  }
}

BENCHMARK(new_value)->Unit(benchmark::kMicrosecond);
BENCHMARK(gpt3_64_a100)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(every_gpt3_64_a100)->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(1);
BENCHMARK(llama3_16384)->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(1);
BENCHMARK(deepseek_2048)->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(1);

}  // namespace
}  // namespace orrery::bench
