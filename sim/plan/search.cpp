#include "sim/plan/search.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "sim/base/parallel.hpp"

namespace orrery::plan {

namespace {

struct Scoring {
  const Workbench& bench;
  const PlanSpec& spec;
  const SearchOptions& options;

  [[nodiscard]] double seconds_per_sequence(const Ranked& ranked) const {
    return in_seconds(to_seconds(ranked.estimate.step_time)) /
           static_cast<double>(ranked.candidate.global_batch);
  }

  // Of the whole job, in dollars or, without prices, GPU-hours.
  [[nodiscard]] double rate(const Candidate& candidate) const {
    const double price =
        options.gpu_hour.empty() ? 1.0 : options.gpu_hour[std::size_t{candidate.gpu}];
    return price * static_cast<double>(gpus_of(candidate, bench));
  }

  [[nodiscard]] double score(const Ranked& ranked) const {
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
};

bool before(const Ranked& a, const Ranked& b) {
  return a.score < b.score;
}

// Best first; equal ones as they stood.
void keep_best(std::vector<Ranked>& list, std::int64_t keep) {
  std::stable_sort(list.begin(), list.end(), before);
  if (static_cast<std::int64_t>(list.size()) > keep) {
    list.resize(static_cast<std::size_t>(keep));
  }
}

// No other is both faster and cheaper.
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

void count(SearchCounts& counts, const Estimate& estimate) {
  ++counts.estimated;
  switch (estimate.verdict) {
    case Verdict::fits:
      ++counts.fits;
      break;
    case Verdict::over_memory:
      ++counts.over_memory;
      break;
    case Verdict::over_host_memory:
      ++counts.over_host_memory;
      break;
    case Verdict::breaks_rule:
      ++counts.breaks_rule;
      break;
  }
}

}  // namespace

SearchResult search(const Workbench& bench,
                    const Space& space,
                    const PlanSpec& spec,
                    const SearchOptions& options) {
  const Scoring scoring{bench, spec, options};
  const std::vector<Candidate> candidates = layouts(space, bench);
  std::vector<Ranked> ranked(candidates.size());
  std::vector<char> seen(candidates.size(), 0);
  std::mutex mutex;
  std::int64_t done = 0;
  constexpr std::int64_t kGrain = 64;
  SearchResult result;
  result.complete = parallel_for(
      static_cast<std::int64_t>(candidates.size()),
      {.threads = options.threads, .grain = kGrain, .stop = options.stop},
      [&](std::int64_t begin, std::int64_t end) {
        Estimator estimator(bench, spec.constraints.memory_headroom);
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
          ranked[i] = {candidates[i], estimator.estimate(candidates[i])};
          ranked[i].score = scoring.score(ranked[i]);
          seen[i] = 1;
        }
        const std::lock_guard lock(mutex);
        done += end - begin;
        if (options.progress) {
          options.progress(done, static_cast<std::int64_t>(candidates.size()));
        }
      });
  result.counts.grid = space.grid();
  result.counts.layouts = static_cast<std::int64_t>(candidates.size());
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    if (seen[i] == 0) {
      continue;
    }
    count(result.counts, ranked[i].estimate);
    if (ranked[i].estimate.verdict == Verdict::fits) {
      result.best.push_back(ranked[i]);
    } else if (ranked[i].estimate.verdict == Verdict::over_memory) {
      result.misses.push_back(ranked[i]);
    }
    if (options.keep_all) {
      result.all.push_back(ranked[i]);
    }
  }
  result.front = pareto_front(result.best, scoring);
  keep_best(result.best, options.keep);
  if (!result.best.empty()) {
    const double winner = result.best.front().score;
    std::erase_if(result.misses, [winner](const Ranked& miss) { return miss.score >= winner; });
  }
  std::stable_sort(result.misses.begin(), result.misses.end(), [](const auto& a, const auto& b) {
    return b.estimate.headroom < a.estimate.headroom;
  });
  if (static_cast<std::int64_t>(result.misses.size()) > options.misses) {
    result.misses.resize(static_cast<std::size_t>(options.misses));
  }
  return result;
}

}  // namespace orrery::plan
