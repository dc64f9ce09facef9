#include "sim/answer/jobs/place_jobs.hpp"

#include <algorithm>
#include <utility>

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
    std::stable_sort(tried_.begin(), tried_.end(),
                     [](const auto& a, const auto& b) { return a.lost < b.lost; });
  }

  const SharedCluster& cluster_;
  std::stop_token stop_;
  Diagnostics& diagnostics_;
  std::vector<Seconds> quickest_;  // by job
  std::vector<TriedPlacement> tried_;
};

}  // namespace

std::vector<TriedPlacement> find_places(const SharedCluster& cluster, std::stop_token stop,
                                        Diagnostics& diagnostics) {
  return PlaceSearch(cluster, std::move(stop), diagnostics).run();
}

}  // namespace orrery::jobs
