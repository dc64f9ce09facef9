#pragma once

// The numbers of a software profile, one row each: the reader of profiles, the fit, the
// knobs and the documentation iterate over it. A new coefficient is a member of SoftwareProfile, a
// row, and its use.
//
// field    | meaning
// ---------|--------------------------------------------------------------------------------------
// key      | as in the profile file
// member   | where SoftwareProfile holds it; without the key it keeps its neutral value
// range    | of the value, in seconds, bytes or 1
// required | every profile states it
// needed   | only profiles for which this is true state it; elsewhere it warns with `idle`
// fit      | what step times may decide of it; absent: nothing
// knob     | with which others it errs together (stack_knobs.hpp); empty: alone
// meaning  | for people

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
  StackMember member;
  yaml::Range<double> range = {};
  bool required = false;
  bool (*needed)(const SoftwareProfile&) = nullptr;
  std::string_view idle = {};
  std::string_view advice = {};  // beside the warning
  std::optional<FitBounds> fit = {};
  std::string_view knob = {};
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

}  // namespace orrery::hardware
