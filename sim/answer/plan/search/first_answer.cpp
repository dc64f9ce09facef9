#include "sim/answer/plan/search/first_answer.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace orrery::plan {

namespace {

using Indices = std::vector<std::size_t>;

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
  Climber(const std::vector<Candidate>& candidates, const Scoring& scoring, SharedWork& work)
      : candidates_(candidates), scoring_(scoring), work_(work) {}

  std::vector<Estimated> run() {
    estimate(promising(sample(), kFromSample));
    for (const std::size_t start : starts()) {
      climb(start);
    }
    std::vector<Estimated> all;
    for (auto& [index, ranked] : known_) {
      all.push_back({index, std::move(ranked)});
    }
    return all;
  }

 private:
  static constexpr std::size_t kSample = 1024;
  static constexpr std::size_t kFromSample = 64;
  static constexpr std::size_t kFromNeighbours = 16;
  static constexpr int kMostMoves = 16;

  [[nodiscard]] Indices sample() const {
    Indices indices;
    const std::size_t all = candidates_.size();
    for (std::size_t i = 0; i < std::min(kSample, all); ++i) {
      indices.push_back(i * all / std::min(kSample, all));
    }
    return indices;
  }

  // Of those the `most` that may be the best by their bounds, in the order of the space.
  Indices promising(const Indices& indices, std::size_t most) {
    const auto bounds = work_.share<Bound>(indices.size(), {},
                                           [&](Estimator& estimator, std::size_t i, Bound* bound) {
                                             *bound = estimator.bound(candidates_[indices[i]]);
                                           });
    std::vector<std::pair<Merit, std::size_t>> merits;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const Bound& bound = bounds.results[i];
      const bool fits = bound.verdict == Verdict::fits || bound.undecided;
      if (fits || bound.verdict == Verdict::over_memory) {
        Ranked least{candidates_[indices[i]], {}};
        least.estimate.step_time = bound.least;
        merits.emplace_back(Merit{fits, scoring_.score(least), bound.headroom}, indices[i]);
      }
    }
    std::stable_sort(merits.begin(), merits.end(),
                     [](const auto& a, const auto& b) { return b.first < a.first; });
    merits.resize(std::min(merits.size(), most));
    Indices chosen;
    for (const auto& [merit, index] : merits) {
      chosen.push_back(index);
    }
    std::sort(chosen.begin(), chosen.end());
    return chosen;
  }

  void estimate(Indices indices) {
    std::erase_if(indices, [this](std::size_t index) { return known_.contains(index); });
    for (Estimated& one : estimate_layouts(indices, candidates_, scoring_, work_)) {
      known_.emplace(one.index, std::move(one.ranked));
    }
  }

  [[nodiscard]] Merit merit(std::size_t index) const {
    const auto known = known_.find(index);
    if (known == known_.end()) {
      return {};
    }
    const Ranked& ranked = known->second;
    return {ranked.estimate.verdict == Verdict::fits, ranked.score, ranked.estimate.headroom};
  }

  // Of the sample, among those that `counts`.
  template <typename Counts>
  [[nodiscard]] std::optional<std::size_t> best(Counts counts) const {
    std::optional<std::size_t> best;
    for (const auto& [index, ranked] : known_) {
      if (counts(ranked.candidate) && (!best || merit(*best) < merit(index))) {
        best = index;
      }
    }
    return best;
  }

  Indices starts() {
    Indices starts;
    const auto add = [&starts](const std::optional<std::size_t>& index) {
      if (index && std::find(starts.begin(), starts.end(), *index) == starts.end()) {
        starts.push_back(*index);
      }
    };
    const auto first = best([](const Candidate&) { return true; });
    const Workbench& bench = scoring_.bench;
    for (const auto& known : {published_candidate(bench), candidate_of(bench.base, bench)}) {
      const auto at = std::find_if(candidates_.begin(), candidates_.end(),
                                   [&known](const Candidate& candidate) {
                                     return known && is_as_published(candidate, *known);
                                   });
      if (at != candidates_.end()) {
        add(static_cast<std::size_t>(at - candidates_.begin()));
        estimate(starts);
      }
    }
    if (first) {
      const Candidate& shape = candidates_[*first];
      add(first);
      add(best([&shape](const Candidate& other) {
        return other.tensor != shape.tensor && other.pipeline != shape.pipeline;
      }));
    }
    return starts;
  }

  void climb(std::size_t from) {
    for (int move = 0; move < kMostMoves; ++move) {
      Indices near;
      for (std::size_t i = 0; i < candidates_.size(); ++i) {
        if (!only_difference(candidates_[from], candidates_[i]).empty()) {
          near.push_back(i);
        }
      }
      near = promising(near, kFromNeighbours);
      estimate(near);
      std::size_t better = from;
      for (const std::size_t index : near) {
        better = merit(better) < merit(index) ? index : better;
      }
      if (better == from) {
        return;
      }
      from = better;
    }
  }

  const std::vector<Candidate>& candidates_;
  const Scoring& scoring_;
  SharedWork& work_;
  std::map<std::size_t, Ranked> known_;
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

std::vector<Estimated> first_answer(const std::vector<Candidate>& candidates,
                                    const Scoring& scoring, SharedWork& work) {
  work.heed_stops(false);
  std::vector<Estimated> found = Climber(candidates, scoring, work).run();
  work.heed_stops(true);
  return found;
}

}  // namespace orrery::plan
