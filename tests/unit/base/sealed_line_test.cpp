#include <gtest/gtest.h>

#include <string>

#include "sim/base/files/journal_file.hpp"

namespace orrery {
namespace {

// As zlib.crc32 of Python gives it.
TEST(SealedLine, CarriesTheChecksumOfTheObject) {
  EXPECT_EQ(sealed("{}"), R"({"crc32":"a3a6bf43"})" + std::string());
  EXPECT_EQ(unsealed(sealed("{}")), "{}");
  EXPECT_EQ(unsealed(sealed(R"({"a":[1,2],"b":"x"})")), R"({"a":[1,2],"b":"x"})");
}

TEST(SealedLine, RefusesEveryChangeOfOneByte) {
  const std::string line = sealed(R"({"point":["1"],"cells":[0.25,null],"status":"ok"})");
  for (std::size_t at = 0; at < line.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = line;
      changed[at] = static_cast<char>(value);
      EXPECT_EQ(unsealed(changed).has_value(), changed == line) << at << " " << value;
    }
    EXPECT_FALSE(unsealed(line.substr(0, at)));
    EXPECT_FALSE(unsealed(line.substr(at + 1)));
  }
  EXPECT_FALSE(unsealed(R"({"a":1})"));
  EXPECT_FALSE(unsealed(""));
}

}  // namespace
}  // namespace orrery
