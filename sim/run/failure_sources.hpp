#pragma once

// When does what strike next? All random failures, slowdowns, corruptions and spikes of one trial.
//
//   exponential causes: one merged process; the remaining hazard h ~ Exp(1) is used up at the rate
//                       R = sum of the hazards of the causes, so the next strike is h / R away
//   other laws:         one clock per component in operational time; the earliest of all is next;
//                       only the component that failed is renewed, the others keep their ages
//
// symbol | meaning                                                        | unit  | origin
// -------|----------------------------------------------------------------|-------|-----------
// h      | hazard left until the next strike                              | 1     | Exp(1) draw
// R      | rate of the merged process under the present exposure          | 1/s   | computed
// w      | operational time: the integral of the multiplier (time_warp)   | s     | computed
// n      | nodes held by the job                                          | nodes | exposure
//
// Assumptions
// - A change of exposure rescales the hazard that is left: exact for exponential causes. Clocks of
//   components run at n / full nodes of their speed: the rate is exact, and who of the components
//   is missing does not matter.
// - A spare brings components of the ages of those it replaces, except the failed one, which is
//   new.
// - Each cause with an effect other than failure has a process and a stream of its own, as has each
//   cause with a life other than exponential: adding one does not move the draws of the others.
//
// Complexity: O(1) per strike of the merged process (two draws), O(log n) per renewal; reset() is
// O(components that fail within the run), not O(components).

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/base/sim_time.hpp"
#include "sim/run/node_mix.hpp"
#include "sim/run/run_plan.hpp"

namespace orrery::run {

struct Strike {
  std::int32_t cause = 0;         // index into RunPlan::causes, which tells its effect
  std::int64_t nodes = 0;         // nodes of the job that it takes out
  std::int64_t bad = 0;           // how many of those are lemons
  std::optional<SimTime> outage;  // of a log: replaces all stages of the recovery
};

// One per thread. Keeps a reference to the plan.
class FailureSources {
 public:
  explicit FailureSources(const RunPlan& plan);

  // At time 0, with all nodes of the job good and the job running.
  void reset(std::uint32_t trial);

  // kForever when nothing will strike under the present exposure.
  [[nodiscard]] SimTime next() const {
    return next_;
  }

  // The strike at next(), which must be `now`; the one after it is drawn.
  Strike take(SimTime now);

  // Who can be struck from `now` on. Causes of scope job and storage strike only while `running`.
  void set_exposure(SimTime now, NodeMix job, bool running);

 private:
  SimTime next_ = kForever;
};

}  // namespace orrery::run
