#pragma once

// The evaluation of one point of a sweep: the scenario with the point's keys.
//
// The step is simulated once for all points that differ in keys of the run alone. Points may be
// evaluated by many threads at once; the result does not depend on who evaluates what.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "sim/answer/evaluate/evaluate.hpp"
#include "sim/answer/sweep/sweep.hpp"

namespace orrery::sweep {

class PointEvaluator {
 public:
  using Progress = std::function<void(std::int64_t done, std::int64_t all)>;

  // Keeps a reference to the sweep.
  explicit PointEvaluator(const Sweep& sweep);
  ~PointEvaluator();
  PointEvaluator(const PointEvaluator&) = delete;
  PointEvaluator& operator=(const PointEvaluator&) = delete;

  // `threads` share the trials of this point. Throws Error: interrupted after a stop request, io
  // when a profile cannot be read.
  [[nodiscard]] PointResult result(std::size_t point, int threads, const std::stop_token& stop);

  // The whole evaluation of a point, or nothing after errors. `progress`: trials done of all.
  [[nodiscard]] std::optional<report::Evaluation> evaluation(std::size_t point, int threads,
                                                             const std::stop_token& stop,
                                                             Diagnostics& diagnostics,
                                                             const Progress& progress = {});

  // The points in an order that meets every step once: equal steps stand together.
  [[nodiscard]] std::vector<std::size_t> good_order(std::vector<std::size_t> points) const;

  [[nodiscard]] const Sweep& sweep() const { return sweep_; }

 private:
  struct KeptStep;

  [[nodiscard]] std::optional<report::Evaluation> answer_to(const scenario::Scenario& scenario,
                                                            std::size_t point, int threads,
                                                            const std::stop_token& stop,
                                                            Diagnostics& diagnostics,
                                                            const Progress& progress);

  [[nodiscard]] std::string step_of(std::size_t point) const;
  [[nodiscard]] std::shared_ptr<KeptStep> kept_step(const std::string& name);

  // Simulators belong to one thread at a time.
  [[nodiscard]] std::shared_ptr<step::StepSimulator> take_simulator();
  void give_back(std::shared_ptr<step::StepSimulator> simulator);

  const Sweep& sweep_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<step::StepSimulator>> idle_;
  std::map<std::string, std::shared_ptr<KeptStep>> kept_;
  std::vector<std::string> oldest_;  // names in kept_, the oldest first
};

}  // namespace orrery::sweep
