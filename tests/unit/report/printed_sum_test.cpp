// What printed figures lack to add up, as a person would add them.

#include "sim/answer/report/text/printed_sum.hpp"

#include <gtest/gtest.h>

namespace orrery::report {
namespace {

double lack(std::vector<std::string> parts, std::string_view whole) {
  return printed_remainder(parts, whole);
}

TEST(PrintedSum, AddsUpWithinHalfOfTheCoarsestDigit) {
  EXPECT_EQ(lack({"4.29 s", "771 ms", "490 ms", "451 ms", "504 ms"}, "6.51 s"), 0.0);
  EXPECT_EQ(lack({"66.0%", "11.8%", "7.53%", "6.92%", "7.75%"}, "100.0%"), 0.0);
  EXPECT_EQ(lack({"$48.2M", "$1.41M", "$1.38M", "$2.94M"}, "$53.9M"), 0.0);
  EXPECT_EQ(lack({"-242 ms", "\u221255 ms", "same"}, "-297 ms"), 0.0);
  EXPECT_EQ(lack({"100.0%", "<0.01%"}, "100.0%"), 0.0);
  EXPECT_EQ(lack({}, ""), 0.0);
}

TEST(PrintedSum, SaysWhatIsMissing) {
  EXPECT_NEAR(lack({"14.3 s", "700 ms", "41.8 ms"}, "15.1 s"), 0.0582, 1e-9);
  EXPECT_NEAR(lack({"45.3%", "42.5%", "7.55%", "4.72%"}, "100.0%"), -0.0007, 1e-12);
  EXPECT_NEAR(lack({"1.5 h", "10 min"}, "2 h, within error"), 0.0, 1.0) << "half of an hour is not";
  EXPECT_NEAR(lack({"$1,360", "$900"}, "$2.27k"), 10.0, 1e-9);
  EXPECT_NEAR(lack({"+1.98 pt", "+0.10 pt"}, "+2.00 pt"), -0.0008, 1e-12);
  const std::vector<std::string> parts = {"14.3 s", "700 ms", "41.8 ms"};
  EXPECT_EQ(rounding_text(Dimension::time, parts, "15.1 s"), "+58.2 ms");
  const std::vector<std::string> shares = {"45.3%", "42.5%", "7.55%", "4.72%"};
  EXPECT_EQ(rounding_text(Dimension::fraction, shares, "100.0%"), "-0.07%");
  EXPECT_EQ(rounding_text(Dimension::fraction, shares, "100.1%"), "");
}

}  // namespace
}  // namespace orrery::report
