#include "sim/base/diagnostics.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/base/text/text.hpp"

namespace orrery {

namespace {

std::string_view severity_word(Severity severity) {
  static constexpr std::string_view kWords[] = {"error", "warning", "note"};
  return kWords[static_cast<std::size_t>(severity)];
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitution = diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitution});
    }
  }
  return row[b.size()];
}

}  // namespace

void Diagnostics::error(SourceLocation where, std::string_view key, std::string_view message,
                        std::string_view allowed) {
  add({Severity::error, std::move(where), std::string(key), std::string(message),
       std::string(allowed)});
}

void Diagnostics::warning(SourceLocation where, std::string_view key, std::string_view message,
                          std::string_view allowed) {
  add({Severity::warning, std::move(where), std::string(key), std::string(message),
       std::string(allowed)});
}

void Diagnostics::add(Diagnostic diagnostic) {
  if (diagnostic.severity == Severity::error) {
    ++errors_;
  }
  all_.push_back(std::move(diagnostic));
}

void Diagnostics::add(const Diagnostics& others) {
  all_.insert(all_.end(), others.all_.begin(), others.all_.end());
  errors_ += others.errors_;
}

std::string to_string(const Diagnostic& diagnostic) {
  std::string text = diagnostic.where.file;
  if (diagnostic.where.line > 0) {
    text += fmt::format(":{}:{}", diagnostic.where.line, std::max(diagnostic.where.column, 1));
  }
  if (!text.empty()) {
    text += ": ";
  }
  text += fmt::format("{}: ", severity_word(diagnostic.severity));
  if (!diagnostic.key.empty()) {
    text += fmt::format("{}: ", diagnostic.key);
  }
  text += diagnostic.message;
  if (!diagnostic.allowed.empty()) {
    text += fmt::format(" ({})", diagnostic.allowed);
  }
  return printable(text);
}

std::string to_string(const Diagnostics& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    text += to_string(diagnostic);
    text += '\n';
  }
  return text;
}

std::string_view nearest_name(std::string_view word,
                              const std::vector<std::string_view>& candidates) {
  std::string_view best;
  std::string_view begin;  // the longest that the word begins with
  std::size_t best_distance = 0;
  for (const std::string_view candidate : candidates) {
    const bool begins = word.starts_with(candidate) && 2 * candidate.size() > word.size();
    begin = begins && candidate.size() > begin.size() ? candidate : begin;
    const std::size_t distance = edit_distance(word, candidate);
    const std::size_t longer = std::max(word.size(), candidate.size());
    const std::size_t limit = std::min(std::max<std::size_t>(2, longer / 3), longer / 2);
    if (distance <= limit && (best.empty() || distance < best_distance)) {
      best = candidate;
      best_distance = distance;
    }
  }
  // One letter off is a slip; `fp8-blockwise` means `fp8-block`, as near as `fp8-rowwise` is.
  return begin.empty() || (!best.empty() && best_distance <= 1) ? best : begin;
}

}  // namespace orrery
