#include "sim/answer/plan/search/search.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "sim/answer/plan/search/families.hpp"
#include "sim/answer/plan/search/first_answer.hpp"
#include "sim/answer/plan/search/scoring.hpp"
#include "sim/answer/plan/search/shared_work.hpp"

namespace orrery::plan {

namespace {

class Searcher {
 public:
  Searcher(const Workbench& bench, const Space& space, const PlanSpec& spec,
           const SearchOptions& options)
      : bench_(bench),
        options_(options),
        scoring_{bench, spec, options},
        space_(space),
        work_(bench, options, fmt::format("{} {} combinations", bench.base.sha256, space.grid())) {
    result_.counts.grid = space.grid();
  }

  SearchResult run() {
    if (!options_.prune) {
      list();
      estimate_all();
    } else if (search_families()) {
      const auto winner = std::min_element(
          fitting_.begin(), fitting_.end(),
          [](const Estimated& a, const Estimated& b) { return before(a.ranked, b.ranked); });
      // Where nothing fits, what is least short of memory is all there is to say.
      find_misses(winner != fitting_.end() ? winner->ranked.score
                                           : std::numeric_limits<double>::infinity());
    }
    finish();
    return std::move(result_);
  }

 private:
  using Indices = std::vector<std::size_t>;

  // All layouts. False after a stop request, which members of a team heed later: they all have to
  // know the same ones.
  bool list() {
    const bool alone = options_.team == nullptr || options_.team->members() == 1;
    const std::stop_token stop = alone ? options_.stop : std::stop_token();
    candidates_ = layouts(space_, bench_, stop);
    result_.counts.layouts = static_cast<std::int64_t>(candidates_.size());
    return !stop.stop_requested();
  }

  // False after a stop request.
  bool search_families() {
    std::vector<Ranked> first = first_answer(space_, scoring_, work_);
    std::ranges::for_each(first, [this](const Ranked& one) { tell(one); });
    result_.complete = list() && bound_clans();
    if (result_.complete) {
      for (auto& [key, members] : groups()) {
        search_group(members);
      }
      result_.complete = !work_.stopped();
    }
    if (!result_.complete) {
      add(std::move(first));
    }
    return result_.complete;
  }

  // What the search itself has not come to, behind what it has.
  void add(std::vector<Ranked> first) {
    std::vector<Estimated> more;
    for (Ranked& ranked : first) {
      const auto is_it = [&ranked](const Estimated& one) {
        return one.ranked.candidate == ranked.candidate;
      };
      if (std::none_of(fitting_.begin(), fitting_.end(), is_it) &&
          std::none_of(misses_.begin(), misses_.end(), is_it)) {
        more.push_back({candidates_.size() + more.size(), std::move(ranked)});
      }
    }
    const SearchCounts counts = result_.counts;
    take(std::move(more));
    // Of layouts that were bounded as well the search has counted the fates.
    const std::int64_t estimated = result_.counts.estimated;
    const std::int64_t fits = result_.counts.fits;
    result_.counts = counts;
    result_.counts.estimated = estimated;
    result_.counts.fits = fits;
  }

  std::vector<Estimated> estimate(const Indices& indices) {
    return estimate_layouts(indices, candidates_, scoring_, work_);
  }

  // Every layout in full.
  void estimate_all() {
    constexpr std::size_t kAtOnce = 8192;
    for (std::size_t first = 0; first < candidates_.size() && !work_.stopped(); first += kAtOnce) {
      const std::size_t last = std::min(first + kAtOnce, candidates_.size());
      Indices part(last - first);
      std::iota(part.begin(), part.end(), first);
      take(estimate(part));
      result_.counts.seen = result_.counts.estimated;
      report(static_cast<double>(last) / static_cast<double>(candidates_.size()));
    }
  }

  void tell(const Ranked& one) {
    if (options_.found && one.estimate.verdict == Verdict::fits && one.score < told_) {
      told_ = one.score;
      options_.found(one);
    }
  }

  void report(double share) const {
    if (options_.progress) {
      options_.progress(
          static_cast<std::int64_t>(share * static_cast<double>(result_.counts.layouts)),
          result_.counts.layouts);
    }
  }

