#include "sim/import_config/logs/xid_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <iomanip>
#include <map>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>

#include "sim/base/text/text.hpp"
#include "sim/import_config/logs/log_lines.hpp"
#include "sim/import_config/logs/log_scan.hpp"
#include "sim/import_config/trees/source_keys.hpp"

namespace orrery::import_config {

namespace {

enum class XidFate { node, job, application, report };

struct XidKind {
  int xid;
  std::string_view name;
  XidFate fate = XidFate::node;
};

// NVIDIA's Xid catalog; errors of applications as internal/rm/health.go of NVIDIA's
// k8s-device-plugin has them.
constexpr std::array<XidKind, 34> kKinds = {
    {{13, "graphics engine exception", XidFate::application},
     {31, "memory page fault", XidFate::application},
     {32, "corrupted push buffer", XidFate::job},
     {38, "driver firmware error"},
     {43, "channel reset", XidFate::application},
     {45, "cleanup after another error", XidFate::report},
     {46, "GPU stopped processing"},
     {48, "double-bit ECC error"},
     {61, "micro-controller halt"},
     {62, "micro-controller halt"},
     {63, "row remapped", XidFate::report},
     {64, "row remapping failed"},
     {68, "video decoder exception", XidFate::application},
     {74, "NVLink error"},
     {79, "GPU fallen off the bus"},
     {92, "many single-bit ECC errors", XidFate::report},
     {94, "contained ECC error", XidFate::job},
     {95, "uncontained ECC error"},
     {109, "context switch timeout", XidFate::application},
     {119, "GSP timeout"},
     {120, "GSP error"},
     {121, "corrected C2C link error", XidFate::report},
     {122, "power management bus read failure"},
     {123, "power management bus write failure"},
     {140, "unrecovered ECC error"},
     {143, "GPU initialization failure"},
     {144, "NVLink 5 error (SAW)"},
     {145, "NVLink 5 error (RLW)"},
     {146, "NVLink 5 error (TLW)"},
     {147, "NVLink 5 error (TREX)"},
     {148, "NVLink 5 error (NVLPW)"},
     {149, "NVLink 5 error (NETIR)"},
     {150, "NVLink 5 error (MSE)"},
     {154, "recovery action changed", XidFate::report}}};

const XidKind* kind_of(int xid) {
  const auto* found = std::ranges::find(kKinds, xid, &XidKind::xid);
  return found == kKinds.end() ? nullptr : found;
}

XidFate fate_of(int xid) {
  const XidKind* kind = kind_of(xid);
  return kind == nullptr ? XidFate::node : kind->fate;
}

std::string name_of(int xid) {
  const XidKind* kind = kind_of(xid);
  return kind == nullptr ? fmt::format("Xid {}", xid) : fmt::format("Xid {}, {}", xid, kind->name);
}

constexpr std::string_view kMark = "NVRM: Xid (";
constexpr int kMostXid = 999;

struct XidEvent {
  std::int64_t at_ms = 0;
  std::string host;
  int xid = 0;
};

// What is read of all files before it is counted.
struct Reading {
  std::vector<XidEvent> events;
  std::set<std::string, std::less<>> hosts;
  std::int64_t first_ms = 0;
  std::int64_t last_ms = 0;
  bool dated = false;
  bool only_xids = true;

