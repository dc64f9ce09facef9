#include "sim/step/simulate/shared_links/network_work.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "sim/step/schedule/step_graph.hpp"
#include "sim/step/simulate/stages/data_parallel_costs.hpp"
#include "sim/step/simulate/stages/layer_costs.hpp"

namespace orrery::step {

namespace {

using layout::GroupKind;
using schedule::OpKind;
using schedule::StepTask;
using schedule::TaskKind;

GroupKind group_of(model::CommAxis axis) {
  switch (axis) {
    case model::CommAxis::tensor:
      return GroupKind::tensor;
    case model::CommAxis::context:
      return GroupKind::context;
    case model::CommAxis::expert:
      return GroupKind::expert;
    case model::CommAxis::expert_tensor:
      return GroupKind::expert_tensor;
    case model::CommAxis::data:
      return GroupKind::data_context;
    case model::CommAxis::pipeline:
      break;
  }
  return GroupKind::pipeline;
}

// The collectives of one kind on one group in a pass.
struct PassWires {
  cost::NetworkPattern pattern = cost::NetworkPattern::ring;
  GroupKind group = GroupKind::tensor;
  StepCategory category = StepCategory::exposed_tensor;
  double count = 0.0;
  double bytes = 0.0;  // of all of them
  Seconds alone;
};

struct PassNetwork {
  std::vector<PassWires> wires;
  std::array<Seconds, kStepCategories> collectives{};  // their whole times, NICs or not

  void add(const PassWires& more) {
    const auto known = std::ranges::find_if(wires, [&more](const PassWires& wire) {
      return wire.pattern == more.pattern && wire.group == more.group;
    });
    if (known == wires.end()) {
      wires.push_back(more);
      return;
    }
    known->count += more.count;
    known->bytes += more.bytes;
    known->alone += more.alone;
  }

  void add(const PassNetwork& more) {
    for (const PassWires& wire : more.wires) {
      add(wire);
    }
    for (std::size_t c = 0; c < kStepCategories; ++c) {
      collectives[c] += more.collectives[c];
    }
  }
};

struct PassNetworks {
  PassNetwork forward;
  PassNetwork backward_input;  // with what is recomputed
  PassNetwork backward_weight;

  void add_to(PassNetwork& sum, TaskKind kind) const {
    if (kind == TaskKind::forward) {
      sum.add(forward);
      return;
    }
    if (kind != TaskKind::backward_weight) {
      sum.add(backward_input);
    }
    if (kind != TaskKind::backward_input) {
      sum.add(backward_weight);
    }
  }
};

// The traffic of passes and buckets on one type of GPU.
class NetworkMaker {
 public:
  NetworkMaker(const StepInput& input, const cost::CostModel& costs)
      : costing_(make_costing(input, costs)) {}

  const PassNetworks& layer(std::int64_t layer, model::Recompute policy) {
    auto& known = layers_[layer_sort(costing_.input.model, layer, policy)];
    if (!known) {
      const auto all = model::layer_passes(costing_.layer.model, costing_.layer.in.options, layer);
      known = networks_of(all, repeated_pass(costing_.layer, all.forward, layer, policy));
    }
    return *known;
  }

  const PassNetworks& embedding() {
    if (!embedding_) {
      embedding_ =
          networks_of(model::embedding_passes(costing_.layer.model, costing_.layer.in.options), {});
    }
    return *embedding_;
  }

  const PassNetworks& head() {
    if (!head_) {
      const model::ModelSpec& model = costing_.input.model;
      head_ = networks_of(model::head_passes(model, costing_.layer.in.options),
                          model::head_recompute_pass(model, costing_.layer.in.options,
                                                     costing_.input.spec.recompute.of_head()));
    }
    return *head_;
  }

  [[nodiscard]] const Costing& costing() const { return costing_; }

 private:
  PassNetwork network_of(const model::Pass& pass) {
    PassNetwork network;
    for (const model::PassOp& entry : pass) {
      if (const auto* op = std::get_if<model::CollectiveOp>(&entry.op)) {
        const StepCategory category = exposed_category(op->axis);
        network.collectives[static_cast<std::size_t>(category)] +=
            memo_.get(costing_.layer, *op).time;
        if (const auto use = costing_.costs.network_use(*op, costing_.places)) {
          network.add(
              {use->pattern, group_of(op->axis), category, 1.0, in_bytes(use->bytes), use->alone});
        }
      }
    }
    return network;
  }

  PassNetworks networks_of(const model::LayerPasses& passes, const model::Pass& again) {
    PassNetworks networks{network_of(passes.forward), network_of(again), {}};
    networks.backward_input.add(network_of(passes.backward_input));
    networks.backward_weight = network_of(passes.backward_weight);
    return networks;
  }

