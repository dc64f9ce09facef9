#include "sim/answer/report/picture/fabric_reach.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <utility>

#include "sim/answer/report/picture/step_flame.hpp"
#include "sim/base/text/format.hpp"
#include "sim/step/layout/placement.hpp"

namespace orrery::report {

namespace {

using layout::GroupKind;
using step::OperationStream;

// The groups over which each kind of traffic runs, the widest first.
std::vector<GroupKind> kinds_of(OperationStream stream) {
  using enum GroupKind;
  switch (stream) {
    case OperationStream::tensor:
      return {tensor, expert_tensor};
    case OperationStream::context:
      return {context};
    case OperationStream::expert:
      return {expert, expert_tensor};
    case OperationStream::data:
      return {data_context, data, shard, replica, expert_data, expert_shard, expert_replica};
    default:
      return {};
  }
}

class Reach {
 public:
  explicit Reach(const Evaluation& evaluation)
      : echo_(evaluation.echo), map_(evaluation.echo.layout) {}

  // Number of the place: 0 for a node or NVLink domain, then the tiers.
  [[nodiscard]] std::size_t of(const step::Operation& operation) {
    if (operation.stream == OperationStream::pipeline) {
      messages_ = messages_ ? messages_ : of_messages();
      return *messages_;
    }
    std::size_t widest = 0;
    for (const GroupKind kind : kinds_of(operation.stream)) {
      const auto [known, is_new] = groups_.try_emplace(kind);
      if (is_new) {
        known->second = place_group(map_, echo_.layout, kind, echo_.shape);
      }
      const layout::GroupPlacement& group = known->second;
      const std::size_t place = group.domains == 1 || group.nodes == 1 ? 0 : group.tier + 1;
      if (group.ranks == operation.ranks && group.nodes == operation.nodes) {
        return place;
      }
      widest = std::max(widest, place);
    }
    return operation.nodes == 1 ? 0 : widest;
  }

 private:
  [[nodiscard]] std::size_t of_messages() const {
    std::size_t widest = 0;
    for (std::int64_t device = 0; device < echo_.layout.pipeline; ++device) {
      const layout::HopPlacement hop = place_hop(map_, echo_.layout, device, echo_.shape);
      widest = std::max(widest, hop.same_domain || hop.same_node ? 0 : hop.tier + 1);
    }
    return widest;
  }