  // A least time of every clan. False after a stop request.
  bool bound_clans() {
    const auto none = recomputes_nothing();
    clans_ = clans(candidates_, none);
    const std::vector<std::size_t> order = scattered(by_shape());
    const auto found = work_.share<SimTime>(
        clans_.size(), {},
        [&](Estimator& estimator, std::size_t i, SimTime* least) {
          *least = kForever;
          for (const Candidate& one : fastest_of(clans_[order[i]], candidates_, none)) {
            *least = std::min(*least, estimator.least_of_family(one));
          }
        },
        [this](double share) { report(share); });
    std::vector<Family> seen;
    for (std::size_t i = 0; i < clans_.size(); ++i) {
      Family& clan = clans_[order[i]];
      clan.least = found.results[i];
      if (found.done[i] != 0) {
        result_.counts.seen += clan.size();
        seen.push_back(clan);
      }
    }
    // In the order of the space, as they would stand without scattering.
    std::sort(seen.begin(), seen.end(),
              [](const Family& a, const Family& b) { return a.first < b.first; });
    clans_ = std::move(seen);
    return !work_.stopped();
  }

  [[nodiscard]] std::optional<std::uint8_t> recomputes_nothing() const {
    for (std::size_t i = 0; i < bench_.recomputes.size(); ++i) {
      if (bench_.recomputes[i].spec == step::RecomputeSpec{}) {
        return static_cast<std::uint8_t>(i);
      }
    }
    return std::nullopt;
  }

  // Clans of one shape of the passes side by side, whatever their pipeline: their costs are the
  // same, and an estimator keeps those of few shapes.
  [[nodiscard]] std::vector<std::size_t> by_shape() const {
    std::vector<std::size_t> order(clans_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto shape_of = [this](std::size_t clan) {
      const Candidate& one = candidates_[clans_[clan].first];
      return std::tuple(one.gpu, one.tensor, one.context, one.expert, one.expert_tensor,
                        one.dispatcher, one.sequence_parallel, one.micro, one.hides_exchange);
    };
    std::stable_sort(order.begin(), order.end(), [&shape_of](std::size_t a, std::size_t b) {
      return shape_of(a) < shape_of(b);
    });
    return order;
  }

  // Blocks of neighbours from all over the list: a search that is stopped has seen something of
  // every shape.
  static std::vector<std::size_t> scattered(const std::vector<std::size_t>& items) {
    constexpr std::size_t kBlock = 256;
    constexpr std::size_t kStride = 4099;  // a prime: every block once
    const std::size_t whole = items.size() / kBlock;
    std::vector<std::size_t> order = items;
    for (std::size_t block = 0; whole % kStride != 0 && block < whole; ++block) {
      const auto from = static_cast<std::ptrdiff_t>(block * kStride % whole * kBlock);
      std::copy_n(items.begin() + from, kBlock,
                  order.begin() + static_cast<std::ptrdiff_t>(block * kBlock));
    }
    return order;
  }

  // Clans that compete in step time alone: same GPUs, same batch.
  [[nodiscard]] std::map<std::tuple<int, int, int>, std::vector<Family>> groups() const {
    std::map<std::tuple<int, int, int>, std::vector<Family>> groups;
    for (const Family& clan : clans_) {
      const Candidate& candidate = candidates_[clan.first];
      groups[{candidate.gpu, candidate.nodes, candidate.global_batch}].push_back(clan);
    }
    return groups;
  }

  // What one group still has to decide: heaps whose first has the least time.
  struct Open {
    std::vector<Family> clans;
    std::vector<Family> families = {};
    std::vector<std::pair<SimTime, std::size_t>> layouts = {};  // least time, index
    std::vector<SimTime> times = {};  // of those that fit, ascending, at most `keep`
  };

  static bool later(const Family& a, const Family& b) {
    return std::tuple(a.least, a.first) > std::tuple(b.least, b.first);
  }

  static Family pop(std::vector<Family>& heap) {
    std::pop_heap(heap.begin(), heap.end(), later);
    const Family first = heap.back();
    heap.pop_back();
    return first;
  }

  // Those with the least bound first, until no bound is below the last of the best.
  void search_group(std::vector<Family>& members) {
    Open open{std::move(members)};
    std::make_heap(open.clans.begin(), open.clans.end(), later);
    for (Indices block = next_block(open); !block.empty(); block = next_block(open)) {
      std::vector<Estimated> done = estimate(block);
      for (const Estimated& one : done) {
        if (one.ranked.estimate.verdict == Verdict::fits) {
          open.times.push_back(one.ranked.estimate.step_time);
        }
      }
      std::sort(open.times.begin(), open.times.end());
      open.times.resize(std::min(open.times.size(), static_cast<std::size_t>(options_.keep)));
      take(std::move(done));
    }
    for (const auto* left : {&open.clans, &open.families}) {
      for (const Family& one : *left) {
        result_.counts.bounded += may_win(one.least, open) ? 0 : one.size();
      }
    }
    for (const auto& [least, index] : open.layouts) {
      result_.counts.bounded += may_win(least, open) ? 0 : 1;
    }
  }

  static SimTime least_of(const std::vector<Family>& heap) {
    return heap.empty() ? kForever : heap.front().least;
  }

  // Layouts with the least bounds of all that are left, as far as they may be among the best.
  Indices next_block(Open& open) {
    constexpr std::size_t kBlock = 128;
    Indices block;
    while (block.size() < kBlock && !work_.stopped()) {
      const SimTime clan = least_of(open.clans);
      const SimTime family = least_of(open.families);
      const SimTime layout = open.layouts.empty() ? kForever : open.layouts.front().first;
      const SimTime least = std::min({clan, family, layout});
      if (least == kForever || !may_win(least, open)) {
        break;
      }
      if (clan == least) {
        look_into_clans(open);
      } else if (family == least) {
        look_into_families(open);
      } else {
        block.push_back(open.layouts.front().second);
        std::pop_heap(open.layouts.begin(), open.layouts.end(), std::greater<>());
        open.layouts.pop_back();
      }
    }
    return block;
  }

  // The next few that may win, in the order of the space: what shares passes stands together.
  std::vector<Family> next_of(std::vector<Family>& heap, const Open& open) const {
    constexpr std::size_t kAtOnce = 64;
    std::vector<Family> block;
    while (block.size() < kAtOnce && !heap.empty() && may_win(heap.front().least, open)) {
      block.push_back(pop(heap));
    }
    std::sort(block.begin(), block.end(),
              [](const Family& a, const Family& b) { return a.first < b.first; });
    return block;
  }

  void look_into_clans(Open& open) {
    std::vector<Family> members;
    for (const Family& clan : next_of(open.clans, open)) {
      const std::vector<Family> more = families_of(clan, candidates_);
      members.insert(members.end(), more.begin(), more.end());
    }
    const auto found = work_.share<SimTime>(
        members.size(), {}, [&](Estimator& estimator, std::size_t i, SimTime* least) {
          *least = estimator.least_of_family(candidates_[members[i].first]);
        });
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (found.done[i] != 0) {
        members[i].least = found.results[i];
        open.families.push_back(members[i]);
        std::push_heap(open.families.begin(), open.families.end(), later);
      }
    }
  }

