#include "sim/base/text/untrusted_json.hpp"

#include <gtest/gtest.h>

#include <string>

namespace orrery {
namespace {

TEST(UntrustedJson, ReadsWhatIsWithinItsLimits) {
  const auto read = read_json(R"({"a": [1, "]]]]{", {"b": null}]})", {.levels = 3, .values = 8});
  ASSERT_TRUE(read.ok()) << read.problem.what;
  EXPECT_EQ(read.value["a"].size(), 3U);
  EXPECT_EQ(text_member(read.value, "a"), "");
  EXPECT_EQ(text_member(read.value, "none"), "");
  EXPECT_EQ(text_member(read.value["a"], "a"), "");
}

TEST(UntrustedJson, SaysWhereItEnds) {
  const auto deep = read_json("{\"a\": [[[1]]]}", {.levels = 3, .values = 100});
  EXPECT_EQ(deep.problem.what, "has more than 3 levels of brackets");
  EXPECT_EQ(deep.problem.byte, 8U);
  EXPECT_TRUE(deep.value.is_null());
  EXPECT_EQ(read_json("[1,2,3,4]", {.levels = 3, .values = 3}).problem.what,
            "holds more than 3 values");
  EXPECT_EQ(read_json("[1, 2").problem.what, "the JSON is cut off");
  EXPECT_EQ(read_json("").problem.what, "the JSON is cut off");
  EXPECT_EQ(read_json("[1, x]").problem.what, "not valid JSON");
  EXPECT_FALSE(read_json("[1e999]").ok());
  EXPECT_FALSE(read_json("\"\xff\"").ok());
}

// The stack of a thread holds some hundred thousand calls; nothing of the kind may be needed.
TEST(UntrustedJson, RefusesAMillionLevels) {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  EXPECT_EQ(read_json(deep).problem.what, "has more than 64 levels of brackets");
  EXPECT_EQ(read_json(std::string(1'000'000, '[')).problem.byte, 64U);
}

}  // namespace
}  // namespace orrery
