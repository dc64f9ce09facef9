#pragma once

// The random failures, slowdowns, corruptions and spikes of one trial, in order of time.
//
//   exponential causes: one merged process; the remaining hazard h ~ Exp(1) is used up at the rate
//                       R = sum of the hazards of the causes, so the next strike is h / R away
//   other laws:         one clock per component in operational time; the earliest of all is next;
//                       only the component that failed is renewed, the others keep their ages
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
// Complexity: O(1) per strike of the merged process (one or two draws), O(log n) per renewal;
// reset() is O(components that fail within the run), not O(components).

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/base/sim_time.hpp"
#include "sim/run/capacity/capacity_plan.hpp"
#include "sim/run/failures/time_warp.hpp"
#include "sim/run/run_plan.hpp"
#include "sim/run/theory/time_law.hpp"

namespace orrery::run {

struct Strike {
  std::int32_t cause = 0;              // index into RunPlan::causes, which tells its effect
  std::int64_t nodes = 0;              // nodes of the job that it takes out
  std::int64_t bad = 0;                // how many of those are lemons
  std::int64_t component = -1;         // of a cause whose life remembers: always the same number
  std::optional<SimTime> outage = {};  // of a log: replaces all stages of the recovery
};

// One per thread. Keeps a reference to the plan.
class FailureSources {
 public:
  explicit FailureSources(const RunPlan& plan);

  // At time 0, with all nodes of the job good and the job running.
  void reset(std::uint32_t trial);

  // kForever when nothing will strike under the present exposure.
  [[nodiscard]] SimTime next() const { return next_; }

  // The strike at next(), which must be `now`; the one after it is drawn.
  Strike take(SimTime now);

  // Who can be struck from `now` on. Causes of scope job and storage strike only while `running`.
  void set_exposure(SimTime now, NodeMix job, bool running);

 private:
  // What the hazard of a cause is proportional to.
  enum class Exposure : std::uint8_t { weighted_nodes, nodes, running };
  static constexpr std::size_t kExposures = 3;

  // Causes of one exposure in a merged process.
  struct Share {
    double rate = 0.0;                // per unit of exposure and ns, all together
    std::vector<double> cumulative;   // of `rate`, from above 0 to 1
    std::vector<std::int32_t> cause;  // index into RunPlan::causes
  };

  // Exponential causes, drawn together.
  struct Merged {
    std::array<Share, kExposures> shares;
    bool modulated = false;
    std::uint32_t entity = 0;  // of its streams
    RandomStream time;
    RandomStream choice;
    std::int32_t only = -1;           // the cause, when there is one alone
    std::array<double, 8> hazards{};  // of the next strikes, drawn together
    std::size_t next_hazard = 0;      // of `hazards`
    std::size_t hazards_end = 0;
    double hazard = 0.0;  // left at `warped`
    double warped = 0.0;  // time of the warp at the last change
    double rate = 0.0;    // per ns, under the present exposure
    SimTime at = kForever;
  };

  // Components of one cause whose law remembers.
  struct Population {
    std::int32_t cause = 0;
    std::int64_t count = 0;
    std::uint32_t entity = 0;
    RemainingLife first;    // from the start of the run
    RemainingLife renewed;  // after each repair
    double failing = 0.0;   // share of the components that fail within the run
    RandomStream renewals;
  };

  struct Clock {
    double at = 0.0;  // operational time of the failure, in ns
    std::int32_t population = 0;
    std::int32_t component = 0;  // in the order in which the first ones fail
  };

  // Components whose operational times run alike.
  struct Clocks {
    std::vector<Population> populations;
    std::vector<Clock> heap;  // earliest first
    bool modulated = false;
    bool by_nodes = true;  // else they run while the job does
    double speed = 1.0;
    double horizon = 0.0;      // what fails after it is beyond the end of the run
    double operational = 0.0;  // of the components, at `warped`
    double warped = 0.0;       // time of the warp at the last change
    SimTime at = kForever;
  };

  enum class Source : std::uint8_t { none, merged, clocks, log };

  void add_exponential(std::int32_t cause, Merged& merged) const;
  void add_population(std::int32_t cause);
  [[nodiscard]] double exposure(Exposure kind) const;
  [[nodiscard]] double operational(SimTime now, bool modulated) const;
  [[nodiscard]] SimTime time_of(SimTime now, bool modulated, double present, double amount) const;
  void start(Merged& merged, std::uint32_t trial);
  void start(Clocks& clocks, std::uint32_t trial);
  template <typename Add>
  void first_failures(const Population& population, std::uint32_t trial, Seconds horizon,
                      Add add) const;
  void schedule(Merged& merged, SimTime now);
  void schedule(Clocks& clocks, SimTime now);
  void find_next();
  std::int32_t choose(Merged& merged) const;
  std::int32_t take_merged(Merged& merged, SimTime now);
  Clock take_clock(Clocks& clocks, SimTime now);
  Strike strike_of(std::int32_t cause, std::int64_t nodes);

  const RunPlan& plan_;
  TimeWarp warp_;
  NodeMix job_;
  bool running_ = true;
  std::vector<Merged> merged_;  // failures, then one per slowdown, corruption and spike
  std::vector<Clocks> clocks_;
  std::size_t logged_ = 0;  // lines of the log that are over
  RandomStream who_;        // which nodes are hit
  SimTime next_ = kForever;
  Source source_ = Source::none;
  std::size_t index_ = 0;  // of the source
};

}  // namespace orrery::run