  void look_into_families(Open& open) {
    const std::vector<Family> block = next_of(open.families, open);
    std::vector<std::size_t> sizes;
    sizes.reserve(block.size());
    for (const Family& family : block) {
      sizes.push_back(static_cast<std::size_t>(family.size()));
    }
    const bool mixture = bench_.base.model.moe.has_value();
    const auto found = work_.share<Member>(
        block.size(), sizes, [&](Estimator& estimator, std::size_t i, Member* members) {
          const auto bounded = bound_members(block[i], candidates_, mixture, estimator);
          std::copy(bounded.begin(), bounded.end(), members);
        });
    for (std::size_t i = 0; i < found.items(); ++i) {
      for (std::size_t at = found.begins[i]; found.done[i] != 0 && at < found.begins[i + 1]; ++at) {
        sort_in(found.results[at], open);
      }
    }
  }

  void sort_in(const Member& member, Open& open) {
    const Bound& bound = member.bound;
    if (bound.verdict == Verdict::fits || bound.undecided) {
      open.layouts.emplace_back(bound.least, member.index);
      std::push_heap(open.layouts.begin(), open.layouts.end(), std::greater<>());
    } else if (bound.verdict == Verdict::over_memory) {
      large_.push_back(member);
      ++result_.counts.over_memory;
    } else if (bound.verdict == Verdict::over_host_memory) {
      ++result_.counts.over_host_memory;
    } else {
      ++result_.counts.breaks_rule;
    }
  }

  [[nodiscard]] bool may_win(SimTime least, const Open& open) const {
    return static_cast<std::int64_t>(open.times.size()) < options_.keep ||
           least <= open.times.back();
  }

  // The score of a layout that took no more than its bound.
  [[nodiscard]] double least_score(const Member& member) const {
    Ranked least{candidates_[member.index], {}};
    least.estimate.step_time = member.bound.least;
    return scoring_.score(least);
  }

