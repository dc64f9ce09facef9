#include "sim/answer/plan/search/families.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace orrery::plan {

namespace {

using layout::Sharding;

bool gathers(const Candidate& candidate) {
  return candidate.sharding == Sharding::zero3 || candidate.sharding == Sharding::hsdp;
}

bool same_family(const Candidate& a, const Candidate& b) {
  Candidate like_a = b;
  like_a.sharding = a.sharding;
  like_a.shard_group = a.shard_group;
  like_a.offload = a.offload;
  return like_a == a && gathers(a) == gathers(b);
}

// Layouts that stand together and are the same.
template <typename Same>
std::vector<Family> runs_of(const Family& range, const std::vector<Candidate>& layouts, Same same) {
  std::vector<Family> found;
  for (std::size_t i = range.first; i < range.last; ++i) {
    if (found.empty() || !same(layouts[found.back().first], layouts[i])) {
      found.push_back({i, i, {}});
    }
    found.back().last = i + 1;
  }
  return found;
}

// What may hold least of its family first.
auto rank(const Candidate& candidate) {
  const bool shards = candidate.sharding != Sharding::none;
  const bool part = candidate.sharding == Sharding::hsdp;
  return std::tuple(!shards, part, candidate.sharding, -candidate.shard_group);
}

}  // namespace

std::vector<Family> families(const std::vector<Candidate>& layouts) {
  return families_of({0, layouts.size(), {}}, layouts);
}

std::vector<Family> families_of(const Family& clan, const std::vector<Candidate>& layouts) {
  return runs_of(clan, layouts, same_family);
}

std::vector<Family> clans(const std::vector<Candidate>& layouts, std::optional<std::uint8_t> none) {
  return runs_of({0, layouts.size(), {}}, layouts, [none](const Candidate& a, Candidate b) {
    b.recompute = none ? a.recompute : b.recompute;
    b.sharding = none ? a.sharding : b.sharding;
    return same_family(a, b);
  });
}

std::vector<Candidate> fastest_of(const Family& clan, const std::vector<Candidate>& layouts,
                                  std::optional<std::uint8_t> none) {
  std::vector<Candidate> fastest;
  for (std::size_t i = clan.first; i < clan.last && fastest.size() < 2; ++i) {
    if (fastest.empty() || gathers(layouts[i]) != gathers(fastest.front())) {
      fastest.push_back(layouts[i]);
      fastest.back().recompute = none.value_or(layouts[i].recompute);
    }
  }
  return fastest;
}

bool holds_no_more(const Candidate& wider, const Candidate& layout, bool mixture) {
  if (wider.offload != layout.offload) {
    return false;
  }
  if (layout.sharding == Sharding::none) {
    return wider.sharding == Sharding::zero1;
  }
  const bool kin = wider.sharding == layout.sharding ||
                   (wider.sharding == Sharding::zero3 && layout.sharding == Sharding::hsdp);
  const bool whole = wider.shard_group == wider.data * wider.context;
  return kin && (whole || (!mixture && wider.shard_group >= layout.shard_group));
}

std::vector<Member> bound_members(const Family& family, const std::vector<Candidate>& layouts,
                                  bool mixture, Estimator& estimator) {
  std::vector<std::size_t> order(family.last - family.first);
  std::iota(order.begin(), order.end(), family.first);
  std::stable_sort(order.begin(), order.end(), [&layouts](std::size_t a, std::size_t b) {
    return rank(layouts[a]) < rank(layouts[b]);
  });
  std::vector<Member> members;
  members.reserve(order.size());
  for (const std::size_t index : order) {
    const auto too_large = std::find_if(members.begin(), members.end(), [&](const Member& other) {
      return other.bound.verdict == Verdict::over_memory && !other.bound.undecided &&
             !other.implied && holds_no_more(layouts[other.index], layouts[index], mixture);
    });
    if (too_large == members.end()) {
      members.push_back({index, estimator.bound(layouts[index]), false});
    } else {
      Bound bound = too_large->bound;
      bound.least = family.least;
      members.push_back({index, bound, true});
    }
  }
  std::sort(members.begin(), members.end(),
            [](const Member& a, const Member& b) { return a.index < b.index; });
  return members;
}

}  // namespace orrery::plan
