// The text that nccl-tests prints, with what launchers and NCCL_DEBUG put around and between it.

#include <fmt/core.h>

#include <algorithm>

#include "calibrate/import/formats.hpp"
#include "sim/base/text/text.hpp"

namespace orrery::calibration_import {

namespace {

// The text of a comment, from its `#` on, or nothing. Words in front are a launcher's.
std::optional<std::string_view> comment_of(std::string_view line) {
  const std::size_t at = line.find('#');
  return at == std::string_view::npos ? std::nullopt : std::optional(line.substr(at));
}

std::optional<Columns> commented_heading(std::string_view comment) {
  const std::vector<std::string_view> words = words_of(comment.substr(1));
  return words.empty() || words.front() != "size" ? std::nullopt : columns_of(words);
}

// #  Rank  0 Group  0 Pid  7 on HOST device  0 [0000:1b:00] NVIDIA H200
std::optional<LogRank> rank_of(std::string_view comment) {
  const auto rest = text_after(comment, "Rank ");
  const auto device = rest ? text_after(*rest, " device ") : std::nullopt;
  const auto host = rest ? text_after(*rest, " on ") : std::nullopt;
  if (!device || !host || rest->find(" Pid ") == std::string_view::npos) {
    return std::nullopt;
  }
  const std::vector<std::string_view> words = words_of(*rest);
  const auto rank = words.empty() ? std::nullopt : whole_integer(words.front());
  if (!rank) {
    return std::nullopt;
  }
  LogRank result;
  result.rank = *rank;
  if (const auto group = text_after(*rest, "Group ")) {
    const auto group_words = words_of(*group);
    result.group = group_words.empty() ? 0 : whole_integer(group_words.front()).value_or(0);
  }
  result.host = std::string(host->substr(0, host->find(' ')));
  const std::size_t open = device->find('[');
  const std::size_t close = device->find(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    result.device = std::string(device->substr(0, device->find(' ')));
    return result;
  }
  result.device = std::string(device->substr(open + 1, close - open - 1));
  result.gpu = std::string(trimmed(device->substr(close + 1)));
  return result;
}

// The names in `[0]mlx5_0:1/IB [1]mlx5_1:1/IB/SHARP`: one kind of link, or nothing.
void read_devices(std::string_view list, CollectiveLog& log) {
  std::int64_t nics = 0;
  std::optional<hardware::FabricKind> fabric;
  for (const std::string_view word : words_of(list.substr(0, list.find(';')))) {
    if (!word.starts_with('[') || word.find(':') == std::string_view::npos) {
      continue;
    }
    const bool roce = word.find("/RoCE") != std::string_view::npos;
    const bool infiniband = word.find("/IB") != std::string_view::npos;
    const auto kind = roce ? hardware::FabricKind::roce : hardware::FabricKind::infiniband;
    if ((!roce && !infiniband) || (fabric && *fabric != kind)) {
      return;
    }
    fabric = kind;
    ++nics;
  }
  if (fabric) {
    log.fabric = fabric;
    log.nics = nics;
  }
}

// Lines of NCCL_DEBUG=INFO.
void read_debug_line(std::string_view line, CollectiveLog& log) {
  if (const auto list = text_after(line, "NET/IB : Using ")) {
    read_devices(*list, log);
  }
  if (const auto network = text_after(line, "Using network ")) {
    const std::string name = lower_case(*network);
    if (name.find("libfabric") != std::string::npos) {
      log.fabric = hardware::FabricKind::efa;
    } else if (name.starts_with("socket")) {
      log.fabric = hardware::FabricKind::tcp;
    } else if (name.starts_with("fastrak") || name.starts_with("gpudirecttcpx")) {
      log.fabric = hardware::FabricKind::tcpx;
    }
  }
  if (const auto setting = text_after(line, " set by environment to ")) {
    const std::size_t name_at = line.find("NCCL INFO ");
    const auto name = text_after(line.substr(name_at), "NCCL INFO ");
    const std::string_view word = name->substr(0, name->find(' '));
    const std::string_view value =
        setting->ends_with('.') ? setting->substr(0, setting->size() - 1) : *setting;
    apply_setting(word, value, log);
  }
}

class TextReader {
 public:
  TextReader(const LogFile& file, Findings& findings, Diagnostics& diagnostics)
      : file_(file), findings_(findings), diagnostics_(diagnostics) {}

