#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "calibrate/import/import_report.hpp"
#include "sim/step/cost/collective.hpp"

namespace orrery::calibration_import {

namespace {

constexpr double kTolerance = 0.01;
constexpr double kNoise = 1.15;           // a time above that of the next size by more than this
constexpr std::int64_t kGrowthStep = 16;  // sizes between which the time must grow
constexpr std::int64_t kMovedBytes = std::int64_t{1} << 26U;  // and from which on
constexpr int kMostErrors = 5;                                // of one log

double rate_of(std::int64_t size, const PrintedNumber& time) {
  const BytesPerSecond rate = bytes(static_cast<double>(size)) / microseconds(time.value);
  return in_gigabytes_per_second(rate);
}

class RowChecker {
 public:
  RowChecker(const ResolvedLog& resolved, bool in_place, Diagnostics& diagnostics)
      : log_(*resolved.log),
        operation_(resolved.table.operation),
        ranks_(resolved.table.ranks),
        in_place_(in_place),
        diagnostics_(diagnostics) {}

  bool check() {
    if (log_.rows.empty()) {
      error(log_.where, "", "the test printed no result");
      return false;
    }
    if (log_.cpu_time) {
      error(log_.where, "", "has the times of the CPU, not of the collective", "run it with -C 0");
    }
    if (log_.out_of_bounds.value_or(0) > 0) {
      error(log_.where, "",
            fmt::format("{} values were out of bounds: the data did not arrive",
                        *log_.out_of_bounds));
    }
    for (const LogRow& row : log_.rows) {
      check_row(row);
    }
    if (errors_ > kMostErrors) {
      diagnostics_.error(log_.where, "", fmt::format("and {} more", errors_ - kMostErrors));
    }
    if (errors_ == 0) {
      check_growth();
    }
    if (errors_ == 0) {
      warn_of_settings();
    }
    return errors_ == 0;
  }

 private:
  void error(const SourceLocation& where, std::string_view key, std::string_view message,
             std::string_view allowed = {}) {
    if (++errors_ <= kMostErrors) {
      diagnostics_.error(where, key, message, allowed);
    }
  }

  void check_row(const LogRow& row) {
    if (row.size <= 0) {
      ++without_size_;
      return;
    }
    const LogTiming* timing = used_timing(row, in_place_);
    if (timing == nullptr) {
      ++without_place_;
      return;
    }
    for (const auto& place : {row.out_of_place, row.in_place}) {
      if (place && place->wrong.value_or(0.0) > 0.0) {
        error(row.where, row.place,
              fmt::format("{:g} values were wrong at {}", *place->wrong, exact_size(row.size)));
        return;
      }
    }
    check_figures(row, *timing);
  }

  void check_figures(const LogRow& row, const LogTiming& timing) {
    if (timing.time.value <= 0.0) {
      error(row.where, row.place, fmt::format("a time of {:g} us", timing.time.value));
      return;
    }
    const double rate = rate_of(row.size, timing.time);
    const double rate_slack =
        rate * (kTolerance + timing.time.half_step / timing.time.value) + timing.algbw.half_step;
    if (std::abs(timing.algbw.value - rate) > rate_slack) {
      error(row.where, row.place,
            fmt::format("algbw is {:g} GB/s, but {} in {:g} us are {:.4g} GB/s", timing.algbw.value,
                        exact_size(row.size), timing.time.value, rate));
      return;
    }
    const double factor = cost::bus_factor(operation_, ranks_);
    const double bus = timing.algbw.value * factor;
    const double bus_slack =
        bus * kTolerance + timing.algbw.half_step * factor + timing.busbw.half_step;
    if (std::abs(timing.busbw.value - bus) > bus_slack) {
      error(row.where, row.place,
            fmt::format("busbw is {:g} GB/s, but algbw {:g} x {:.4g} of {} on {} ranks is {:.4g}",
                        timing.busbw.value, timing.algbw.value, factor, operation_name(operation_),
                        ranks_, bus),
            hint());
    }
  }

