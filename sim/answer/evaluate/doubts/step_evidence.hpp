#pragma once

// The error band of a predicted step time, from the errors of measured steps that resemble it in
// stack, GPU and model.
//
//   e(i) = ln(predicted i / measured i)          a(S) = sum over S of the mean |e| of a group
//
//   b0 = 0.10                                    nothing alike was measured
//   b1 = (3 b0 + a(A)) / (3 + n(A))              A: the stack on other GPUs of the architecture
//   b2 = (4 b1 + a(G)) / (4 + n(G))              G: the stack on this GPU, other models
//   b3 = (b2 + sum of |e| of R) / (1 + n(R))     R: the stack, this GPU, this model
//
//   b4 = sqrt(b3^2 + r^2 + o^2)                  r: 0.03 dense, 0.06 mixtures; o: open switches
//
// where all steps of A, G and R are of mixtures of experts if this one is, else of dense models; a
// group is one model on one GPU, so that a model measured fifty times weighs as one measured once.
// Each level is pulled to the wider one: few measured steps say little. b0, the weights 3, 4, 1 and
// the factor 1.6 of the band were chosen by the interval score on 821 measured steps, of which a
// third or a whole source was left out at a time; b0 again, by whole sources, on 862
// (docs/generalisation.md). r is what equal recipes
// move by where nothing else is new: over one to three releases of Megatron-Bridge's performance
// pages dense models by 1.9 to 4.2 % in the median, 2 % times the root of the releases apart, of
// which a scenario leaves two or so open; mixtures by 1.5 to 5.7 % with a tail of 25 %; between
// sites by 8 to 9 %. o is the mean distance of the answers between which a scenario leaves the
// choice. No band ends below the time that the FLOP of the step take at the rate of large
// products.
//
// The steps are a table `evidence/steps.csv` of the profiles, made by `orrery validate --evidence`:
// every run reads it, and as YAML that took a sixth of the time of a run.

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "sim/answer/evaluate/inputs/resolve.hpp"
#include "sim/answer/report/evaluation.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/step/hardware/profile_reader.hpp"

namespace orrery::evaluate {

// What a step is alike in, or not.
struct StepKind {
  std::string software;  // profile
  std::string gpu;       // profile
  std::string arch;      // of the GPU
  std::string model;     // layers x width, experts
  bool experts = false;  // a mixture of experts
  std::int64_t gpus = 1;
};

struct MeasuredStep {
  std::string id;
  StepKind kind;
  double error = 0.0;  // ln(predicted / measured)
};

[[nodiscard]] StepKind kind_of(const scenario::Scenario& scenario, const Resolved& resolved);

// The table of the first profile directory that has one; empty without one or after an error.
[[nodiscard]] std::vector<MeasuredStep> load_evidence(const hardware::ProfileSearch& search,
                                                      Diagnostics& diagnostics);

[[nodiscard]] std::string to_csv(const std::vector<MeasuredStep>& steps);

// A prediction and what bounds it.
struct PredictedStep {
  StepKind kind;
  double time = 0.0;     // s
  double fastest = 0.0;  // s; its FLOP at the rate of large products; 0: not known
  double open = 0.0;     // mean |ln| of the answers of switches that nobody states
};

[[nodiscard]] PredictedStep predicted_step(const scenario::Scenario& scenario,
                                           const Resolved& resolved, const step::StepResult& step);

// The mean distance, as |ln|, of two answers of which the other holds for one run in seven.
[[nodiscard]] double open_choice(Seconds one, Seconds other);

// Measured steps with the id `own` are left out: no step vouches for itself.
[[nodiscard]] report::StepBand step_band(const std::vector<MeasuredStep>& evidence,
                                         const PredictedStep& step, std::string_view own = {});

// Sensitivity of the step time to the coefficients of the stack: those most worth measuring.
//
//   effect = |T(knob up by its error) - T(knob down)| / 2 T
//
// symbol | meaning                                        | unit | origin
// -------|------------------------------------------------|------|---------------------------
// T      | step time with the knob moved, or as it is     | s    | step/
// error  | of the knob, relative                          | 1    | hardware/stack_knobs.hpp
//
// The two with the largest effect, the larger first; none below a thousandth of the step.

// Throws Error(interrupted).
[[nodiscard]] std::vector<report::StepDoubt> step_doubts(const scenario::Scenario& scenario,
                                                         const Resolved& resolved,
                                                         int threads,  // 0: all cores
                                                         const std::stop_token& stop);

}  // namespace orrery::evaluate
