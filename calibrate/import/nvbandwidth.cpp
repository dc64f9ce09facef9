// What nvbandwidth prints: matrices of rates, as text or as JSON (-j).

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "calibrate/import/formats.hpp"
#include "calibrate/import/import_report.hpp"
#include "sim/base/quantile.hpp"
#include "sim/base/text/format.hpp"

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
  const bool numbers = std::ranges::all_of(words, is_cell);
  const bool heading = std::ranges::all_of(
      words, [](std::string_view word) { return whole_integer(word).has_value(); });
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
  for (const ParsedJson& cells : list_member(value, "bandwidth_matrix")) {
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
  return std::ranges::any_of(lines, [](const std::string& line) {
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

namespace {

constexpr std::string_view kToDevice = "host_to_device_memcpy_ce";
constexpr std::string_view kToHost = "device_to_host_memcpy_ce";
constexpr std::string_view kPeerRead = "device_to_device_memcpy_read_ce";
constexpr std::string_view kPeerWrite = "device_to_device_memcpy_write_ce";
constexpr double kUneven = 0.9;   // the slowest GPU against the median
constexpr double kTooSlow = 0.6;  // against the shipped profile
constexpr std::string_view kRateUnit = "GB/s";

CopyResult result_of(const std::string& test, std::string unit, std::vector<double> values) {
  std::ranges::sort(values);
  return {test, std::move(unit), median_of(values), values.front(), values.back(), values.size()};
}

// All values of a test in all logs.
std::vector<double> values_of(const std::vector<CopyLog>& logs, const std::string& name) {
  std::vector<double> values;
  for (const CopyLog& log : logs) {
    for (const CopyTest& test : log.tests) {
      for (const auto& row : test.rates) {
        for (const auto& rate : row) {
          if (rate && test.name == name) {
            values.push_back(*rate);
          }
        }
      }
    }
  }
  return values;
}

// In the order of the logs.
std::vector<CopyResult> results_of(const std::vector<CopyLog>& logs) {
  std::vector<CopyResult> results;
  std::set<std::string> seen;
  for (const CopyLog& log : logs) {
    for (const CopyTest& test : log.tests) {
      if (!seen.insert(test.name).second) {
        continue;
      }
      std::vector<double> values = values_of(logs, test.name);
      if (!values.empty()) {
        results.push_back(result_of(test.name, test.unit, std::move(values)));
      }
    }
  }
  return results;
}

const CopyResult* find(const CopyRates& rates, std::string_view test) {
  const auto found = std::ranges::find(rates.results, test, &CopyResult::test);
  return found == rates.results.end() ? nullptr : &*found;
}

std::string source_text(const std::vector<CopyLog>& logs, const CopyRates& rates) {
  std::vector<std::string_view> names;
  for (const std::string& file : rates.files) {
    names.push_back(base_name(file));
  }
  const std::string& version = logs.front().version;
  return fmt::format("nvbandwidth{}{} ({})", version.empty() ? "" : " ", version,
                     fmt::join(names, ", "));
}

// The lower median of both directions; nothing where neither was measured.
std::optional<double> lower_median(const CopyResult* one, const CopyResult* other) {
  if (one == nullptr || other == nullptr) {
    const CopyResult* only = one == nullptr ? other : one;
    return only == nullptr ? std::nullopt : std::optional(only->median);
  }
  return std::min(one->median, other->median);
}

void add_host_rate(const std::vector<CopyLog>& logs, CopyRates& rates) {
  const CopyResult* down = find(rates, kToDevice);
  const CopyResult* up = find(rates, kToHost);
  const std::optional<double> lower = lower_median(down, up);
  if (!lower) {
    return;
  }
  std::string text = source_text(logs, rates) + ": one copy at a time, pinned, ";
  if (down != nullptr) {
    text += fmt::format("host to device {:g} GB/s", down->median);
  }
  if (up != nullptr) {
    text += fmt::format("{}device to host {:g} GB/s", down == nullptr ? "" : ", ", up->median);
  }
  text += fmt::format(" (median of {})", down == nullptr ? up->values : down->values);
  rates.coefficients.push_back({"host_bandwidth", gigabytes_per_second(*lower), std::move(text)});
}

void add_peer_rate(const std::vector<CopyLog>& logs, CopyRates& rates) {
  if (const auto lower = lower_median(find(rates, kPeerRead), find(rates, kPeerWrite))) {
    rates.coefficients.push_back(
        {"pcie_bandwidth", gigabytes_per_second(*lower),
         fmt::format("{}: copies between GPUs, one pair at a time (median)",
                     source_text(logs, rates))});
  }
}

// The profile that the options or the devices of the logs name, if any.
std::optional<hardware::GpuProfile> profile_of(const std::vector<CopyLog>& logs,
                                               const RigOptions& options,
                                               const hardware::ProfileSearch& search,
                                               Diagnostics& diagnostics) {
  if (options.gpu) {
    return hardware::load_gpu_profile(*options.gpu, search, {}, "--gpu", diagnostics);
  }
  const std::vector<hardware::GpuName> known = hardware::gpu_names(search);
  std::set<std::string> found;
  for (const CopyLog& log : logs) {
    for (const std::string& device : log.gpus) {
      const auto names = hardware::profiles_of_device(known, device);
      found.insert(names.size() == 1 ? names.front() : std::string());
    }
  }
  if (found.size() != 1 || found.begin()->empty()) {
    diagnostics.warning(logs.front().where, "--gpu",
                        "the GPU is not known, so its rates are not compared with a profile",
                        "the name of a GPU profile");
    return std::nullopt;
  }
  return hardware::load_gpu_profile(*found.begin(), search, {}, "--gpu", diagnostics);
}

void warn_of_uneven(const CopyRates& rates, const SourceLocation& where, Diagnostics& diagnostics) {
  for (const std::string_view test : {kToDevice, kToHost}) {
    const CopyResult* result = find(rates, test);
    if (result != nullptr && result->lowest < kUneven * result->median) {
      diagnostics.warning(
          where, "",
          fmt::format("{}: the slowest GPU has {:g} GB/s, the median {:g}: a narrow link or a far "
                      "memory",
                      test, result->lowest, result->median));
    }
  }
}

void warn_of_slow(const CopyRates& rates, const hardware::GpuProfile& gpu,
                  const SourceLocation& where, Diagnostics& diagnostics) {
  for (const CopyCoefficient& coefficient : rates.coefficients) {
    const BytesPerSecond usual = coefficient.key == "host_bandwidth" ? gpu.host_bandwidth.value()
                                                                     : gpu.pcie_bandwidth.value();
    if (coefficient.value / usual < kTooSlow) {
      diagnostics.warning(
          where, "",
          fmt::format("{} is {}, expected {} of a {}: the link is degraded", coefficient.key,
                      format_bandwidth(coefficient.value), format_bandwidth(usual), gpu.name));
    }
  }
}

}  // namespace

std::optional<CopyRates> copy_rates(const std::vector<CopyLog>& logs, const RigOptions& options,
                                    const hardware::ProfileSearch& search,
                                    Diagnostics& diagnostics) {
  CopyRates rates;
  for (const CopyLog& log : logs) {
    rates.files.push_back(log.where.file);
  }
  rates.results = results_of(logs);
  const SourceLocation& where = logs.front().where;
  const bool given = options.gpu.has_value();
  const auto gpu = profile_of(logs, options, search, diagnostics);
  if (given && !gpu) {
    return std::nullopt;
  }
  for (const std::string_view test : {kToDevice, kToHost, kPeerRead, kPeerWrite}) {
    const CopyResult* result = find(rates, test);
    if (result != nullptr && !result->unit.empty() && result->unit != kRateUnit) {
      diagnostics.error(where, "",
                        fmt::format("{} is in {}, not in {}", test, result->unit, kRateUnit));
      return std::nullopt;
    }
  }
  add_host_rate(logs, rates);
  if (gpu && !gpu->nvlink) {
    add_peer_rate(logs, rates);
  }
  if (rates.coefficients.empty()) {
    diagnostics.error(where, "", "holds no rate between GPU and host",
                      fmt::format("run nvbandwidth -t {} {}", kToDevice, kToHost));
    return std::nullopt;
  }
  warn_of_uneven(rates, where, diagnostics);
  if (gpu) {
    rates.gpu = gpu->name;
    warn_of_slow(rates, *gpu, where, diagnostics);
  }
  return rates;
}

}  // namespace orrery::calibration_import
