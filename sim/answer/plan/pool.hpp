#pragma once

// The pool of plans that are simulated in full: the best estimates of every cluster size, times the
// values of the run.
//
//   pool = sum over (GPU type, nodes) of best k layouts, x listed intervals x spares x spot shares
//   k    = finalists with one cluster size, else max(2, ceil(2 finalists / sizes))
//
// symbol | meaning                                             | unit    | origin
// -------|-----------------------------------------------------|---------|------------------
// sizes  | cluster sizes that have any layout that fits        | -       | search
// k      | layouts of one size                                 | layouts | computed
//
// Layouts that differ in what is recomputed, in the number of chunks, or in both and in nothing
// else are one plan, the fastest of them, with the others named beside it.
//
// Estimates order the layouts of one cluster; what failures, prices and spares make of them is for
// the simulation to say, so every size keeps its best.

#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

#include "sim/answer/plan/result/plan.hpp"
#include "sim/answer/plan/space/space.hpp"
#include "sim/answer/plan/space/workbench.hpp"
#include "sim/base/diagnostics.hpp"

namespace orrery::plan {

// The layouts of one GPU type and number of nodes.
struct ClusterSearch {
  std::size_t gpu = 0;
  std::int64_t nodes = 1;
  SearchResult found;
};

struct PoolOptions {
  int threads = 0;
  std::optional<double> sequences = {};  // that the run must see: deadlines
  std::vector<double> gpu_hours = {};    // dollars, by machine
  sweep::Team* team = nullptr;           // processes that search together
  std::stop_token stop = {};
  std::function<void(std::int64_t done, std::int64_t all)> progress = {};
  std::function<void(const Ranked& best)> found = {};  // as in SearchOptions, of each cluster
};

// One search per cluster, in the order of the space; fewer after a stop request.
[[nodiscard]] std::vector<ClusterSearch> search_clusters(const Workbench& bench, const Space& space,
                                                         const PlanSpec& spec,
                                                         const PoolOptions& options);

[[nodiscard]] SearchCounts total(const std::vector<ClusterSearch>& clusters);

// What a table says of a candidate, every axis.
[[nodiscard]] std::vector<Trait> traits_of(const Candidate& candidate, const Workbench& bench);

// The same as a phrase: "tensor 8, pipeline 4 (1f1b), data 16, micro-batch 1, recompute full,
// zero1".
[[nodiscard]] std::string words_of(const Candidate& candidate, const Workbench& bench);

// A layout without changes of the run.
[[nodiscard]] Proposal propose(const Candidate& candidate, const Workbench& bench);

struct Pool {
  std::vector<Proposal> proposals;
  std::optional<std::size_t> current;    // the scenario as it stands, where it is a layout
  std::optional<std::size_t> published;  // the published layout with its switches, where it divides
  bool searches_published = false;       // its values may be searched, and its stack runs them
};

// `stated`: the workbench without switches.
[[nodiscard]] Pool make_pool(const std::vector<ClusterSearch>& clusters, const Space& space,
                             const Workbench& bench, const Workbench& stated, const PlanSpec& spec);

}  // namespace orrery::plan
