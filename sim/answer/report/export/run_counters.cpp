#include "sim/answer/report/export/run_counters.hpp"

namespace orrery::report {

std::vector<ShareSample> productive_over_time(const Evaluation& evaluation) {
  const std::vector<run::RunInterval>& intervals = evaluation.timeline.intervals();
  std::vector<ShareSample> samples;
  if (intervals.empty()) {
    return samples;
  }
  const SimTime begin = intervals.front().begin;
  SimTime productive;
  for (const run::RunInterval& interval : intervals) {
    if (interval.end <= interval.begin) {
      continue;
    }
    if (interval.kind == run::RunActivity::training) {
      productive += interval.end - interval.begin;
    }
    samples.push_back({interval.end, to_seconds(productive) / to_seconds(interval.end - begin)});
  }
  return samples;
}

}  // namespace orrery::report
