#include "sim/step/cost/cost.hpp"

namespace orrery::cost {

namespace {

// Strength of a kind of source, weakest first.
constexpr int strength(SourceKind kind) {
  switch (kind) {
    case SourceKind::assumed:
      return 0;
    case SourceKind::datasheet:
      return 1;
    case SourceKind::published:
      return 2;
    case SourceKind::measured:
      return 3;
    case SourceKind::given:
      return 4;
  }
  return 0;
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
