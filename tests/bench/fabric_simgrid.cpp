// SimGrid's time for the same messages. One actor per host sends them
// one by one, over SimGrid's own fat tree (routes by destination),
// with its fluid model without latency or cross-traffic.

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <simgrid/s4u.hpp>
#include <string>

#include "tests/bench/fabric_traffic.hpp"

namespace orrery::bench {
namespace {

namespace s4u = simgrid::s4u;

PeerRun simulate(const Traffic& traffic) {
  std::array<std::string, 5> words = {"bench", "--cfg=network/model:CM02",
                                      "--cfg=network/crosstraffic:0", "--cfg=network/TCP-gamma:0",
                                      "--log=root.thres:critical"};
  std::array<char*, 6> arguments{};
  for (std::size_t i = 0; i < words.size(); ++i) {
    arguments[i] = words[i].data();
  }
  int count = static_cast<int>(words.size());
  s4u::Engine engine(&count, arguments.data());
  const auto radix = static_cast<unsigned>(traffic.radix);
  const s4u::ClusterCallbacks callbacks(
      [](s4u::NetZone* zone, const std::vector<unsigned long>& /*place*/, unsigned long id) {
        const s4u::Host* host = zone->create_host("h" + std::to_string(id), 1e9)->seal();
        return std::pair(host->get_netpoint(),
                         static_cast<simgrid::kernel::routing::NetPoint*>(nullptr));
      });
  s4u::NetZone* zone =
      s4u::create_fatTree_zone("tree", nullptr, {2, {radix, radix}, {1, radix}, {1, 1}}, callbacks,
                               traffic.link_rate, 0.0, s4u::Link::SharingPolicy::SPLITDUPLEX);
  zone->seal();
  std::vector<s4u::Host*> hosts;
  for (std::size_t i = 0; i < traffic.messages.size(); ++i) {
    hosts.push_back(s4u::Host::by_name("h" + std::to_string(i)));
  }
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    s4u::Actor::create("sender", hosts[i], [&hosts, &traffic, i] {
      for (const Message& message : traffic.messages[i]) {
        s4u::Comm::sendto(hosts[i], hosts[static_cast<std::size_t>(message.to)],
                          static_cast<std::uint64_t>(message.bytes));
      }
    });
  }
  const std::clock_t begin = std::clock();
  engine.run();
  return {static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, s4u::Engine::get_clock()};
}

}  // namespace

// A process has one engine of SimGrid in its life.
PeerRun run_simgrid(const Traffic& traffic) {
  PeerRun result{-1.0, 0.0};
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) {
    return result;
  }
  const pid_t child = fork();
  if (child == 0) {
    const PeerRun done = simulate(traffic);
    const bool sent = write(ends[1], &done, sizeof done) == static_cast<ssize_t>(sizeof done);
    _exit(sent ? 0 : 1);
  }
  close(ends[1]);
  if (child < 0 || read(ends[0], &result, sizeof result) != static_cast<ssize_t>(sizeof result)) {
    result = {-1.0, 0.0};
  }
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return result;
}

}  // namespace orrery::bench
