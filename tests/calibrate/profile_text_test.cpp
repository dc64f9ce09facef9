// New values in the text of a profile: everything else stays byte for byte.

#include "calibrate/fit/profile_text.hpp"

#include <gtest/gtest.h>

#include "calibrate/fit/stack_fit.hpp"
#include "sim/base/files/file.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/validate/rows/data_row.hpp"
#include "tests/calibrate/fit_fixture.hpp"

namespace orrery::fit {
namespace {

constexpr const char* kFile = R"(# A stack.
format: orrery-software/1

# First the kernels.
gemm_efficiency:
  value: 1.05  # high
  source: published
  citation: "fitted to the old rows (measured-runs data set): near the
    burst rate"
  residual: 0.2
kernel_gap: {value: 2us, source: assumed, citation: a guess}

# Then the rest.
jitter_per_doubling:
  value: 0.002
  source: assumed
  citation: why
)";

TEST(ProfileText, ReplacesTheBlockOfAKeyAndNothingElse) {
  const std::string text = with_new_values(
      kFile,
      {{.key = "gemm_efficiency",
        .value = "0.9",
        .source = "published",
        .citation = "fitted",
        .residual = 0.0312},
       {.key = "kernel_gap", .value = "3us", .source = "assumed", .citation = "a \"bound\""}});
  EXPECT_EQ(text, R"(# A stack.
format: orrery-software/1

# First the kernels.
gemm_efficiency:
  value: 0.9
  source: published
  citation: "fitted"
  residual: 0.0312
kernel_gap:
  value: 3us
  source: assumed
  citation: "a \"bound\""

# Then the rest.
jitter_per_doubling:
  value: 0.002
  source: assumed
  citation: why
)");
}

TEST(ProfileText, AppendsAKeyThatTheFileLacks) {
  const std::string text = with_new_values(
      kFile, {{.key = "new_key", .value = "1", .source = "assumed", .citation = "x"}});
  EXPECT_EQ(text,
            std::string(kFile) + "new_key:\n  value: 1\n  source: assumed\n  citation: \"x\"\n");
}

TEST(ProfileText, FoldsALongCitationAtBlanks) {
  std::string citation;
  for (int i = 0; i < 60; ++i) {
    citation += (i == 0 ? "" : " ") + std::string("word") + std::to_string(i);
  }
  const std::string text = with_new_values(
      "k: {}\n", {{.key = "k", .value = "1", .source = "assumed", .citation = citation}});
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = text.find('\n', start);
    EXPECT_LE(end - start, 100U);
    start = end + 1;
  }
  Diagnostics diagnostics;
  const auto document = yaml::parse(text, "profile", {}, diagnostics);
  ASSERT_TRUE(document.has_value()) << to_string(diagnostics) << text;
  const validate::DataRow row(*document);
  EXPECT_EQ(row.row("k").text("citation"), citation);
}

TEST(ProfileText, KeepsTheExplanationBehindWhereAValueCameFrom) {
  EXPECT_EQ(explanation_in(kFile, "gemm_efficiency"), "near the burst rate");
  EXPECT_EQ(explanation_in(kFile, "jitter_per_doubling"), "");
  EXPECT_EQ(explanation_in(kFile, "no_such_key"), "");
}

}  // namespace
}  // namespace orrery::fit
