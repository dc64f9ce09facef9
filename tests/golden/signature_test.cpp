// The behaviour signature: one hash over all golden results. Last of its program, so that an update
// sees the results that were updated before it.

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "sim/answer/report/files/figures.hpp"
#include "sim/base/files/file.hpp"
#include "tests/checkout.hpp"
#include "tests/golden/golden.hpp"

namespace orrery::golden {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSignature = "signature.txt";
constexpr std::size_t kMaxBytes = 1'000'000;

// Name and content of every result, in the order of the names.
std::map<std::string, std::string> results() {
  std::map<std::string, std::string> found;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(fs::path(kSourceDir) / "tests" / "golden")) {
    const std::string name = entry.path().filename().string();
    const std::string kind = entry.path().extension().string();
    const bool is_result = kind == ".txt" || kind == ".json" || kind == ".csv";
    if (is_result && name != kSignature && name != "CMakeLists.txt") {
      found[name] = read_file(entry.path(), kMaxBytes);
    }
  }
  return found;
}

TEST(GoldenSignature, IsThatOfAllResults) {
  std::string all;
  for (const auto& [name, content] : results()) {
    all += name + " " + sha256_hex(content) + "\n";
  }
  EXPECT_NE(all.find("behaviour.txt"), std::string::npos);
  expect_golden(kSignature, report::signature_of(all) + "\n");
}

}  // namespace
}  // namespace orrery::golden
