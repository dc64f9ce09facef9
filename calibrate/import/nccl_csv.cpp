// Results as comma-separated values: what forks of nccl-tests write, and what people keep of logs.

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "calibrate/import/formats.hpp"
#include "calibrate/import/result_columns.hpp"

namespace orrery::calibration_import {

namespace {

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  while (true) {
    const std::size_t comma = std::min(line.find(','), line.size());
    std::string_view cell = trimmed(line.substr(0, comma));
    if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"') {
      cell = cell.substr(1, cell.size() - 2);
    }
    cells.push_back(cell);
    if (comma == line.size()) {
      return cells;
    }
    line.remove_prefix(comma + 1);
  }
}

std::optional<Columns> heading_of(std::string_view line) {
  const std::vector<std::string_view> cells = cells_of(line);
  return cells.size() > 1 ? columns_of(cells) : std::nullopt;
}

// Rows of one operation on so many ranks and nodes make one test.
using TestKey = std::tuple<std::string, std::int64_t, std::int64_t>;

struct CsvRow {
  TestKey key;
  LogRow row;
};

std::string_view cell_of(const Columns& columns, const std::vector<std::string_view>& cells,
                         Column kind) {
  for (std::size_t i = 0; i < std::min(columns.kinds.size(), cells.size()); ++i) {
    if (columns.kinds[i] == kind) {
      return cells[i];
    }
  }
  return {};
}

// A place without a time is an operation that has no such place.
Columns without_empty_place(const Columns& columns, const std::vector<std::string_view>& cells) {
  Columns used = columns;
  std::size_t times = 0;
  bool empty = false;
  for (std::size_t i = 0; i < std::min(used.kinds.size(), cells.size()); ++i) {
    if (used.kinds[i] == Column::time) {
      ++times;
      empty = times > 1 && cells[i].empty();
    }
    const bool result = used.kinds[i] == Column::time || used.kinds[i] == Column::algbw ||
                        used.kinds[i] == Column::busbw || used.kinds[i] == Column::wrong;
    if (empty && result) {
      used.kinds[i] = Column::other;
    }
  }
  return used;
}

std::optional<CsvRow> row_at(const Columns& columns, std::vector<std::string_view> cells) {
  cells.resize(std::max(cells.size(), columns.kinds.size()));
  cells.resize(columns.kinds.size());  // a comma at the end of the line
  const auto row = row_of(without_empty_place(columns, cells), cells);
  if (!row) {
    return std::nullopt;
  }
  const auto ranks = whole_integer(cell_of(columns, cells, Column::ranks));
  const auto nodes = whole_integer(cell_of(columns, cells, Column::nodes));
  return CsvRow{{std::string(cell_of(columns, cells, Column::operation)), ranks.value_or(0),
                 nodes.value_or(0)},
                *row};
}

}  // namespace

bool is_nccl_csv(const LogFile& file) {
  const std::vector<std::string> lines = clean_lines(file.text);
  return std::any_of(lines.begin(), lines.end(),
                     [](const std::string& line) { return heading_of(line).has_value(); });
}

void read_nccl_csv(const LogFile& file, Findings& findings, Diagnostics& diagnostics) {
  std::optional<Columns> columns;
  std::map<TestKey, CollectiveLog> tests;
  int number = 0;
  for (const std::string& line : clean_lines(file.text)) {
    ++number;
    if (!columns) {
      columns = heading_of(line);
      continue;
    }
    const std::vector<std::string_view> cells = cells_of(line);
    const bool blank =
        std::all_of(cells.begin(), cells.end(), [](std::string_view cell) { return cell.empty(); });
    const bool units = line.find("(B)") != std::string::npos;
    if (blank || units) {
      continue;
    }
    auto found = row_at(*columns, cells);
    const SourceLocation where{file.name, number};
    if (!found) {
      diagnostics.error(where, "", "a row that does not fit the heading");
      continue;
    }
    CollectiveLog& test = tests[found->key];
    const auto& [operation, ranks, nodes] = found->key;
    if (test.rows.empty()) {
      test.where = where;
      test.concluded = true;
      test.cpu_time = columns->cpu_time;
      test.operation_name = operation.empty() ? std::string(base_name(file.name)) : operation;
      test.stated_ranks = ranks > 0 ? std::optional(ranks) : std::nullopt;
      test.stated_nodes = nodes > 0 ? std::optional(nodes) : std::nullopt;
    }
    found->row.where = where;
    test.rows.push_back(std::move(found->row));
  }
  for (auto& [key, test] : tests) {
    findings.collectives.push_back(std::move(test));
  }
}

}  // namespace orrery::calibration_import