  void read() {
    const std::vector<std::string> lines = clean_lines(file_.text);
    for (const std::string& line : lines) {
      ++line_;
      read_line(line);
    }
    close();
  }

 private:
  void read_line(const std::string& line) {
    if (trimmed(line).empty()) {
      return;
    }
    if (read_row(line)) {
      return;
    }
    if (line.find("NCCL INFO ") != std::string::npos) {
      read_debug_line(line, log_);
      return;
    }
    if (const auto comment = comment_of(line)) {
      read_comment(*comment);
    }
    read_program(line);
    if (const auto version = text_after(line, "NCCL version ")) {
      log_.nccl_version = std::string(version->substr(0, version->find_first_of(" +")));
    }
  }

  // True when the line is or wants to be a row of results.
  bool read_row(const std::string& line) {
    const std::vector<std::string_view> words = words_of(line);
    std::size_t at = 0;
    while (at < words.size() && !begins_row(words, at)) {
      ++at;
    }
    if (at >= words.size() || line.find('#') != std::string::npos) {
      return false;
    }
    report_broken_row(false);
    const std::vector<std::string_view> cells(words.begin() + static_cast<std::ptrdiff_t>(at),
                                              words.end());
    std::optional<LogRow> row = columns_ ? row_of(*columns_, cells) : std::nullopt;
    if (!row) {
      const auto by_count = columns_by_count(cells);
      row = by_count ? row_of(*by_count, cells) : std::nullopt;
    }
    // Behind complete rows, half a row is the last word of a killed test.
    const bool half = row && !row->in_place && !log_.rows.empty() && log_.rows.back().in_place;
    if (!row || half) {
      broken_line_ = line_;
      broken_words_ = cells.size();
      return true;
    }
    row->where = {file_.name, line_};
    start_if_unplaced();
    log_.rows.push_back(std::move(*row));
    return true;
  }

  // A row that does not fit: the last one of a killed test, else an error of the file.
  void report_broken_row(bool at_end) {
    if (broken_line_ == 0) {
      return;
    }
    const SourceLocation where{file_.name, broken_line_};
    broken_line_ = 0;
    if (at_end) {
      cut_off_ = true;
      return;
    }
    diagnostics_.error(
        where, "", fmt::format("a row of {} words fits no release of nccl-tests", broken_words_),
        "size count type redop root, then time algbw busbw #wrong once or twice");
  }

  void read_comment(std::string_view comment) {
    if (const auto version = text_after(comment, "nccl-tests version ")) {
      start_unless(log_.rows.empty() && log_.tool_version.empty());
      start_if_unplaced();
      log_.tool_version = std::string(version->substr(0, version->find(' ')));
      if (const auto code = text_after(comment, "nccl-library=")) {
        const auto words = words_of(*code);
        const auto number = words.empty() ? std::nullopt : whole_integer(words.front());
        if (number) {
          log_.nccl_version = nccl_version_text(*number);
        }
      }
    } else if (const auto name = text_after(comment, "Collective test starting: ")) {
      start_unless(log_.rows.empty() && log_.ranks.empty());
      start_if_unplaced();
      log_.operation_name = std::string(*name);
    } else if (const auto ended = text_after(comment, "Collective test concluded: ")) {
      log_.operation_name = log_.operation_name.empty() ? std::string(*ended) : log_.operation_name;
      log_.concluded = true;
    } else if (comment.find("nThread ") != std::string_view::npos &&
               comment.find("minBytes") != std::string_view::npos) {
      start_unless(log_.rows.empty() && log_.ranks.empty());
      read_parameters(comment);
    } else if (auto rank = rank_of(comment)) {
      start_unless(log_.rows.empty());
      log_.ranks.push_back(std::move(*rank));
    } else if (auto columns = commented_heading(comment)) {
      start_unless(log_.rows.empty());
      log_.cpu_time = columns->cpu_time;
      columns_ = std::move(columns);
      start_if_unplaced();
    } else if (const auto count = text_after(comment, "Out of bounds values")) {
      read_out_of_bounds(*count);
    } else if (comment.find("Avg bus bandwidth") != std::string_view::npos) {
      log_.concluded = true;
    }
  }

