#include "sim/run/duration.hpp"

#include <cmath>

namespace orrery::run {

namespace {

bool is_time(Seconds value) {
  return std::isfinite(in_seconds(value)) && value >= Seconds{};
}

struct MeanOf {
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
};

struct ScaledBy {
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
};

struct ProblemOf {
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

  static std::optional<std::string> check(bool holds, const char* otherwise) {
    return holds ? std::nullopt : std::optional<std::string>(otherwise);
  }
};

}  // namespace

Seconds mean(const Duration& duration) {
  return std::visit(MeanOf{}, duration);
}

Duration scaled(const Duration& duration, double factor) {
  return std::visit(ScaledBy{factor}, duration);
}

Seconds sample(const Duration& duration, RandomStream& stream) {
  return std::visit(Draw{stream}, duration);
}

std::optional<std::string> problem_of(const Duration& duration) {
  return std::visit(ProblemOf{}, duration);
}

}  // namespace orrery::run
