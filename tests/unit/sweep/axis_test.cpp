// Values and ranges of one key: what is read, what is refused and in which words.

#include "sim/answer/sweep/axis.hpp"

#include <gtest/gtest.h>

namespace orrery::sweep {
namespace {

std::vector<std::string> values_of(std::string_view argument) {
  Diagnostics diagnostics;
  const auto axis = parse_vary(argument, diagnostics);
  EXPECT_TRUE(axis) << to_string(diagnostics);
  return axis ? axis->values : std::vector<std::string>();
}

std::string axis_refusal(std::string_view argument) {
  Diagnostics diagnostics;
  EXPECT_FALSE(parse_vary(argument, diagnostics));
  return to_string(diagnostics);
}

using Texts = std::vector<std::string>;

TEST(Axis, KeepsValuesAsTheyAreWritten) {
  EXPECT_EQ(values_of("checkpoint.mode=sync, async"), (Texts{"sync", "async"}));
  EXPECT_EQ(values_of("layout.order=[tp, dp],[dp, tp]"), (Texts{"[tp, dp]", "[dp, tp]"}));
  EXPECT_EQ(values_of("recovery.load={median: 1min, mean: 3min},5min"),
            (Texts{"{median: 1min, mean: 3min}", "5min"}));
  EXPECT_EQ(values_of("training.start=2024-04-01T00:00Z"), (Texts{"2024-04-01T00:00Z"}));
  EXPECT_EQ(values_of("training.start=2024-04-01T00:00:30Z"), (Texts{"2024-04-01T00:00:30Z"}));
}

TEST(Axis, SpacesARangeEvenlyWithItsEndsAsWritten) {
  EXPECT_EQ(values_of("recovery.load=1h:2h:5"), (Texts{"1h", "1.25h", "1.5h", "1.75h", "2h"}));
  EXPECT_EQ(values_of("recovery.load=2 h:1 h:3"), (Texts{"2 h", "1.5 h", "1 h"}));
  EXPECT_EQ(values_of("prices.gpu_hour=$2/h:$3/h:3"), (Texts{"$2/h", "$2.5/h", "$3/h"}));
}

// 1 8^(i/3) = 1, 2, 4, 8.
TEST(Axis, SpacesALogarithmicRangeEvenlyInTheLogarithm) {
  EXPECT_EQ(values_of("recovery.load=1h:8h:4:log"), (Texts{"1h", "2h", "4h", "8h"}));
}

TEST(Axis, ConvertsTheEndOfARangeIntoTheUnitOfItsBegin) {
  EXPECT_EQ(values_of("recovery.load=30min:1h:3"), (Texts{"30min", "45min", "1h"}));
  EXPECT_EQ(values_of("recovery.load=0:2h:3"), (Texts{"0", "1h", "2h"}));
}

TEST(Axis, RoundsWhereTheKeyTakesWholeNumbersAndTakesEqualOnesOnce) {
  EXPECT_EQ(values_of("capacity.spares=0:10:5"), (Texts{"0", "3", "5", "8", "10"}));
  EXPECT_EQ(values_of("capacity.spares=0:2:5"), (Texts{"0", "1", "2"}));
  EXPECT_EQ(values_of("checkpoint.interval=10 steps:20 steps:4"),
            (Texts{"10 steps", "13 steps", "17 steps", "20 steps"}));
}

TEST(Axis, MixesValuesAndRanges) {
  EXPECT_EQ(values_of("capacity.spares=0,1:8:4:log,100"), (Texts{"0", "1", "2", "4", "8", "100"}));
}

TEST(Axis, TakesEveryNameOfAKeyAndKeepsThatOfTheReference) {
  Diagnostics diagnostics;
  const auto axis = parse_vary("layout.tp=4,8", diagnostics);
  ASSERT_TRUE(axis) << to_string(diagnostics);
  EXPECT_EQ(axis->key.path, "layout.tensor");
  EXPECT_EQ(axis->key.section, "layout");
  EXPECT_TRUE(axis->key.whole_numbers);
}

TEST(Axis, LeavesAnOpenRangeForRandomPoints) {
  Diagnostics diagnostics;
  const auto axis = parse_vary("capacity.spares=0:8", diagnostics);
  ASSERT_TRUE(axis && axis->range);
  EXPECT_TRUE(axis->values.empty());
  EXPECT_EQ(axis->range->at(0.5), "4");
}

TEST(Axis, SaysWhatIsWrong) {
  EXPECT_EQ(axis_refusal("capacity.spare=1"),
            "--vary: error: capacity.spare: unknown key (did you mean `capacity.spares`?)\n");
  EXPECT_EQ(axis_refusal("spares=1"),
            "--vary: error: spares: unknown key (did you mean `capacity.spares`?)\n");
  EXPECT_EQ(axis_refusal("format=orrery/1"), "--vary: error: format: cannot be changed\n");
  EXPECT_EQ(axis_refusal("capacity.spares"),
            "--vary: error: capacity.spares: has no values (KEY=V1,V2,... or KEY=from:to:steps, "
            "such as capacity.spares=0:32:9)\n");
  EXPECT_EQ(axis_refusal("capacity.spares=1,,2"),
            "--vary: error: capacity.spares: a value is empty (values between commas)\n");
  EXPECT_EQ(axis_refusal("capacity.spares=8,8"),
            "--vary: error: capacity.spares: `8` stands twice (every value once)\n");
  EXPECT_EQ(axis_refusal("recovery.load=1h:2GB:3"),
            "--vary: error: recovery.load: `1h` and `2GB` have units of different kinds (one kind "
            "of unit)\n");
  EXPECT_EQ(axis_refusal("recovery.load=0:2h:3:log"),
            "--vary: error: recovery.load: a logarithmic range needs ends above 0 (from:to:steps "
            "or from:to:steps:log, at least 2 steps)\n");
  for (const char* argument :
       {"recovery.load=1h:2h:1", "recovery.load=1h:2h:x", "recovery.load=1h:2h:3:lin"}) {
    EXPECT_EQ(axis_refusal(argument),
              "--vary: error: recovery.load: the range is not understood (from:to:steps or "
              "from:to:steps:log, at least 2 steps)\n");
  }
}

}  // namespace
}  // namespace orrery::sweep
