#include "tests/golden/golden.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "sim/base/files/file.hpp"
#include "tests/checkout.hpp"

namespace orrery::golden {

void expect_golden(std::string_view name, const std::string& text) {
  const std::filesystem::path path = std::filesystem::path(kSourceDir) / "tests" / "golden" / name;
  const char* update = std::getenv("ORRERY_UPDATE_GOLDEN");
  if (update != nullptr && std::string_view(update) == "1") {
    write_file_atomically(path, text);
    return;
  }
  constexpr std::size_t kMaxBytes = 1'000'000;
  ASSERT_TRUE(std::filesystem::exists(path)) << path << " is missing";
  EXPECT_EQ(read_file(path, kMaxBytes), text) << "differs from " << path;
}

}  // namespace orrery::golden
