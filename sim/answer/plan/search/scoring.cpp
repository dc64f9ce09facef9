#include "sim/answer/plan/search/scoring.hpp"

#include <algorithm>
#include <utility>

namespace orrery::plan {

double Scoring::seconds_per_sequence(const Ranked& ranked) const {
  return in_seconds(to_seconds(ranked.estimate.step_time)) /
         static_cast<double>(ranked.candidate.global_batch);
}

double Scoring::rate(const Candidate& candidate) const {
  const double price =
      options.gpu_hour.empty() ? 1.0 : options.gpu_hour[std::size_t{candidate.gpu}];
  return price * static_cast<double>(gpus_of(candidate, bench));
}

double Scoring::score(const Ranked& ranked) const {
  const double time = seconds_per_sequence(ranked);
  const auto gpus = static_cast<double>(gpus_of(ranked.candidate, bench));
  switch (spec.objective) {
    case Objective::cost:
    case Objective::cost_per_token:
      return time * rate(ranked.candidate);
    case Objective::energy:
      return time * gpus * bench.machines[ranked.candidate.gpu].gpu.power_watts.value();
    case Objective::fewest_gpus: {
      const double limit = spec.deadline ? in_seconds(*spec.deadline) : 0.0;
      const double whole = options.sequences.value_or(0.0) * time;
      // Late layouts behind all others; of equal size the faster one first.
      const bool late = spec.deadline && whole > limit;
      return (late ? kTera : 0.0) + gpus + time / (1.0 + time);
    }
    case Objective::step_time:
    case Objective::finish_time:
      break;
  }
  return time;
}

void keep_best(std::vector<Ranked>& list, std::int64_t keep) {
  std::stable_sort(list.begin(), list.end(), before);
  if (static_cast<std::int64_t>(list.size()) > keep) {
    list.resize(static_cast<std::size_t>(keep));
  }
}

std::vector<Ranked> pareto_front(const std::vector<Ranked>& fitting, const Scoring& scoring) {
  struct Point {
    double time;
    double cost;
    std::size_t index;
  };

  std::vector<Point> points;
  for (std::size_t i = 0; i < fitting.size(); ++i) {
    const double time = scoring.seconds_per_sequence(fitting[i]);
    points.push_back({time, time * scoring.rate(fitting[i].candidate), i});
  }
  std::stable_sort(points.begin(), points.end(), [](const Point& a, const Point& b) {
    return std::pair(a.time, a.cost) < std::pair(b.time, b.cost);
  });
  std::vector<Ranked> front;
  double cheapest = 0.0;
  for (const Point& point : points) {
    if (front.empty() || point.cost < cheapest) {
      cheapest = point.cost;
      front.push_back(fitting[point.index]);
    }
  }
  return front;
}

}  // namespace orrery::plan
