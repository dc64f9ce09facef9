// Speed of sharing out rates anew when a flow ends and the next starts.
//
// The traffic of fabric_traffic.hpp at 64 to 4,096 flows under way; peers: progressive filling over
// all flows at each end (few messages: it is slow), and SimGrid where CMake finds it. `us_per_flow`
// is CPU time per message, one end and one start.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/step/fabric/fluid_flows.hpp"
#include "tests/bench/fabric_traffic.hpp"
#include "tests/progressive_filling.hpp"

namespace orrery::bench {
namespace {

constexpr double kLinkRate = 50e9;
constexpr int kAll = 10'000;  // messages of a run, about

std::int32_t hosts_of(std::int32_t radix) { return radix * radix; }

Traffic random_traffic(std::int32_t radix, int messages) {
  const std::int32_t hosts = hosts_of(radix);
  Traffic traffic{radix, kLinkRate, {}};
  traffic.messages.resize(static_cast<std::size_t>(hosts));
  RandomStream random(1, static_cast<std::uint32_t>(hosts), Purpose::property_test);
  for (std::int32_t host = 0; host < hosts; ++host) {
    for (int i = 0; i < std::max(messages / hosts, 2); ++i) {
      const auto shift = 1 + random.uniform_int(static_cast<std::uint64_t>(hosts - 1));
      traffic.messages[static_cast<std::size_t>(host)].push_back(
          {static_cast<std::int32_t>((static_cast<std::uint64_t>(host) + shift) %
                                     static_cast<std::uint64_t>(hosts)),
           1e8 + static_cast<double>(random.uniform_int(100'000'000))});
    }
  }
  return traffic;
}

// Hosts up and down, then the links between leaf and spine up and down; the spine is chosen by the
// destination.
fabric::FlowPath route(const Traffic& traffic, std::int32_t from, std::int32_t to) {
  const std::int32_t hosts = hosts_of(traffic.radix);
  fabric::FlowPath path;
  path.hops.reserve(4);
  path.hops = {{{from}, 1.0}, {{hosts + to}, 1.0}};
  const std::int32_t leaf = from / traffic.radix;
  const std::int32_t other = to / traffic.radix;
  const std::int32_t spine = to % traffic.radix;
  if (leaf != other) {
    path.hops.push_back({{2 * hosts + leaf * traffic.radix + spine}, 1.0});
    path.hops.push_back({{3 * hosts + other * traffic.radix + spine}, 1.0});
  }
  return path;
}

std::vector<BytesPerSecond> links_of(const Traffic& traffic) {
  return std::vector<BytesPerSecond>(static_cast<std::size_t>(4 * hosts_of(traffic.radix)),
                                     bytes_per_second(traffic.link_rate));
}

// The last end.
SimTime run(const Traffic& traffic) {
  using fabric::FlowId;
  fabric::FluidFlows flows(links_of(traffic));
  std::vector<std::size_t> next(traffic.messages.size(), 0);
  std::vector<std::int32_t> sender(traffic.messages.size());
  const auto start = [&](std::int32_t host) {
    const auto& queue = traffic.messages[static_cast<std::size_t>(host)];
    std::size_t& sent = next[static_cast<std::size_t>(host)];
    if (sent < queue.size()) {
      const fabric::FlowPath path = route(traffic, host, queue[sent].to);
      const FlowId flow = flows.start(path.hops, bytes(queue[sent].bytes));
      sender[flow.index()] = host;
      ++sent;
    }
  };
  for (std::int32_t host = 0; host < hosts_of(traffic.radix); ++host) {
    start(host);
  }
  std::vector<std::int32_t> done;
  for (SimTime end = flows.next_end(); end != kForever; end = flows.next_end()) {
    done.clear();
    for (const FlowId flow : flows.advance_to(end)) {
      done.push_back(sender[flow.index()]);
    }
    for (const std::int32_t host : done) {
      start(host);
    }
  }
  return flows.now();
}

std::size_t message_count(const Traffic& traffic) {
  return traffic.messages.size() * traffic.messages.front().size();
}

double microseconds_per_message(double cpu_seconds, const Traffic& traffic) {
  return cpu_seconds / kMicro / static_cast<double>(message_count(traffic));
}

void local_solve(benchmark::State& state) {
  const Traffic traffic = random_traffic(static_cast<std::int32_t>(state.range(0)), kAll);
  SimTime last;
  double spent = 0.0;
  for (auto _ : state) {
    const std::clock_t begin = std::clock();
    last = run(traffic);
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    spent += seconds;
    state.SetIterationTime(seconds);
  }
  state.counters["us_per_flow"] =
      microseconds_per_message(spent / static_cast<double>(state.iterations()), traffic);
  state.counters["last_end_s"] = in_seconds(to_seconds(last));
}

// One filling over as many flows as are always under way, as often as it takes.
void full_solve(benchmark::State& state) {
  const Traffic traffic = random_traffic(static_cast<std::int32_t>(state.range(0)), 0);
  const std::vector<BytesPerSecond> links = links_of(traffic);
  std::vector<fabric::FlowPath> flows;
  for (std::size_t host = 0; host < traffic.messages.size(); ++host) {
    flows.push_back(
        route(traffic, static_cast<std::int32_t>(host), traffic.messages[host].front().to));
  }
  double spent = 0.0;
  for (auto _ : state) {
    const std::clock_t begin = std::clock();
    benchmark::DoNotOptimize(fabric::progressive_filling(links, flows));
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    spent += seconds;
    state.SetIterationTime(seconds);
  }
  state.counters["us_per_flow"] = spent / kMicro / static_cast<double>(state.iterations());
}

#ifdef ORRERY_SIMGRID
void simgrid(benchmark::State& state) {
  const Traffic traffic = random_traffic(static_cast<std::int32_t>(state.range(0)), kAll);
  PeerRun peer;
  double spent = 0.0;
  for (auto _ : state) {
    peer = run_simgrid(traffic);
    if (peer.cpu_seconds < 0.0) {
      state.SkipWithError("SimGrid did not run");
      return;
    }
    spent += peer.cpu_seconds;
    state.SetIterationTime(peer.cpu_seconds);
  }
  state.counters["us_per_flow"] =
      microseconds_per_message(spent / static_cast<double>(state.iterations()), traffic);
  state.counters["last_end_s"] = peer.last_end;
}

BENCHMARK(simgrid)->Arg(8)->Arg(16)->Arg(32)->Arg(64)->UseManualTime()->Iterations(1);
#endif

BENCHMARK(local_solve)->Arg(8)->Arg(16)->Arg(32)->Arg(64)->UseManualTime();
BENCHMARK(full_solve)->Arg(8)->Arg(16)->Arg(32)->UseManualTime()->MinTime(0.1);

}  // namespace
}  // namespace orrery::bench
