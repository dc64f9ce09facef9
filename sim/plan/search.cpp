#include "sim/plan/search.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <tuple>
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

// Estimators are dear to make and belong to one thread at a time.
class Crew {
 public:
  Crew(const Workbench& bench, Bytes headroom) : bench_(bench), headroom_(headroom) {}

  std::unique_ptr<Estimator> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) {
      return std::make_unique<Estimator>(bench_, headroom_);
    }
    auto estimator = std::move(idle_.back());
    idle_.pop_back();
    return estimator;
  }

  void give(std::unique_ptr<Estimator> estimator) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(estimator));
  }

 private:
  const Workbench& bench_;
  Bytes headroom_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Estimator>> idle_;
};

class Searcher {
 public:
  Searcher(const Workbench& bench,
           const Space& space,
           const PlanSpec& spec,
           const SearchOptions& options)
      : bench_(bench),
        options_(options),
        scoring_{bench, spec, options},
        crew_(bench, spec.constraints.memory_headroom),
        candidates_(layouts(space, bench)) {
    result_.counts.grid = space.grid();
    result_.counts.layouts = static_cast<std::int64_t>(candidates_.size());
  }

  SearchResult run() {
    if (!options_.prune) {
      std::vector<std::size_t> all(candidates_.size());
      std::iota(all.begin(), all.end(), std::size_t{0});
      take(estimate(all, true));
    } else if (bound_all()) {
      for (const auto& [key, members] : groups()) {
        search_group(members);
      }
      const auto winner = std::min_element(
          fitting_.begin(), fitting_.end(), [](const Estimated& a, const Estimated& b) {
            return before(a.ranked, b.ranked);
          });
      // Where nothing fits, what is least short of memory is all there is to say.
      find_misses(std::move(large_),
                  winner != fitting_.end() ? winner->ranked.score
                                           : std::numeric_limits<double>::infinity());
    }
    finish();
    return std::move(result_);
  }

 private:
  using Indices = std::vector<std::size_t>;

  struct Estimated {
    std::size_t index;
    Ranked ranked;
  };

  // In the order of the indices; after a stop request without those that were not begun.
  std::vector<Estimated> estimate(const Indices& indices, bool report) {
    std::vector<std::optional<Estimated>> found(indices.size());
    for_each(indices.size(), report, [&](Estimator& estimator, std::size_t i) {
      Ranked ranked{candidates_[indices[i]], estimator.estimate(candidates_[indices[i]])};
      ranked.score = scoring_.score(ranked);
      found[i] = Estimated{indices[i], std::move(ranked)};
    });
    std::vector<Estimated> done;
    for (std::optional<Estimated>& one : found) {
      if (one) {
        done.push_back(*std::move(one));
      }
    }
    return done;
  }

  template <typename Visit>
  void for_each(std::size_t count, bool report, const Visit& visit) {
    constexpr std::int64_t kGrain = 16;
    constexpr std::int64_t kLongGrain = 256;
    std::mutex mutex;
    std::int64_t done = 0;
    const auto all = static_cast<std::int64_t>(count);
    const bool complete = parallel_for(
        all,
        {.threads = options_.threads, .grain = report ? kLongGrain : kGrain, .stop = options_.stop},
        [&](std::int64_t begin, std::int64_t end) {
          auto estimator = crew_.take();
          for (std::int64_t i = begin; i < end; ++i) {
            visit(*estimator, static_cast<std::size_t>(i));
          }
          crew_.give(std::move(estimator));
          const std::lock_guard lock(mutex);
          done += end - begin;
          if (report && options_.progress) {
            options_.progress(done, all);
          }
        });
    result_.complete = result_.complete && complete;
  }

  // Memory and a least time of every layout. False after a stop request.
  bool bound_all() {
    bounds_.resize(candidates_.size());
    for_each(candidates_.size(), true, [&](Estimator& estimator, std::size_t i) {
      bounds_[i] = estimator.bound(candidates_[i]);
    });
    return result_.complete;
  }

