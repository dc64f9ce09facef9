#include "gui/timeline/store/counter.hpp"

#include <algorithm>
#include <utility>

namespace orrery::timeline {

namespace {

constexpr std::size_t kBlock = 64;

void widen(Extremes& all, Extremes other) {
  all.least = std::min(all.least, other.least);
  all.greatest = std::max(all.greatest, other.greatest);
}

Extremes point(double value) { return {value, value}; }

void keep_last_of_each_time(std::vector<Sample>& samples) {
  std::stable_sort(samples.begin(), samples.end(),
                   [](const Sample& a, const Sample& b) { return a.time < b.time; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (kept > 0 && samples[kept - 1].time == samples[i].time) {
      --kept;
    }
    samples[kept++] = samples[i];
  }
  samples.resize(kept);
}

}  // namespace

Counter::Counter(std::string name, std::string unit, std::vector<Sample> samples, double limit)
    : name_(std::move(name)), unit_(std::move(unit)), samples_(std::move(samples)), limit_(limit) {
  keep_last_of_each_time(samples_);
  std::vector<Extremes> level;
  for (std::size_t i = 0; i < samples_.size(); i += kBlock) {
    Extremes block = point(samples_[i].value);
    for (std::size_t j = i; j < std::min(i + kBlock, samples_.size()); ++j) {
      widen(block, point(samples_[j].value));
    }
    level.push_back(block);
  }
  while (!level.empty()) {
    levels_.push_back(level);
    if (level.size() == 1) {
      break;
    }
    std::vector<Extremes> next;
    for (std::size_t i = 0; i < level.size(); i += kBlock) {
      Extremes block = level[i];
      for (std::size_t j = i; j < std::min(i + kBlock, level.size()); ++j) {
        widen(block, level[j]);
      }
      next.push_back(block);
    }
    level = std::move(next);
  }
  if (!samples_.empty()) {
    all_ = levels_.back().front();
  }
}

std::optional<double> Counter::value_at(std::int64_t time) const {
  const auto after =
      std::upper_bound(samples_.begin(), samples_.end(), time,
                       [](std::int64_t at, const Sample& sample) { return at < sample.time; });
  if (after == samples_.begin()) {
    return std::nullopt;
  }
  return std::prev(after)->value;
}

// Whole blocks of the highest level that fit, single samples at the ends.
Extremes Counter::of_samples(std::size_t first, std::size_t last) const {
  Extremes all = point(samples_[first].value);
  while (first < last) {
    std::size_t level = 0;
    std::size_t size = 1;
    while (level < levels_.size() && first % (size * kBlock) == 0 &&
           first + size * kBlock <= last) {
      size *= kBlock;
      ++level;
    }
    widen(all, level == 0 ? point(samples_[first].value) : levels_[level - 1][first / size]);
    first += size;
  }
  return all;
}

std::optional<Extremes> Counter::within(std::int64_t begin, std::int64_t end) const {
  const auto by_time = [](const Sample& sample, std::int64_t at) { return sample.time < at; };
  const auto first_after =
      std::upper_bound(samples_.begin(), samples_.end(), begin,
                       [](std::int64_t at, const Sample& sample) { return at < sample.time; });
  const auto last = std::lower_bound(first_after, samples_.end(), end, by_time);
  const std::size_t from = static_cast<std::size_t>(first_after - samples_.begin());
  const std::size_t to = static_cast<std::size_t>(last - samples_.begin());
  const std::size_t first = from == 0 ? 0 : from - 1;
  if (first >= to) {
    return std::nullopt;
  }
  return of_samples(first, to);
}

std::size_t Counter::bytes() const {
  std::size_t sum = samples_.size() * sizeof(Sample);
  for (const std::vector<Extremes>& level : levels_) {
    sum += level.size() * sizeof(Extremes);
  }
  return sum;
}

}  // namespace orrery::timeline
