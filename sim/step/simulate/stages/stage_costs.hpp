#pragma once

// Time of each kind of task of the step graph, and its composition:
//
//   forward(chunk)  = [embedding] + sum of layers + [head]
//   backward(chunk) = recomputation + input gradients + weight gradients
//   layer pass      = sum of its operations, or the host time to launch them (layer_costs.hpp)
//
// symbol | meaning                                                           | unit | origin
// -------|-------------------------------------------------------------------|------|---------
// Parts  | time of a task by category of the step ledger                     | s    | cost/
// bucket | layers or parts of them with their own data-parallel communication| -    | bucket size
// host   | host_layer_time, x 1.4 for a backward, x 1 for a recomputation,   | s    | software
//        | and host_launch_time for every launch                             |      |
// jitter | jitter_per_doubling * log2(GPUs / 8): share of the busy time in   | 1    | software
//        | which all ranks but the slowest wait; booked as idle              |      |
//
// Layers of one kind cost the same, so at most two kinds are costed (dense, mixture of experts).
// Source of the host floor: vTrain single-node rows (measured-runs data): a layer pass never takes
// less than a time that depends only on what is launched, not on how much work it is.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "sim/step/cost/cost_model.hpp"
#include "sim/step/model/parameters.hpp"
#include "sim/step/schedule/layer_overlap.hpp"
#include "sim/step/simulate/step_input.hpp"
#include "sim/step/simulate/step_result.hpp"

namespace orrery::step {

struct Parts {
  std::array<Seconds, kStepCategories> by_category{};
  std::array<Seconds, kSourceKindCount> by_source{};
  Seconds extrapolated;

  [[nodiscard]] Seconds total() const;
  void add(StepCategory category, const cost::Cost& cost, double share = 1.0);
  void add(const Parts& other, double count = 1.0);
};

// What stands at the ends of a model: embedding, head.
struct EdgeCosts {
  Parts forward;
  Parts backward_input;
  Parts backward_weight;
};

// How long the copies of a pass to and from the host keep link and drives busy.
struct PassCopies {
  Seconds out;
  Seconds in;
  Seconds from_drives;

  void add(const PassCopies& other);
};

struct BucketCopies {
  PassCopies forward;
  PassCopies backward_input;
  PassCopies backward_weight;
};

// Costs of one bucket (group of layers) of a chunk.
struct BucketCosts {
  Parts forward;
  Parts backward;        // full: recomputation, input and weight gradients
  Parts backward_input;  // with recomputation, for schedules that split the backward
  Parts backward_weight;
  Parts gradient_reduce;  // all in exposed_data; how much is exposed the graph decides
  Parts parameter_gather;
  Parts parameter_gather_again;      // for a backward: of the reshard group, if there is one
  EdgeCosts edges;                   // part of the passes above; filled for combined steps only
  BucketCopies copies;               // exposed ones are part of the passes above
  double parameters = 0.0;           // of the rank's shard of the model, before ZeRO
  model::ShardParameters held = {};  // the same by kind
};

struct ChunkCosts {
  std::vector<std::uint32_t> buckets;     // in forward order: indices into StageCosts::buckets
  std::vector<std::uint8_t> layers = {};  // their sorts, in forward order
};

// Layers of one kind (ModelSpec::kind_index) and recomputation are of one sort: [kind][policy].
inline constexpr std::size_t kLayerSorts = model::kLayerKinds * model::kRecomputePolicies;

using LayerNodeParts = std::array<Parts, schedule::kLayerNodes>;  // by LayerNode

// Host time to launch the passes of a layer; the input's with recomputation.
struct HostTimes {
  Seconds forward;
  Seconds backward_input;
  Seconds backward_weight;
};

// What steps that combine a forward with a backward are made of (combined_step.hpp).
struct CombinedLayers {
  bool active = false;
  std::array<std::shared_ptr<const LayerNodeParts>, kLayerSorts> nodes{};  // by sort
  double slowdown = 0.0;
  double jitter = 0.0;                        // share of the busy time
  double exposed_share = 0.0;                 // of the all-to-all, at least
  double host_sharpness = 1.0;                // p of host_launches.hpp
  std::array<HostTimes, kLayerSorts> host{};  // by sort
  SourceKind source = SourceKind::assumed;
  bool copies_overlap = true;                    // those to the host, with the step
  SourceKind copies_source = SourceKind::given;  // of the rate of the link

  [[nodiscard]] const LayerNodeParts& nodes_of(std::uint8_t sort) const;
};

struct DeviceCosts {
  std::vector<ChunkCosts> chunks;
  Parts optimizer;
};

// Time of the compute of a pipeline device / nominal: of the slowest GPU that it waits for, and the
// mean of all its GPUs.
struct DeviceSpeed {
  double slowest = 1.0;
  double mean = 1.0;

