#pragma once

// Identifies the columns of a table of results, from its heading or from a row itself.
//
//   size count type redop root | time algbw busbw #wrong | time algbw busbw #wrong
//                                out of place               in place
//
// Releases differ: no root before 2.12, a float `error` in place of #wrong, no redop for an
// all-to-all, i_min i_max i_p99 i_cv% behind each place, a timestamp at the end, `cputime`. Where
// the heading was cut off, the number of words decides.

#include <optional>
#include <string_view>
#include <vector>

#include "calibrate/import/formats.hpp"

namespace orrery::calibration_import {

enum class Column {
  size,
  count,
  type,
  redop,
  root,
  time,
  algbw,
  busbw,
  wrong,
  operation,  // from here on in CSV files only
  ranks,
  nodes,
  other
};

struct Columns {
  std::vector<Column> kinds;
  bool cpu_time = false;
};

// Nothing when the names are not those of results: size, count, type, time, algbw and busbw.
[[nodiscard]] std::optional<Columns> columns_of(const std::vector<std::string_view>& names);

// By the number of words of a row; nothing when it fits no release.
[[nodiscard]] std::optional<Columns> columns_by_count(const std::vector<std::string_view>& cells);

// The row, or nothing when the cells do not fit the columns. The in-place half may be missing.
[[nodiscard]] std::optional<LogRow> row_of(const Columns& columns,
                                           const std::vector<std::string_view>& cells);

// Whether the words from `at` on begin like a row: two whole numbers and the name of a type.
[[nodiscard]] bool begins_row(const std::vector<std::string_view>& words, std::size_t at);

}  // namespace orrery::calibration_import
