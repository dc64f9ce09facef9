#include "sim/plan/search/switches.hpp"

#include <algorithm>
#include <utility>

#include "sim/scenario/recipes/recipe.hpp"

namespace orrery::plan {

namespace {

constexpr std::size_t kLayouts = 4;  // on which switches are tried

// Sequences per second, or nothing where it does not fit.
double rate(const Workbench& bench, const Candidate& candidate) {
  Estimator estimator(bench);
  const Estimate estimate = estimator.estimate(candidate);
  return estimate.verdict == Verdict::fits ? static_cast<double>(candidate.global_batch) /
                                                 in_seconds(to_seconds(estimate.step_time))
                                           : 0.0;
}

// Whether the scenario states the section as one word, beside which no key of it can stand.
bool is_one_word(const scenario::Scenario& base, const std::string& key) {
  const std::string section = key.substr(0, key.find('.'));
  const auto first = base.locations.lower_bound(section + ".");
  const bool below = first != base.locations.end() && first->first.starts_with(section + ".");
  return base.locations.contains(section) && !below;
}

std::vector<scenario::KeyValue> values_to_try(const scenario::Scenario& base) {
  std::vector<scenario::KeyValue> values;
  for (scenario::OfferedValue& offered : scenario::offered_values(base)) {
    if (!is_planned(offered.key) && !is_one_word(base, offered.key)) {
      values.push_back({std::move(offered.key), std::move(offered.value), {}});
    }
  }
  return values;
}

struct Switched {
  std::vector<scenario::KeyValue> switches;
  double rate = 0.0;
};

// The one value that helps most is kept, then the next one is looked for.
Switched climb(const Workbench& bench,
               const Candidate& candidate,
               const std::vector<scenario::KeyValue>& values) {
  Switched best{{}, rate(bench, candidate)};
  while (true) {
    Switched better = best;
    for (const scenario::KeyValue& value : values) {
      std::vector<scenario::KeyValue> switches = best.switches;
      std::erase_if(switches, [&value](const auto& old) { return old.key == value.key; });
      switches.push_back(value);
      const double faster = rate(with_switches(bench, switches), candidate);
      if (faster > better.rate) {
        better = {std::move(switches), faster};
      }
    }
    if (better.rate <= best.rate * (1.0 + kWorthSwitching)) {
      return best;
    }
    best = std::move(better);
  }
}

}  // namespace

std::vector<scenario::KeyValue> better_switches(const Workbench& bench,
                                                const std::vector<Ranked>& best) {
  const std::vector<scenario::KeyValue> values = values_to_try(bench.base);
  Switched found;
  for (std::size_t i = 0; !values.empty() && i < std::min(kLayouts, best.size()); ++i) {
    Switched one = climb(bench, best[i].candidate, values);
    if (one.rate > found.rate) {
      found = std::move(one);
    }
  }
  return found.switches;
}

Workbench with_switches(Workbench bench, const std::vector<scenario::KeyValue>& switches) {
  for (const scenario::KeyValue& one : switches) {
    Diagnostics unused;
    if (auto changed = scenario::with_value(bench.base, one, unused)) {
      bench.base = *std::move(changed);
      bench.base.locations.emplace(one.key, SourceLocation{});  // stated: no recipe sets it
      bench.switches.push_back(one);
    }
  }
  return bench;
}

}  // namespace orrery::plan
