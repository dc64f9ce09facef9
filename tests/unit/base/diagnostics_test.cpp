#include "sim/base/diagnostics.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/base/error.hpp"

namespace orrery {
namespace {

TEST(Diagnostics, PrintsFileLineColumnKeyMessageAndAllowedValues) {
  Diagnostics diagnostics;
  diagnostics.error({"a.yaml", 12, 11}, "layout.tensor", "6 does not divide 64 heads",
                    "1, 2, 4, 8");
  EXPECT_EQ(to_string(diagnostics),
            "a.yaml:12:11: error: layout.tensor: 6 does not divide 64 heads (1, 2, 4, 8)\n");
}

TEST(Diagnostics, LeavesOutWhatIsUnknown) {
  EXPECT_EQ(to_string(Diagnostic{Severity::error, {"a.yaml", 0, 0}, "", "is empty", ""}),
            "a.yaml: error: is empty");
  EXPECT_EQ(to_string(Diagnostic{Severity::error, {}, "", "no input", ""}), "error: no input");
  EXPECT_EQ(to_string(Diagnostic{Severity::warning, {"a.yaml", 3, 0}, "name", "is long", ""}),
            "a.yaml:3:1: warning: name: is long");
  EXPECT_EQ(to_string(Diagnostic{Severity::note, {"a.yaml", 3, 2}, "", "was here", ""}),
            "a.yaml:3:2: note: was here");
}

TEST(Diagnostics, KeepsTheOrderAndCountsErrorsOnly) {
  Diagnostics diagnostics;
  EXPECT_FALSE(diagnostics.has_errors());
  EXPECT_EQ(to_string(diagnostics), "");
  diagnostics.warning({"b.yaml", 1, 1}, "one", "has no effect");
  EXPECT_FALSE(diagnostics.has_errors());
  diagnostics.error({"b.yaml", 2, 1}, "two", "is missing");
  diagnostics.add({Severity::note, {"b.yaml", 1, 1}, "one", "is here", ""});
  EXPECT_TRUE(diagnostics.has_errors());
  EXPECT_EQ(diagnostics.all().size(), 3U);
  EXPECT_EQ(to_string(diagnostics),
            "b.yaml:1:1: warning: one: has no effect\n"
            "b.yaml:2:1: error: two: is missing\n"
            "b.yaml:1:1: note: one: is here\n");
}

TEST(Diagnostics, BracesInInputAreNotFormatted) {
  Diagnostics diagnostics;
  diagnostics.error({"c.yaml", 1, 1}, "{}", "unknown key {0}", "%s");
  EXPECT_EQ(to_string(diagnostics), "c.yaml:1:1: error: {}: unknown key {0} (%s)\n");
}

TEST(NearestName, FindsTheCloseOne) {
  const std::vector<std::string_view> keys = {"tensor", "pipeline", "data", "sharding"};
  EXPECT_EQ(nearest_name("tensr", keys), "tensor");
  EXPECT_EQ(nearest_name("pipelin", keys), "pipeline");
  EXPECT_EQ(nearest_name("pipleine", keys), "pipeline");
  EXPECT_EQ(nearest_name("data", keys), "data");
}

TEST(NearestName, StaysSilentWhenNothingIsNear) {
  const std::vector<std::string_view> keys = {"tensor", "pipeline"};
  EXPECT_EQ(nearest_name("checkpoint", keys), "");
  EXPECT_EQ(nearest_name("", keys), "");
  EXPECT_EQ(nearest_name("tensor", {}), "");
}

TEST(NearestName, WhatTheWordBeginsWithComesBeforeWhatIsNear) {
  EXPECT_EQ(nearest_name("fp8-blockwise", {"fp8-rowwise", "fp8-block", "fp8"}), "fp8-block");
  EXPECT_EQ(nearest_name("capacity.spare", {"capacity", "capacity.spares"}), "capacity.spares");
  EXPECT_EQ(nearest_name("tensor_parallel", {"tensor"}), "");  // less than half of the word
}

TEST(NearestName, TheFirstOfTwoEquallyNearNamesWins) {
  EXPECT_EQ(nearest_name("zero4", {"zero1", "zero2", "zero3"}), "zero1");
  EXPECT_EQ(nearest_name("zero2", {"zero1", "zero2", "zero3"}), "zero2");
}

TEST(Error, KeepsItsKindAndItsLine) {
  const Error error(ErrorKind::device, "no GPU found");
  EXPECT_EQ(error.kind(), ErrorKind::device);
  EXPECT_STREQ(error.what(), "no GPU found");
}

TEST(Check, PassesSilentlyAndEvaluatesOnce) {
  int evaluations = 0;
  ORRERY_CHECK(++evaluations == 1, "evaluated {} times", evaluations);
  EXPECT_EQ(evaluations, 1);
}

TEST(CheckDeathTest, PrintsTheSentenceWithItsValues) {
  const int cells = 3;
  EXPECT_DEATH(ORRERY_CHECK(cells == 4, "the ledger has {} cells, needs {}", cells, 4),
               "diagnostics_test.cpp:[0-9]+: internal error: the ledger has 3 cells, needs 4 "
               "\\[cells == 4\\]");
}

}  // namespace
}  // namespace orrery
