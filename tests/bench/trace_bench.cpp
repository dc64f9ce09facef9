// Size of a trace in Perfetto's format beside Chrome JSON and JSON Lines, and the speed of writing
// it. A million slices like those of a step: four words in turn, two arguments, a flow through
// every third, a counter sample for every second.
//
//   bytes_per_slice = size of the whole trace / slices
//   ns_per_slice    = CPU time of this thread / slices
//   x_chrome        = bytes of Chrome JSON of the same trace / bytes

#include <benchmark/benchmark.h>

#include <array>
#include <string>
#include <utility>

#include "sim/answer/report/export/chrome_trace.hpp"
#include "sim/answer/report/export/perfetto_trace.hpp"
#include "sim/answer/report/export/trace.hpp"
#include "sim/answer/report/export/trace_choice.hpp"
#include "sim/answer/report/files/flat_report.hpp"
#include "tests/bench/limits.hpp"

namespace orrery::bench {
namespace {

constexpr int kSlices = 1'000'000;
constexpr int kThreads = 64;

report::Trace big_trace() {
  report::TraceBuilder builder("big");
  std::array<std::string, 4> words = {"forward", "backward", "send", "reduce gradients"};
  for (int t = 0; t < kThreads; ++t) {
    const report::TrackId process = builder.process("pipeline device " + std::to_string(t));
    const report::TrackId thread = builder.thread(process, "compute", 0);
    const report::TrackId counter = builder.counter(process, "memory", "bytes");
    std::array<report::SliceId, 3> last{};
    for (int i = 0; i < kSlices / kThreads; ++i) {
      const std::int64_t begin = std::int64_t{i} * 18'460'110 + t;
      const auto micro_batch = static_cast<std::size_t>(i % 16);
      last[static_cast<std::size_t>(i % 3)] =
          builder.slice({thread,
                         {begin},
                         {begin + 18'000'000},
                         words[static_cast<std::size_t>(i % 4)] + " " + std::to_string(micro_batch),
                         "pass"});
      builder.argument("micro_batch", i % 16);
      builder.argument("chunk", i % 4);
      if (i % 9 == 8) {
        builder.flow("message", last);
      }
      if (i % 2 == 0) {
        builder.sample(counter, {begin}, 1.5e10 + i);
      }
    }
  }
  return std::move(builder).build();
}

const report::Trace& trace() {
  static const report::Trace kept = big_trace();
  return kept;
}

void write_with(benchmark::State& state, std::string (*write)(const report::Trace&)) {
  const auto slices = static_cast<double>(trace().slices.size());
  double bytes = 0.0;
  double spent = 0.0;
  for ([[maybe_unused]] const auto _ : state) {
    const double start = thread_cpu_ns();
    bytes = static_cast<double>(write(trace()).size());
    spent += thread_cpu_ns() - start;
  }
  const auto chrome = static_cast<double>(report::to_chrome_trace(trace()).size());
  state.counters["bytes_per_slice"] = bytes / slices;
  state.counters["ns_per_slice"] = spent / slices / static_cast<double>(state.iterations());
  state.counters["x_chrome"] = chrome / bytes;
}

void write_perfetto(benchmark::State& state) { write_with(state, report::to_perfetto_trace); }

void write_chrome(benchmark::State& state) { write_with(state, report::to_chrome_trace); }

void write_json_lines(benchmark::State& state) { write_with(state, report::to_json_lines); }

// From a million slices to 200,000.
void choose(benchmark::State& state) {
  double spent = 0.0;
  for ([[maybe_unused]] const auto _ : state) {
    const double start = thread_cpu_ns();
    benchmark::DoNotOptimize(report::choose_trace(trace(), {}, kSlices / 5));
    spent += thread_cpu_ns() - start;
  }
  state.counters["ns_per_slice"] = spent / kSlices / static_cast<double>(state.iterations());
}

BENCHMARK(write_perfetto)->Iterations(5)->Unit(benchmark::kMillisecond);
BENCHMARK(write_chrome)->Iterations(5)->Unit(benchmark::kMillisecond);
BENCHMARK(write_json_lines)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(choose)->Iterations(5)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace orrery::bench
