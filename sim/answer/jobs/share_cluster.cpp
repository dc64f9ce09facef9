#include "sim/answer/jobs/share_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/base/files/stop_point.hpp"

namespace orrery::jobs {

namespace {

class PlaceSearch {
 public:
  PlaceSearch(const SharedCluster& cluster, std::stop_token stop, Diagnostics& diagnostics)
      : cluster_(cluster), stop_(std::move(stop)), diagnostics_(diagnostics) {}

  std::vector<TriedPlacement> run() {
    for (const std::vector<JobEntry>& jobs : placements()) {
      if (!attempt(jobs)) {
        return {};
      }
    }
    rank();
    constexpr std::size_t kRefined = 2;
    std::vector<TriedPlacement> best(
        tried_.begin(),
        tried_.begin() + static_cast<std::ptrdiff_t>(std::min(kRefined, tried_.size())));
    for (const TriedPlacement& from : best) {
      if (!shift_starts(from)) {
        return {};
      }
    }
    rank();
    return std::move(tried_);
  }

 private:
  [[nodiscard]] std::vector<std::vector<JobEntry>> placements() const {
    const std::vector<JobEntry>& given = cluster_.file().jobs;
    std::vector<std::size_t> free;
    for (std::size_t j = 0; j < given.size(); ++j) {
      if (given[j].nodes.empty()) {
        free.push_back(j);
      }
    }
    constexpr std::size_t kMostFree = 4;
    const std::size_t choices = free.size() <= kMostFree ? free.size() : 1;
    std::vector<std::vector<JobEntry>> all;
    for (std::size_t bits = 0; bits < std::size_t{1} << choices; ++bits) {
      all.push_back(given);
      for (std::size_t i = 0; i < free.size(); ++i) {
        const bool spread = (bits >> std::min(i, choices - 1) & 1U) != 0;
        all.back()[free[i]].placement = spread ? NodePlacement::spread : NodePlacement::packed;
      }
    }
    return all;
  }

  bool attempt(const std::vector<JobEntry>& jobs) {
    stop_point(stop_);
    auto answer = cluster_.place(jobs, diagnostics_);
    if (answer) {
      quickest_.resize(jobs.size(), days(1.0));
      for (std::size_t j = 0; j < jobs.size(); ++j) {
        quickest_[j] = std::min(quickest_[j], answer->result.jobs[j].alone);
      }
      answer->expect.clear();  // they are of the places in the file
      tried_.push_back({jobs, *std::move(answer)});
    }
    return !diagnostics_.has_errors();
  }

  // One job after another at the best of eight starts; those of the others stay.
  bool shift_starts(const TriedPlacement& from) {
    TriedPlacement best = from;
    for (std::size_t j = 1; j < from.jobs.size(); ++j) {
      constexpr int kParts = 8;
      const Seconds step = best.answer.result.jobs[j].alone;
      const std::vector<JobEntry> base = best.jobs;
      for (int part = 0; part < kParts; ++part) {
        std::vector<JobEntry> jobs = base;
        jobs[j].start = jobs.front().start + step * (static_cast<double>(part) / kParts);
        if (!attempt(jobs)) {
          return false;
        }
        if (lost(tried_.back().answer) < lost(best.answer)) {
          best = tried_.back();
        }
        tried_.pop_back();
      }
    }
    if (lost(best.answer) < lost(from.answer)) {
      tried_.push_back(std::move(best));
    }
    return true;
  }

  [[nodiscard]] double lost(const ClusterAnswer& answer) const {
    double sum = 0.0;
    double gpus = 0.0;
    for (std::size_t j = 0; j < answer.jobs.size(); ++j) {
      const auto own = static_cast<double>(answer.jobs[j].gpus);
      sum += own * (1.0 - quickest_[j] / answer.result.jobs[j].together);
      gpus += own;
    }
    return sum / gpus;
  }

  void rank() {
    for (TriedPlacement& one : tried_) {
      one.lost = lost(one.answer);
    }
    std::ranges::stable_sort(tried_, [](const auto& a, const auto& b) { return a.lost < b.lost; });
  }

