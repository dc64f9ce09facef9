#pragma once

// The numbers of a software profile, one row each: the reader of profiles, the fit, the
// knobs and the documentation iterate over it. A new coefficient is a member of SoftwareProfile, a
// row, and its use.

#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "sim/base/yaml/kinds.hpp"
#include "sim/step/hardware/software_profile.hpp"

namespace orrery::hardware {

template <typename Q>
using CoefficientMember = Coefficient<Q> SoftwareProfile::*;
template <typename Q>
using OptionalMember = std::optional<Coefficient<Q>> SoftwareProfile::*;

using StackMember =
    std::variant<CoefficientMember<double>, CoefficientMember<Seconds>, CoefficientMember<Bytes>,
                 OptionalMember<double>, OptionalMember<Seconds>, OptionalMember<Bytes>>;

// Of a place: Q.
template <typename Place>
struct QuantityOfPlace;

template <typename Q>
struct QuantityOfPlace<Coefficient<Q>> {
  using Type = Q;
};

template <typename Q>
struct QuantityOfPlace<std::optional<Coefficient<Q>>> {
  using Type = Q;
};

template <typename Place>
using QuantityOf = typename QuantityOfPlace<Place>::Type;

enum class Unit { share, seconds, bytes };

enum class FitScale { logarithmic, linear };

// Bounds of physics, the offset of a logarithmic scale, one standard deviation on that scale, and
// the value of an optional coefficient with which a profile does without the key.
struct FitBounds {
  double lower;
  double upper;
  double sigma;
  FitScale scale = FitScale::logarithmic;
  double offset = 0.0;
  std::optional<double> neutral = {};
};

struct StackCoefficient {
  std::string_view key;
  StackMember member;  // without the key it keeps its neutral value
  yaml::Range<double> range = {};
  bool required = false;
  // Only profiles for which this is true state it; elsewhere it warns with `idle`.
  bool (*needed)(const SoftwareProfile&) = nullptr;
  std::string_view idle = {};
  std::string_view advice = {};       // beside the warning
  std::optional<FitBounds> fit = {};  // what step times may decide of it; absent: nothing
  std::string_view knob = {};         // with which others it errs together; empty: alone
  std::string_view meaning;

  [[nodiscard]] Unit unit() const { return static_cast<Unit>(member.index() % 3); }

  // In that unit; 0 where an optional one is absent.
  [[nodiscard]] double get(const SoftwareProfile& profile) const;
  void set(SoftwareProfile& profile, double value, const Source& source) const;

  // Relative error of the fit that gave it; 0: none.
  [[nodiscard]] double residual(const SoftwareProfile& profile) const;
  // Times the factor, with its source; an absent one stays absent.
  void scale(SoftwareProfile& profile, double factor) const;
};

[[nodiscard]] std::span<const StackCoefficient> stack_coefficients();

// Coefficients of a stack that err together, by how much, and what measures them. A row of
// stack_coefficients.hpp names its knob.
//
// The error of a knob is the residual of the fit of its first coefficient, or kAssumedError without
// one.

inline constexpr double kAssumedError = 0.05;

struct StackKnob {
  std::string_view name;
  std::string_view measured_by;  // a command

  [[nodiscard]] double residual(const SoftwareProfile& software) const;  // 0: not fitted
  [[nodiscard]] double error(const SoftwareProfile& software) const;
  void move(SoftwareProfile& software, double factor) const;
};

[[nodiscard]] std::span<const StackKnob> stack_knobs();

}  // namespace orrery::hardware
