#pragma once

// Checks of whole-runs/2 as texts, and what `orrery validate` makes of them.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "sim/base/diagnostics.hpp"
#include "sim/base/files/file.hpp"
#include "sim/validate/validate.hpp"
#include "tests/checkout.hpp"

namespace orrery::validate::test {

inline Validation validation_of_file(const std::filesystem::path& path) {
  Diagnostics diagnostics;
  auto validation = validate_files({path}, {}, diagnostics);
  EXPECT_TRUE(validation.has_value()) << to_string(diagnostics);
  return validation.value_or(Validation{});
}

inline Validation published(std::string_view name) {
  return validation_of_file(std::filesystem::path(kSourceDir) / "scenarios" / "published" / name);
}

inline Validation validation_of_text(const std::string& text) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) /
      ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::filesystem::create_directories(folder);
  write_file_atomically(folder / "data.yaml", text);
  const Validation validation = validation_of_file(folder / "data.yaml");
  std::filesystem::remove_all(folder);
  return validation;
}

}  // namespace orrery::validate::test