  Costing costing_;
  CollectiveMemo memo_;
  std::array<std::optional<PassNetworks>, kLayerSorts> layers_;
  std::optional<PassNetworks> embedding_;
  std::optional<PassNetworks> head_;
};

GroupKind replica_kind(ReplicaGroup group, bool expert) {
  switch (group) {
    case ReplicaGroup::shard:
      return expert ? GroupKind::expert_shard : GroupKind::shard;
    case ReplicaGroup::replica:
      return expert ? GroupKind::expert_replica : GroupKind::replica;
    case ReplicaGroup::whole:
      break;
  }
  return expert ? GroupKind::expert_data : GroupKind::data_context;
}

class WorkFinder {
 public:
  explicit WorkFinder(const NetworkWorkInput& of) : of_(of) {
    makers_.reserve(of.input.mixed.size() + 1);
    makers_.emplace_back(of.input, of.costs);
    for (const GpuBlock& block : of.input.mixed) {
      makers_.emplace_back(of.input, *block.costs);
    }
  }

  NetworkWork find() {
    for (std::size_t c = 0; c < of_.graph.classes.size(); ++c) {
      work_.of_class.push_back(of_task(of_.graph.classes[c].task, *of_.times.parts()[c]));
    }
    for (std::size_t m = 0; m < of_.times.delays().size(); ++m) {
      work_.of_message.push_back(m < of_.graph.messages.size()
                                     ? of_message(of_.graph.messages[m], of_.times.delays()[m])
                                     : TaskNetwork{{}, of_.times.delays()[m]});
    }
    return std::move(work_);
  }

 private:
  [[nodiscard]] NetworkMaker& maker_of(std::size_t device) {
    return makers_[of_.stages.types.empty() ? 0 : of_.stages.types[device]];
  }

  std::uint32_t path(const NetworkPath& wanted) {
    const auto known = std::ranges::find(work_.paths, wanted);
    if (known == work_.paths.end()) {
      work_.paths.push_back(wanted);
      return static_cast<std::uint32_t>(work_.paths.size() - 1);
    }
    return static_cast<std::uint32_t>(known - work_.paths.begin());
  }

  TaskNetwork of_task(const StepTask& task, const TaskParts& parts);
  TaskNetwork of_message(const schedule::Message& message, SimTime total);
  TaskNetwork of_replicas(const StepTask& task, const TaskParts& parts);
  TaskNetwork of_pass(const StepTask& task, const TaskParts& parts);
  void add_pass(PassNetwork& sum, std::int16_t device, std::int16_t chunk, TaskKind kind,
                int bucket);

