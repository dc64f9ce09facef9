#pragma once

// Changes of a scenario's text, each with the metric that it moves. A key that is parsed but inert
// moves nothing and fails.

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/evaluate/evaluate_fixture.hpp"

namespace orrery::evaluate::test {

enum class Moves { up, down };

struct Change {
  std::string_view from;
  std::string_view to;
  std::string_view metric;
  Moves direction;
};

inline void expect_moved(const Change& change, double before, double after) {
  if (change.direction == Moves::up) {
    EXPECT_GT(after, before) << change.metric;
  } else {
    EXPECT_LT(after, before) << change.metric;
  }
}

// Each change alone, against the text as it is.
inline void expect_moves(std::string_view text, const std::vector<Change>& changes) {
  const report::Evaluation base = must_evaluate(text, {.levers = false});
  for (const Change& change : changes) {
    SCOPED_TRACE(std::string(change.from) + " -> " + std::string(change.to));
    const report::Evaluation changed =
        must_evaluate(replaced(text, change.from, change.to), {.levers = false});
    expect_moved(change, value(base, change.metric), value(changed, change.metric));
  }
}

}  // namespace orrery::evaluate::test
