#include "sim/answer/plan/search/first_answer.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "sim/base/random.hpp"

namespace orrery::plan {

namespace {

// What makes one layout better than another.
struct Merit {
  bool fits = false;
  double score = std::numeric_limits<double>::infinity();  // of those that fit
  Bytes headroom = {};                                     // of others

  friend bool operator<(const Merit& worse, const Merit& better) {
    if (worse.fits != better.fits) {
      return better.fits;
    }
    return better.fits ? better.score < worse.score : worse.headroom < better.headroom;
  }
};

// Dispatchers that skip copies are one axis value here: a stack has one of them.
bool is_as_published(Candidate candidate, const Candidate& known) {
  constexpr auto kCollective = hardware::ExpertDispatcher::alltoall;
  if (candidate.dispatcher != kCollective && known.dispatcher != kCollective) {
    candidate.dispatcher = known.dispatcher;
  }
  return candidate == known;
}

class Climber {
 public:
  Climber(const Space& space, const Scoring& scoring, SharedWork& work)
      : space_(space), scoring_(scoring), work_(work) {}

  std::vector<Ranked> run() {
    estimate(promising(sample(), kFromSample));
    for (const Ranked& start : starts()) {
      climb(start);
    }
    return std::move(known_);
  }

 private:
  static constexpr std::uint32_t kSample = 256;
  static constexpr std::size_t kFromSample = 32;
  static constexpr std::size_t kFromNeighbours = 16;
  static constexpr int kMostMoves = 16;

  // From all over the space, as sweeps choose points at random.
  [[nodiscard]] std::vector<Candidate> sample() const {
    std::vector<Candidate> sample;
    for (std::uint32_t i = 0; i < kSample; ++i) {
      RandomStream stream(0, i, Purpose::sweep_point);
      const auto one = some_layout(space_, scoring_.bench, [&stream](std::size_t values) {
        return static_cast<std::size_t>(stream.uniform01() * static_cast<double>(values));
      });
      if (one && std::find(sample.begin(), sample.end(), *one) == sample.end()) {
        sample.push_back(*one);
      }
    }
    return sample;
  }

  // Of those the `most` that may be the best by their bounds, in the same order.
  std::vector<Candidate> promising(const std::vector<Candidate>& layouts, std::size_t most) {
    const auto bounds = work_.share<Bound>(layouts.size(), {},
                                           [&](Estimator& estimator, std::size_t i, Bound* bound) {
                                             *bound = estimator.bound(layouts[i]);
                                           });
    std::vector<std::pair<Merit, std::size_t>> merits;
    for (std::size_t i = 0; i < layouts.size(); ++i) {
      const Bound& bound = bounds.results[i];
      const bool fits = bound.verdict == Verdict::fits || bound.undecided;
      if (fits || bound.verdict == Verdict::over_memory) {
        Ranked least{layouts[i], {}};
        least.estimate.step_time = bound.least;
        merits.emplace_back(Merit{fits, scoring_.score(least), bound.headroom}, i);
      }
    }
    std::stable_sort(merits.begin(), merits.end(),
                     [](const auto& a, const auto& b) { return b.first < a.first; });
    merits.resize(std::min(merits.size(), most));
    std::sort(merits.begin(), merits.end(),
              [](const auto& a, const auto& b) { return a.second < b.second; });
    std::vector<Candidate> chosen;
    for (const auto& [merit, index] : merits) {
      chosen.push_back(layouts[index]);
    }
    return chosen;
  }

