#pragma once

// The metrics of a prediction in Prometheus' text format: a dashboard draws plan beside run.
//
//   orrery_NAME{scenario="..."} value
//   orrery_NAME{scenario="...",quantile="0.1"} value     over trials, where the metric varies
//   orrery_NAME{scenario="...",band="low"} value         of the band of the prediction
//
// Names are the registry's with the unit in the name. A node exporter's textfile collector reads
// the file, or a push gateway takes it.

#include <string>

#include "sim/answer/report/evaluation.hpp"

namespace orrery::report {

[[nodiscard]] std::string metrics_prometheus(const Evaluation& evaluation);

}  // namespace orrery::report
