// The sizes of published models come out of the keys of their config.json.

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "sim/base/files/file.hpp"
#include "tests/checkout.hpp"
#include "tests/unit/import_config/import_fixture.hpp"

namespace orrery::import_config::testing {
namespace {

// Norms of queries and keys, second norms and single biases are not counted by a scenario: together
// below 0.1 % of every model.
TEST(PublishedCounts, OfReleasedWeightsAreMetWithinATenthOfAPercent) {
  const std::string path =
      std::string(kSourceDir) + "/tests/unit/import_config/published_counts.txt";
  constexpr std::size_t kMost = std::size_t{1} << 20U;
  std::istringstream lines(read_file(path, kMost));
  std::string line;
  int models = 0;
  while (std::getline(lines, line)) {
    if (line.empty() || line.front() == '#') {
      continue;
    }
    std::istringstream words(line);
    std::string name;
    double parameters = 0.0;
    std::string config;
    words >> name >> parameters;
    std::getline(words, config);
    const Imported imported = import_texts({{name + ".json", config}});
    EXPECT_EQ(imported.problems(), "") << name;
    ASSERT_TRUE(imported.result.model.has_value()) << name;
    constexpr double kTolerance = 1e-3;
    EXPECT_NEAR(static_cast<double>(imported.result.model->parameters) / parameters, 1.0,
                kTolerance)
        << name << ": " << imported.result.model->parameters;
    ++models;
  }
  EXPECT_GE(models, 60);
}

}  // namespace
}  // namespace orrery::import_config::testing
