// The JSON that nccl-tests writes with -J. Its dump of the environment may hold secrets: only three
// settings of NCCL are looked at, and nothing of it is copied.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "calibrate/import/formats.hpp"

namespace orrery::calibration_import {

namespace {

// Six decimals, as the program prints its doubles.
constexpr double kHalfStep = 0.5e-6;

std::optional<LogTiming> timing_of(const ParsedJson* place) {
  if (place == nullptr || !place->is_object()) {
    return std::nullopt;
  }
  auto time = number_member(*place, "time");
  if (!time) {
    time = number_member(*place, "cpu_time");
  }
  const auto algbw = number_member(*place, "alg_bw");
  const auto busbw = number_member(*place, "bus_bw");
  if (!time || !algbw || !busbw) {
    return std::nullopt;
  }
  return LogTiming{{*time, kHalfStep},
                   {*algbw, kHalfStep},
                   {*busbw, kHalfStep},
                   number_member(*place, "nwrong")};
}

bool has_cpu_time(const ParsedJson& result) {
  const ParsedJson* place = member(result, "out_of_place");
  return place != nullptr && member(*place, "cpu_time") != nullptr;
}

void read_results(const ParsedJson& root, const LogFile& file, CollectiveLog& log,
                  Diagnostics& diagnostics) {
  std::size_t index = 0;
  for (const ParsedJson& result : list_member(root, "results")) {
    const std::string place = fmt::format("results[{}]", index++);
    const auto size = integer_member(result, "size");
    LogRow row;
    row.where = {file.name};
    row.place = place;
    row.size = size.value_or(0);
    row.count = integer_member(result, "count").value_or(0);
    row.type = text_member(result, "type");
    row.redop = text_member(result, "redop");
    row.out_of_place = timing_of(member(result, "out_of_place"));
    row.in_place = timing_of(member(result, "in_place"));
    log.cpu_time = log.cpu_time || has_cpu_time(result);
    if (!size || !type_size(row.type) || (!row.out_of_place && !row.in_place)) {
      diagnostics.error({file.name}, place, "is no complete result",
                        "size, type, and time, alg_bw, bus_bw");
      continue;
    }
    log.rows.push_back(std::move(row));
  }
}

void read_devices(const ParsedJson& root, CollectiveLog& log) {
  const ParsedJson* config = member(root, "devices") == nullptr ? member(root, "config") : &root;
  for (const ParsedJson& device : list_member(config == nullptr ? root : *config, "devices")) {
    log.ranks.push_back({integer_member(device, "rank").value_or(0),
                         integer_member(device, "group").value_or(0),
                         text_member(device, "hostname"), text_member(device, "device_hex"),
                         text_member(device, "device_info")});
  }
}

void read_arguments(const ParsedJson& root, CollectiveLog& log) {
  std::string before;
  for (const ParsedJson& argument : list_member(root, "args")) {
    const std::string word = argument.is_string() ? argument.get<std::string>() : std::string();
    if (log.operation_name.empty()) {
      log.operation_name = std::string(program_in(word));
    }
    if (before == "-a" && word.size() == 1) {
      log.average = word.front();
    }
    before = word;
  }
}

void read_settings(const ParsedJson& root, CollectiveLog& log) {
  constexpr std::array<std::string_view, 3> kUsed = {"NCCL_ALGO", "NCCL_NVLS_ENABLE",
                                                     "NCCL_COLLNET_ENABLE"};
  for (const ParsedJson& setting : list_member(root, "env")) {
    const std::string text = setting.is_string() ? setting.get<std::string>() : std::string();
    for (const std::string_view name : kUsed) {
      if (text.starts_with(name) && text.size() > name.size() && text[name.size()] == '=') {
        apply_setting(name, std::string_view(text).substr(name.size() + 1), log);
      }
    }
  }
}

void read_test(const ParsedJson& root, const LogFile& file, Findings& findings,
               Diagnostics& diagnostics) {
  CollectiveLog log;
  log.where = {file.name};
  log.concluded = true;
  read_arguments(root, log);
  read_settings(root, log);
  read_devices(root, log);
  read_results(root, file, log, diagnostics);
  if (log.operation_name.empty()) {
    log.operation_name = std::string(base_name(file.name));
  }
  if (const auto code = integer_member(root, "nccl_version")) {
    log.nccl_version = nccl_version_text(*code);
  }
  if (const ParsedJson* config = member(root, "config")) {
    log.aggregated = integer_member(*config, "aggregated_iterations");
  }
  if (const ParsedJson* bounds = member(root, "out_of_bounds")) {
    log.out_of_bounds = integer_member(*bounds, "count");
  }
  constexpr std::size_t kDateLength = 10;  // 2026-11-21 of 2026-11-21 09:30:00
  log.date = text_member(root, "start_time").substr(0, kDateLength);
  findings.collectives.push_back(std::move(log));
}

}  // namespace

bool is_nccl_json(const LogFile& file) {
  return looks_like_json_with(file, "nccl_version") || looks_like_json_with(file, "out_of_place");
}

void read_nccl_json(const LogFile& file, Findings& findings, Diagnostics& diagnostics) {
  const auto root = parse_json(file, diagnostics);
  if (!root) {
    return;
  }
  if (root->is_array()) {
    for (const ParsedJson& test : *root) {
      read_test(test, file, findings, diagnostics);
    }
    return;
  }
  read_test(*root, file, findings, diagnostics);
}

// Results as comma-separated values: what forks of nccl-tests write, and what people keep of logs.

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
  return std::ranges::any_of(lines,
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
        std::ranges::all_of(cells, [](std::string_view cell) { return cell.empty(); });
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
