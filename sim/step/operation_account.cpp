// The account of operations for `explain`: what one GPU of the busiest device computes per step.

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>

#include "sim/step/layer_costs.hpp"
#include "sim/step/stage_costs.hpp"
#include "sim/step/step_operations.hpp"

namespace orrery::step {

namespace {

std::string_view role_name(model::GemmRole role) {
  switch (role) {
    case model::GemmRole::fprop:
      return "fprop";
    case model::GemmRole::dgrad:
      return "dgrad";
    case model::GemmRole::wgrad:
      return "wgrad";
  }
  return {};
}

std::string describe(const model::PassOp& entry) {
  std::string name;
  if (const auto* gemm = std::get_if<model::GemmOp>(&entry.op)) {
    name = fmt::format("{} {} gemm", gemm->name, role_name(gemm->role));
  } else if (const auto* attention = std::get_if<model::AttentionOp>(&entry.op)) {
    name = attention->backward ? "attention backward" : "attention forward";
  } else if (const auto* memory = std::get_if<model::MemoryOp>(&entry.op)) {
    name = std::string(memory->name);
  } else {
    name = fmt::format("{} collective", std::get<model::CollectiveOp>(entry.op).name);
  }
  return entry.recomputed ? name + " (recomputed)" : name;
}

class Account {
 public:
  explicit Account(const Costing& costing) : costing_(costing) {}

  void add(const model::Pass& pass, double count) {
    for (std::size_t i = 0; i < pass.size(); ++i) {
      const model::PassOp& entry = pass[i];
      OperationShare& line = lines_[describe(entry)];
      Seconds time = costing_.costs.operation(entry.op, costing_.places).time;
      if (std::holds_alternative<model::CollectiveOp>(entry.op)) {
        time = time * exposed_share(costing_, pass, i, time);
      }
      line.time += time * count;
      line.flop += in_flop(model::flop_count(entry.op)) * count;
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
        sorted.begin(), sorted.end(), [](const OperationShare& a, const OperationShare& b) {
          return a.time > b.time;
        });
    return sorted;
  }

 private:
  const Costing& costing_;
  std::map<std::string, OperationShare> lines_;
};

}  // namespace

std::vector<OperationShare> operation_account(const StepInput& input,
                                              const cost::CostModel& costs,
                                              std::int64_t device) {
  const Costing costing = make_costing(input, costs);
  Account account(costing);
  for (const CountedPass& counted : device_passes(input, costs, device)) {
    account.add(counted.pass, counted.count);
  }
  return account.lines();
}

}  // namespace orrery::step
