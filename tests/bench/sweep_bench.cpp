// A sweep of 1,000 points: what a point costs beside its trials. The limit is the trials alone, in
// the same process; a step that is not reused would show as a multiple of it.

#include <benchmark/benchmark.h>

#include <string>

#include "sim/answer/sweep/run_sweep.hpp"
#include "tests/checkout.hpp"

namespace orrery::sweep {
namespace {

const std::string kScenario = std::string(kSourceDir) + "/scenarios/llama3-405b-16k.yaml";

Sweep sweep_of(const std::string& vary, std::int64_t trials) {
  Diagnostics diagnostics;
  Sweep sweep{.base = scenario::ScenarioTemplate::from_file(kScenario, diagnostics).value(),
              .axes = {parse_vary(vary, diagnostics).value()},
              .points = {},
              .columns = all_columns(),
              .trials = trials};
  sweep.points = make_points(sweep.axes, {}, diagnostics).value();
  sweep.search = hardware::default_search(kScenario);
  return sweep;
}

void run_points(benchmark::State& state, const std::string& vary) {
  const Sweep sweep = sweep_of(vary, state.range(0));
  Team alone;
  for (auto _ : state) {
    const SweepOutcome outcome = run_sweep(sweep, alone, {.threads = 1});
    benchmark::DoNotOptimize(outcome.done);
  }
  state.counters["points_per_second"] = benchmark::Counter(
      static_cast<double>(sweep.points.size()) * static_cast<double>(state.iterations()),
      benchmark::Counter::kIsRate);
}

// The step is the same at every point.
void BM_SweepOfTheRun(benchmark::State& state) { run_points(state, "recovery.load=1s:1000s:1000"); }

// Every point has a step of its own.
void BM_SweepOfTheStep(benchmark::State& state) {
  run_points(state, "cluster.network.nic_rate=100Gbps:400Gbps:1000");
}

BENCHMARK(BM_SweepOfTheRun)->Arg(1)->Arg(10)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_SweepOfTheStep)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace orrery::sweep
