#pragma once

// Distribution of a search over the threads of this process and the other processes of its team.
// Internal to plan/.
//
// Items are independent: each has its own slots for results, and any thread with a free estimator
// fills them. All processes learn what all found (sweep::Team), so that every process goes on with
// the same results and stops at the same place.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sim/answer/plan/search/estimate.hpp"
#include "sim/answer/plan/search/search.hpp"

namespace orrery::plan {

// Results of items; those of item i begin at begins[i].
template <typename Result>
struct Findings {
  std::vector<Result> results;
  std::vector<std::size_t> begins;  // one more than items
  std::vector<char> done;           // by item: 0 after a stop request

  [[nodiscard]] std::size_t items() const { return done.size(); }
};

class SharedWork {
 public:
  // `identity`: what is searched, the same in all processes.
  SharedWork(const Workbench& bench, const SearchOptions& options, std::string identity)
      : bench_(bench), options_(options), identity_(std::move(identity)) {}

  // Some item was not done, in this process or another.
  [[nodiscard]] bool stopped() const { return stopped_; }

  // What is little work is done all the same after a stop request, and in all processes.
  void heed_stops(bool heed) { heeds_stops_ = heed; }

  // `visit(estimator, item, results of the item)`; items have `sizes` results, without sizes one.
  // `progress`: which share of the items is done.
  template <typename Result, typename Visit>
  Findings<Result> share(std::size_t items, const std::vector<std::size_t>& sizes,
                         const Visit& visit, const std::function<void(double)>& progress = {}) {
    static_assert(std::is_trivially_copyable_v<Result>);
    Findings<Result> found;
    found.done.assign(items, 0);
    found.begins.assign(items + 1, 0);
    for (std::size_t i = 0; i < items; ++i) {
      found.begins[i + 1] = found.begins[i] + (sizes.empty() ? 1 : sizes[i]);
    }
    found.results.resize(found.begins.back());
    const auto bytes_of = [&found](std::size_t item) {
      return std::string_view(
          reinterpret_cast<const char*>(found.results.data() + found.begins[item]),
          (found.begins[item + 1] - found.begins[item]) * sizeof(Result));
    };
    gather({.items = items,
            .visit =
                [&](Estimator& estimator, std::size_t item) {
                  visit(estimator, item, &found.results[found.begins[item]]);
                  found.done[item] = 1;
                },
            .tell = [&](std::size_t item) { return std::string(bytes_of(item)); },
            .hear =
                [&](std::size_t item, std::string_view text) {
                  if (item >= items || text.size() != bytes_of(item).size()) {
                    return false;
                  }
                  std::memcpy(&found.results[found.begins[item]], text.data(), text.size());
                  found.done[item] = 1;
                  return true;
                },
            .progress = progress});
    return found;
  }

 private:
  struct Task {
    std::size_t items = 0;
    std::function<void(Estimator&, std::size_t item)> visit;
    std::function<std::string(std::size_t item)> tell;
    std::function<bool(std::size_t item, std::string_view text)> hear;  // false: nonsense
    const std::function<void(double)>& progress;
  };

  void gather(const Task& task);

  // Estimators are dear to make and belong to one thread at a time.
  std::unique_ptr<Estimator> take();
  void give(std::unique_ptr<Estimator> estimator);

  const Workbench& bench_;
  const SearchOptions& options_;
  const std::string identity_;
  int gathered_ = 0;
  bool stopped_ = false;
  bool heeds_stops_ = true;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Estimator>> idle_;
};

}  // namespace orrery::plan
