#pragma once

// The roofline of the step's operations: whether memory or arithmetic of the GPU limits each of
// them, and how close it comes.
//
//   intensity = FLOP / bytes;   achieved = FLOP / (time + hidden)
//   roof(x)   = min(x * memory bandwidth, dense peak of the data type);  ridge = peak / bandwidth
//
// symbol    | meaning                                                   | unit      | origin
// ----------|-----------------------------------------------------------|-----------|--------------
// FLOP      | of the operation in one step, as the kernel computes it   | FLOP      | operations
// bytes     | that must cross the memory interface once                 | byte      | operations
// time      | of the operation in one step, its exposed part            | s         | operations
// peak      | datasheet, without sparsity                               | FLOP/s    | GPU profile
// bandwidth | datasheet, of the memory                                  | byte/s    | GPU profile
//
// Operations without FLOP (by convention those that only move bytes) have no intensity and are no
// points. Mean of all stages. Needs StepResult::operation_timeline; no points without it.

#include <string>
#include <vector>

#include "sim/answer/report/evaluation.hpp"
#include "sim/step/simulate/operations/operation_tree.hpp"

namespace orrery::report {

struct RooflinePoint {
  std::string name;
  step::OperationKind kind = step::OperationKind::gemm;
  double intensity = 0.0;  // FLOP per byte
  FlopPerSecond achieved;
  SimTime time;
  double share = 0.0;       // of the step time
  FlopPerSecond roof = {};  // at this intensity, below the lowest peak that is not below `achieved`
  std::string limit = {};   // "memory", or the name of that roof
};

struct RooflineRoof {
  std::string name;    // "bf16 peak 989 TFLOP/s"
  double ridge = 0.0;  // FLOP per byte, above which arithmetic limits
  FlopPerSecond peak;
  std::vector<double> intensity;  // corners of the line over all points
  std::vector<FlopPerSecond> rate;
};

struct Roofline {
  std::vector<RooflinePoint> points;  // most time first
  std::vector<RooflineRoof> roofs;
};

[[nodiscard]] Roofline roofline(const Evaluation& evaluation);

// The operations that take 1 % of the step and more, with what limits them.
[[nodiscard]] std::string roofline_text(const Evaluation& evaluation);

}  // namespace orrery::report
