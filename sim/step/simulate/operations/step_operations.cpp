#include "sim/step/simulate/operations/step_operations.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "sim/step/simulate/operations/operation_names.hpp"
#include "sim/step/simulate/stages/costing.hpp"
#include "sim/step/simulate/stages/layer_costs.hpp"
#include "sim/step/simulate/stages/stage_costs.hpp"

namespace orrery::step {

// The account of operations for `explain`: what one GPU of the busiest device computes per step.

namespace {

std::string describe(const model::PassOp& entry) {
  model::PassOp plain = entry;
  plain.recomputed = false;
  std::string name = operation_name(plain);
  if (std::holds_alternative<model::GemmOp>(entry.op)) {
    name += " gemm";
  } else if (std::holds_alternative<model::CollectiveOp>(entry.op)) {
    name += " collective";
  }
  return entry.recomputed ? name + " (recomputed)" : name;
}

class Account {
 public:
  explicit Account(const LayerCosting& costing) : costing_(costing) {}

  void add(const model::Pass& pass, double count) {
    for (std::size_t i = 0; i < pass.size(); ++i) {
      const model::PassOp& entry = pass[i];
      OperationShare& line = lines_[describe(entry)];
      line.kind = kind_of(entry.op);
      Parts parts;
      add_operation(parts, costing_, pass, i, memo_);
      line.time += (parts.total() - parts.by_category[category_index(StepCategory::idle)]) * count;
      // A document's attention is as much less as it is shorter (masked attention).
      const bool masked = std::holds_alternative<model::AttentionOp>(entry.op);
      line.flop += in_flop(model::flop_count(entry.op)) * count *
                   (masked ? costing_.in.masked.length_share : 1.0);
      line.count += count;
    }
  }

  [[nodiscard]] std::vector<OperationShare> lines() const {
    std::vector<OperationShare> sorted;
    for (const auto& [name, line] : lines_) {
      sorted.push_back(line);
      sorted.back().name = name;
    }
    std::ranges::stable_sort(sorted, std::ranges::greater{}, &OperationShare::time);
    return sorted;
  }

 private:
  const LayerCosting& costing_;
  CollectiveMemo memo_;
  std::map<std::string, OperationShare> lines_;
};

void append(model::LayerPasses passes, double count, std::vector<CountedPass>& all) {
  all.push_back({std::move(passes.forward), count});
  all.push_back({std::move(passes.backward_input), count});
  all.push_back({std::move(passes.backward_weight), count});
}

}  // namespace

std::vector<OperationShare> operation_account(const StepInput& input, const cost::CostModel& costs,
                                              std::int64_t device) {
  const Costing costing = make_costing(input, costs);
  Account account(costing.layer);
  for (const CountedPass& counted : device_passes(input, costs, device)) {
    account.add(counted.pass, counted.count);
  }
  return account.lines();
}

std::vector<CountedPass> device_passes(const StepInput& input, const cost::CostModel& costs,
                                       std::int64_t device) {
  const Costing costing = make_costing(input, costs);
  const model::OpOptions& options = costing.layer.in.options;
  const double times = micro_batches_per_chunk(input);
  std::vector<CountedPass> all;
  for (const layout::ChunkLayers& chunk : input.layout.stages[static_cast<std::size_t>(device)]) {
    for (std::int64_t i = 0; i < chunk.num_layers; ++i) {
      const std::int64_t layer = chunk.first_layer + i;
      append(model::layer_passes(input.model, options, layer), times, all);
      all.push_back({model::recompute_pass(input.model, options, layer,
                                           recompute_policy(input.spec.recompute, i)),
                     times});
    }
    if (chunk.has_embedding) {
      append(model::embedding_passes(input.model, options), times, all);
    }
    if (chunk.has_head) {
      append(model::head_passes(input.model, options), times, all);
      all.push_back(
          {model::head_recompute_pass(input.model, options, input.spec.recompute.of_head()),
           times});
    }
  }
  return all;
}

}  // namespace orrery::step
