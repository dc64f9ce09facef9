// How many ranks took part, read from the figures of a table alone.

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "calibrate/import/import_report.hpp"

namespace orrery::calibration_import {

namespace {

using model::CollectiveKind;

// 2 (n-1)/n has n = 2 / (2 - f), (n-1)/n has n = 1 / (1 - f); others say nothing.
double factor_limit(CollectiveKind operation) {
  switch (operation) {
    case CollectiveKind::all_reduce:
      return 2.0;
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_to_all:
      return 1.0;
    default:
      return 0.0;
  }
}

struct Bounds {
  double low = 0.0;
  double high = std::numeric_limits<double>::infinity();
};

// The factors that the printed digits of one place allow.
void narrow(Bounds& bounds, const LogTiming& timing) {
  const PrintedNumber& bus = timing.busbw;
  const PrintedNumber& alg = timing.algbw;
  if (alg.value <= alg.half_step) {
    return;
  }
  bounds.low = std::max(bounds.low, (bus.value - bus.half_step) / (alg.value + alg.half_step));
  bounds.high = std::min(bounds.high, (bus.value + bus.half_step) / (alg.value - alg.half_step));
}

Bounds bounds_of(const CollectiveLog& log) {
  Bounds bounds;
  for (const LogRow& row : log.rows) {
    for (const auto& timing : {row.out_of_place, row.in_place}) {
      if (timing) {
        narrow(bounds, *timing);
      }
    }
  }
  return bounds;
}

std::optional<std::int64_t> by_factor(const CollectiveLog& log, double limit) {
  const Bounds bounds = bounds_of(log);
  if (bounds.low > bounds.high || bounds.high >= limit) {
    return std::nullopt;
  }
  const double fewest = std::ceil(limit / (limit - bounds.low));
  const double most = std::floor(limit / (limit - bounds.high));
  return fewest == most && fewest >= 2.0 ? std::optional(static_cast<std::int64_t>(fewest))
                                         : std::nullopt;
}

// All-gather and its kin print the total as size and one rank's share as count.
std::optional<std::int64_t> by_count(const CollectiveLog& log) {
  std::set<std::int64_t> found;
  for (const LogRow& row : log.rows) {
    const std::int64_t share = row.count * type_size(row.type).value_or(0);
    if (share > 0 && row.size > 0) {
      found.insert(row.size % share == 0 ? row.size / share : 0);
    }
  }
  return found.size() == 1 && *found.begin() >= 2 ? std::optional(*found.begin()) : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> ranks_by_figures(const CollectiveLog& log, CollectiveKind operation) {
  const double limit = factor_limit(operation);
  if (limit == 0.0) {
    return std::nullopt;
  }
  if (limit == 1.0) {
    if (const auto ranks = by_count(log)) {
      return ranks;
    }
  }
  return by_factor(log, limit);
}

bool figures_allow(const CollectiveLog& log, CollectiveKind operation, std::int64_t ranks) {
  const double limit = factor_limit(operation);
  const Bounds bounds = bounds_of(log);
  const auto n = static_cast<double>(ranks);
  const double factor = limit * (n - 1.0) / n;
  return limit == 0.0 || bounds.low > bounds.high ||
         (factor >= bounds.low && factor <= bounds.high);
}

bool ran_alone(const CollectiveLog& log) {
  std::set<std::int64_t> ranks;
  bool repeated = false;
  for (const LogRank& rank : log.ranks) {
    repeated = !ranks.insert(rank.rank).second || repeated;
  }
  if (repeated) {
    return true;
  }
  // A group of one has the factor 0: busbw 0 where algbw is not.
  constexpr double kVisible = 0.05;
  const auto idle = [](const std::optional<LogTiming>& timing) {
    return !timing || (timing->algbw.value >= kVisible && timing->busbw.value == 0.0);
  };
  return std::ranges::any_of(log.rows,
                             [](const LogRow& row) {
                               return row.out_of_place && row.out_of_place->algbw.value >= kVisible;
                             }) &&
         std::ranges::all_of(log.rows, [&idle](const LogRow& row) {
           return (row.out_of_place && row.out_of_place->algbw.value < kVisible) ||
                  (idle(row.out_of_place) && idle(row.in_place));
         });
}

}  // namespace orrery::calibration_import
