#pragma once

// A number of nodes, and how many of them are bad (lemons: they fail more often until repaired).
//
// symbol | meaning                                   | unit  | origin
// -------|-------------------------------------------|-------|----------
// good   | nodes that fail at the usual rate         | nodes | simulated
// bad    | nodes that fail more often than the others | nodes | simulated

#include <cstdint>

namespace orrery::run {

struct NodeMix {
  std::int64_t good = 0;
  std::int64_t bad = 0;

  [[nodiscard]] std::int64_t total() const {
    return good + bad;
  }

  friend bool operator==(const NodeMix&, const NodeMix&) = default;
};

}  // namespace orrery::run
