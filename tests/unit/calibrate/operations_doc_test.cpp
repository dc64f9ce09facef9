// The table of operations in docs/calibration.md is the one of the program. ORRERY_UPDATE_DOCS=1
// writes it anew.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "sim/base/files/file.hpp"
#include "sim/step/kernels/kernel_case.hpp"
#include "tests/checkout.hpp"

namespace orrery::calibrate {
namespace {

constexpr std::string_view kBegin = "<!-- operations begin -->\n";
constexpr std::string_view kEnd = "<!-- operations end -->";

template <typename T>
std::string joined(const std::vector<T>& values, std::string (*text)(const T&)) {
  std::string all;
  for (const T& value : values) {
    all += (all.empty() ? "" : ", ") + text(value);
  }
  return all;
}

std::string operations_markdown() {
  std::string table =
      "| Operation | Roles | Precisions | Axes | FLOP | Bytes read | Bytes written |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const kernels::OperationRow& row : kernels::operation_table()) {
    const std::string roles = joined<kernels::Role>(
        row.roles, [](const kernels::Role& role) { return std::string(to_string(role)); });
    table += fmt::format(
        "| {} | {} | {} | {} | {} | {} | {} |\n", row.name, roles.empty() ? "-" : roles,
        joined<kernels::Precision>(
            row.precisions,
            [](const kernels::Precision& precision) { return std::string(to_string(precision)); }),
        joined<std::string_view>(row.axes,
                                 [](const std::string_view& axis) { return std::string(axis); }),
        row.flop, row.read, row.written);
  }
  return table;
}

TEST(CalibrationDocument, HasTheTableOfOperations) {
  const std::filesystem::path path = std::filesystem::path(kSourceDir) / "docs" / "calibration.md";
  std::string text = read_file(path, std::size_t{1} << 20U);
  const std::size_t begin = text.find(kBegin) + kBegin.size();
  const std::size_t end = text.find(kEnd);
  ASSERT_NE(end, std::string::npos);
  if (std::getenv("ORRERY_UPDATE_DOCS") != nullptr) {
    text.replace(begin, end - begin, operations_markdown());
    write_file_atomically(path, text);
    return;
  }
  EXPECT_EQ(text.substr(begin, end - begin), operations_markdown())
      << "ORRERY_UPDATE_DOCS=1 writes it anew";
}

}  // namespace
}  // namespace orrery::calibrate