  const SharedCluster& cluster_;
  std::stop_token stop_;
  Diagnostics& diagnostics_;
  std::vector<Seconds> quickest_;  // by job
  std::vector<TriedPlacement> tried_;
};

using scenario::KeyValue;

std::optional<scenario::Scenario> load_job(const JobsFile& file, const JobEntry& job,
                                           std::vector<KeyValue> changes,
                                           const std::optional<hardware::ProfileSearch>& search,
                                           Diagnostics& diagnostics) {
  const auto base = scenario::ScenarioTemplate::from_file(job.scenario, diagnostics, search);
  if (!base) {
    return std::nullopt;
  }
  // The network of the file as it stands; single links, unless it says every rank.
  const bool ranks = file.detail == hardware::NetworkDetail::ranks;
  std::vector<KeyValue> all = {
      file.network, {"cluster.network.detail", ranks ? "ranks" : "flows", file.network.where}};
  all.insert(all.end(), job.settings.begin(), job.settings.end());
  all.insert(all.end(), changes.begin(), changes.end());
  return base->with(all, diagnostics);
}

// The machine: as the first job has it, with all nodes and all that is wrong with its links.
std::optional<hardware::ClusterSpec> machine_of(
    const JobsFile& file, const std::optional<hardware::ProfileSearch>& search,
    Diagnostics& diagnostics) {
  const KeyValue nodes{"cluster.nodes", fmt::to_string(file.nodes), file.nodes_where};
  Diagnostics own;  // a layout that does not fill the machine is none of them
  const auto scenario = load_job(file, file.jobs.front(), {nodes}, search, own);
  if (!scenario) {
    diagnostics.add(own);
    return std::nullopt;
  }
  return scenario->cluster;
}

// Gives nodes to jobs in the order of the file.
class Places {
 public:
  Places(std::int64_t nodes, std::int64_t block)
      : owner_(static_cast<std::size_t>(nodes)), block_(static_cast<std::size_t>(block)) {}

  std::vector<std::int32_t> place(const JobEntry& job, std::int64_t wanted,
                                  Diagnostics& diagnostics) {
    std::vector<std::int32_t> nodes = job.nodes;
    if (nodes.empty()) {
      nodes = job.placement == NodePlacement::packed ? packed() : spread();
      if (static_cast<std::int64_t>(nodes.size()) < wanted) {
        diagnostics.error(job.where, "jobs",
                          fmt::format("{} needs {} nodes, {} of {} are free", job.name, wanted,
                                      nodes.size(), owner_.size()),
                          "more cluster.nodes");
        return {};
      }
      nodes.resize(static_cast<std::size_t>(wanted));
    }
    if (!fits(job, nodes, wanted, diagnostics)) {
      return {};
    }
    for (const std::int32_t node : nodes) {
      owner_[static_cast<std::size_t>(node)] = &job;
    }
    return nodes;
  }

 private:
  [[nodiscard]] std::vector<std::int32_t> packed() const {
    std::vector<std::int32_t> nodes;
    for (std::size_t node = 0; node < owner_.size(); ++node) {
      if (owner_[node] == nullptr) {
        nodes.push_back(static_cast<std::int32_t>(node));
      }
    }
    return nodes;
  }

  // The first free node of each block, then the second of each, ...
  [[nodiscard]] std::vector<std::int32_t> spread() const {
    std::vector<std::pair<std::size_t, std::int32_t>> ranked;  // (how many before it in its block)
    std::size_t before = 0;
    for (std::size_t node = 0; node < owner_.size(); ++node) {
      before = node % block_ == 0 ? 0 : before;
      if (owner_[node] == nullptr) {
        ranked.emplace_back(before++, static_cast<std::int32_t>(node));
      }
    }
    std::ranges::sort(ranked);
    std::vector<std::int32_t> nodes;
    for (const auto& [rank, node] : ranked) {
      nodes.push_back(node);
    }
    return nodes;
  }