  [[nodiscard]] std::string hint() const {
    const auto other = ranks_by_figures(log_, operation_);
    return other && *other != ranks_ ? fmt::format("its figures fit {} ranks", *other)
                                     : std::string();
  }

  // Rows in order of size, as far as they can be used.
  [[nodiscard]] std::vector<const LogRow*> ascending() const {
    std::vector<const LogRow*> rows;
    for (const LogRow& row : log_.rows) {
      if (row.size > 0 && used_timing(row, in_place_) != nullptr) {
        rows.push_back(&row);
      }
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [](const LogRow* a, const LogRow* b) { return a->size < b->size; });
    return rows;
  }

  void check_growth() {
    const std::vector<const LogRow*> rows = ascending();
    if (rows.empty()) {
      error(log_.where, "", in_place_ ? "no row has a time in place" : "no row has a size above 0");
      return;
    }
    const LogRow& last = *rows.back();
    const LogTiming& slowest = *used_timing(last, in_place_);
    for (const LogRow* row : rows) {
      const LogTiming& timing = *used_timing(*row, in_place_);
      if (last.size >= kMovedBytes && row->size <= last.size / kGrowthStep &&
          timing.time.value >= slowest.time.value && row->type == last.type) {
        error(last.where, last.place,
              fmt::format("the time does not grow with the size: {:g} us for {}, {:g} us for {}",
                          timing.time.value, exact_size(row->size), slowest.time.value,
                          exact_size(last.size)));
        return;
      }
    }
    for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
      warn_of_noise(*rows[i], *rows[i + 1]);
    }
  }

  void warn_of_noise(const LogRow& row, const LogRow& next) {
    const double time = used_timing(row, in_place_)->time.value;
    const double later = used_timing(next, in_place_)->time.value;
    constexpr double kShort = 100.0;  // us; below, protocols change and clocks jitter
    if (row.size < next.size && row.type == next.type && time > kNoise * later && time > kShort) {
      diagnostics_.warning(row.where, row.place,
                           fmt::format("{:g} us for {} are more than {:g} us for {}: a noisy "
                                       "point, kept as measured",
                                       time, exact_size(row.size), later, exact_size(next.size)));
    }
  }

  void warn_of_settings() {
    if (without_size_ > 0) {
      warn(fmt::format("{} without a size: left out", rows_text(without_size_)));
    }
    if (without_place_ > 0) {
      warn(fmt::format("{} without a time {}: left out", rows_text(without_place_),
                       in_place_ ? "in place" : "out of place"));
    }
    if (log_.average == '0' || log_.average == '2') {
      warn(fmt::format("-a {}: times of {}, not the mean over the ranks", *log_.average,
                       log_.average == '0' ? "rank 0" : "the fastest rank"));
    }
    if (log_.aggregated.value_or(1) > 1) {
      warn(fmt::format("{} operations in one launch: small sizes look faster than they are alone",
                       *log_.aggregated));
    }
    std::set<std::int64_t> groups;
    for (const LogRank& rank : log_.ranks) {
      groups.insert(rank.group);
    }
    if (groups.size() > 1) {
      warn(
          fmt::format("{} groups ran at once: the times hold their sharing of the network, which "
                      "a scenario adds once more",
                      groups.size()));
    }
  }

  static std::string rows_text(int count) {
    return count == 1 ? "1 row" : fmt::format("{} rows", count);
  }

  void warn(const std::string& text) { diagnostics_.warning(log_.where, "", text); }

  const CollectiveLog& log_;
  model::CollectiveKind operation_;
  std::int64_t ranks_;
  bool in_place_;
  Diagnostics& diagnostics_;
  int errors_ = 0;
  int without_size_ = 0;
  int without_place_ = 0;
};

}  // namespace

const LogTiming* used_timing(const LogRow& row, bool in_place) {
  const auto& place = in_place ? row.in_place : row.out_of_place;
  return place ? &*place : nullptr;
}

bool check_rows(const ResolvedLog& resolved, bool in_place, Diagnostics& diagnostics) {
  return RowChecker(resolved, in_place, diagnostics).check();
}

}  // namespace orrery::calibration_import
