#pragma once

// Several processes share the points of a sweep: who evaluates which, and who says what to whom?
//
//   member -> leader   "R <identity>\n" + finished points, one line each: asks for more
//                      "E <kind> <text>\n" + finished points: what went wrong
//                      "F": does not take part
//                      "X" + bytes: its part of an exchange
//   leader -> member   numbers of points, separated by blanks; nothing: no more
//                      sizes, separated by blanks, "\n" + bytes of all: an exchange
//
// Process 0 leads, and evaluates points as well. Batches shrink with what is left, so that all end
// together. The identity (scenario, profiles, keys, metrics) must be that of the leader: machines
// may see different files. Points of a member that gives up go to the others.
//
// Mail is used by one thread of each process only, the one that calls (MPI_THREAD_FUNNELED).

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "sim/sweep/crew.hpp"
#include "sim/sweep/mail.hpp"

namespace orrery::sweep {

class ProcessCrew : public Crew {
 public:
  explicit ProcessCrew(std::unique_ptr<Mail> mail);

  // Ends with the others: members that wait are told that nothing comes.
  ~ProcessCrew() override;

  [[nodiscard]] bool leads() const override {
    return mail_->number() == 0;
  }

  [[nodiscard]] int members() const override {
    return mail_->processes();
  }

  [[nodiscard]] int number() const override {
    return mail_->number();
  }

  [[nodiscard]] std::vector<std::string> exchange(const std::string& mine) override;

  [[nodiscard]] bool lead(PointEvaluator& evaluator,
                          const std::vector<std::size_t>& points,
                          int threads,
                          const TakeResult& take,
                          const std::stop_token& stop) override;
  void serve(PointEvaluator& evaluator, int threads, const std::stop_token& stop) override;

 private:
  struct Shared;

  void hear_members(Shared& shared, const std::atomic<bool>& idle);
  void answer(Shared& shared, int member, const std::string& message);
  void dismiss(int member);
  void dismiss_all();
  [[nodiscard]] std::vector<std::string> gather(const std::string& mine);

  std::unique_ptr<Mail> mail_;
  std::vector<bool> dismissed_;  // leader: by number; member: [0], whether it has been
};

}  // namespace orrery::sweep