  void estimate(std::vector<Candidate> layouts) {
    std::erase_if(layouts, [this](const Candidate& one) { return find(one) != nullptr; });
    std::vector<std::size_t> all(layouts.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    for (Estimated& one : estimate_layouts(std::move(all), layouts, scoring_, work_)) {
      known_.push_back(std::move(one.ranked));
    }
  }

  [[nodiscard]] const Ranked* find(const Candidate& layout) const {
    const auto known = std::find_if(known_.begin(), known_.end(), [&layout](const Ranked& one) {
      return one.candidate == layout;
    });
    return known != known_.end() ? &*known : nullptr;
  }

  [[nodiscard]] static Merit merit(const Ranked& ranked) {
    return {ranked.estimate.verdict == Verdict::fits, ranked.score, ranked.estimate.headroom};
  }

  // Of the known ones, among those that `counts`.
  template <typename Counts>
  [[nodiscard]] std::optional<Ranked> best(Counts counts) const {
    std::optional<Ranked> best;
    for (const Ranked& ranked : known_) {
      if (counts(ranked.candidate) && (!best || merit(*best) < merit(ranked))) {
        best = ranked;
      }
    }
    return best;
  }

  // The published layout and the stated one, the best of the sample and the best of another shape.
  std::vector<Ranked> starts() {
    std::vector<Ranked> starts;
    const auto add = [&starts](const Ranked* start) {
      if (start != nullptr && std::none_of(starts.begin(), starts.end(), [&](const Ranked& known) {
            return known.candidate == start->candidate;
          })) {
        starts.push_back(*start);
      }
    };
    const auto first = best([](const Candidate&) { return true; });
    const Workbench& bench = scoring_.bench;
    for (const auto& stated : {published_candidate(bench), candidate_of(bench.base, bench)}) {
      const auto near = stated ? layouts_near(*stated, space_, bench) : std::vector<Candidate>();
      const auto at = std::find_if(near.begin(), near.end(), [&stated](const Candidate& one) {
        return is_as_published(one, *stated);
      });
      if (at != near.end()) {
        estimate({*at});
        add(find(*at));
      }
    }
    if (first) {
      add(&*first);
      const auto other = best([&shape = first->candidate](const Candidate& one) {
        return one.tensor != shape.tensor && one.pipeline != shape.pipeline;
      });
      add(other ? &*other : nullptr);
    }
    return starts;
  }

  void climb(Ranked from) {
    for (int move = 0; move < kMostMoves; ++move) {
      std::vector<Candidate> near = layouts_near(from.candidate, space_, scoring_.bench);
      std::erase(near, from.candidate);
      near = promising(near, kFromNeighbours);
      estimate(near);
      Ranked better = from;
      for (const Candidate& one : near) {
        const Ranked* known = find(one);
        better = known != nullptr && merit(better) < merit(*known) ? *known : better;
      }
      if (better.candidate == from.candidate) {
        return;
      }
      from = better;
    }
  }

  const Space& space_;
  const Scoring& scoring_;
  SharedWork& work_;
  std::vector<Ranked> known_;
};

}  // namespace

std::vector<Estimated> estimate_layouts(std::vector<std::size_t> indices,
                                        const std::vector<Candidate>& candidates,
                                        const Scoring& scoring, SharedWork& work) {
  // What shares a step graph stands together.
  const auto graph_of = [&candidates](std::size_t index) {
    const Candidate& one = candidates[index];
    return std::tuple(one.schedule, one.pipeline, one.virtual_stages,
                      one.global_batch / (one.data * one.micro), one.sharding, index);
  };
  std::sort(indices.begin(), indices.end(),
            [&graph_of](std::size_t a, std::size_t b) { return graph_of(a) < graph_of(b); });
  const auto found = work.share<EstimateFigures>(
      indices.size(), {}, [&](Estimator& estimator, std::size_t i, EstimateFigures* result) {
        *result = estimator.estimate(candidates[indices[i]]);
      });
  std::vector<Estimated> done;
  for (std::size_t i = 0; i < found.items(); ++i) {
    if (found.done[i] != 0) {
      Ranked ranked{candidates[indices[i]], {}};
      static_cast<EstimateFigures&>(ranked.estimate) = found.results[i];
      ranked.score = scoring.score(ranked);
      done.push_back({indices[i], std::move(ranked)});
    }
  }
  return done;
}

std::vector<Ranked> first_answer(const Space& space, const Scoring& scoring, SharedWork& work) {
  work.heed_stops(false);
  std::vector<Ranked> found = Climber(space, scoring, work).run();
  work.heed_stops(true);
  return found;
}

}  // namespace orrery::plan
