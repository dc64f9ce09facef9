#include "kernels/products/candidates.hpp"

#include <algorithm>

#include "kernels/device/runnable.hpp"
#include "sim/base/check.hpp"
#include "sim/base/error.hpp"

namespace orrery::kernels {

std::optional<std::string> trouble_of(const std::function<void()>& attempt, const Usable& usable) {
  try {
    attempt();
    return std::nullopt;
  } catch (const Unsupported& unsupported) {
    return unsupported.what();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::device || !usable()) {
      throw;
    }
    return error.what();
  }
}

std::size_t first_that_runs(std::size_t candidates,
                            const std::function<void(std::size_t)>& run,
                            const Usable& usable) {
  ORRERY_CHECK(candidates > 0, "there is a candidate");
  for (std::size_t i = 0; i + 1 < candidates; ++i) {
    if (!trouble_of([&] { run(i); }, usable)) {
      return i;
    }
  }
  run(candidates - 1);
  return candidates - 1;
}

CandidateTimes time_candidates(std::size_t candidates,
                               const SearchRule& rule,
                               const std::function<double(std::size_t)>& seconds_of,
                               const Usable& usable) {
  ORRERY_CHECK(rule.rounds > 0, "candidates are timed in a round at least");
  std::vector<std::vector<double>> times(candidates);
  std::vector<bool> failed(candidates, false);
  Seconds spent;
  const auto call = [&](std::size_t i) {
    const double time = seconds_of(i);
    spent += seconds(time);
    return time;
  };
  for (std::size_t round = 0; round < rule.rounds && spent < rule.most; ++round) {
    for (std::size_t i = 0; i < candidates && spent < rule.most; ++i) {
      failed[i] = failed[i] || trouble_of(
                                   [&] {
                                     if (round == 0) {
                                       (void)call(i);
                                     }
                                     times[i].push_back(call(i));
                                   },
                                   usable)
                                   .has_value();
    }
  }
  CandidateTimes found;
  for (std::size_t i = 0; i < candidates; ++i) {
    std::vector<double>& own = times[i];
    std::optional<double>& seconds = found.seconds.emplace_back();
    if (!failed[i] && !own.empty()) {
      const auto middle = own.begin() + static_cast<std::ptrdiff_t>(own.size() / 2);
      std::nth_element(own.begin(), middle, own.end());
      seconds = *middle;
      if (!found.fastest || *seconds < *found.seconds[*found.fastest]) {
        found.fastest = i;
      }
    }
  }
  return found;
}

}  // namespace orrery::kernels
