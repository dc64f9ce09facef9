#pragma once

// A GPU of formulas that also runs steps: as long as the sum of their kernels, times a factor.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/validate/validation_record.hpp"
#include "tests/unit/calibrate/formula_bench.hpp"

namespace orrery::calibrate::test {

class FormulaStepBench : public StepBench {
 public:
  explicit FormulaStepBench(FormulaBench::Times times)
      : times_(times), kernels_(std::move(times)) {}

  [[nodiscard]] Bench& kernels() override { return kernels_; }

  [[nodiscard]] StepTiming time_step(const StepProgram& program,
                                     const StepTimingRules& rules) override {
    last_rules = rules;
    if (on_step) {
      on_step();
    }
    double sum = 0.0;
    for (const StepOperation& operation : program.operations) {
      if (kernels_.unsupported.contains(operation.kernel.precision)) {
        throw kernels::Unsupported("no algorithm", "15 NOT_SUPPORTED");
      }
      sum += times_(operation.kernel);
    }
    const double us = sum * composition;
    StepTiming timing;
    timing.step = {.count = 7, .median = us, .p10 = 0.99 * us, .p90 = 1.01 * us, .least = us};
    timing.launched = Summary{.count = 5, .median = 1.1 * us};
    timing.state.sm_clock = 1755.0;
    timing.nodes = static_cast<std::int64_t>(program.operations.size());
    return timing;
  }

  [[nodiscard]] StepCheck check_step(const StepProgram& program) override {
    checked.push_back(to_text(program.shape));
    return {.passed = worst < 0.1,
            .loss = 6.25,
            .reference_loss = 6.5,
            .worst = worst,
            .where = "0.qkv.weight"};
  }

  FormulaBench& single() { return kernels_; }

  double composition = 1.0;
  double worst = 0.01;
  std::vector<std::string> checked;
  StepTimingRules last_rules;
  std::function<void()> on_step;  // before a step is timed; may throw

 private:
  FormulaBench::Times times_;
  FormulaBench kernels_;
};

}  // namespace orrery::calibrate::test
