#include "sim/answer/report/text/stops.hpp"

namespace orrery::report {

std::vector<Stop> stops_of(const Evaluation& evaluation) {
  using run::RunActivity;
  std::vector<Stop> stops;
  SimTime lost;
  bool stopped = false;
  const auto begin = [&](const run::RunInterval& interval, std::string what) {
    stops.push_back({.begin = interval.begin, .what = std::move(what), .lost = lost});
    lost = {};
    stopped = true;
  };
  for (const run::RunInterval& interval : evaluation.timeline.intervals()) {
    const SimTime length = interval.end - interval.begin;
    const auto cause = static_cast<std::size_t>(interval.cause);
    const auto& causes = evaluation.plan->causes;
    switch (interval.kind) {
      case RunActivity::training:
      case RunActivity::checkpoint:
        stopped = false;
        lost = {};
        break;
      case RunActivity::lost_training:
      case RunActivity::discarded_training:
        lost += length;
        stopped = false;
        break;
      case RunActivity::failure:
        begin(interval,
              interval.cause >= 0 && cause < causes.size() ? causes[cause].name : "failure");
        break;
      default:
        if (!stopped) {
          begin(interval, std::string(run::to_string(interval.kind)));
        }
        stops.back().stopped += length;
        stops.back().parts.emplace_back(interval.kind, length);
    }
  }
  return stops;
}

std::optional<DollarsPerSecond> cost_per_second(const Evaluation& evaluation) {
  const MetricValue* cost = evaluation.metrics.find(MetricId::cost);
  const MetricValue* time = evaluation.metrics.find(MetricId::finish_time);
  return cost != nullptr && time != nullptr && time->value > 0.0
             ? std::optional(dollars(cost->value) / seconds(time->value))
             : std::nullopt;
}

}  // namespace orrery::report
