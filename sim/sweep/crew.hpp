#pragma once

// Who evaluates the points? The threads of this process, or several processes under MPI.
//
// A crew evaluates points in any order and hands every result over; what it hands over does not
// depend on who did the work. One member leads: it keeps the journal and writes the table. The
// others only work.

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "sim/sweep/point_evaluator.hpp"

namespace orrery::sweep {

// Takes the result of a point; called by one thread at a time.
using TakeResult = std::function<void(std::size_t point, PointResult result)>;

class Crew {
 public:
  Crew() = default;
  virtual ~Crew() = default;
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  [[nodiscard]] virtual bool leads() const {
    return true;
  }

  // Processes.
  [[nodiscard]] virtual int members() const {
    return 1;
  }

  // This process among them.
  [[nodiscard]] virtual int number() const {
    return 0;
  }

  // What every member says, by number: all members ask together, before they lead or serve. Throws
  // when one of them has ended.
  [[nodiscard]] virtual std::vector<std::string> exchange(const std::string& mine) {
    return {mine};
  }

  // `threads` of every member (0: all cores). False when a stop request came before all points were
  // done. What `take` or the evaluation throws ends the work and is thrown on.
  [[nodiscard]] virtual bool lead(PointEvaluator& evaluator,
                                  const std::vector<std::size_t>& points,
                                  int threads,
                                  const TakeResult& take,
                                  const std::stop_token& stop) = 0;

  // For members that do not lead: works until the leader has no more points.
  virtual void serve(PointEvaluator& evaluator, int threads, const std::stop_token& stop) = 0;
};

// Evaluates the points on `threads` threads of this process (0: all cores); few points leave
// threads for their trials. As Crew::lead.
[[nodiscard]] bool work_on(PointEvaluator& evaluator,
                           const std::vector<std::size_t>& points,
                           int threads,
                           const TakeResult& take,
                           const std::stop_token& stop);

class ThreadCrew : public Crew {
 public:
  [[nodiscard]] bool lead(PointEvaluator& evaluator,
                          const std::vector<std::size_t>& points,
                          int threads,
                          const TakeResult& take,
                          const std::stop_token& stop) override {
    return work_on(evaluator, points, threads, take, stop);
  }

  void serve(PointEvaluator& /*evaluator*/,
             int /*threads*/,
             const std::stop_token& /*stop*/) override {}
};

}  // namespace orrery::sweep
