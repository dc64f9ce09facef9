#pragma once

// What does a row leave open, and what stands in for it? Defaults that map_run notes, row by row.
//
// A run that was measured did run: a row is never refused because a key is absent or a word is not
// known. What stands in comes from the model's preset, from the stack's family or from common
// practice, is the same for every row, and is noted beside the prediction. Internal to validate/.

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/validate/rows/data_row.hpp"
#include "sim/validate/rows/measured_row.hpp"

namespace orrery::validate {

struct Mapping {
  MappedRun run;

  void note(std::string text) {
    run.notes.push_back(std::move(text));
  }

  // The stated count, or `fallback` with a note.
  std::int64_t count(const DataRow& row, std::string_view key, std::int64_t fallback);
};

// Keys that the row lists as missing; a single word is a list of one.
[[nodiscard]] bool lists_as_missing(const DataRow& row, std::string_view key);

// Largest divisor of `value` that is at most `wanted`; both at least 1.
[[nodiscard]] std::int64_t divisor_at_most(std::int64_t value, std::int64_t wanted);

// Smallest multiple of `step` that is at least `value`.
[[nodiscard]] std::int64_t multiple_at_least(std::int64_t step, std::int64_t value);

// The parts of a row, in the order in which they need one another.
void map_model(const DataRow& row, Mapping& mapping);
void map_cluster(const DataRow& row, Mapping& mapping);
void map_layout(const DataRow& row, Mapping& mapping);
void map_precision(const DataRow& row, Mapping& mapping);
void map_recompute(const DataRow& row, Mapping& mapping);
void map_options(const DataRow& row, Mapping& mapping);

}  // namespace orrery::validate
