#pragma once

// Lines of a scenario's dump, one `field = value` per field. Each part of the scenario has its own
// function, in the file of its keys.

#include <fmt/core.h>

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "sim/run/run_spec.hpp"
#include "sim/scenario/plan_spec.hpp"
#include "sim/scenario/scenario.hpp"

namespace orrery::scenario {

// In base units (s, byte, 1/s ...), bits exact.
template <typename T>
[[nodiscard]] std::string show(const T& value) {
  if constexpr (std::is_same_v<T, Seconds>) {
    return fmt::format("{} s", in_seconds(value));
  } else if constexpr (std::is_same_v<T, Bytes>) {
    return fmt::format("{} B", in_bytes(value));
  } else if constexpr (std::is_same_v<T, BytesPerSecond>) {
    return fmt::format("{} GB/s", in_gigabytes_per_second(value));
  } else if constexpr (std::is_same_v<T, PerSecond>) {
    return fmt::format("{:.12g} /d", in_per_day(value));
  } else if constexpr (std::is_same_v<T, Tokens>) {
    return fmt::format("{} tokens", in_tokens(value));
  } else if constexpr (std::is_same_v<T, Dollars>) {
    return fmt::format("{:.12g} $", in_dollars(value));
  } else if constexpr (std::is_same_v<T, DollarsPerSecond>) {
    return fmt::format("{:.12g} $/h", in_dollars_per_hour(value));
  } else if constexpr (std::is_enum_v<T>) {
    return fmt::format("#{}", static_cast<int>(value));
  } else {
    return fmt::format("{}", value);
  }
}

[[nodiscard]] inline std::string show_law(const run::Duration& duration) {
  struct Visitor {
    std::string operator()(const run::FixedLaw& d) const { return show(d.value); }

    std::string operator()(const run::ExponentialLaw& d) const {
      return "exponential " + show(d.mean);
    }

    std::string operator()(const run::LognormalLaw& d) const {
      return fmt::format("lognormal {} {}", show(d.median), d.sigma);
    }

    std::string operator()(const run::UniformLaw& d) const {
      return fmt::format("uniform {} {}", show(d.low), show(d.high));
    }

    std::string operator()(const run::EmpiricalLaw& d) const {
      std::string text = "one of";
      for (const Seconds value : d.values) {
        text += " " + show(value);
      }
      return text;
    }
  };

  return std::visit(Visitor{}, duration);
}

class Lines {
 public:
  template <typename T>
  void add(const std::string& field, const T& value) {
    lines_.push_back(field + " = " + show(value));
  }

  template <typename T>
  void add(const std::string& field, const std::optional<T>& value) {
    lines_.push_back(field + " = " + (value ? show(*value) : "absent"));
  }

  void law(const std::string& field, const std::optional<run::Duration>& value) {
    lines_.push_back(field + " = " + (value ? show_law(*value) : "absent"));
  }

  void stages(const std::string& field, const run::RecoveryStages& stages) {
    for (std::size_t i = 0; i < stages.size(); ++i) {
      law(fmt::format("{}.{}", field, run::kRecoveryStageNames[i]), stages[i]);
    }
  }

  std::vector<std::string> take() { return std::move(lines_); }

 private:
  std::vector<std::string> lines_;
};

// `training` and `evaluation` (training_effects.cpp).
void dump_training(Lines& lines, const run::RunSpec& run);

// `checkpoint` and `recovery` (checkpoint_effects.cpp).
void dump_checkpoint(Lines& lines, const run::CheckpointSpec& checkpoint);
void dump_recovery(Lines& lines, const run::RecoverySpec& recovery);

// `plan` (plan_effects.cpp).
void dump_plan(Lines& lines, const plan::PlanSpec& spec);

// `capacity` and `prices` (capacity_effects.cpp).
// Adapters and rollouts.
void dump_post_training(Lines& lines, const Scenario& scenario);

void dump_capacity(Lines& lines, const run::CapacitySpec& capacity);
void dump_prices(Lines& lines, const run::PriceSpec& prices);

}  // namespace orrery::scenario
