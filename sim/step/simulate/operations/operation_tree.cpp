#include "sim/step/simulate/operations/operation_tree.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

namespace orrery::step {

namespace {

// What stands below a node of the tree, by its place: chunk, layer, operation and category.
struct Place {
  std::int32_t chunk = 0;  // kNoChunk: of the stage itself
  std::int32_t layer = 0;
  std::uint32_t operation = 0;
  StepCategory category = StepCategory::compute;

  friend auto operator<=>(const Place&, const Place&) = default;
};

constexpr std::int32_t kNoChunk = INT32_MAX;  // behind all chunks

struct Sum {
  SimTime time;
  SimTime hidden;
  double runs = 0.0;
};

using Sums = std::map<Place, Sum>;

// How often the tasks of one kind run on a device, and with what stretch.
struct Uses {
  double runs = 0.0;
  SimTime stretch;
  SimTime exposed;   // of communication
  SimTime duration;  // of communication
  std::int32_t chunk = kNoChunk;
  std::int32_t backward_chunk = kNoChunk;  // of a task of two passes
  bool on_device = true;                   // occupies the compute of its device
};

using DeviceUses = std::map<std::uint32_t, Uses>;  // by kind

std::vector<DeviceUses> uses_of(const StepResult& result, const OperationTimeline& timeline) {
  std::vector<DeviceUses> uses(result.stage_ledgers.size());
  for (std::size_t i = 0; i < result.slices.size(); ++i) {
    const Slice& slice = result.slices[i];
    const TaskRun& run = timeline.runs[i];
    Uses& use = uses[static_cast<std::size_t>(slice.task.device)][run.kind];
    use.runs += 1.0;
    use.stretch += run.stretch;
    use.exposed += run.exposed;
    use.duration += slice.end - slice.start;
    use.chunk = slice.task.chunk == schedule::kNone ? kNoChunk : slice.task.chunk;
    use.backward_chunk = slice.task.backward_chunk;
    use.on_device = slice.task.stream == schedule::Stream::compute;
  }
  return uses;
}

SimTime times(SimTime time, double count) { return {time.ns * static_cast<std::int64_t>(count)}; }

void add_tasks(Sums& sums, const OperationTimeline& timeline, const DeviceUses& uses) {
  for (const auto& [kind, use] : uses) {
    for (const PlacedOperation& placed : place_operations(timeline, {kind, {}, {}})) {
      const std::int32_t chunk = placed.pass == PartPass::backward ? use.backward_chunk : use.chunk;
      Sum& sum = sums[{chunk, placed.layer, placed.operation, placed.category}];
      const SimTime whole = times(placed.end - placed.start - placed.slowed, use.runs);
      // Beside compute nothing is booked: waiting for it stands among the waits.
      const SimTime booked = use.on_device ? times(placed.booked, use.runs) : SimTime{};
      sum.time += booked;
      sum.hidden += whole - booked;
      sum.runs += use.runs;
      if (placed.slowed > SimTime{}) {
        Sum& slowed = sums[{chunk, placed.layer, timeline.slowed, StepCategory::exposed_expert}];
        slowed.time += times(placed.slowed, use.runs);
        slowed.runs += use.runs;
      }
    }
    if (use.stretch > SimTime{}) {
      Sum& sum = sums[{use.chunk, kNoLayer, timeline.stretched, StepCategory::exposed_data}];
      sum.time += use.stretch;
      sum.runs += use.runs;
    }
  }
}

std::vector<OperationNode> nodes_of(const OperationTimeline& timeline, const Sums& sums) {
  std::vector<OperationNode> nodes;
  nodes.reserve(sums.size());
  for (const auto& [place, sum] : sums) {
    const Operation& operation = timeline.operations[place.operation];
    nodes.push_back({.name = operation.name,
                     .kind = operation.kind,
                     .stream = operation.stream,
                     .category = place.category,
                     .time = sum.time,
                     .hidden = sum.hidden,
                     .flop = operation.flop * sum.runs,
                     .bytes = operation.bytes * sum.runs,
                     .runs = sum.runs});
  }
  return nodes;
}

OperationNode wait_node(const DeviceWait& wait) {
  return {.name = fmt::format("waiting: {}", to_string(wait.category)),
          .kind = OperationKind::wait,
          .category = wait.category};
}

std::vector<OperationNode> waits_of(const OperationTimeline& timeline, std::size_t device) {
  std::map<StepCategory, OperationNode> sums;
  for (const DeviceWait& wait : timeline.waits) {
    if (static_cast<std::size_t>(wait.device) == device) {
      OperationNode& node = sums.try_emplace(wait.category, wait_node(wait)).first->second;
      node.time += wait.end - wait.start;
      node.runs += 1.0;
    }
  }
  std::vector<OperationNode> nodes;
  for (auto& [category, node] : sums) {
    nodes.push_back(std::move(node));
  }
  return nodes;
}

bool more_time(const OperationNode& a, const OperationNode& b) {
  return std::tuple(a.time, a.hidden) > std::tuple(b.time, b.hidden);
}

// Writes the nodes of one stage depth first.
class Writer {
 public:
  explicit Writer(std::vector<OperationNode>& nodes) : nodes_(nodes) {}

