#pragma once

// A counter: a step function of time, with an index of least and greatest values over any stretch
// of time.
//
//   value(t) = value of the latest sample at or before t
//
// symbol | meaning                                                    | unit     | origin
// -------|------------------------------------------------------------|----------|---------
// sample | from `time` on the counter has `value`                     | ns, unit | adapters
// block  | least and greatest of 64 samples (64 blocks at next level) | unit     | this file
//
// A query of any width costs O(64 log_64 n) and skips no sample: a peak of one sample stays
// visible.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace orrery::timeline {

struct Sample {
  std::int64_t time = 0;
  double value = 0.0;
};

struct Extremes {
  double least = 0.0;
  double greatest = 0.0;
};

class Counter {
 public:
  Counter() = default;

  // Samples are sorted by time; of several at one time the last one counts. `limit`: what it can be
  // at most, drawn as a line; 0: nothing is known.
  Counter(std::string name, std::string unit, std::vector<Sample> samples, double limit = 0.0);

  [[nodiscard]] const std::string& name() const { return name_; }

  [[nodiscard]] const std::string& unit() const { return unit_; }

  [[nodiscard]] const std::vector<Sample>& samples() const { return samples_; }

  [[nodiscard]] double limit() const { return limit_; }

  // Of all samples; 0 without samples.
  [[nodiscard]] Extremes extremes() const { return all_; }

  // Nothing before the first sample.
  [[nodiscard]] std::optional<double> value_at(std::int64_t time) const;

  // Of the values taken in [begin, end); nothing when all of it lies before the first sample.
  [[nodiscard]] std::optional<Extremes> within(std::int64_t begin, std::int64_t end) const;

  [[nodiscard]] std::size_t bytes() const;

 private:
  [[nodiscard]] Extremes of_samples(std::size_t first, std::size_t last) const;

  std::string name_;
  std::string unit_;
  std::vector<Sample> samples_;
  std::vector<std::vector<Extremes>> levels_;
  Extremes all_;
  double limit_ = 0.0;
};

}  // namespace orrery::timeline