  // Of the layouts that may be better than the winner those that are least short of memory.
  void find_misses(double winner) {
    std::erase_if(large_, [&](const Member& member) { return least_score(member) >= winner; });
    const auto later = [](const Member& a, const Member& b) {
      return std::tuple(a.bound.headroom, b.index) < std::tuple(b.bound.headroom, a.index);
    };
    std::make_heap(large_.begin(), large_.end(), later);
    constexpr std::size_t kBlock = 32;
    while (!large_.empty() && !enough_misses(winner) && !work_.stopped()) {
      Indices known;
      std::vector<Member> implied;
      // Behind one whose own headroom is not known only others like it are taken.
      while (!large_.empty() && known.size() + implied.size() < kBlock &&
             (large_.front().implied || implied.empty())) {
        std::pop_heap(large_.begin(), large_.end(), later);
        if (large_.back().implied) {
          implied.push_back(large_.back());
        } else {
          known.push_back(large_.back().index);
        }
        large_.pop_back();
      }
      for (const Member& member : own_bounds(implied)) {
        if (least_score(member) < winner) {
          large_.push_back(member);
          std::push_heap(large_.begin(), large_.end(), later);
        }
      }
      for (Estimated& one : estimate(known)) {
        if (one.ranked.estimate.verdict == Verdict::over_memory && one.ranked.score < winner) {
          misses_.push_back(std::move(one));
        }
      }
    }
  }

  // Nothing that is left is as little short of memory as the last of the misses found; bounds and
  // estimates may differ in the last bits.
  [[nodiscard]] bool enough_misses(double winner) const {
    std::vector<Bytes> found;
    for (const Estimated& miss : misses_) {
      if (miss.ranked.score < winner) {
        found.push_back(miss.ranked.estimate.headroom);
      }
    }
    const auto wanted = static_cast<std::size_t>(options_.misses);
    if (wanted == 0 || found.size() < wanted) {
      return wanted == 0;
    }
    std::sort(found.begin(), found.end(), std::greater<>());
    constexpr double kRounding = 1e-9;
    const Bytes limit = misses_.front().ranked.estimate.memory_limit;
    return large_.front().bound.headroom + limit * kRounding < found[wanted - 1];
  }

  std::vector<Member> own_bounds(const std::vector<Member>& members) {
    return work_
        .share<Member>(members.size(), {},
                       [&](Estimator& estimator, std::size_t i, Member* result) {
                         const std::size_t index = members[i].index;
                         *result = {index, estimator.bound(candidates_[index]), false};
                       })
        .results;
  }

  void take(std::vector<Estimated> done) {
    for (Estimated& one : done) {
      ++result_.counts.estimated;
      switch (one.ranked.estimate.verdict) {
        case Verdict::fits:
          tell(one.ranked);
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
    }
  }

  static std::vector<Ranked> in_order(std::vector<Estimated> list) {
    std::sort(list.begin(), list.end(),
              [](const Estimated& a, const Estimated& b) { return a.index < b.index; });
    std::vector<Ranked> ranked;
    ranked.reserve(list.size());
    for (Estimated& one : list) {
      ranked.push_back(std::move(one.ranked));
    }
    return ranked;
  }

  void finish() {
    result_.complete = result_.complete && !work_.stopped();
    result_.best = in_order(std::move(fitting_));
    result_.front = pareto_front(result_.best, scoring_);
    keep_best(result_.best, options_.keep);
    result_.misses = in_order(std::move(misses_));
    if (!result_.best.empty()) {
      const double winner = result_.best.front().score;
      std::erase_if(result_.misses, [winner](const Ranked& miss) { return miss.score >= winner; });
    }
    std::stable_sort(
        result_.misses.begin(), result_.misses.end(),
        [](const auto& a, const auto& b) { return b.estimate.headroom < a.estimate.headroom; });
    if (static_cast<std::int64_t>(result_.misses.size()) > options_.misses) {
      result_.misses.resize(static_cast<std::size_t>(options_.misses));
    }
  }

  const Workbench& bench_;
  const SearchOptions& options_;
  Scoring scoring_;
  const Space& space_;
  std::vector<Candidate> candidates_;
  SharedWork work_;
  std::vector<Family> clans_;
  std::vector<Member> large_;  // over memory by their bounds
  std::vector<Estimated> fitting_;
  std::vector<Estimated> misses_;
  double told_ = std::numeric_limits<double>::infinity();  // score of the best so far
  SearchResult result_;
};

}  // namespace

SearchResult search(const Workbench& bench, const Space& space, const PlanSpec& spec,
                    const SearchOptions& options) {
  return Searcher(bench, space, spec, options).run();
}

}  // namespace orrery::plan
