#include "sim/step/cost/cost.hpp"

namespace orrery::cost {

namespace {

// Strength by SourceKind: assumed < datasheet < published < measured < given.
constexpr int strength(SourceKind kind) {
  constexpr int kStrength[] = {3, 2, 1, 0, 4};
  return kStrength[static_cast<std::size_t>(kind)];
}

}  // namespace

Cost& Cost::operator+=(const Cost& other) {
  time += other.time;
  gap += other.gap;
  for (std::size_t i = 0; i < by_source.size(); ++i) {
    by_source[i] += other.by_source[i];
  }
  extrapolated += other.extrapolated;
  return *this;
}

Cost term(Seconds time, SourceKind kind) {
  Cost cost;
  cost.time = time;
  cost.by_source[static_cast<std::size_t>(kind)] = time;
  return cost;
}

SourceKind weaker(SourceKind a, SourceKind b) { return strength(a) <= strength(b) ? a : b; }

}  // namespace orrery::cost
