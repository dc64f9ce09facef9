// The account of operations for `explain`: what one GPU of the busiest device computes per step.

#include <algorithm>
#include <map>
#include <string>

#include "sim/step/simulate/operations/operation_names.hpp"
#include "sim/step/simulate/operations/step_operations.hpp"
#include "sim/step/simulate/stages/layer_costs.hpp"
#include "sim/step/simulate/stages/stage_costs.hpp"

namespace orrery::step {

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
    std::stable_sort(
        sorted.begin(), sorted.end(),
        [](const OperationShare& a, const OperationShare& b) { return a.time > b.time; });
    return sorted;
  }

 private:
  const LayerCosting& costing_;
  CollectiveMemo memo_;
  std::map<std::string, OperationShare> lines_;
};

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

}  // namespace orrery::step
