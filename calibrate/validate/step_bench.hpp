#pragma once

// Interface of a validation to a GPU: whole steps beside the single kernels of a Bench. Tests
// substitute formulas for the GPU.
//
// time_step() and check_step() throw kernels::Unsupported where the library or the GPU does not
// offer a call of the program, orrery::Error when the device fails.

#include <cstdint>
#include <optional>
#include <string>

#include "calibrate/samples/sample.hpp"
#include "calibrate/samples/summary.hpp"
#include "calibrate/sweep/bench.hpp"
#include "calibrate/validate/step_program.hpp"

namespace orrery::calibrate {

struct StepTimingRules {
  Seconds warm_up = seconds(2.0);  // of steps that are not counted, on a GPU that is warm already
  Seconds loop = seconds(5.0);     // of steps that are
  int fewest = 5;
  int launched = 5;  // steps without a graph, each call launched by the host; 0: none
};

struct StepTiming {
  Summary step;                     // us, replays of the captured step
  std::optional<Summary> launched;  // us, without a graph
  DeviceState state;
  std::int64_t nodes = 0;  // of the graph
};

// The first step of a small shape, on the device and in double precision on the host.
struct StepCheck {
  bool passed = false;
  double loss = 0.0;
  double reference_loss = 0.0;
  double worst = 0.0;  // largest |g - reference| / |reference| of a parameter's gradient
  std::string where;   // that parameter
};

class StepBench {
 public:
  StepBench() = default;
  StepBench(const StepBench&) = delete;
  StepBench& operator=(const StepBench&) = delete;
  virtual ~StepBench() = default;

  // Of the same GPU, one kernel at a time.
  [[nodiscard]] virtual Bench& kernels() = 0;

  [[nodiscard]] virtual StepTiming time_step(const StepProgram& program,
                                             const StepTimingRules& rules) = 0;
  [[nodiscard]] virtual StepCheck check_step(const StepProgram& program) = 0;
};

}  // namespace orrery::calibrate
