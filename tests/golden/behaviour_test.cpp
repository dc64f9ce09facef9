// Holds all shipped scenarios to their committed signatures; docs/ci.md.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "sim/base/files/file.hpp"
#include "tests/checkout.hpp"
#include "tests/golden/golden.hpp"
#include "tests/support.hpp"

namespace orrery::golden {
namespace {

// Ten trials each: enough for every draw to be made, few enough for a minute of one core.
TEST(GoldenBehaviour, OfEveryShippedScenario) {
  const TempFolder folder;
  const std::string output = (folder / "behaviour.txt").string();
  const std::string command = std::string("cd '") + kSourceDir + "' && '" + kBinaryDir +
                              "/bin/orrery' check --signature --quiet --trials 10 -o '" + output +
                              "' scenarios/*.yaml 2>/dev/null";
  // Expectations may fail with so few trials; what counts is that every file has an answer.
  static_cast<void>(std::system(command.c_str()));
  constexpr std::size_t kMaxBytes = 1'000'000;
  const std::string text = read_file(output, kMaxBytes);
  EXPECT_EQ(text.find("no answer"), std::string::npos) << text;
  expect_golden("behaviour.txt", text);
}

}  // namespace
}  // namespace orrery::golden