  [[nodiscard]] bool fits(const JobEntry& job, const std::vector<std::int32_t>& nodes,
                          std::int64_t wanted, Diagnostics& diagnostics) const {
    const auto wrong = [&](const std::string& message, const std::string& allowed) {
      diagnostics.error(job.where, "jobs", fmt::format("{} {}", job.name, message), allowed);
      return false;
    };
    if (static_cast<std::int64_t>(nodes.size()) != wanted) {
      return wrong(fmt::format("has {} nodes, its scenario {}", nodes.size(), wanted),
                   fmt::format("{} numbers of nodes", wanted));
    }
    std::vector<bool> named(owner_.size(), false);
    for (const std::int32_t node : nodes) {
      const auto index = static_cast<std::size_t>(node);
      if (index >= owner_.size()) {
        return wrong(fmt::format("names node {}", node), fmt::format("0 to {}", owner_.size() - 1));
      }
      if (owner_[index] != nullptr || named[index]) {
        return wrong(fmt::format("wants node {}, which {} has", node,
                                 named[index] ? std::string("it already") : owner_[index]->name),
                     "nodes that are free");
      }
      named[index] = true;
    }
    return true;
  }

  std::vector<const JobEntry*> owner_;  // by node
  std::size_t block_;                   // nodes
};

}  // namespace

std::vector<TriedPlacement> find_places(const SharedCluster& cluster, std::stop_token stop,
                                        Diagnostics& diagnostics) {
  return PlaceSearch(cluster, std::move(stop), diagnostics).run();
}

const step::SharedJobResult& ClusterAnswer::result_of(const std::string& job) const {
  const auto found = std::ranges::find(jobs, job, &PlacedJob::name);
  ORRERY_CHECK(found != jobs.end(), "no job is called {}", job);
  return result.jobs[static_cast<std::size_t>(found - jobs.begin())];
}

bool ClusterAnswer::meets_expectations() const {
  return std::ranges::all_of(
      expect, [this](const JobsExpectation& line) { return holds(line, result_of(line.job)); });
}

std::optional<SharedCluster> SharedCluster::load(
    JobsFile file, const std::optional<hardware::ProfileSearch>& search, Diagnostics& diagnostics) {
  SharedCluster cluster;
  auto machine = machine_of(file, search, diagnostics);
  if (!machine) {
    return std::nullopt;
  }
  cluster.machine_ = *std::move(machine);
  for (const JobEntry& job : file.jobs) {
    // What is wrong with links counts nodes of the machine, not of the job.
    const std::vector<KeyValue> healthy = {{"cluster.network.faults", "[]", job.where},
                                           {"cluster.network.links_down", "[]", job.where}};
    auto scenario = load_job(file, job, healthy, search, diagnostics);
    auto resolved = scenario ? evaluate::resolve(*scenario, search, diagnostics) : std::nullopt;
    if (!resolved) {
      return std::nullopt;
    }
    cluster.scenarios_.push_back(*std::move(scenario));
    cluster.resolved_.push_back(*std::move(resolved));
  }
  cluster.file_ = std::move(file);
  return cluster;
}

std::optional<ClusterAnswer> SharedCluster::place(std::span<const JobEntry> entries,
                                                  Diagnostics& diagnostics) const {
  const bool tiers = !machine_.network.tiers.empty();
  Places places(file_.nodes, tiers ? machine_.network.tiers.front().nodes : 1);
  ClusterAnswer answer{.name = file_.name,
                       .file = file_.file,
                       .steps = file_.steps,
                       .nodes = file_.nodes,
                       .jobs = {},
                       .result = {},
                       .expect = file_.expect};
  std::vector<step::SharedJob> jobs;
  for (std::size_t j = 0; j < entries.size(); ++j) {
    const JobEntry& job = entries[j];
    const evaluate::Resolved& own = resolved_[j];
    std::vector<std::int32_t> nodes = places.place(job, own.costs.cluster().nodes, diagnostics);
    if (nodes.empty()) {
      return std::nullopt;
    }
    answer.jobs.push_back({job.name, scenarios_[j].name, own.layout.gpus, nodes, job.start});
    jobs.push_back({evaluate::step_input(scenarios_[j], own), &own.costs, std::move(nodes),
                    to_sim_time(job.start)});
  }
  auto result = step::simulate_jobs(machine_, jobs, file_.steps);
  if (const auto* problem = std::get_if<step::SharedJobProblem>(&result)) {
    diagnostics.error(entries[problem->job].where, problem->problem.key,
                      fmt::format("{}: {}", entries[problem->job].name, problem->problem.message),
                      problem->problem.allowed);
    return std::nullopt;
  }
  answer.result = std::get<step::SharedJobsResult>(std::move(result));
  return answer;
}

}  // namespace orrery::jobs
