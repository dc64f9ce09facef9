// How many registers the compiler gives the kernels of norms: how many blocks a multiprocessor
// holds, and so whether they reach the bandwidth of the memory. From ptxas, without a GPU.

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "kernels/own/norm_body.hpp"

namespace orrery::kernels {
namespace {

constexpr int kRegisters = 65536;  // of a multiprocessor, compute capability 8.0 to 12.0

struct Usage {
  std::string kernel;
  int registers = 0;
  int spilled = 0;  // bytes
};

std::vector<Usage> usages() {
  std::ifstream file(NORM_REGISTERS);
  const std::regex entry("Compiling entry function '([^']*)'");
  const std::regex spill("([0-9]+) bytes spill stores");
  const std::regex used("Used ([0-9]+) registers");
  std::vector<Usage> all;
  std::smatch found;
  for (std::string line; std::getline(file, line);) {
    if (std::regex_search(line, found, entry)) {
      all.push_back({found[1], 0, 0});
    } else if (std::regex_search(line, found, spill) && !all.empty()) {
      all.back().spilled = std::stoi(found[1]);
    } else if (std::regex_search(line, found, used) && !all.empty()) {
      all.back().registers = std::stoi(found[1]);
    }
  }
  return all;
}

// Two blocks of 512 threads: while one waits at a barrier the other has loads in flight. Before its
// sums lay in shared memory the backward took up to 128 registers, which left one block.
TEST(Registers, OfABackwardNormLeaveRoomForTwoBlocks) {
  int backward = 0;
  for (const Usage& usage : usages()) {
    EXPECT_EQ(usage.spilled, 0) << usage.kernel;
    ASSERT_GT(usage.registers, 0) << usage.kernel;
    if (usage.kernel.find("15backward_kernel") != std::string::npos) {
      ++backward;
      EXPECT_LE(2 * kMostNormThreads * usage.registers, kRegisters) << usage.kernel;
    }
  }
  EXPECT_EQ(backward, 2 * 4 * 2) << "bf16 and fp16, 1 to 4 packs, two norms";
}

}  // namespace
}  // namespace orrery::kernels