  NetworkWorkInput of_;
  NetworkWork work_;
  std::vector<NetworkMaker> makers_;  // by type of GPU
};

TaskNetwork WorkFinder::of_task(const StepTask& task, const TaskParts& parts) {
  switch (task.kind) {
    case TaskKind::join:
    case TaskKind::optimizer:
      return {{}, parts.total};
    case TaskKind::send_receive:
      return of_message(of_.graph.messages[static_cast<std::size_t>(task.message)], parts.total);
    case TaskKind::gradient_reduce:
    case TaskKind::parameter_gather:
    case TaskKind::parameter_gather_again:
      return of_replicas(task, parts);
    default:
      return of_pass(task, parts);
  }
}

TaskNetwork WorkFinder::of_message(const schedule::Message& message, SimTime total) {
  const layout::Layout& layout = of_.input.layout;
  const auto devices = static_cast<int>(layout.pipeline);
  // A hop takes as long backwards: that of the device before.
  const int hop = message.to == (message.from + 1) % devices ? message.from : message.to;
  const layout::HopPlacement place =
      layout::place_hop(layout::RankMap(layout), layout, hop, of_.input.cluster);
  const auto use = maker_of(static_cast<std::size_t>(message.from))
                       .costing()
                       .costs.network_use(message_bytes(of_.input, message.gradient), place);
  if (!use) {
    return {{}, total};
  }
  const Wire wire{path({.pattern = use->pattern, .device = message.from, .to = message.to}),
                  in_bytes(use->bytes), use->alone};
  return place_wires(total, {&wire, 1}, 0.0);
}

// In the order in which they run, each behind its own latencies.
TaskNetwork WorkFinder::of_replicas(const StepTask& task, const TaskParts& parts) {
  const auto device = static_cast<std::size_t>(task.device);
  const auto chunk = static_cast<std::size_t>(task.chunk);
  const ChunkCosts& costs = of_.stages.devices[device].chunks[chunk];
  const Costing& costing = maker_of(device).costing();
  std::vector<Wire> wires;
  Seconds fixed;
  const auto add = [&](const model::ShardParameters& held, bool expert) {
    for (const ReplicaOperation& one : replica_operations(costing, task.kind, held, expert)) {
      const auto& message = one.message;
      const auto use = message
                           ? costing.costs.network_use(message->kind, message->in, message->total,
                                                       message->dtype, message->group)
                           : std::nullopt;
      fixed += use ? one.cost.time - use->alone : one.cost.time;
      if (use) {
        wires.push_back({path({.pattern = use->pattern,
                               .device = task.device,
                               .group = replica_kind(message->of, expert),
                               .ranks = message->group.ranks,
                               .data = true}),
                         in_bytes(use->bytes), use->alone, 1.0, in_seconds(fixed)});
        fixed = {};
      }
    }
  };
  for (std::size_t b = 0; b < costs.buckets.size(); ++b) {
    if (task.bucket == schedule::kWholeChunk || static_cast<std::size_t>(task.bucket) == b) {
      const model::ShardParameters& held = of_.stages.bucket(costs, b).held;
      add(held, false);
      add(held, true);
    }
  }
  return place_wires(parts.total, wires, in_seconds(fixed));
}

void WorkFinder::add_pass(PassNetwork& sum, std::int16_t device, std::int16_t chunk, TaskKind kind,
                          int bucket) {
  const auto d = static_cast<std::size_t>(device);
  const auto c = static_cast<std::size_t>(chunk);
  const layout::ChunkLayers& held = of_.input.layout.stages[d][c];
  const int buckets = of_.buckets[d][c];
  NetworkMaker& maker = maker_of(d);
  for (int b = 0; b < buckets; ++b) {
    if (bucket != schedule::kWholeChunk && bucket != b) {
      continue;
    }
    const BucketSpan span = bucket_span(of_.input, d, c, buckets, b);
    if (span.embedding) {
      maker.embedding().add_to(sum, kind);
    }
    // What a layer sends is not divided: it belongs to the bucket in which the layer begins.
    for (auto i = static_cast<std::int64_t>(std::ceil(span.begin)); i < span.last(); ++i) {
      maker.layer(held.first_layer + i, recompute_policy(of_.input.spec.recompute, i))
          .add_to(sum, kind);
    }
    if (span.head) {
      maker.head().add_to(sum, kind);
    }
  }
}

TaskNetwork WorkFinder::of_pass(const StepTask& task, const TaskParts& parts) {
  PassNetwork sum;
  if (task.kind == TaskKind::overlapped) {
    add_pass(sum, task.device, task.chunk, TaskKind::forward, schedule::kWholeChunk);
    add_pass(sum, task.device, task.backward_chunk, schedule::task_kind(task.backward_kind),
             schedule::kWholeChunk);
  } else {
    add_pass(sum, task.device, task.chunk, task.kind, task.bucket);
  }
  std::vector<std::pair<double, Wire>> placed;  // by where in the pass
  for (const PassWires& wires : sum.wires) {
    const auto category = static_cast<std::size_t>(wires.category);
    const Seconds all = sum.collectives[category];
    const double exposed = all > Seconds{} ? to_seconds(parts.parts[category]) / all : 1.0;
    const auto count = static_cast<std::size_t>(std::llround(wires.count));
    const Wire wire{path({.pattern = wires.pattern, .device = task.device, .group = wires.group}),
                    wires.bytes / wires.count, wires.alone / wires.count,
                    std::clamp(exposed, 0.0, 1.0)};
    for (std::size_t i = 0; i < count; ++i) {
      placed.emplace_back((static_cast<double>(i) + 0.5) / wires.count, wire);
    }
  }
  std::ranges::stable_sort(placed, [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Wire> wires;
  for (const auto& [place, wire] : placed) {
    wires.push_back(wire);
  }
  return place_wires(parts.total, wires, 1.0);
}

}  // namespace

NetworkWork find_network_work(const NetworkWorkInput& of) { return WorkFinder(of).find(); }

TaskNetwork place_wires(SimTime total, std::span<const Wire> wires, double behind) {
  TaskNetwork task;
  Seconds busy;
  double claims = behind;
  for (const Wire& wire : wires) {
    busy += wire.alone;
    claims += wire.before;
  }
  const double fits = busy > to_seconds(total) ? to_seconds(total) / busy : 1.0;
  SimTime fixed = total;  // that no flow runs beside
  for (const Wire& wire : wires) {
    NetworkPiece piece;
    piece.alone = to_sim_time(wire.alone * fits);
    piece.alone.ns = std::min(piece.alone.ns, fixed.ns);
    piece.lead = to_sim_time(to_seconds(piece.alone) * (1.0 - wire.exposed));
    piece.bytes = wire.bytes;
    piece.path = wire.path;
    fixed -= piece.alone;
    task.pieces.push_back(piece);
  }
  double claimed = 0.0;
  SimTime given;
  for (std::size_t i = 0; i < wires.size(); ++i) {
    claimed += wires[i].before;
    const SimTime until =
        claims > 0.0 ? to_sim_time(to_seconds(fixed) * (claimed / claims)) : SimTime{};
    task.pieces[i].before = until - given + task.pieces[i].lead;
    given = until;
  }
  task.behind = fixed - given;
  return task;
}

}  // namespace orrery::step
