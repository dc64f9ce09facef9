#pragma once

// Sequences of operations: the passes of a layer, of the embedding and of the head, the optimizer
// step and the communication of a bucket. Used inside step/ only.
//
//   booked(operation) = what it adds to the pass (layer_costs.hpp), without its launch gap
//   pass              = its operations, fitted to the cost of the pass by category:
//                       communication that hides elsewhere in the layer is booked the less, host
//                       time that the launches need is an entry of its own at the end
//
// symbol  | meaning                                                       | unit | origin
// --------|---------------------------------------------------------------|------|------------
// gap     | launch gap of a kernel, before it                             | s    | cost/
// nodes   | the layer cut at the experts' all-to-all, for combined steps  | -    | layer costs
//
// In a full backward the weight gradient of a linear layer follows its input gradient.

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/step/schedule/step_graph.hpp"
#include "sim/step/simulate/operations/operation_timeline.hpp"
#include "sim/step/simulate/stages/layer_costs.hpp"

namespace orrery::step {

// Operations and sequences of a timeline; equal operations are one.
class SequenceTable {
 public:
  explicit SequenceTable(OperationTimeline& timeline) : timeline_(timeline) {}

  std::uint32_t operation(const Operation& operation);
  std::uint32_t sequence(Sequence sequence);

  [[nodiscard]] const Operation& at(std::uint32_t operation) const {
    return timeline_.operations[operation];
  }

  // One entry that stands for time which no operation explains.
  std::uint32_t remainder(StepCategory category, Seconds time);

 private:
  OperationTimeline& timeline_;
  std::multimap<std::string, std::uint32_t> known_;  // by name
};

// By pass: indices into OperationTimeline::sequences.
struct PassSequences {
  std::uint32_t forward = 0;
  std::uint32_t backward = 0;
  std::uint32_t backward_input = 0;
  std::uint32_t backward_weight = 0;
  std::array<std::uint32_t, schedule::kLayerNodes> nodes{};  // combined steps only

  [[nodiscard]] std::uint32_t of(schedule::TaskKind kind) const;
};

// Of one type of GPU.
class SequenceMaker {
 public:
  // `input` and `costs` must outlive this.
  SequenceMaker(const StepInput& input, const cost::CostModel& costs, SequenceTable& table);

  const PassSequences& layer(std::int64_t layer, model::Recompute policy);
  const PassSequences& embedding();
  const PassSequences& head();

  // gradient_reduce, parameter_gather or parameter_gather_again of a bucket.
  std::uint32_t communication(schedule::TaskKind kind, const model::ShardParameters& held);

  // `backward`: of one micro-batch on the device.
  std::uint32_t optimizer(std::int64_t device, Seconds backward);

 private:
  // The entries of one operation, launch gap first.
  struct Step {
    Sequence entries;
    std::optional<model::Part> gemm;  // of a gradient of a linear layer
  };

  using Steps = std::vector<Step>;

  struct Sequences {
    Sequence forward;
    Sequence backward;
    Sequence backward_input;
    Sequence backward_weight;
  };

  [[nodiscard]] Sequences sequences_of(const model::LayerPasses& passes, const model::Pass& again);
  [[nodiscard]] Steps steps_of(const model::Pass& pass);
  [[nodiscard]] Step step_of(const model::Pass& pass, std::size_t at);
  void fit(Sequence& sequence, const Parts& target);
  std::uint32_t fitted(Sequence sequence, const Parts& target);
  PassSequences passes(const model::LayerPasses& passes, const model::Pass& again,
                       const LayerCosts& costs);
  void cut(PassSequences& sequences, const model::LayerPasses& passes, const model::Pass& again,
           const LayerNodeParts& nodes);
  void append(Sequence& sequence, const Parts& parts, const Operation& operation);

  Costing costing_;
  SequenceTable& table_;
  CollectiveMemo memo_;
  layout::RankMap map_;
  std::array<std::optional<PassSequences>, kLayerSorts> layers_;
  std::optional<PassSequences> embedding_;
  std::optional<PassSequences> head_;
  std::map<std::pair<schedule::TaskKind, std::pair<double, double>>, std::uint32_t> buckets_;
};

}  // namespace orrery::step
