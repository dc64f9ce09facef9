// What nvbandwidth prints: matrices of rates, as text or as JSON (-j).

#include <fmt/core.h>

#include <algorithm>

#include "calibrate/import/formats.hpp"
#include "calibrate/import/log_text.hpp"

namespace orrery::calibration_import {

namespace {

constexpr std::string_view kRunning = "Running ";

// memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
std::string unit_of(std::string_view description) {
  const std::size_t open = description.rfind('(');
  const std::size_t close = description.rfind(')');
  return open == std::string_view::npos || close == std::string_view::npos || close < open
             ? std::string()
             : std::string(description.substr(open + 1, close - open - 1));
}

bool is_cell(std::string_view word) { return word == "N/A" || printed_number(word).has_value(); }

std::optional<double> rate_of(std::string_view word) {
  const auto number = printed_number(word);
  return number && number->value > 0.0 ? std::optional(number->value) : std::nullopt;
}

// The name in `Running host_to_device_memcpy_ce.`, or "".
std::string test_name(std::string_view line) {
  const auto rest = text_after(line, kRunning);
  if (!rest || !rest->ends_with('.') || rest->find(' ') != std::string_view::npos) {
    return {};
  }
  return std::string(rest->substr(0, rest->size() - 1));
}

// Device 0: NVIDIA H200 (00000000:1b:00)
std::string device_name(std::string_view line) {
  const auto rest = text_after(line, "Device ");
  const std::size_t colon = rest ? rest->find(": ") : std::string_view::npos;
  if (colon == std::string_view::npos || !whole_integer(rest->substr(0, colon))) {
    return {};
  }
  const std::string_view name = rest->substr(colon + 2);
  return std::string(trimmed(name.substr(0, name.rfind('('))));
}

void read_line(const std::string& line, const SourceLocation& where, CopyLog& log) {
  if (const auto version = text_after(line, "nvbandwidth Version: ")) {
    log.version = std::string(*version);
  }
  if (std::string name = device_name(line); !name.empty() && log.tests.empty()) {
    log.gpus.push_back(std::move(name));
  }
  if (std::string name = test_name(line); !name.empty()) {
    log.tests.push_back({where, std::move(name), {}, {}});
    return;
  }
  if (log.tests.empty()) {
    return;
  }
  CopyTest& test = log.tests.back();
  const std::vector<std::string_view> words = words_of(line);
  if (line.find("(row)") != std::string::npos || line.find("bandwidth (") != std::string::npos) {
    test.unit = unit_of(line);
    return;
  }
  // Rows begin with their index; so does the heading, which has whole numbers only.
  const auto index = words.size() < 2 ? std::nullopt : whole_integer(words.front());
  const bool numbers = std::all_of(words.begin(), words.end(), is_cell);
  const bool heading = std::all_of(words.begin(), words.end(), [](std::string_view word) {
    return whole_integer(word).has_value();
  });
  if (!index || !numbers || heading || *index != static_cast<std::int64_t>(test.rates.size())) {
    return;
  }
  std::vector<std::optional<double>> row;
  for (std::size_t i = 1; i < words.size(); ++i) {
    row.push_back(rate_of(words[i]));
  }
  test.rates.push_back(std::move(row));
}

void report_empty_tests(const CopyLog& log, Diagnostics& diagnostics) {
  for (const CopyTest& test : log.tests) {
    if (test.rates.empty()) {
      diagnostics.warning(test.where, "",
                          fmt::format("{} has no results; it was waived or failed", test.name));
    }
  }
}

CopyTest test_of(const ParsedJson& value, const LogFile& file) {
  CopyTest test;
  test.where = {file.name};
  test.name = text_member(value, "name");
  test.unit = unit_of(text_member(value, "bandwidth_description"));
  const ParsedJson* matrix = member(value, "bandwidth_matrix");
  if (matrix == nullptr || !matrix->is_array()) {
    return test;
  }
  for (const ParsedJson& cells : *matrix) {
    std::vector<std::optional<double>> row;
    for (const ParsedJson& cell : cells) {
      const auto rate = number_of(cell);
      row.push_back(rate && *rate > 0.0 ? rate : std::nullopt);
    }
    test.rates.push_back(std::move(row));
  }
  return test;
}

}  // namespace

bool is_nvbandwidth_text(const LogFile& file) {
  const std::vector<std::string> lines = clean_lines(file.text);
  return std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
    const std::string name = test_name(line);
    return name.find("memcpy") != std::string::npos || name.find("device_") != std::string::npos ||
           line.starts_with("nvbandwidth Version: ");
  });
}

void read_nvbandwidth_text(const LogFile& file, Findings& findings, Diagnostics& diagnostics) {
  CopyLog log;
  log.where = {file.name, 1};
  int number = 0;
  for (const std::string& line : clean_lines(file.text)) {
    ++number;
    read_line(line, {file.name, number}, log);
  }
  report_empty_tests(log, diagnostics);
  findings.copies.push_back(std::move(log));
}

bool is_nvbandwidth_json(const LogFile& file) { return looks_like_json_with(file, "nvbandwidth"); }

void read_nvbandwidth_json(const LogFile& file, Findings& findings, Diagnostics& diagnostics) {
  const auto root = parse_json(file, diagnostics);
  if (!root) {
    return;
  }
  const ParsedJson* content = member(*root, "nvbandwidth");
  const ParsedJson* tests = content == nullptr ? nullptr : member(*content, "testcases");
  CopyLog log;
  log.where = {file.name};
  if (content != nullptr) {
    log.version = text_member(*content, "version");
  }
  if (tests == nullptr || !tests->is_array()) {
    diagnostics.error({file.name}, "nvbandwidth.testcases", "is missing");
    return;
  }
  for (const ParsedJson& test : *tests) {
    log.tests.push_back(test_of(test, file));
  }
  report_empty_tests(log, diagnostics);
  findings.copies.push_back(std::move(log));
}

}  // namespace orrery::calibration_import
