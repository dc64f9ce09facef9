#pragma once

// The tables of explanations: plain text, 100 columns, every number with its unit.

#include <string>

#include "sim/answer/report/evaluation.hpp"
#include "sim/step/cost/cost_model.hpp"
#include "sim/step/simulate/step_simulator.hpp"

namespace orrery::evaluate {

[[nodiscard]] std::string step_ledger_table(const step::StepResult& step);
[[nodiscard]] std::string stage_table(const step::StepResult& step);
[[nodiscard]] std::string operation_table(const step::StepResult& step);
[[nodiscard]] std::string memory_table(const step::StepResult& step);
[[nodiscard]] std::string communication_table(const step::StepInput& input,
                                              const cost::CostModel& costs);
[[nodiscard]] std::string coefficient_table(const cost::CostModel& costs, model::Dtype compute);
// How the calibration profile predicts each kernel; empty without one.
[[nodiscard]] std::string measured_kernel_table(const step::StepInput& input,
                                                const cost::CostModel& costs);
[[nodiscard]] std::string run_ledger_table(const report::Evaluation& evaluation);
[[nodiscard]] std::string checkpoint_table(const run::RunPlan& plan);

}  // namespace orrery::evaluate
