#include "sim/answer/plan/neighbours.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "sim/answer/plan/search/estimate.hpp"
#include "sim/base/files/stop_point.hpp"

namespace orrery::plan {

namespace {

// Candidates tried for one neighbour at most: a handful per axis.
constexpr std::size_t kMostTrials = 256;

std::string trait_text(const std::vector<Trait>& traits, std::string_view name) {
  for (const Trait& trait : traits) {
    if (trait.name == name) {
      return trait.value;
    }
  }
  return {};
}

double per_sequence(double step_time, const Candidate& candidate) {
  return step_time / static_cast<double>(candidate.global_batch);
}

std::optional<Neighbour::Remedy> find_remedy(const Candidate& miss, const Space& space,
                                             const Workbench& bench, Estimator& estimator,
                                             const Finalist& winner, const std::stop_token& stop) {
  std::optional<Neighbour::Remedy> best;
  std::size_t tried = 0;
  for (const Candidate& candidate : layouts_near(miss, space, bench)) {
    const auto change = single_difference(miss, candidate, bench);
    if (!change || ++tried > kMostTrials) {
      continue;
    }
    stop_point(stop);
    const Estimate estimate = estimator.estimate(candidate);
    if (estimate.verdict != Verdict::fits) {
      continue;
    }
    const double step_time = in_seconds(to_seconds(estimate.step_time));
    if (!best || step_time < best->step_time) {
      best = {*change, propose(candidate, bench), step_time,
              candidate == winner.proposal.candidate};
    }
  }
  return best;
}

Space of_cluster(Space space, const ClusterSearch& cluster) {
  space.values[static_cast<std::size_t>(Axis::gpu)] = {static_cast<std::int64_t>(cluster.gpu)};
  space.values[static_cast<std::size_t>(Axis::nodes)] = {cluster.nodes};
  return space;
}

// Of the winner, as the search has it: with GPUs that are alike.
double winner_per_sequence(const Finalist& winner, Estimator& estimator) {
  const Candidate& own = winner.proposal.candidate;
  return per_sequence(in_seconds(to_seconds(estimator.estimate(own).step_time)), own);
}

std::optional<std::int64_t> number_of(const std::string& text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && stop == end ? std::optional(number) : std::nullopt;
}

// Of degrees the nearest below and above what the winner has; in the order of its traits.
void keep_adjacent(const std::vector<Trait>& traits,
                   std::vector<std::pair<Trait, Candidate>>& near) {
  std::vector<std::pair<Trait, Candidate>> kept;
  for (const Trait& trait : traits) {
    const auto own = number_of(trait.value);
    std::optional<std::int64_t> below;
    std::optional<std::int64_t> above;
    for (const auto& [change, candidate] : near) {
      const auto value = number_of(change.value);
      if (change.name != trait.name || !own || !value || *value == *own) {
        continue;
      }
      (*value < *own ? below : above) = *value < *own ? std::max(below.value_or(*value), *value)
                                                      : std::min(above.value_or(*value), *value);
    }
    for (const auto& one : near) {
      const auto value = number_of(one.first.value);
      if (one.first.name == trait.name &&
          (!own || !value || value == own || value == below || value == above)) {
        kept.push_back(one);
      }
    }
  }
  near = std::move(kept);
}

}  // namespace

std::optional<Trait> single_difference(const Candidate& one, const Candidate& other,
                                       const Workbench& bench) {
  const std::string_view name = only_difference(one, other);
  if (name.empty()) {
    return std::nullopt;
  }
  return Trait{std::string(name), trait_text(traits_of(other, bench), name)};
}

std::vector<StepAside> find_steps_aside(const ClusterSearch& cluster, const Space& space,
                                        const Workbench& bench, const Finalist& winner,
                                        const std::stop_token& stop) {
  const Candidate& own = winner.proposal.candidate;
  std::vector<std::pair<Trait, Candidate>> near;
  for (const Candidate& candidate : layouts_near(own, of_cluster(space, cluster), bench)) {
    if (const auto change = single_difference(own, candidate, bench)) {
      near.emplace_back(*change, candidate);
    }
  }
  keep_adjacent(winner.proposal.traits, near);
  Estimator estimator(bench);
  const double best = winner_per_sequence(winner, estimator);
  std::vector<StepAside> aside;
  for (const auto& [change, candidate] : near) {
    stop_point(stop);
    const auto& traits = winner.proposal.traits;
    if (std::any_of(traits.begin(), traits.end(), [&change = change](const Trait& trait) {
          return trait.name == change.name && trait.value == change.value;
        })) {
      continue;  // what differs is no value of this axis
    }
    const Estimate estimate = estimator.estimate(candidate);
    const bool fits = estimate.verdict == Verdict::fits;
    const double loss =
        fits ? per_sequence(in_seconds(to_seconds(estimate.step_time)), candidate) / best - 1.0
             : 0.0;
    const auto known = std::find_if(aside.begin(), aside.end(), [&](const StepAside& other) {
      return other.change.name == change.name && other.change.value == change.value;
    });
    if (known == aside.end()) {
      aside.push_back({change, fits, loss});
    } else if (fits && (!known->fits || loss < known->loss)) {
      *known = {change, fits, loss};
    }
  }
  return aside;
}

std::vector<Neighbour> find_neighbours(const ClusterSearch& cluster, const Space& space,
                                       const Workbench& bench, const Finalist& winner,
                                       std::size_t most, const std::stop_token& stop) {
  std::vector<Neighbour> neighbours;
  if (cluster.found.misses.empty() || most == 0) {
    return neighbours;
  }
  const Space here = of_cluster(space, cluster);
  Estimator estimator(bench);
  const double best = winner_per_sequence(winner, estimator);
  for (const Ranked& miss : cluster.found.misses) {
    if (neighbours.size() == most) {
      break;
    }
    Neighbour neighbour;
    neighbour.proposal = propose(miss.candidate, bench);
    neighbour.step_time = in_seconds(to_seconds(miss.estimate.step_time));
    neighbour.short_by =
        in_bytes(bench.machines[miss.candidate.gpu].headroom) - in_bytes(miss.estimate.headroom);
    neighbour.stage = miss.estimate.worst_stage;
    neighbour.gain = 1.0 - per_sequence(neighbour.step_time, miss.candidate) / best;
    neighbour.remedy = find_remedy(miss.candidate, here, bench, estimator, winner, stop);
    neighbours.push_back(std::move(neighbour));
  }
  return neighbours;
}

}  // namespace orrery::plan
