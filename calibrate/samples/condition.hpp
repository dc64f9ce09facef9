#pragma once

// The condition of a measurement. A case is normally measured alone, call after call in a graph;
// some figures of a machine need it under another condition.
//
// condition            | text                                     | times are of one call
// ---------------------|------------------------------------------|-------------------------------
// alone                | (none)                                   | among many calls of one graph
// enqueued             | enqueued                                 | of a row without a graph
// graph of n calls     | graph calls=64                           | replay of n calls / n
// fewer processors     | multiprocessors removed=16               | while a kernel spins on them
// beside streaming     | multiprocessors streaming=16             | while a kernel on as many SMs
//                      |                                          | copies memory throughout
// concurrent groups    | concurrent groups=8                      | of a collective while as many
//                      |                                          | groups run it at once
// beside another case  | beside device_to_host bytes=268435456    | while the other runs throughout
//
// Only what was measured alone is evidence for the fit of a kernel; the others are for the derived
// figures of a profile (calibrate/profile/derived_figures.hpp).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/kernels/kernel_case.hpp"

namespace orrery::calibrate {

struct Condition {
  enum class Kind { alone, enqueued, graph, fewer_multiprocessors, streaming, concurrent, beside };

  Kind kind = Kind::alone;
  std::int64_t count = 0;                         // calls of the graph, SMs, or groups
  std::optional<kernels::KernelCase> other = {};  // that runs beside

  [[nodiscard]] bool alone() const {
    return kind == Kind::alone;
  }

  friend bool operator==(const Condition& a, const Condition& b) = default;
};

// Empty for `alone`.
[[nodiscard]] std::string to_text(const Condition& condition);

// Nothing when it is none; the empty text is `alone`.
[[nodiscard]] std::optional<Condition> parse_condition(std::string_view text);

}  // namespace orrery::calibrate