  void read_parameters(std::string_view comment) {
    start_if_unplaced();
    if (const auto aggregated = text_after(comment, "agg iters:")) {
      const auto words = words_of(*aggregated);
      log_.aggregated = words.empty() ? std::nullopt : whole_integer(words.front());
    }
  }

  void read_out_of_bounds(std::string_view rest) {
    report_broken_row(false);
    const std::vector<std::string_view> words = words_of(rest);
    for (const std::string_view word : words) {
      if (const auto count = whole_integer(word)) {
        log_.out_of_bounds = *count;
      }
    }
    if (!words.empty() && words.back() == "FAILED") {
      log_.out_of_bounds = std::max<std::int64_t>(log_.out_of_bounds.value_or(1), 1);
    }
    log_.concluded = true;
  }

  // A command line names the operation, and how times were averaged, of the test that follows.
  void read_program(std::string_view line) {
    const std::vector<std::string_view> words = words_of(line);
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string_view program = program_in(words[i]);
      const bool last = i + 1 == words.size();
      if (program.empty() || (last ? !log_.rows.empty() : !words[i + 1].starts_with('-'))) {
        continue;
      }
      start_unless(log_.rows.empty());
      if (log_.operation_name.empty()) {
        log_.operation_name = std::string(program);
      }
      for (std::size_t j = i + 1; j + 1 < words.size(); ++j) {
        if (words[j] == "-a" && words[j + 1].size() == 1) {
          log_.average = words[j + 1].front();
        }
      }
      return;
    }
  }

  void start_if_unplaced() {
    if (log_.where.line == 0) {
      log_.where = {file_.name, line_};
    }
  }

  void start_unless(bool same_test) {
    if (!same_test) {
      const CollectiveLog before = log_;
      close();
      log_ = CollectiveLog();
      // What NCCL said about the machine holds for the tests after it, too.
      log_.fabric = before.fabric;
      log_.nics = before.nics;
      log_.algorithm = before.algorithm;
      log_.nvls_off = before.nvls_off;
      log_.sharp = before.sharp;
      log_.nccl_version = before.nccl_version;
    }
  }

  void close() {
    report_broken_row(true);
    if (cut_off_ || (!log_.rows.empty() && !log_.concluded && columns_)) {
      diagnostics_.warning(
          {file_.name, line_}, "",
          fmt::format("the test was cut off; its {} complete {} taken", log_.rows.size(),
                      log_.rows.size() == 1 ? "row is" : "rows are"));
      cut_off_ = false;
    }
    if (!log_.rows.empty() || !log_.ranks.empty()) {
      if (log_.operation_name.empty()) {
        log_.operation_name = std::string(base_name(file_.name));
      }
      findings_.collectives.push_back(log_);
    }
    columns_.reset();
  }

  const LogFile& file_;
  Findings& findings_;
  Diagnostics& diagnostics_;
  CollectiveLog log_;
  std::optional<Columns> columns_;
  int line_ = 0;
  int broken_line_ = 0;
  std::size_t broken_words_ = 0;
  bool cut_off_ = false;
};

}  // namespace

bool is_nccl_text(const LogFile& file) {
  const std::vector<std::string> lines = clean_lines(file.text);
  return std::ranges::any_of(lines, [](const std::string& line) {
    const auto comment = comment_of(line);
    if (comment && (commented_heading(*comment) || rank_of(*comment))) {
      return true;
    }
    const std::vector<std::string_view> words = words_of(line);
    for (std::size_t at = 0; at < words.size(); ++at) {
      if (begins_row(words, at)) {
        return true;
      }
    }
    return false;
  });
}

void read_nccl_text(const LogFile& file, Findings& findings, Diagnostics& diagnostics) {
  TextReader(file, findings, diagnostics).read();
}

}  // namespace orrery::calibration_import