  const ScenarioEcho& echo_;
  layout::RankMap map_;
  std::map<GroupKind, layout::GroupPlacement> groups_;
  std::optional<std::size_t> messages_;
};

// A node, the tiers as far as the job needs them, and what lies above the last one.
std::vector<FabricPlace> places_of(const ScenarioEcho& echo) {
  const std::int64_t domain =
      echo.shape.nvlink_domain / std::max<std::int64_t>(echo.gpus_per_node, 1);
  std::vector<FabricPlace> places = {
      {.name = "node or NVLink domain",
       .nodes = std::clamp<std::int64_t>(domain, 1, std::max<std::int64_t>(echo.nodes, 1))}};
  double oversubscription = 1.0;
  for (const hardware::NetworkTier& tier : echo.tiers) {
    places.push_back({.name = fmt::format("{}, {} nodes", tier.name, format_integer(tier.nodes)),
                      .nodes = std::min(tier.nodes, echo.nodes),
                      .oversubscription = oversubscription});
    oversubscription *= tier.oversubscription;
  }
  places.push_back({.name = echo.tiers.empty() ? "network" : "above them",
                    .nodes = echo.nodes,
                    .oversubscription = oversubscription});
  return places;
}

}  // namespace

std::vector<FabricPlace> fabric_reach(const Evaluation& evaluation) {
  const auto& timeline = evaluation.step.operation_timeline;
  if (!timeline || evaluation.step.gpus < 2 || evaluation.step.given) {
    return {};
  }
  std::map<std::pair<std::string, OperationStream>, const step::Operation*> operations;
  for (const step::Operation& operation : timeline->operations) {
    operations[{operation.name, operation.stream}] = &operation;
  }
  Reach reach(evaluation);
  std::vector<FabricPlace> places = places_of(evaluation.echo);
  const auto devices =
      static_cast<double>(std::max<std::int64_t>(evaluation.echo.layout.pipeline, 1));
  std::size_t last = 0;
  const auto add = [&](const step::Operation& operation, Bytes sent) {
    const std::size_t place = std::min(reach.of(operation), places.size() - 1);
    const auto traffic = static_cast<std::size_t>(operation.stream) - 1;  // compute is the first
    places[place].sent[traffic] += sent / devices;
    last = std::max(last, place);
  };
  for (const step::OperationNode& node : operation_sums(evaluation)) {
    const auto found = operations.find({node.name, node.stream});
    const bool collective = node.stream != OperationStream::compute &&
                            node.stream != OperationStream::pipeline &&
                            node.stream != OperationStream::host && node.bytes > Bytes{};
    if (collective && found != operations.end()) {
      add(*found->second, node.bytes);
    }
  }
  for (const step::MessageRun& message : timeline->messages) {
    const step::Operation& operation = timeline->operations[message.operation];
    add(operation, operation.bytes);
  }
  places.resize(last + 1);
  return places;
}

std::vector<FabricBlock> fabric_blocks(const FabricPlace& place, std::int64_t nodes) {
  constexpr std::int64_t kMostBlocks = 512;
  const std::int64_t size = std::max(place.nodes, (nodes + kMostBlocks - 1) / kMostBlocks);
  std::vector<FabricBlock> blocks;
  for (std::int64_t begin = 0; begin < nodes; begin += size) {
    const std::int64_t end = std::min(begin + size, nodes);
    blocks.push_back({begin, end,
                      end - begin == 1 ? fmt::format("node {}", format_integer(begin))
                                       : fmt::format("nodes {} to {}", format_integer(begin),
                                                     format_integer(end - 1))});
  }
  return blocks;
}

std::string fabric_sentence(const std::vector<FabricPlace>& places) {
  if (places.empty() || places.back().oversubscription <= 1.0) {
    return {};
  }
  std::vector<std::string_view> who;
  for (std::size_t i = 0; i < kFabricTraffic; ++i) {
    if (places.back().sent[i] > Bytes{}) {
      who.push_back(traffic_name(i));
    }
  }
  std::string text =
      fmt::format("{} {} uplinks of 1:{}.", fmt::join(who, " and "),
                  who.size() == 1 ? "crosses" : "cross", places.back().oversubscription);
  text.front() = static_cast<char>(std::toupper(text.front()));
  return text;
}

double mean_load(const step::SharedLink& link, SimTime from, SimTime to) {
  double sum = 0.0;  // ns
  for (std::size_t i = 0; i < link.over_time.size(); ++i) {
    const bool last = i + 1 == link.over_time.size();
    const SimTime begin = std::max(link.over_time[i].from, from);
    const SimTime end = last ? to : std::min(link.over_time[i + 1].from, to);
    sum += link.over_time[i].load * static_cast<double>(std::max(end - begin, SimTime{}).ns);
  }
  return to > from ? sum / static_cast<double>((to - from).ns) : 0.0;
}

Table fabric_table(const Evaluation& evaluation) {
  Table table =
      table_of({"reaches", "nodes", "oversubscription", "communication", "bytes_per_gpu_and_step"});
  for (const FabricPlace& place : fabric_reach(evaluation)) {
    for (std::size_t i = 0; i < place.sent.size(); ++i) {
      if (place.sent[i] > Bytes{}) {
        table.rows.push_back({place.name, static_cast<double>(place.nodes), place.oversubscription,
                              std::string(traffic_name(i)), in_bytes(place.sent[i])});
      }
    }
  }
  return table;
}

}  // namespace orrery::report
