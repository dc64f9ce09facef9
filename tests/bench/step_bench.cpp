// Time of the estimate of one layout, in process: rules, placements, costs of every operation,
// schedule, step graph, replay, ledger and memory.
//
// case   | what                                                                        | bar
// -------|-----------------------------------------------------------------------------|------
// 70b    | Llama 3 70B, TP 4 PP 2 DP 8 on 64 H100, 1F1B, 32 micro-batches, ZeRO-1      | 50 us
// 405b   | Llama 3 405B, TP 8 PP 16 x 4 DP 128 on 16,384 H100, interleaved, ZeRO-2     | 5 ms
//
// Peers for the same answer without ledger or timeline: Calculon 2.0 ms, SimuMax 87 ms a layout.
// `x_bar` is the CPU time over the bar; `_kept`: the structure of the step is known from before.
// The parts, one by one, are the calls that simulate_step makes; `tasks` is the size of the step
// graph.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/step/engine/replay.hpp"
#include "sim/step/hardware/profile_reader.hpp"
#include "sim/step/schedule/schedule.hpp"
#include "sim/step/schedule/step_graph.hpp"
#include "sim/step/simulate/memory/memory_account.hpp"
#include "sim/step/simulate/replay/attribution.hpp"
#include "sim/step/simulate/replay/paced_replay.hpp"
#include "sim/step/simulate/replay/task_times.hpp"
#include "sim/step/simulate/shared_links/step_network.hpp"
#include "sim/step/simulate/stages/layer_costs.hpp"
#include "sim/step/simulate/stages/stage_costs.hpp"
#include "sim/step/simulate/step_simulator.hpp"
#include "tests/checkout.hpp"
#include "tests/shipped_presets.hpp"

