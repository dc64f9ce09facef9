#pragma once

// The mail of processes under mpirun or srun. Compiled into `orrery-mpi` only, which is the only
// program that needs libmpi.

#include "sim/answer/sweep/mail.hpp"

namespace orrery::mpi {

class MpiMail : public sweep::Mail {
 public:
  MpiMail();
  ~MpiMail() override;

  [[nodiscard]] int processes() const override { return processes_; }

  [[nodiscard]] int number() const override { return number_; }

  void send(const std::string& text, int to) override;
  [[nodiscard]] std::string receive(int from) override;
  [[nodiscard]] std::optional<Letter> take_any() override;

 private:
  int processes_ = 1;
  int number_ = 0;
};

}  // namespace orrery::mpi