  std::uint32_t open(std::string name, TreeLevel level, std::uint32_t parent) {
    nodes_.push_back({.name = std::move(name), .level = level, .parent = parent});
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }

  void leaves(std::vector<OperationNode> leaves, std::uint32_t parent) {
    std::ranges::stable_sort(leaves, more_time);
    for (OperationNode& leaf : leaves) {
      leaf.parent = parent;
      leaf.end = static_cast<std::uint32_t>(nodes_.size() + 1);
      nodes_.push_back(std::move(leaf));
    }
  }

  // Sums up what stands below. The category is the one that takes the most time, kind and stream
  // are those of its greatest operation.
  void close(std::uint32_t index) {
    const auto end = static_cast<std::uint32_t>(nodes_.size());
    OperationNode& node = nodes_[index];
    node.end = end;
    std::array<SimTime, kStepCategories> times{};
    for (std::uint32_t i = index + 1; i < end; i = nodes_[i].end) {
      const OperationNode& child = nodes_[i];
      node.time += child.time;
      node.hidden += child.hidden;
      node.flop += child.flop;
      node.bytes += child.bytes;
      node.runs = std::max(node.runs, child.runs);
    }
    for (std::uint32_t i = index + 1; i < end; ++i) {
      const bool leaf = nodes_[i].level == TreeLevel::operation;
      times[static_cast<std::size_t>(nodes_[i].category)] += leaf ? nodes_[i].time : SimTime{};
    }
    node.category = static_cast<StepCategory>(std::ranges::max_element(times) - times.begin());
    const OperationNode* most = nullptr;
    for (std::uint32_t i = index + 1; i < end; ++i) {
      const OperationNode& one = nodes_[i];
      if (one.level == TreeLevel::operation && one.category == node.category &&
          (most == nullptr || more_time(one, *most))) {
        most = &one;
        node.kind = one.kind;
        node.stream = one.stream;
      }
    }
  }

 private:
  std::vector<OperationNode>& nodes_;
};

void write_stage(std::vector<OperationNode>& nodes, const OperationTimeline& timeline,
                 const Sums& sums, std::size_t device) {
  Writer writer(nodes);
  const std::uint32_t stage =
      writer.open(fmt::format("stage {}", device), TreeLevel::stage, kNoNode);
  for (auto chunk = sums.begin(); chunk != sums.end();) {
    const std::int32_t number = chunk->first.chunk;
    const auto chunk_end = std::find_if(
        chunk, sums.end(), [number](const auto& entry) { return entry.first.chunk != number; });
    const bool own = number == kNoChunk;
    const std::uint32_t parent =
        own ? stage : writer.open(fmt::format("chunk {}", number), TreeLevel::chunk, stage);
    for (auto layer = chunk; layer != chunk_end;) {
      const std::int32_t which = layer->first.layer;
      const auto layer_end = std::find_if(
          layer, chunk_end, [which](const auto& entry) { return entry.first.layer != which; });
      const bool alone = which == kNoLayer;
      const std::uint32_t above =
          alone ? parent : writer.open(layer_name(which), TreeLevel::layer, parent);
      writer.leaves(nodes_of(timeline, Sums(layer, layer_end)), above);
      if (!alone) {
        writer.close(above);
      }
      layer = layer_end;
    }
    if (!own) {
      writer.close(parent);
    }
    chunk = chunk_end;
  }
  writer.leaves(waits_of(timeline, device), stage);
  writer.close(stage);
}

}  // namespace

std::vector<OperationNode> operation_tree(const StepResult& result) {
  std::vector<OperationNode> nodes;
  if (!result.operation_timeline) {
    return nodes;
  }
  const OperationTimeline& timeline = *result.operation_timeline;
  const std::vector<DeviceUses> uses = uses_of(result, timeline);
  for (std::size_t device = 0; device < uses.size(); ++device) {
    Sums sums;
    add_tasks(sums, timeline, uses[device]);
    write_stage(nodes, timeline, sums, device);
  }
  return nodes;
}

std::vector<OperationNode> operation_totals(const StepResult& result, std::int64_t device) {
  if (!result.operation_timeline ||
      static_cast<std::size_t>(device) >= result.stage_ledgers.size()) {
    return {};
  }
  const OperationTimeline& timeline = *result.operation_timeline;
  const auto at = static_cast<std::size_t>(device);
  Sums sums;
  add_tasks(sums, timeline, uses_of(result, timeline)[at]);
  using Group = std::tuple<std::string, OperationKind, OperationStream, StepCategory>;
  std::map<Group, OperationNode> merged;
  std::vector<OperationNode> all = nodes_of(timeline, sums);
  for (OperationNode& wait : waits_of(timeline, at)) {
    all.push_back(std::move(wait));
  }
  for (const OperationNode& node : all) {
    const Group group(node.name, node.kind, node.stream, node.category);
    const auto [into, fresh] = merged.try_emplace(group, node);
    if (!fresh) {
      OperationNode& sum = into->second;
      sum.time += node.time;
      sum.hidden += node.hidden;
      sum.flop += node.flop;
      sum.bytes += node.bytes;
      sum.runs += node.runs;
    }
  }
  std::vector<OperationNode> totals;
  for (auto& [group, node] : merged) {
    totals.push_back(std::move(node));
  }
  std::ranges::stable_sort(totals, more_time);
  return totals;
}

}  // namespace orrery::step