  friend bool operator==(const DeviceSpeed&, const DeviceSpeed&) = default;
};

class CostMemo;
struct KnownPasses;

struct StageCosts {
  std::vector<BucketCosts> buckets;  // those that differ: few, since layers of one kind are alike
  std::vector<DeviceCosts> devices;
  std::vector<Parts> send_forward;   // by device: message to the next device
  std::vector<Parts> send_backward;  // by device: message to the previous device
  CombinedLayers combined;
  std::vector<DeviceSpeed> speeds;  // by device; empty: all GPUs are alike
  // By device, of the GPUs that it waits for: 0 is the type of the first nodes. Empty: one type.
  std::vector<std::size_t> types;
  KnownPasses* known = nullptr;  // of the memo that was given: holds until its next use

  [[nodiscard]] const BucketCosts& bucket(const ChunkCosts& chunk, std::size_t index) const {
    return buckets[chunk.buckets[index]];
  }
};

// Share of the busy time in which all ranks wait for the slowest, as the stack was fitted.
[[nodiscard]] double jitter_share(const StepInput& input, const cost::CostModel& costs);

// The number of communication buckets of every chunk: as choices.bucket_cuts says; else one per
// layer, or as many groups of layers as spec.bucket bytes demand.
[[nodiscard]] std::vector<std::vector<int>> buckets_per_chunk(const StepInput& input);

// What bucket b of a chunk holds: its layers from `begin` to before `end`, parts of them where
// tensors are counted.
struct BucketSpan {
  double begin = 0.0;
  double end = 0.0;
  bool embedding = false;
  bool head = false;

  // Layers that it holds any part of: [first, last).
  [[nodiscard]] std::int64_t first() const { return static_cast<std::int64_t>(std::floor(begin)); }

  [[nodiscard]] std::int64_t last() const { return static_cast<std::int64_t>(std::ceil(end)); }

  // Of layer i.
  [[nodiscard]] double share(std::int64_t i) const {
    const auto layer = static_cast<double>(i);
    return std::min(end, layer + 1.0) - std::max(begin, layer);
  }
};

// Bucket b of `buckets` of a chunk.
[[nodiscard]] BucketSpan bucket_span(const StepInput& input, std::size_t device, std::size_t chunk,
                                     int buckets, int b);

// Of one message from a pipeline stage to the next.
[[nodiscard]] Bytes message_bytes(const StepInput& input, bool gradient);

// Whether it takes time to keep replicas and what waits on the host in step. `free`: passes and
// messages alone, which layouts share that differ in how their states are sharded or offloaded.
enum class Replicas : std::uint8_t { costed, free };

// `memo`: what was costed before, or nullptr (layer_costs.hpp).
[[nodiscard]] StageCosts stage_costs(const StepInput& input, const cost::CostModel& costs,
                                     const std::vector<std::vector<int>>& buckets,
                                     CostMemo* memo = nullptr,
                                     Replicas replicas = Replicas::costed);

// The operations of one step on one GPU of a pipeline device, merged by name, longest first.
[[nodiscard]] std::vector<OperationShare> operation_account(const StepInput& input,
                                                            const cost::CostModel& costs,
                                                            std::int64_t device);

// Whether any parameters stand on more than one rank of a pipeline device: routed experts may do so
// even when data x context is 1.
[[nodiscard]] bool has_replicas(const StepInput& input);

// How often a chunk runs per step: once per micro-batch; with two directions each takes half.
[[nodiscard]] double micro_batches_per_chunk(const StepInput& input);

// End, at most `end`, of the run of layers of a chunk from this index on that are of one sort.
[[nodiscard]] std::int64_t alike_until(const StepInput& input, const layout::ChunkLayers& part,
                                       std::int64_t index_in_chunk, std::int64_t end);

// Equal for layers that cost the same, below kLayerSorts.
[[nodiscard]] std::size_t layer_sort(const model::ModelSpec& model, std::int64_t layer,
                                     model::Recompute policy);

// What is recomputed in the layer at this place of its chunk.
[[nodiscard]] model::Recompute recompute_policy(const RecomputeSpec& spec,
                                                std::int64_t index_in_chunk);

// By ModelSpec::shape_index, as far as known.
using NarrowElements = std::array<std::optional<double>, model::kLayerKinds>;

// Of devices by the shapes of their layers, a bit for each.
using EmptyGradients = std::map<std::size_t, Bytes>;

// Elements of a device's weights that are multiplied in 8 or 4 bits; 0 in 16 bit. `of_layer`: known
// from steps of the same shape, or nullptr.
[[nodiscard]] double narrow_weight_elements(const StepInput& input, const cost::CostModel& costs,
                                            std::int64_t device,
                                            NarrowElements* of_layer = nullptr);

// The placements of all groups a layer's collectives use.
[[nodiscard]] cost::Placements placements(const StepInput& input);

// Options of the operation lists that follow from layout, precision and software.
[[nodiscard]] model::OpOptions op_options(const StepInput& input, const cost::CostModel& costs);

}  // namespace orrery::step
