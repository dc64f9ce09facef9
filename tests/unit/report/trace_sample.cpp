#include "tests/unit/report/trace_sample.hpp"

#include <array>
#include <string>
#include <utility>

#include "sim/base/random.hpp"

namespace orrery::report::testing {

Trace small_trace() {
  TraceBuilder builder("A \"small\" trace");
  const TrackId first = builder.process("stage 0");
  const TrackId second = builder.process("stage 1");
  const TrackId compute = builder.thread(first, "compute", 0);
  const TrackId wires = builder.thread(first, "messages", 200);
  const TrackId other = builder.thread(second, "compute", 0);
  const TrackId below = builder.thread(other, "operations", 1);
  const TrackId memory = builder.counter(first, "memory", "bytes");
  const TrackId rate = builder.counter(second, "rate", "$/h");
  // Added out of order on purpose: build() sorts.
  const SliceId waits = builder.slice({other, {3'000}, {4'500}, "forward 0", "pass"});
  const SliceId pass = builder.slice({compute, {0}, {1'234'567}, "forward 0", "pass"});
  builder.argument("micro_batch", 0);
  builder.argument("after", "a \"quoted\" word");
  builder.slice({compute, {0}, {1'000}, "gemm", "operation"});
  const SliceId sent = builder.slice({wires, {2'000}, {3'000}, "send 0", "message"});
  builder.slice({below, {3'000}, {3'000}, "empty", ""});
  builder.mark(other, {4'000}, "failure");
  builder.sample(memory, {0}, 16.0);
  builder.sample(memory, {1'000}, 8.5);
  builder.sample(rate, {0}, 2.25);
  builder.flow("message", std::array{pass, sent, waits});
  return std::move(builder).build();
}

Trace random_trace(std::uint64_t seed, int threads, int slices) {
  RandomStream random(seed, 0, Purpose::property_test);
  TraceBuilder builder("random");
  const TrackId process = builder.process("process");
  const TrackId counter = builder.counter(process, "load", "count");
  for (int thread = 0; thread < threads; ++thread) {
    const TrackId track = builder.thread(process, "thread " + std::to_string(thread), thread);
    std::int64_t at = 0;
    SliceId before = 0;
    for (int i = 0; i < slices; ++i) {
      at += static_cast<std::int64_t>(random.uniform01() * 3'000.0);
      const auto length = static_cast<std::int64_t>(random.uniform01() * random.uniform01() * 2e5);
      const SliceId slice = builder.slice({track, {at}, {at + length}, "work", "pass"});
      builder.argument("number", i);
      if (i % 3 == 0 && length > 4) {
        builder.slice({track, {at + length / 4}, {at + length / 2}, "inner", "operation"});
      }
      if (i % 10 == 1) {
        builder.flow("next", std::array{before, slice});
      }
      builder.sample(counter, {at}, random.uniform01());
      before = slice;
      at += length;
    }
  }
  return std::move(builder).build();
}

}  // namespace orrery::report::testing
