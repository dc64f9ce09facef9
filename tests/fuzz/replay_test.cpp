#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/base/files/file.hpp"
#include "tests/checkout.hpp"
#include "tests/fuzz/exercise.hpp"

namespace orrery::yaml {
namespace {

constexpr std::size_t kMaxFileBytes = 2048;

std::vector<std::filesystem::path> corpus() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(kSourceDir) + "/tests/fuzz/corpus")) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// exercise() aborts when a promise is broken, so reaching the end is the result.
TEST(FuzzCorpus, EveryFileKeepsThePromisesOfTheReader) {
  const auto files = corpus();
  ASSERT_GE(files.size(), 20U);
  for (const auto& file : files) {
    SCOPED_TRACE(file.filename().string());
    exercise(read_file(file, kMaxFileBytes));
  }
}

// Every prefix of every file: truncated input is the likeliest broken input.
TEST(FuzzCorpus, EveryPrefixKeepsThePromisesOfTheReader) {
  for (const auto& file : corpus()) {
    SCOPED_TRACE(file.filename().string());
    const std::string text = read_file(file, kMaxFileBytes);
    for (std::size_t length = 0; length < text.size(); length += 1 + text.size() / 64) {
      exercise(text.substr(0, length));
    }
  }
}

}  // namespace
}  // namespace orrery::yaml