  void see(std::int64_t at_ms) {
    first_ms = dated ? std::min(first_ms, at_ms) : at_ms;
    last_ms = dated ? std::max(last_ms, at_ms) : at_ms;
    dated = true;
  }
};

std::string_view cut_word(std::string_view& rest) {
  rest = orrery::trimmed(rest, " \t");
  const std::size_t end = std::min(rest.find_first_of(" \t"), rest.size());
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(end);
  return word;
}

// `Nov  1 10:22:33` of syslog, without a year, and `[Sat Nov  1 10:22:33 2026]` of dmesg -T.
struct MonthDate {
  std::int64_t at_ms = 0;
  bool has_year = false;
  std::string_view rest;
};

std::optional<MonthDate> month_date(std::string_view line) {
  constexpr std::size_t kLongest = 26;
  constexpr int kLeapYear = 100;  // 2000, of dates without one
  const bool has_year = line.starts_with("[");
  line.remove_prefix(has_year ? 1 : 0);
  std::istringstream text{std::string(line.substr(0, kLongest))};
  std::tm date{};
  date.tm_year = kLeapYear;
  text >> std::get_time(&date, has_year ? "%a %b %d %H:%M:%S %Y" : "%b %d %H:%M:%S");
  if (text.fail()) {
    return std::nullopt;
  }
  const auto end = text.eof() ? line.size() : static_cast<std::size_t>(text.tellg());
  return MonthDate{static_cast<std::int64_t>(static_cast<double>(timegm(&date)) * kKilo), has_year,
                   line.substr(std::min(end, line.size()))};
}

// `[12345.678901]`: seconds since the host was started.
std::optional<std::int64_t> boot_time_ms(std::string_view line) {
  if (!line.starts_with("[")) {
    return std::nullopt;
  }
  const std::string_view inside = orrery::trimmed(line.substr(1, line.find(']') - 1), " ");
  const auto seconds = csv_number(inside);
  return seconds ? std::optional(static_cast<std::int64_t>(*seconds * kKilo)) : std::nullopt;
}

struct DatedLine {
  std::int64_t at_ms = 0;
  std::string host;
};

// `DATE HOST kernel: ...` names a host; dmesg does not, and its file stands for one.
std::optional<DatedLine> dated(std::string_view line, const std::string& file,
                               std::int64_t& year_ms, std::int64_t& before_ms) {
  if (const auto at = boot_time_ms(line)) {
    return DatedLine{*at, file};
  }
  if (const auto date = month_date(line)) {
    std::int64_t at = date->at_ms + (date->has_year ? 0 : year_ms);
    constexpr auto kYearMs =
        std::int64_t{std::chrono::milliseconds(std::chrono::days(366)).count()};
    if (!date->has_year && at + kYearMs / 2 < before_ms) {  // December is over
      year_ms += kYearMs;
      at += kYearMs;
    }
    before_ms = at;
    std::string_view rest = date->rest;
    return DatedLine{at, date->has_year ? file : std::string(cut_word(rest))};
  }
  const std::optional<std::int64_t> date = date_of(line);
  if (!date) {
    return std::nullopt;
  }
  std::string_view rest = line;
  const std::string_view stamp = cut_word(rest);
  if (stamp.find(':') == std::string_view::npos) {
    static_cast<void>(cut_word(rest));  // date and time are two words
  }
  const std::string_view host = cut_word(rest);
  const bool names_host = !host.empty() && orrery::trimmed(rest, " ").starts_with("kernel");
  return DatedLine{*date, names_host ? std::string(host) : file};
}

// The number behind `NVRM: Xid (PCI:0000:3b:00): `.
std::optional<int> xid_of(std::string_view line) {
  const std::size_t mark = line.find(kMark);
  const std::size_t close = mark == std::string_view::npos ? mark : line.find("): ", mark);
  if (close == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view rest = line.substr(close + 3);
  const auto number = whole_number(rest.substr(0, rest.find_first_not_of("0123456789")));
  return number && *number > 0 && *number <= kMostXid ? number : std::nullopt;
}

void read_kernel_log(const ConfigFile& file, Reading& reading, Diagnostics& diagnostics) {
  std::int64_t year_ms = 0;
  std::int64_t before_ms = 0;
  for (const LogLine& line : log_lines(file.text)) {
    const std::optional<int> xid = xid_of(line.text);
    const auto at = dated(line.text, file.name, year_ms, before_ms);
    if (!at) {
      if (xid) {
        diagnostics.error({file.name, line.number, 1}, "",
                          "holds an Xid without a date, so that no rate follows from it",
                          "lines as journalctl -k -o short-iso or dmesg -T print them");
        return;
      }
      continue;
    }
    reading.see(at->at_ms);
    reading.hosts.insert(at->host);
    reading.only_xids = reading.only_xids && xid.has_value();
    if (xid) {
      reading.events.push_back({at->at_ms, at->host, *xid});
    }
  }
}

struct TableColumns {
  bool steps = false;  // it is a table of metrics of training then
  std::optional<std::size_t> xid;
  std::optional<std::size_t> date;
  std::vector<std::size_t> host;
  std::vector<std::size_t> gpu;
};

TableColumns xid_columns(std::string_view header) {
  constexpr std::array<std::string_view, 4> kXid = {"dcgm_fi_dev_xid_errors", "xid", "xid_errors",
                                                    "gpu_xid"};
  constexpr std::array<std::string_view, 4> kDate = {"timestamp", "time", "date", "datetime"};
  constexpr std::array<std::string_view, 5> kHost = {"hostname", "host", "node", "instance",
                                                     "exported_instance"};
  constexpr std::array<std::string_view, 5> kStep = {"step", "_step", "global_step", "iteration",
                                                     "iter"};
  constexpr std::array<std::string_view, 4> kGpu = {"gpu", "device", "uuid", "pci_bus_id"};
  const auto is = [](const auto& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  TableColumns columns;
  const std::vector<std::string> cells = csv_cells(header);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string name = lower_case(orrery::trimmed(cells[i], " "));
    if (is(kXid, name)) {
      columns.xid = i;
    } else if (is(kStep, name)) {
      columns.steps = true;
    } else if (is(kDate, name)) {
      columns.date = i;
    } else if (is(kHost, name)) {
      columns.host.push_back(i);
    } else if (is(kGpu, name)) {
      columns.gpu.push_back(i);
    }
  }
  return columns;
}

std::string first_line(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  text.remove_prefix(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
  return std::string(text.substr(0, text.find('\n')));
}

// Seconds or milliseconds since 1970, or a date.
std::optional<std::int64_t> cell_date_ms(const std::string& cell) {
  constexpr double kFromMilliseconds = 100.0 * kGiga;  // seconds reach it in the year 5138
  if (const auto number = csv_number(cell)) {
    return static_cast<std::int64_t>(*number > kFromMilliseconds ? *number : *number * kKilo);
  }
  return date_of(cell);
}

// The metric holds the last Xid of a GPU until another one comes: a change is an event.
void read_table(const ConfigFile& file, Reading& reading, Diagnostics& diagnostics) {
  const TableColumns columns = xid_columns(first_line(file.text));
  if (!columns.date || columns.host.empty()) {
    diagnostics.error({file.name, 1, 1}, "", "has no column of dates, or of hosts",
                      "columns timestamp, Hostname, gpu and DCGM_FI_DEV_XID_ERRORS");
    return;
  }
  std::vector<std::tuple<std::string, std::string, std::int64_t, int>> rows;
  for (const LogLine& line : log_lines(file.text)) {
    const std::vector<std::string> cells = csv_cells(line.text);
    if (line.number == 1 || cells.size() <= std::max(*columns.xid, *columns.date)) {
      continue;
    }
    const auto at = cell_date_ms(cells[*columns.date]);
    const std::string& value = cells[*columns.xid];
    const auto xid = value.empty() ? std::optional(0.0) : csv_number(value);
    if (!at || !xid || *xid < 0.0 || *xid > kMostXid) {
      diagnostics.error({file.name, line.number, 1}, "", "holds no date, or no Xid",
                        "a date, or seconds since 1970; a number from 0 to 999");
      return;
    }
    const auto joined = [&cells](const std::vector<std::size_t>& of) {
      std::string text;
      for (const std::size_t i : of) {
        text += i < cells.size() ? cells[i] + " " : "";
      }
      return text;
    };
    rows.emplace_back(joined(columns.host), joined(columns.gpu), *at, static_cast<int>(*xid));
  }
  std::ranges::sort(rows);
  reading.only_xids = reading.only_xids && rows.empty();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& [host, gpu, at, xid] = rows[i];
    reading.see(at);
    reading.hosts.insert(host);
    const bool same = i > 0 && std::get<0>(rows[i - 1]) == host && std::get<1>(rows[i - 1]) == gpu;
    if (xid != 0 && same && std::get<3>(rows[i - 1]) != xid) {
      reading.events.push_back({at, host, xid});
    }
  }
}

std::vector<XidCount> by_count(const std::map<int, std::int64_t>& counts) {
  std::vector<XidCount> list;
  for (const auto& [xid, count] : counts) {
    list.push_back({.xid = xid,
                    .name = name_of(xid),
                    .count = count,
                    .known = kind_of(xid) != nullptr,
                    .takes_node = fate_of(xid) == XidFate::node});
  }
  std::ranges::stable_sort(list, std::greater<>(), &XidCount::count);
  return list;
}

// The events of each host in the order of time; what follows a failure soon belongs to it.
void count(Reading& reading, XidFailures& found) {
  std::ranges::sort(reading.events, {},
                    [](const XidEvent& event) { return std::tie(event.host, event.at_ms); });
  const auto same_ms = static_cast<std::int64_t>(in_seconds(kSameFailure) * kKilo);
  std::map<int, std::int64_t> failures;
  std::map<int, std::int64_t> application;
  std::map<int, std::int64_t> reports;
  const XidEvent* failure = nullptr;
  for (const XidEvent& event : reading.events) {
    const XidFate fate = fate_of(event.xid);
    if (fate == XidFate::application || fate == XidFate::report) {
      ++(fate == XidFate::report ? reports : application)[event.xid];
      continue;
    }
    if (failure != nullptr && failure->host == event.host &&
        event.at_ms - failure->at_ms < same_ms) {
      ++found.repeats;
      continue;
    }
    failure = &event;
    ++failures[event.xid];
  }
  found.events = std::ssize(reading.events);
  found.failures = by_count(failures);
  found.application = by_count(application);
  found.reports = by_count(reports);
}

}  // namespace

bool is_xid_log(std::string_view text) {
  const TableColumns columns = xid_columns(first_line(text));
  return text.find(kMark) != std::string_view::npos || (columns.xid && !columns.steps);
}

std::optional<XidFailures> failures_by_xid(std::span<const ConfigFile> files,
                                           const XidOptions& options, Diagnostics& diagnostics) {
  Reading reading;
  for (const ConfigFile& file : files) {
    if (xid_columns(first_line(file.text)).xid) {
      read_table(file, reading, diagnostics);
    } else {
      read_kernel_log(file, reading, diagnostics);
    }
  }
  if (diagnostics.has_errors()) {
    return std::nullopt;
  }
  XidFailures found;
  count(reading, found);
  found.hosts = std::ssize(reading.hosts);
  found.nodes = options.nodes;
  found.only_xids = reading.only_xids;
  found.span_stated = options.span.has_value();
  found.span = options.span.value_or(
      seconds(static_cast<double>(reading.last_ms - reading.first_ms) / kKilo));
  const SourceLocation where{files.empty() ? std::string() : files.front().name};
  if (!found.nodes) {
    diagnostics.error(where, "",
                      fmt::format("{} hosts have lines here, and those without an error may have "
                                  "none",
                                  found.hosts),
                      "--nodes: how many hosts these logs are of");
  } else if (*found.nodes < found.hosts) {
    diagnostics.error(where, "",
                      fmt::format("{} hosts have lines here, more than --nodes says", found.hosts),
                      fmt::format("--nodes {} or more", found.hosts));
  }
  if (!found.span_stated && (found.only_xids || found.span <= Seconds{})) {
    diagnostics.error(where, "", "only Xids have dates here, which do not say how long was watched",
                      "--span 30d: the time that these logs cover");
  }
  return diagnostics.has_errors() ? std::nullopt : std::optional(std::move(found));
}

}  // namespace orrery::import_config
