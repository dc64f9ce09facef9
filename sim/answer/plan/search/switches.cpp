#include "sim/answer/plan/search/switches.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "sim/answer/evaluate/evaluate_options.hpp"
#include "sim/scenario/recipes/recipe.hpp"

namespace orrery::plan {

namespace {

constexpr std::size_t kLayouts = 4;  // on which switches are tried

using Simulator = std::shared_ptr<step::StepSimulator>;  // the graph of a layout is made once

// Sequences per second, or nothing where it does not fit.
double rate(const Workbench& bench, const Candidate& candidate, const Simulator& simulator) {
  Estimator estimator(bench, simulator);
  const Estimate estimate = estimator.estimate(candidate);
  return estimate.verdict == Verdict::fits ? static_cast<double>(candidate.global_batch) /
                                                 in_seconds(to_seconds(estimate.step_time))
                                           : 0.0;
}

std::vector<scenario::KeyValue> values_to_try(const Workbench& bench) {
  std::vector<scenario::KeyValue> values = published_switches(bench);
  for (scenario::OfferedValue& offered : scenario::offered_values(bench.base)) {
    if (is_switch(offered.key)) {
      values.push_back({std::move(offered.key), std::move(offered.value), {}});
    }
  }
  return values;
}

// The best few, then the best of other shapes, and the published one where it is among the best.
std::vector<Candidate> layouts_to_switch(const Workbench& bench, const std::vector<Ranked>& best) {
  std::vector<Candidate> layouts;
  const auto is_of_its_shape = [](const Candidate& one, const Candidate& other) {
    return one.tensor == other.tensor && one.pipeline == other.pipeline &&
           one.expert == other.expert;
  };
  for (const Ranked& ranked : best) {
    const bool known = std::any_of(layouts.begin(), layouts.end(), [&](const Candidate& layout) {
      return is_of_its_shape(layout, ranked.candidate);
    });
    if (layouts.size() < kLayouts || (!known && layouts.size() < 2 * kLayouts)) {
      layouts.push_back(ranked.candidate);
    }
  }
  const auto published = published_candidate(bench);
  for (const Ranked& ranked : best) {  // where it is among what is searched
    if (published && ranked.candidate == *published) {
      layouts.push_back(ranked.candidate);
    }
  }
  return layouts;
}

struct Switched {
  std::vector<scenario::KeyValue> switches;
  double rate = 0.0;
};

// The one value that helps most is kept, then the next one is looked for.
Switched climb(const Workbench& bench, const Candidate& candidate,
               const std::vector<scenario::KeyValue>& from,
               const std::vector<scenario::KeyValue>& values, const Simulator& simulator) {
  Switched best{from, rate(with_switches(bench, from), candidate, simulator)};
  while (true) {
    Switched better = best;
    for (const scenario::KeyValue& value : values) {
      std::vector<scenario::KeyValue> switches = best.switches;
      std::erase_if(switches, [&value](const auto& old) { return old.key == value.key; });
      switches.push_back(value);
      const double faster = rate(with_switches(bench, switches), candidate, simulator);
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

bool is_switch(std::string_view key) {
  return !is_planned(key) && !key.starts_with("layout.") && !key.starts_with("model.");
}

std::vector<scenario::KeyValue> published_switches(const Workbench& bench) {
  const auto published = bench.published && bench.runs_published
                             ? with_published(bench.base, *bench.published)
                             : std::nullopt;
  std::vector<scenario::KeyValue> switches =
      published ? published_changes(bench.base, *published, *bench.published)
                : std::vector<scenario::KeyValue>{};
  std::erase_if(switches, [](const auto& one) { return !is_switch(one.key); });
  return switches;
}

std::vector<scenario::KeyValue> better_switches(const Workbench& bench,
                                                const std::vector<Ranked>& best) {
  const std::vector<scenario::KeyValue> values = values_to_try(bench);
  const Simulator simulator = evaluate::make_simulator();
  Switched found;
  const auto look = [&](const Candidate& layout, const std::vector<scenario::KeyValue>& from) {
    Switched one = climb(bench, layout, from, values, simulator);
    if (one.rate > found.rate) {
      found = std::move(one);
    }
  };
  const auto published = published_candidate(bench);
  for (const Candidate& layout :
       values.empty() ? std::vector<Candidate>{} : layouts_to_switch(bench, best)) {
    look(layout, {});
    if (published && layout == *published) {
      look(layout, published_switches(bench));
    }
  }
  return found.switches;
}

Workbench with_switches(Workbench bench, const std::vector<scenario::KeyValue>& switches) {
  for (const scenario::KeyValue& one : switches) {
    Diagnostics unused;
    if (auto changed = scenario::with_value(bench.base, one, unused)) {
      bench.base = *std::move(changed);
      bench.base.locations.add(one.key);  // stated: no recipe sets it
      bench.switches.push_back(one);
    }
  }
  return bench;
}

}  // namespace orrery::plan
