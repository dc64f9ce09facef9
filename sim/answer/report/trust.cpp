#include "sim/answer/report/trust.hpp"

namespace orrery::report {

Trust trust_of(const step::StepResult& step) {
  Seconds all;
  for (const Seconds part : step.by_source) {
    all += part;
  }
  Trust trust;
  if (all <= Seconds{}) {
    return trust;
  }
  for (std::size_t i = 0; i < kSourceKindCount; ++i) {
    trust.share[i] = step.by_source[i] / all;
  }
  trust.extrapolated = step.extrapolated / all;
  return trust;
}

}  // namespace orrery::report
