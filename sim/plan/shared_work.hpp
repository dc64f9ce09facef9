#pragma once

// Who does the work of a search? The threads of this process, and of the others of its team.
// Internal to plan/.
//
// Items are independent: each has its own slots for results, and whoever has an estimator at hand
// fills them. Chunks of items go round the processes; then all tell each other what they found, so
// that every process goes on with the same results. Whether the work was stopped is part of that:
// all stop at the same place.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "sim/plan/estimate.hpp"
#include "sim/plan/search.hpp"

namespace orrery::plan {

// Results of items; those of item i begin at begins[i].
template <typename Result>
struct Findings {
  std::vector<Result> results;
  std::vector<std::size_t> begins;  // one more than items
  std::vector<char> done;           // by item: 0 after a stop request

  [[nodiscard]] std::size_t items() const {
    return done.size();
  }
};

class SharedWork {
 public:
  SharedWork(const Workbench& bench, const SearchOptions& options)
      : bench_(bench), options_(options) {}

  // Throws when another process works on something else.
  void agree(const std::string& identity) const;

  // Some item was not done, in this process or another.
  [[nodiscard]] bool stopped() const {
    return stopped_;
  }

  // What little is left to do after a stop request is done all the same.
  void wind_up() {
    winds_up_ = true;
    stopped_ = false;
  }

  // `visit(estimator, item, results of the item)`; items have `sizes` results, without sizes one.
  // `progress`: how many of all items are done, of this process as if of all.
  template <typename Result, typename Visit>
  Findings<Result> share(std::size_t items,
                         const std::vector<std::size_t>& sizes,
                         const Visit& visit,
                         const std::function<void(double)>& progress = {}) {
    static_assert(std::is_trivially_copyable_v<Result>);
    Findings<Result> found;
    found.done.assign(items, 0);
    found.begins.assign(items + 1, 0);
    for (std::size_t i = 0; i < items; ++i) {
      found.begins[i + 1] = found.begins[i] + (sizes.empty() ? 1 : sizes[i]);
    }
    found.results.resize(found.begins.back());
    const std::size_t grain = progress ? 256 : 16;
    run(
        {items, grain},
        [&](Estimator& estimator, std::size_t item) {
          visit(estimator, item, &found.results[found.begins[item]]);
          found.done[item] = 1;
        },
        progress);
    tell({items, grain}, found.done, found.begins, sizeof(Result), [&found](std::size_t at) {
      return reinterpret_cast<char*>(found.results.data() + at);
    });
    return found;
  }

 private:
  struct Cut {
    std::size_t items;
    std::size_t grain;
  };

  using Work = std::function<void(Estimator&, std::size_t item)>;

  // The items of one process, in order.
  [[nodiscard]] std::vector<std::size_t> part(const Cut& cut, int process) const;

  void run(const Cut& cut, const Work& work, const std::function<void(double)>& progress);

  // Fills what other processes did.
  void tell(const Cut& cut,
            std::vector<char>& done,
            const std::vector<std::size_t>& begins,
            std::size_t size,
            const std::function<char*(std::size_t)>& at);

  // Estimators are dear to make and belong to one thread at a time.
  std::unique_ptr<Estimator> take();
  void give(std::unique_ptr<Estimator> estimator);

  const Workbench& bench_;
  const SearchOptions& options_;
  bool stopped_ = false;
  bool winds_up_ = false;
  std::string failure_;  // of this process, as the others are told
  std::mutex mutex_;
  std::vector<std::unique_ptr<Estimator>> idle_;
};

}  // namespace orrery::plan
