#pragma once

// Processes under mpirun that share the points of a sweep. Compiled into `orrery-mpi` only, which
// is the only program that needs libmpi.
//
//   member -> leader   "R <identity>\n" + finished points, one line each: asks for more
//                      "E <kind> <text>": what went wrong; "F": does not take part
//                      "X" + bytes: its part of an exchange
//   leader -> member   numbers of points, separated by blanks; nothing: no more
//                      sizes, separated by blanks, "\n" + bytes of all: an exchange
//
// Rank 0 leads, and evaluates points as well. Batches shrink with what is left, so that all end
// together. The identity (scenario, profiles, keys, metrics) must be that of the leader: machines
// may see different files. Points of a member that gives up go to the others.
//
// MPI is called by one thread of each process only (MPI_THREAD_FUNNELED).

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/sweep/crew.hpp"

namespace orrery::mpi {

class MpiCrew : public sweep::Crew {
 public:
  MpiCrew();

  // Ends with the others: members that wait are told that nothing comes.
  ~MpiCrew() override;

  [[nodiscard]] bool leads() const override {
    return rank_ == 0;
  }

  [[nodiscard]] int members() const override {
    return ranks_;
  }

  [[nodiscard]] int number() const override {
    return rank_;
  }

  [[nodiscard]] std::vector<std::string> exchange(const std::string& mine) override;

  [[nodiscard]] bool lead(sweep::PointEvaluator& evaluator,
                          const std::vector<std::size_t>& points,
                          int threads,
                          const sweep::TakeResult& take,
                          const std::stop_token& stop) override;
  void serve(sweep::PointEvaluator& evaluator, int threads, const std::stop_token& stop) override;

 private:
  struct Shared;

  [[nodiscard]] std::size_t answer(Shared& shared, int member, const std::string& message);
  void dismiss(int member);
  [[nodiscard]] std::vector<std::string> gather(const std::string& mine);

  int rank_ = 0;
  int ranks_ = 1;
  std::vector<bool> dismissed_;  // leader: by rank; member: [0], whether it has been
};

}  // namespace orrery::mpi
