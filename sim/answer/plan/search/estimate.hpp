#pragma once

// The estimated step time and memory of one layout, equal to the answer of `orrery run` to the bit.
//
// The estimate goes the way of every evaluation (layout rules, costs, step graph, replay, ledger,
// memory); what is shared between layouts is only not done again. An estimator belongs to one
// thread; the workbench may be shared.
//
// field     | meaning                                                       | unit | origin
// ----------|---------------------------------------------------------------|------|---------
// step_time | of one optimizer step, waiting for input included             | ns   | step/
// headroom  | free memory on the fullest GPU; negative: short by that much  | byte | step/
// mfu       | 6N + 12LHQT FLOP per token over the dense peak                | 1    | evaluate/

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "sim/answer/plan/space/candidate.hpp"
#include "sim/answer/plan/space/workbench.hpp"
#include "sim/base/sim_time.hpp"
#include "sim/base/units.hpp"
#include "sim/step/simulate/step_result.hpp"

namespace orrery::step {
class StepSimulator;
}

namespace orrery::plan {

enum class Verdict : std::uint8_t {
  fits,
  breaks_rule,      // of the schedule or the step: `key` and `message` say which
  over_memory,      // of a GPU (or less free than the constraint asks for)
  over_host_memory  // of a node, for what is offloaded
};

// All of an estimate that is a number: what processes tell each other.
struct EstimateFigures {
  Verdict verdict = Verdict::breaks_rule;
  SimTime step_time = {};
  Bytes peak_memory = {};
  Bytes memory_limit = {};
  Bytes headroom = {};
  std::int64_t worst_stage = 0;
  Bytes host_memory = {};
  double mfu = 0.0;
  double tokens_per_second = 0.0;
};

struct Estimate : EstimateFigures {
  std::string key = {};      // breaks_rule: the scenario key that decides
  std::string message = {};  // breaks_rule: the rule with its numbers
};

// What is certain without a step graph, in a small part of the time.
struct Bound {
  Verdict verdict = Verdict::breaks_rule;
  bool undecided = false;  // of memory: within the rounding of sums
  SimTime least = {};      // the step takes no less
  Bytes headroom = {};
};

class Estimator {
 public:
  // `fits` leaves the headroom of the machine free. Keeps a reference to the workbench. Estimators
  // of one thread may share a simulator, and with it the structure of the steps of all of them.
  explicit Estimator(const Workbench& bench,
                     std::shared_ptr<step::StepSimulator> simulator = nullptr);
  ~Estimator();
  Estimator(Estimator&&) noexcept;
  Estimator& operator=(Estimator&&) = delete;

  [[nodiscard]] Estimate estimate(const Candidate& candidate);

  // Of a scenario as it stands, which differs from the workbench's base in its layout, batch and
  // number of nodes alone.
  [[nodiscard]] Estimate estimate(const scenario::Scenario& stated);

  [[nodiscard]] Bound bound(const Candidate& candidate);

  // The step of no layout of the candidate's family (families.hpp) takes less.
  [[nodiscard]] SimTime least_of_family(const Candidate& candidate);

 private:
  struct State;

  [[nodiscard]] Estimate simulate(const Candidate& candidate);

  std::unique_ptr<State> state_;
};

}  // namespace orrery::plan
