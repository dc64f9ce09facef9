#include "sim/trace/peer_waiting.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

namespace orrery::trace {

namespace {

// Step, group and operation.
using Key = std::tuple<std::string, CommunicationGroup, Operation>;

// Collectives of one peer in the order of time.
struct Sequence {
  std::size_t peer = 0;
  std::vector<std::size_t> activities;
};

const StepWindow* window_at(const std::vector<StepWindow>& windows, std::int64_t time) {
  const auto after =
      std::partition_point(windows.begin(), windows.end(), [time](const StepWindow& window) {
        return window.span.begin <= time;
      });
  if (after == windows.begin() || std::prev(after)->span.end <= time) {
    return nullptr;
  }
  return &*std::prev(after);
}

void collect(const Peer& peer, std::size_t index, std::map<Key, std::vector<Sequence>>& all) {
  for (std::size_t i = 0; i < peer.trace->activities.size(); ++i) {
    const GpuActivity& activity = peer.trace->activities[i];
    const StepWindow* window = window_at(peer.windows, activity.span.begin);
    if (activity.device != peer.device || activity.group == kNoGroup || window == nullptr ||
        activity.operation == Operation::send_receive) {
      continue;
    }
    auto& sequences = all[{window->name, peer.trace->groups[activity.group], activity.operation}];
    if (sequences.empty() || sequences.back().peer != index) {
      sequences.push_back({index, {}});
    }
    sequences.back().activities.push_back(i);
  }
}

}  // namespace

PeerWaiting waiting_for_peers(const std::vector<Peer>& peers) {
  PeerWaiting result;
  std::vector<std::vector<std::int64_t>>& waiting = result.waiting;
  std::map<Key, std::vector<Sequence>> all;
  for (std::size_t p = 0; p < peers.size(); ++p) {
    waiting.emplace_back(peers[p].trace->activities.size(), 0);
    collect(peers[p], p, all);
  }
  for (const auto& [key, sequences] : all) {
    const std::size_t count = sequences.front().activities.size();
    const bool same =
        std::all_of(sequences.begin(), sequences.end(), [count](const Sequence& sequence) {
          return sequence.activities.size() == count;
        });
    for (std::size_t n = 0; same && sequences.size() > 1 && n < count; ++n) {
      ++result.collectives;
      const auto duration = [&peers, n](const Sequence& sequence) {
        return peers[sequence.peer].trace->activities[sequence.activities[n]].span.length();
      };
      std::int64_t shortest = duration(sequences.front());
      for (const Sequence& sequence : sequences) {
        shortest = std::min(shortest, duration(sequence));
      }
      for (const Sequence& sequence : sequences) {
        waiting[sequence.peer][sequence.activities[n]] = duration(sequence) - shortest;
      }
    }
  }
  return result;
}

}  // namespace orrery::trace