namespace orrery::bench {
namespace {

using layout::Axis;
using schedule::ScheduleKind;

struct LayoutCase {
  model::ModelSpec model;
  layout::LayoutSpec layout;
  layout::BatchSpec batch;
  step::StepSpec step;
  hardware::ClusterSpec cluster;
  std::string software;
  Seconds bar;
};

LayoutCase llama_70b() {
  LayoutCase what;
  what.model = shipped::model("llama3-70b");
  what.layout.tensor = 4;
  what.layout.sequence_parallel = true;
  what.layout.pipeline = 2;
  what.layout.sharding = layout::Sharding::zero1;
  what.batch = {.global = 256, .micro = 1};
  what.step.schedule = ScheduleKind::one_f_one_b;
  what.step.recompute.policy = model::Recompute::full;
  what.cluster.nodes = 8;
  what.cluster.network = shipped::network("infiniband-400g");
  what.software = "megatron-core";
  what.bar = microseconds(50.0);
  return what;
}

LayoutCase llama_405b() {
  LayoutCase what;
  what.model = shipped::model("llama3-405b");
  what.layout.tensor = 8;
  what.layout.sequence_parallel = true;
  what.layout.pipeline = 16;
  what.layout.virtual_stages = 4;
  what.layout.order = {Axis::tensor, Axis::context, Axis::pipeline, Axis::data};
  what.layout.sharding = layout::Sharding::zero2;
  what.batch = {.global = 2048, .micro = 1};
  what.step.schedule = ScheduleKind::interleaved;
  what.cluster.nodes = 2048;
  what.cluster.network = shipped::network("clos-400g");
  what.software = "meta-llama3";
  what.bar = milliseconds(5.0);
  return what;
}

cost::CostModel load_costs(const LayoutCase& what) {
  const hardware::ProfileSearch search = {
      .directories = {std::string(kSourceDir) + "/scenarios/profiles"}};
  Diagnostics diagnostics;
  auto gpu = hardware::load_gpu_profile("h100-sxm-80gb", search, {}, "gpu", diagnostics);
  auto software =
      hardware::load_software_profile(what.software, search, {}, "software", diagnostics);
  ORRERY_CHECK(gpu && software, "profiles of the benchmark: {}", to_string(diagnostics));
  return {*std::move(gpu), *std::move(software), what.cluster};
}

step::StepInput resolve(const LayoutCase& what, const cost::CostModel& costs) {
  const layout::ClusterShape shape = hardware::cluster_shape(what.cluster, true);
  model::ModelSpec model = model::resolve(what.model);
  auto layout = layout::resolve_layout(what.layout, what.batch, model, shape);
  ORRERY_CHECK(std::holds_alternative<layout::Layout>(layout), "the layout breaks a rule");
  step::StepInput input = {std::move(model), std::get<layout::Layout>(std::move(layout)), shape,
                           what.step};
  step::settle(input, costs);
  return input;
}

void report(benchmark::State& state, double bar_seconds) {
  state.counters["x_bar"] = benchmark::Counter(
      bar_seconds, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

// `kept`: one simulator for all, as in a search over costs: the structure of the step is known.
void estimate(benchmark::State& state, const LayoutCase& what, bool kept) {
  const cost::CostModel costs = load_costs(what);
  step::StepSimulator simulator;
  for (auto _ : state) {
    const step::StepInput input = resolve(what, costs);
    if (!kept) {
      simulator = step::StepSimulator();
    }
    const auto result = simulator.simulate(input, costs, {.timeline = false, .operations = false});
    ORRERY_CHECK(std::holds_alternative<step::StepResult>(result), "the step is refused");
    benchmark::DoNotOptimize(std::get<step::StepResult>(result).step_time);
  }
  report(state, in_seconds(what.bar));
}

// As a plan asks: what layouts share is kept, and nobody wants to know why.
void estimate_70b_as_planned(benchmark::State& state) {
  const LayoutCase what = llama_70b();
  const cost::CostModel costs = load_costs(what);
  step::StepSimulator simulator;
  step::CostMemo memo;
  for (auto _ : state) {
    const auto result = simulator.simulate(
        resolve(what, costs), costs,
        {.timeline = false, .operations = false, .ledger = false, .memo = &memo});
    benchmark::DoNotOptimize(std::get<step::StepResult>(result).step_time);
  }
}

void estimate_70b(benchmark::State& state) { estimate(state, llama_70b(), false); }

void estimate_70b_kept(benchmark::State& state) { estimate(state, llama_70b(), true); }

void estimate_405b(benchmark::State& state) { estimate(state, llama_405b(), false); }

void estimate_405b_kept(benchmark::State& state) { estimate(state, llama_405b(), true); }

// --- every rank and link ---

// The 405B with its traffic as flows, and what tells its ranks apart.
void ranks(benchmark::State& state, void (*tell_apart)(LayoutCase&)) {
  LayoutCase what = llama_405b();
  what.layout.virtual_stages = 8;
  what.cluster.network.detail = hardware::NetworkDetail::ranks;
  tell_apart(what);
  const cost::CostModel costs = load_costs(what);
  const step::StepInput input = resolve(what, costs);
  step::StepSimulator simulator;
  std::int64_t flows = 0;
  for (auto _ : state) {
    const auto result =
        simulator.simulate(input, costs, {.timeline = false, .operations = false, .ledger = false});
    flows = std::get<step::StepResult>(result).network->flows;
  }
  state.counters["flows"] = static_cast<double>(flows);
}

void ranks_alike(benchmark::State& state) {
  ranks(state, [](LayoutCase&) {});
}

void ranks_slow_gpu(benchmark::State& state) {
  ranks(state, [](LayoutCase& what) {
    what.step.variation.slow_gpus = {{.node = 1000, .gpu = 3, .factor = 1.25}};
  });
}

void ranks_slow_uplink(benchmark::State& state) {
  ranks(state, [](LayoutCase& what) {
    what.cluster.network.faults = {{.tier = "rack", .block = 500, .share = 0.5}};
  });
}

void ranks_unequal_nodes(benchmark::State& state) {
  ranks(state, [](LayoutCase& what) { what.step.variation.node_sigma = 0.02; });
}

void ranks_all_apart(benchmark::State& state) {
  ranks(state, [](LayoutCase& what) {
    what.step.variation.gpu_sigma = 0.02;
    what.cluster.network.routing = hardware::Routing::static_ecmp;
  });
}

// --- the parts -----------------------------------------------------------------------------------

struct Parts {
  explicit Parts(LayoutCase layout_case)
      : what(std::move(layout_case)),
        costs(load_costs(what)),
        input(resolve(what, costs)),
        buckets(step::buckets_per_chunk(input)),
        plan(make_plan()),
        graph(make_graph()),
        stages(step::stage_costs(input, costs, buckets)) {}

  [[nodiscard]] schedule::Schedule make_plan() const {
    return std::get<schedule::Schedule>(
        schedule::generate({.kind = input.spec.schedule,
                            .devices = static_cast<int>(input.layout.pipeline),
                            .chunks = static_cast<int>(input.layout.virtual_stages),
                            .micro_batches = static_cast<int>(input.layout.micro_batches)}));
  }

  [[nodiscard]] schedule::StepGraph make_graph() const {
    auto built = schedule::build_step_graph(
        plan, {.p2p = input.spec.schedule == ScheduleKind::one_f_one_b
                          ? schedule::P2pMode::rendezvous_fused
                          : schedule::P2pMode::latency,
               .buckets = buckets,
               .comm = {.gradients = schedule::GradientReduction::per_step,
                        .overlap_gradients = true,
                        .parameters = schedule::ParameterGather::per_step,
                        .overlap_parameters = true},
               .optimizer = true});
    return std::get<schedule::StepGraph>(std::move(built));
  }

  LayoutCase what;
  cost::CostModel costs;
  step::StepInput input;
  std::vector<std::vector<int>> buckets;
  schedule::Schedule plan;
  schedule::StepGraph graph;
  step::StageCosts stages;
};

using PartOfStep = void (*)(const Parts&);

void time_part(benchmark::State& state, const LayoutCase& what, PartOfStep part) {
  const Parts parts(what);
  for (auto _ : state) {
    part(parts);
  }
  state.counters["tasks"] = static_cast<double>(parts.graph.tasks.size());
}

void run_rules(const Parts& parts) { benchmark::DoNotOptimize(resolve(parts.what, parts.costs)); }

void run_placements(const Parts& parts) { benchmark::DoNotOptimize(step::placements(parts.input)); }

void run_stage_costs(const Parts& parts) {
  benchmark::DoNotOptimize(step::stage_costs(parts.input, parts.costs, parts.buckets));
}

void run_schedule(const Parts& parts) { benchmark::DoNotOptimize(parts.make_plan()); }

void run_graph(const Parts& parts) { benchmark::DoNotOptimize(parts.make_graph()); }

void run_replay(const Parts& parts) {
  step::TaskTimes times(parts.graph, parts.stages);
  engine::Timing timing;
  step::PacedReplay(parts.graph, parts.costs.software().communication_slowdown.value())
      .run(times, timing);
  benchmark::DoNotOptimize(step::attribute_step(
      {.step = {.graph = parts.graph,
                .timing = timing,
                .delays = times.delays(),
                .parts = times.parts(),
                .stretch = times.stretch(),
                .devices = parts.input.layout.pipeline},
       .gpus_per_device = parts.input.layout.gpus / parts.input.layout.pipeline}));
}

void run_memory(const Parts& parts) {
  benchmark::DoNotOptimize(step::memory_account(parts.input, parts.costs,
                                                schedule::live_peaks(parts.plan), parts.stages));
}

const int kRegistered = [] {
  struct Part {
    const char* name;
    PartOfStep run;
  };

  for (const Part& part : std::vector<Part>{{"rules", run_rules},
                                            {"placements", run_placements},
                                            {"stage_costs", run_stage_costs},
                                            {"schedule", run_schedule},
                                            {"graph", run_graph},
                                            {"replay_and_ledger", run_replay},
                                            {"memory", run_memory}}) {
    for (const bool large : {false, true}) {
      const std::string name = std::string(large ? "405b/" : "70b/") + part.name;
      benchmark::RegisterBenchmark(name.c_str(), [part, large](benchmark::State& state) {
        time_part(state, large ? llama_405b() : llama_70b(), part.run);
      })->Unit(benchmark::kMicrosecond);
    }
  }
  return 0;
}();

BENCHMARK(estimate_70b)->Unit(benchmark::kMicrosecond);
BENCHMARK(estimate_70b_kept)->Unit(benchmark::kMicrosecond);
BENCHMARK(estimate_70b_as_planned)->Unit(benchmark::kMicrosecond);
BENCHMARK(estimate_405b)->Unit(benchmark::kMicrosecond);
BENCHMARK(estimate_405b_kept)->Unit(benchmark::kMicrosecond);
BENCHMARK(ranks_alike)->Unit(benchmark::kMillisecond);
BENCHMARK(ranks_slow_gpu)->Unit(benchmark::kMillisecond);
BENCHMARK(ranks_slow_uplink)->Unit(benchmark::kMillisecond);
BENCHMARK(ranks_unequal_nodes)->Unit(benchmark::kMillisecond);
BENCHMARK(ranks_all_apart)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace orrery::bench
