#include "sim/run/theory/duration.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"

namespace orrery::run {

namespace {

bool is_time(Seconds value) {
  return std::isfinite(in_seconds(value)) && value >= Seconds{};
}

struct DurationMeanOf {
  Seconds operator()(const FixedDuration& law) const {
    return law.value;
  }

  Seconds operator()(const ExponentialDuration& law) const {
    return law.mean;
  }

  Seconds operator()(const LognormalDuration& law) const {
    return law.median * std::exp(0.5 * law.sigma * law.sigma);
  }

  Seconds operator()(const UniformDuration& law) const {
    return 0.5 * (law.low + law.high);
  }

  Seconds operator()(const EmpiricalDuration& law) const {
    Seconds sum;
    for (const Seconds value : law.values) {
      sum += value;
    }
    return law.values.empty() ? sum : sum / static_cast<double>(law.values.size());
  }
};

struct DurationScaledBy {
  double factor;

  Duration operator()(const FixedDuration& law) const {
    return FixedDuration{law.value * factor};
  }

  Duration operator()(const ExponentialDuration& law) const {
    return ExponentialDuration{law.mean * factor};
  }

  Duration operator()(const LognormalDuration& law) const {
    return LognormalDuration{law.median * factor, law.sigma};
  }

  Duration operator()(const UniformDuration& law) const {
    return UniformDuration{law.low * factor, law.high * factor};
  }

  Duration operator()(EmpiricalDuration law) const {
    for (Seconds& value : law.values) {
      value *= factor;
    }
    return law;
  }
};

struct Draw {
  RandomStream& stream;

  Seconds operator()(const FixedDuration& law) const {
    return law.value;
  }

  Seconds operator()(const ExponentialDuration& law) const {
    return stream.exponential(law.mean);
  }

  Seconds operator()(const LognormalDuration& law) const {
    return stream.lognormal(law.median, law.sigma);
  }

  Seconds operator()(const UniformDuration& law) const {
    return law.low + (law.high - law.low) * stream.uniform01();
  }

  Seconds operator()(const EmpiricalDuration& law) const {
    const double count = static_cast<double>(law.values.size());
    return law.values[static_cast<std::size_t>(stream.uniform01() * count)];
  }
};

struct DurationProblemOf {
  std::optional<std::string> operator()(const FixedDuration& law) const {
    return check(is_time(law.value), "the duration must not be negative");
  }

  std::optional<std::string> operator()(const ExponentialDuration& law) const {
    return check(is_time(law.mean), "the mean must not be negative");
  }

  std::optional<std::string> operator()(const LognormalDuration& law) const {
    if (!is_time(law.median)) {
      return "the median must not be negative";
    }
    return check(std::isfinite(law.sigma) && law.sigma >= 0.0, "sigma must not be negative");
  }

  std::optional<std::string> operator()(const UniformDuration& law) const {
    if (!is_time(law.low) || !is_time(law.high)) {
      return "the bounds must not be negative";
    }
    return check(law.low <= law.high, "the lower bound lies above the upper bound");
  }

  std::optional<std::string> operator()(const EmpiricalDuration& law) const {
    if (law.values.empty()) {
      return "the list of values is empty";
    }
    return check(std::all_of(law.values.begin(), law.values.end(), is_time),
                 "the values must not be negative");
  }

  static std::optional<std::string> check(bool holds, const char* otherwise) {
    return holds ? std::nullopt : std::optional<std::string>(otherwise);
  }
};

}  // namespace

LognormalDuration lognormal_with_mean(Seconds median, Seconds mean) {
  ORRERY_CHECK(median > Seconds{} && mean >= median,
               "no lognormal law has the median {} s and the mean {} s",
               in_seconds(median),
               in_seconds(mean));
  return {median, std::sqrt(2.0 * std::log(mean / median))};
}

Seconds mean(const Duration& duration) {
  return std::visit(DurationMeanOf{}, duration);
}

Duration scaled(const Duration& duration, double factor) {
  return std::visit(DurationScaledBy{factor}, duration);
}

Seconds sample(const Duration& duration, RandomStream& stream) {
  return std::visit(Draw{stream}, duration);
}

std::optional<std::string> problem_of(const Duration& duration) {
  return std::visit(DurationProblemOf{}, duration);
}

}  // namespace orrery::run
