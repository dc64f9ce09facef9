#include "calibrate/plan/step_cases.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <variant>

#include "sim/step/cost/gemm.hpp"
#include "sim/step/cost/measured_kernels.hpp"
#include "sim/step/simulate/operations/step_operations.hpp"

namespace orrery::calibrate {

namespace {

using kernels::KernelCase;

// Nothing when the kernels do not take these extents.
std::optional<KernelCase> sound(const KernelCase& call) {
  return kernels::problem_of(call) ? std::nullopt : std::optional(call);
}

struct ToCase {
  std::optional<KernelCase> operator()(const model::GemmOp& op) const {
    const bool batched = op.batch != 1 && !op.grouped;
    return batched || cost::is_attention_product(op) ? std::nullopt : sound(cost::call_of(op));
  }

  std::optional<KernelCase> operator()(const model::AttentionOp& op) const {
    const bool partial = op.window > 0 || op.key_blocks != 1;
    return partial ? std::nullopt : sound(cost::call_of(op));
  }

  // Scans of recurrent layers have no kernel here; memory and collectives are measured apart.
  template <typename Other>
  std::optional<KernelCase> operator()(const Other&) const {
    return std::nullopt;
  }
};

}  // namespace

std::vector<StepCase> step_cases(const step::StepInput& input, const cost::CostModel& costs) {
  std::map<KernelCase, double> calls;
  double all = 0.0;
  for (std::size_t device = 0; device < input.layout.stages.size(); ++device) {
    for (const step::CountedPass& counted :
         step::device_passes(input, costs, static_cast<std::int64_t>(device))) {
      for (const model::PassOp& entry : counted.pass) {
        const std::optional<KernelCase> kernel = std::visit(ToCase{}, entry.op);
        if (kernel) {
          calls[*kernel] += counted.count;
          all += counted.count * in_flop(kernels::work_of(*kernel).flop);
        }
      }
    }
  }
  std::vector<StepCase> cases;
  for (const auto& [kernel, count] : calls) {
    const double work = count * in_flop(kernels::work_of(kernel).flop);
    cases.push_back({kernel, count, all > 0.0 ? work / all : 0.0});
  }
  std::stable_sort(cases.begin(), cases.end(),
                   [](const StepCase& a, const StepCase& b) { return a.share > b.share; });
  return cases;
}

}  // namespace orrery::calibrate
