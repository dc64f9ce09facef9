#include "sim/fabric/channels.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"

namespace orrery::fabric {

FlowPath Channels::ring(std::span<const Port> ports) const {
  FlowPath path;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    topology_.add_route(ports[i], ports[(i + 1) % ports.size()], 1.0, path.hops);
  }
  return path;
}

Channel Channels::ring_all_reduce(std::span<const Port> ring_ports,
                                  Bytes bytes,
                                  std::int32_t ranks,
                                  std::int32_t channels) const {
  return {ring(ring_ports), 2.0 * bytes * static_cast<double>(ranks - 1) / ranks / channels};
}

Channel Channels::ring_gather(std::span<const Port> ring_ports,
                              Bytes bytes,
                              std::int32_t ranks,
                              std::int32_t channels) const {
  return {ring(ring_ports), bytes * static_cast<double>(ranks - 1) / ranks / channels};
}

Channel Channels::tree_all_reduce(std::span<const Port> ports,
                                  Bytes bytes,
                                  std::int32_t channels) const {
  FlowPath path;
  for (std::size_t i = 1; i < ports.size(); ++i) {
    const Port parent = ports[(i - 1) / 2];
    topology_.add_route(ports[i], parent, 1.0, path.hops);
    topology_.add_route(parent, ports[i], 1.0, path.hops);
  }
  return {std::move(path), bytes / channels};
}

// Every port sends its bytes up once and gets the sum once; each switch of a tier below the common
// one passes them on once, on behalf of all ports beneath.
Channel Channels::switch_reduction(std::span<const Port> ports,
                                   Bytes bytes,
                                   std::int32_t channels) const {
  ORRERY_CHECK(!ports.empty() && topology_.spec().routing == Spreading::even,
               "switches reduce on fixed trees: their uplinks are not hashed");
  FlowPath path;
  std::vector<Hop> climbs;
  for (const Port port : ports) {
    for (std::int32_t plane = 0; plane < topology_.spec().planes; ++plane) {
      const double weight = 1.0 / topology_.spec().planes;
      path.hops.push_back({topology_.nic(port, plane, Direction::up), weight});
      path.hops.push_back({topology_.nic(port, plane, Direction::down), weight});
    }
    topology_.add_climb(port, ports.front(), 1.0, climbs);
    topology_.add_climb(ports.front(), port, 1.0, climbs);
  }
  std::sort(climbs.begin(), climbs.end(), [](const Hop& a, const Hop& b) {
    return std::pair(a.link, -a.weight) < std::pair(b.link, -b.weight);
  });
  const auto same_link = [](const Hop& a, const Hop& b) { return a.link == b.link; };
  climbs.erase(std::unique(climbs.begin(), climbs.end(), same_link), climbs.end());
  path.hops.insert(path.hops.end(), climbs.begin(), climbs.end());
  return {std::move(path), bytes / channels};
}

Channel Channels::nvls(std::span<const std::int32_t> gpus, Bytes bytes) const {
  FlowPath path;
  for (const std::int32_t gpu : gpus) {
    ORRERY_CHECK(
        gpu / topology_.spec().nvlink_domain == gpus.front() / topology_.spec().nvlink_domain,
        "NVLS stays inside one NVLink domain");
    path.hops.push_back({topology_.nvlink(gpu, Direction::up), 1.0});
    path.hops.push_back({topology_.nvlink(gpu, Direction::down), 1.0});
  }
  return {std::move(path), bytes};
}

Channel Channels::message(Port from, Port to, Bytes bytes) const {
  Channel channel{{}, bytes};
  topology_.add_route(from, to, 1.0, channel.path.hops);
  return channel;
}

std::vector<Channel> Channels::pat_round(std::span<const Port> ports,
                                         Bytes bytes,
                                         std::int32_t round) const {
  const std::size_t distance = std::size_t{1} << static_cast<unsigned>(round);
  const Bytes sent = bytes * static_cast<double>(distance) / static_cast<double>(ports.size());
  std::vector<Channel> channels;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    channels.push_back(message(ports[i], ports[(i + distance) % ports.size()], sent));
  }
  return channels;
}

Channel Channels::all_to_all(Port from,
                             std::span<const Port> to,
                             Bytes bytes,
                             std::int32_t ranks) const {
  const auto block = static_cast<double>(to.size());
  Channel channel{{}, bytes * block / ranks};
  for (const Port port : to) {
    topology_.add_route(from, port, 1.0 / block, channel.path.hops);
  }
  return channel;
}

Channel Channels::storage_write(std::int32_t node, Bytes bytes) const {
  return {{.hops = {{topology_.frontend(node, Direction::up), 1.0},
                    {topology_.storage(Direction::down), 1.0}}},
          bytes};
}

Channel Channels::storage_read(std::int32_t node, Bytes bytes) const {
  return {{.hops = {{topology_.storage(Direction::up), 1.0},
                    {topology_.frontend(node, Direction::down), 1.0}}},
          bytes};
}

}  // namespace orrery::fabric
