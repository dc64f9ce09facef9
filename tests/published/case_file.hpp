#pragma once

// Cases of reliability-cases/1 and whole-runs/1 as texts, and what `orrery validate` makes of them.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "sim/base/diagnostics.hpp"
#include "sim/base/file.hpp"
#include "sim/validate/validate.hpp"

namespace orrery::validate::test {

inline Validation validation_of_file(const std::filesystem::path& path) {
  Diagnostics diagnostics;
  auto validation = validate_files({path}, {}, diagnostics);
  EXPECT_TRUE(validation.has_value()) << to_string(diagnostics);
  return validation.value_or(Validation{});
}

inline Validation published(std::string_view name) {
  return validation_of_file(std::filesystem::path(ORRERY_SOURCE_DIR) / "scenarios" / "published" /
                            name);
}

// `beside`: what lies in trace.json in the same folder.
inline Validation validation_of_text(const std::string& text, const std::string& beside = {}) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) /
      ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::filesystem::create_directories(folder);
  write_file_atomically(folder / "data.yaml", text);
  write_file_atomically(folder / "trace.json", beside);
  const Validation validation = validation_of_file(folder / "data.yaml");
  std::filesystem::remove_all(folder);
  return validation;
}

// One reliability case: quantity, inputs, expected and unit in flow style.
inline std::string reliability_case(const std::string& quantity,
                                    const std::string& inputs,
                                    const std::string& expected,
                                    const std::string& unit,
                                    const std::string& tolerance = "{rel: 1.0e-9}") {
  return "format: reliability-cases/1\ncases:\n- id: one\n  quantity: '" + quantity +
         "'\n  inputs: {" + inputs + "}\n  expected: " + expected + "\n  unit: '" + unit +
         "'\n  tol: " + tolerance + "\n";
}

}  // namespace orrery::validate::test