  // Layouts that compete in step time alone: same GPUs, same batch.
  std::map<std::tuple<int, int, int>, Indices> groups() const {
    std::map<std::tuple<int, int, int>, Indices> groups;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const Candidate& candidate = candidates_[i];
      groups[{candidate.gpu, candidate.nodes, candidate.global_batch}].push_back(i);
    }
    return groups;
  }

  // Those with the least bound first, until no bound is below the last of the best.
  void search_group(const Indices& members) {
    Indices open;
    for (const std::size_t i : members) {
      const Bound& bound = bounds_[i];
      if (bound.verdict == Verdict::fits || bound.undecided) {
        open.push_back(i);
      } else if (bound.verdict == Verdict::over_memory) {
        large_.push_back(i);
        ++result_.counts.over_memory;
      } else if (bound.verdict == Verdict::over_host_memory) {
        ++result_.counts.over_host_memory;
      } else {
        ++result_.counts.breaks_rule;
      }
    }
    std::stable_sort(open.begin(), open.end(), [this](std::size_t a, std::size_t b) {
      return bounds_[a].least < bounds_[b].least;
    });
    std::vector<SimTime> times;  // of those that fit, ascending, at most `keep`
    constexpr std::size_t kBlock = 128;
    std::size_t next = 0;
    while (next < open.size() && !options_.stop.stop_requested() && may_win(open[next], times)) {
      Indices block;
      while (block.size() < kBlock && next < open.size() && may_win(open[next], times)) {
        block.push_back(open[next++]);
      }
      std::sort(block.begin(), block.end());  // what shares a step graph stands together
      std::vector<Estimated> done = estimate(block, false);
      for (const Estimated& one : done) {
        if (one.ranked.estimate.verdict == Verdict::fits) {
          times.push_back(one.ranked.estimate.step_time);
        }
      }
      std::sort(times.begin(), times.end());
      times.resize(std::min(times.size(), static_cast<std::size_t>(options_.keep)));
      take(std::move(done));
    }
    result_.counts.bounded += static_cast<std::int64_t>(open.size() - next);
  }

  [[nodiscard]] bool may_win(std::size_t index, const std::vector<SimTime>& times) const {
    return static_cast<std::int64_t>(times.size()) < options_.keep ||
           bounds_[index].least <= times.back();
  }

  // The score of a layout that took no more than its bound.
  [[nodiscard]] double least_score(std::size_t index) const {
    Ranked least{candidates_[index], {}};
    least.estimate.step_time = bounds_[index].least;
    return scoring_.score(least);
  }

  // Of the layouts that may be better than the winner those that are least short of memory.
  void find_misses(Indices large, double winner) {
    std::erase_if(large, [&](std::size_t i) { return least_score(i) >= winner; });
    std::stable_sort(large.begin(), large.end(), [this](std::size_t a, std::size_t b) {
      return bounds_[b].headroom < bounds_[a].headroom;
    });
    std::int64_t found = 0;
    constexpr std::size_t kBlock = 32;
    for (std::size_t next = 0; next < large.size() && found < options_.misses; next += kBlock) {
      const std::size_t end = std::min(next + kBlock, large.size());
      const Indices block(large.begin() + static_cast<std::ptrdiff_t>(next),
                          large.begin() + static_cast<std::ptrdiff_t>(end));
      for (Estimated& one : estimate(block, false)) {
        if (one.ranked.estimate.verdict == Verdict::over_memory && one.ranked.score < winner) {
          ++found;
          misses_.push_back(std::move(one));
        }
      }
    }
  }

  void take(std::vector<Estimated> done) {
    for (Estimated& one : done) {
      ++result_.counts.estimated;
      switch (one.ranked.estimate.verdict) {
        case Verdict::fits:
          ++result_.counts.fits;
          fitting_.push_back(one);
          break;
        case Verdict::over_memory:
          ++result_.counts.over_memory;
          misses_.push_back(one);
          break;
        case Verdict::over_host_memory:
          ++result_.counts.over_host_memory;
          break;
        case Verdict::breaks_rule:
          ++result_.counts.breaks_rule;
          break;
      }
      if (options_.keep_all) {
        all_.push_back(std::move(one));
      }
    }
  }

  static std::vector<Ranked> in_order(std::vector<Estimated> list) {
    std::sort(list.begin(), list.end(), [](const Estimated& a, const Estimated& b) {
      return a.index < b.index;
    });
    std::vector<Ranked> ranked;
    for (Estimated& one : list) {
      ranked.push_back(std::move(one.ranked));
    }
    return ranked;
  }

  void finish() {
    result_.best = in_order(std::move(fitting_));
    result_.front = pareto_front(result_.best, scoring_);
    keep_best(result_.best, options_.keep);
    result_.misses = in_order(std::move(misses_));
    result_.all = in_order(std::move(all_));
    if (!result_.best.empty()) {
      const double winner = result_.best.front().score;
      std::erase_if(result_.misses, [winner](const Ranked& miss) { return miss.score >= winner; });
    }
    std::stable_sort(
        result_.misses.begin(), result_.misses.end(), [](const auto& a, const auto& b) {
          return b.estimate.headroom < a.estimate.headroom;
        });
    if (static_cast<std::int64_t>(result_.misses.size()) > options_.misses) {
      result_.misses.resize(static_cast<std::size_t>(options_.misses));
    }
  }

  const Workbench& bench_;
  const SearchOptions& options_;
  Scoring scoring_;
  Crew crew_;
  std::vector<Candidate> candidates_;
  std::vector<Bound> bounds_;
  Indices large_;  // over memory by their bounds
  std::vector<Estimated> fitting_;
  std::vector<Estimated> misses_;
  std::vector<Estimated> all_;
  SearchResult result_;
};

}  // namespace

SearchResult search(const Workbench& bench,
                    const Space& space,
                    const PlanSpec& spec,
                    const SearchOptions& options) {
  return Searcher(bench, space, spec, options).run();
}

}  // namespace orrery::plan
