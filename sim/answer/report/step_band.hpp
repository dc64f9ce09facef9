#pragma once

// The uncertainty of the step time: the band that eight of ten measured steps like this one lie in,
// and the measured steps that are nearest.
//
// symbol  | meaning                                                             | unit | origin
// --------|---------------------------------------------------------------------|------|----------
// level   | share of measured steps that the band is meant to hold              | 1    | 0.8
// error   | mean |ln(predicted / measured)| of steps like this one, see         | 1    | measured
//         | evaluate/step_evidence.hpp                                          |      | steps
// low     | predicted x exp(-1.6 error): ln 5 = 1.61 of a Laplace distribution  | s    | computed
// high    | predicted x exp(+1.6 error)                                         | s    | computed

#include <string>
#include <string_view>
#include <vector>

namespace orrery::report {

// What of a step no measured one had, the first that applies.
enum class Novelty { stack, gpu, model, none };

[[nodiscard]] constexpr std::string_view to_string(Novelty novelty) {
  switch (novelty) {
    case Novelty::stack:
      return "stack";
    case Novelty::gpu:
      return "gpu";
    case Novelty::model:
      return "model";
    case Novelty::none:
      break;
  }
  return "none";
}

struct NearStep {
  std::string id;
  double error = 0.0;  // predicted / measured - 1
};

// A coefficient whose measurement would tell most (evaluate/step_doubts.hpp).
struct StepDoubt {
  std::string_view coefficient;
  std::string_view measured_by;  // a command
  double error = 0.0;            // of the coefficient, relative
  double effect = 0.0;           // of that error on the step time, relative
};

struct StepBand {
  static constexpr double kLevel = 0.8;

  Novelty novelty = Novelty::none;
  double error = 0.0;
  double low = 0.0;   // s
  double high = 0.0;  // s
  std::vector<NearStep> nearest = {};
  std::vector<StepDoubt> doubts = {};  // the largest effect first
};

}  // namespace orrery::report
