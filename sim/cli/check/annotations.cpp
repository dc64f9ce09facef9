#include "sim/cli/check/annotations.hpp"

#include <fmt/core.h>

#include <string_view>

#include "sim/base/text/unicode.hpp"

namespace orrery::cli {

namespace {

std::string escaped(std::string_view text, bool is_property) {
  std::string out;
  for (const char c : printable_lines(text)) {
    switch (c) {
      case '%':
        out += "%25";
        break;
      case '\n':
        out += "%0A";
        break;
      case ':':
        out += is_property ? "%3A" : ":";
        break;
      case ',':
        out += is_property ? "%2C" : ",";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string command(std::string_view level,
                    const SourceLocation& where,
                    std::string_view title,
                    std::string_view message) {
  std::string text = fmt::format("::{} file={}", level, escaped(where.file, true));
  if (where.line > 0) {
    text += fmt::format(",line={}", where.line);
  }
  if (where.column > 0) {
    text += fmt::format(",col={}", where.column);
  }
  return text + fmt::format(",title={}::{}\n", escaped(title, true), escaped(message, false));
}

std::string diagnostic_commands(const CheckedFile& file) {
  std::string text;
  bool has_error = false;
  for (const Diagnostic& diagnostic : file.diagnostics.all()) {
    if (diagnostic.severity == Severity::note) {
      continue;
    }
    const bool is_error = diagnostic.severity == Severity::error;
    has_error = has_error || is_error;
    SourceLocation where = diagnostic.where;
    where.file = where.file.empty() ? file.file : where.file;
    text += command(is_error ? "error" : "warning",
                    where,
                    diagnostic.key.empty() ? "scenario" : diagnostic.key,
                    diagnostic.allowed.empty()
                        ? diagnostic.message
                        : fmt::format("{} ({})", diagnostic.message, diagnostic.allowed));
  }
  if (!file.evaluation && !has_error) {
    text += command("error", {.file = file.file}, "scenario", file.problem);
  }
  return text;
}

std::string answer_commands(const CheckedFile& file) {
  std::string text;
  if (file.does_not_fit) {
    for (const std::string& reason : file.evaluation->reasons) {
      text += command("error", {.file = file.file}, "does not fit in memory", reason);
    }
  }
  for (const report::ExpectationResult& result : file.evaluation->expectations) {
    if (!result.passed()) {
      text += command("error", result.where, result.text, result.detail);
    }
  }
  if (file.change) {
    if (file.change->fits_changed) {
      text += command("error", {.file = file.file}, "baseline", change_of_file(*file.change));
    }
    for (const report::MetricChange& change : file.change->metrics) {
      if (change.failed()) {
        text += command("error", {.file = file.file}, "baseline", report::change_text(change));
      }
    }
  }
  return text;
}

}  // namespace

std::string github_annotations(const CheckReport& report) {
  std::string text;
  for (const CheckedFile& file : report.files) {
    text += diagnostic_commands(file);
    if (file.evaluation) {
      text += answer_commands(file);
    }
  }
  for (const std::string& missing : report.missing) {
    text += command("error",
                    {.file = report.baseline.value_or("")},
                    "baseline",
                    fmt::format("{} is in the baseline and was not checked", missing));
  }
  return text;
}

}  // namespace orrery::cli
