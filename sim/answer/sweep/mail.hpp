#pragma once

// Texts between processes that share work: over MPI, or over a simulation of it.
//
// Texts from one process to another arrive in the order in which they were sent. When a process
// dies the launcher ends the others too (MPI_Abort, or a signal to all): none waits for it.
// A simulation ends them by an Error(io) of the call in which they are, or of their next one.

#include <optional>
#include <string>

namespace orrery::sweep {

class Mail {
 public:
  struct Letter {
    int from = 0;
    std::string text;
  };

  Mail() = default;
  virtual ~Mail() = default;
  Mail(const Mail&) = delete;
  Mail& operator=(const Mail&) = delete;

  [[nodiscard]] virtual int processes() const = 0;
  [[nodiscard]] virtual int number() const = 0;  // of this process

  virtual void send(const std::string& text, int to) = 0;
  [[nodiscard]] virtual std::string receive(int from) = 0;     // waits for it
  [[nodiscard]] virtual std::optional<Letter> take_any() = 0;  // without waiting
};

}  // namespace orrery::sweep
