#pragma once

// Runs the command `orrery` as a shell would and keeps what it printed, in a folder of its own.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "tests/support.hpp"

namespace orrery::cli::testing {

struct Finished {
  int code = -1;  // exit code; 128 + signal when a signal ended it
  std::string out;
  std::string err;
};

class CliTest : public ::testing::Test {
 protected:
  // The arguments as a shell reads them; `before` stands before the command (VAR=1, cat x |),
  // `after` behind it and before the redirections of stdout and stderr.
  [[nodiscard]] Finished run(const std::string& arguments, const std::string& before = "",
                             const std::string& after = "") const;

  // Writes a file into the folder of the test and returns its path.
  std::string write(const std::string& name, const std::string& text) const;

  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }

  [[nodiscard]] std::string read(const std::string& name) const { return folder_.read(name); }

  // Files and folders in the folder of the test, without what the fixture itself wrote.
  [[nodiscard]] std::vector<std::string> files() const;

 private:
  TempFolder folder_;
};

// A run of a 7B model on two nodes, with this `expect:` list in YAML (no lines: none).
[[nodiscard]] std::string small_scenario(const std::string& expect = "");

// A model that is far too large for its one node.
[[nodiscard]] std::string too_big_scenario(const std::string& expect = "");

[[nodiscard]] std::string program();
[[nodiscard]] bool has_mpi();  // orrery-mpi and mpirun

}  // namespace orrery::cli::testing
