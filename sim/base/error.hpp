#pragma once

// The exception for failures of the environment: files, devices, signals.
//
// `what()` is one clear line that names the file or device. Bad user input is not an Error but a
// set of Diagnostics (diagnostics.hpp).

#include <stdexcept>
#include <string>

namespace orrery {

enum class ErrorKind {
  io,           // a file cannot be read or written: exit code 6
  device,       // a device or profile is missing or foreign: exit code 5
  interrupted,  // Ctrl-C: exit code 130
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

  [[nodiscard]] ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace orrery
