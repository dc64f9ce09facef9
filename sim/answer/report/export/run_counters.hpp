#pragma once

// The productive share of the run so far, as a counter over time.
//
//   share(t) = training up to t that no later failure took / (t - begin of the run)
//
// symbol | meaning                                                          | unit | origin
// -------|------------------------------------------------------------------|------|--------------
// share  | of the wall time of one trial; at its end the goodput of a job   | 1    | run timeline
//        | whose size and speed never change                                |      |

#include <vector>

#include "sim/answer/report/evaluation.hpp"

namespace orrery::report {

struct ShareSample {
  SimTime from;
  double share = 0.0;
};

// One sample at the end of every interval, in order of time; empty without a timeline of the run.
[[nodiscard]] std::vector<ShareSample> productive_over_time(const Evaluation& evaluation);

}  // namespace orrery::report
