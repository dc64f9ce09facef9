// What is absent or not finite is null, quantities are in base units, bytes that are no UTF-8 end
// no document.

#include "sim/base/text/json_text.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace orrery {
namespace {

TEST(JsonText, WritesNullForWhatIsNotThere) {
  EXPECT_EQ(json_line({{"none", std::optional<double>()},
                       {"some", std::optional(1.5)},
                       {"infinite", std::numeric_limits<double>::infinity()}}),
            R"({"none":null,"some":1.5,"infinite":null})");
}

TEST(JsonText, WritesQuantitiesInBaseUnits) {
  EXPECT_EQ(json_line({{"time_s", milliseconds(250.0)},
                       {"size_bytes", std::optional(kibibytes(2.0))},
                       {"none", std::optional<Dollars>()}}),
            R"({"time_s":0.25,"size_bytes":2048.0,"none":null})");
}

TEST(JsonText, MakesAListOfItems) {
  const std::vector<int> items = {1, 2};
  EXPECT_EQ(json_text(json_list(items,
                                [](int item) {
                                  return Json{{"i", item}};
                                })),
            "[\n  {\n    \"i\": 1\n  },\n  {\n    \"i\": 2\n  }\n]\n");
  EXPECT_EQ(json_line(json_list(std::vector<int>(), [](int item) { return Json(item); })), "[]");
}

TEST(JsonText, ReplacesBytesThatAreNoText) {
  EXPECT_EQ(json_line(Json("a\xff")), "\"a\xef\xbf\xbd\"");
}

}  // namespace
}  // namespace orrery
