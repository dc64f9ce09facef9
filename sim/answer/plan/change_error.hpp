#pragma once

// The error of the predicted change from one answer to another.
//
//   one stack, GPU and model   error = that of the features in which the layouts differ
//                              (layout_errors.hpp); the largest of all where the batch, the
//                              precision, the sequences or no feature of a layout differ
//   else                       error = exp(hypot(b1, b2)) - 1,  b = ln(high / time) of each band
//
// symbol    | meaning                                                        | unit | origin
// ----------|----------------------------------------------------------------|------|--------------
// high      | end of the band that 8 of 10 steps lie in                      | s    | StepBand
// time      | predicted time of the step                                     | s    | step/
//
// Two layouts share most of their error. Two bands are as good as independent: of the 367,278 pairs
// of measured steps (evidence/steps.csv) that differ in stack, GPU or model, 86 to 89 % are within
// hypot(b1, b2), by which of them differ, and 89 % of the steps themselves within their band. A
// stated step has no error, and equal steps have none between them.

#include <optional>

#include "sim/answer/report/evaluation.hpp"
#include "sim/answer/report/files/figures.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/step/hardware/profile_reader.hpp"

namespace orrery::plan {

struct Predicted {
  const scenario::Scenario& scenario;
  const report::Evaluation& evaluation;
};

// Nothing where a step was predicted without its band, or the table of errors is not found.
[[nodiscard]] std::optional<report::ChangeError> change_error(const Predicted& from,
                                                              const Predicted& to,
                                                              const hardware::ProfileSearch& search,
                                                              Diagnostics& diagnostics);

}  // namespace orrery::plan
