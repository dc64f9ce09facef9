#include "sim/answer/report/text/text_page.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/base/text/text.hpp"

namespace orrery::report {

namespace {

constexpr char kEscape = '\x1b';
constexpr std::string_view kReset = "\x1b[0m";
constexpr std::size_t kHangingIndent = 2;

std::string_view sequence_of(Ink ink) {
  switch (ink) {
    case Ink::plain:
      return "";
    case Ink::strong:
      return "\x1b[1m";
    case Ink::faint:
      return "\x1b[2m";
    case Ink::good:
      return "\x1b[32m";
    case Ink::bad:
      return "\x1b[1;31m";
    case Ink::warning:
      return "\x1b[33m";
    case Ink::accent:
      return "\x1b[36m";
  }
  return "";
}

bool continues_code_point(char c) {
  constexpr unsigned kMask = 0xC0;
  constexpr unsigned kContinuation = 0x80;
  return (static_cast<unsigned char>(c) & kMask) == kContinuation;
}

// A word with the blanks before it.
std::string_view next_word(std::string_view text) {
  std::size_t end = std::min(text.find_first_not_of(' '), text.size());
  end = std::min(text.find(' ', end), text.size());
  return text.substr(0, end);
}

// Bytes before the last cell of a line that begins in the left two thirds of the page; 0: none.
std::size_t last_cell(std::string_view line) {
  constexpr std::string_view kBetween = "  ";
  std::size_t begin = 0;
  for (std::size_t at = line.find(kBetween); at != std::string_view::npos;
       at = line.find(kBetween, at)) {
    at = std::min(line.find_first_not_of(' ', at), line.size());
    if (at == line.size() || text_columns(line.substr(0, at)) > kPageWidth * 2 / 3) {
      return at == line.size() ? begin : 0;
    }
    begin = at;
  }
  return begin;
}

void append_wrapped_line(std::string& out, std::string_view line) {
  const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t cell = last_cell(line);
  const std::size_t hanging =
      cell > indent ? text_columns(line.substr(0, cell)) : indent + kHangingIndent;
  std::size_t column = 0;
  bool empty = true;
  while (!line.empty()) {
    std::string_view word = next_word(line);
    line.remove_prefix(word.size());
    if (!empty && column + text_columns(word) > kPageWidth) {
      out += '\n' + std::string(hanging, ' ');
      column = hanging;
      word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
    }
    out += word;
    column += text_columns(word);
    empty = false;
  }
}

}  // namespace

std::string wrap_lines(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (text_columns(line) > kPageWidth) {
      append_wrapped_line(out, line);
    } else {
      out += line;
    }
    out += end < text.size() ? "\n" : "";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::size_t text_columns(std::string_view text) {
  std::size_t columns = 0;
  bool in_escape = false;
  for (const char c : text) {
    if (in_escape) {
      in_escape = c != 'm';
    } else if (c == kEscape) {
      in_escape = true;
    } else if (!continues_code_point(c)) {
      ++columns;
    }
  }
  return columns;
}

std::string pad_right(std::string_view text, std::size_t width) {
  const std::size_t columns = text_columns(text);
  return std::string(text) + std::string(width > columns ? width - columns : 0, ' ');
}

std::string pad_left(std::string_view text, std::size_t width) {
  const std::size_t columns = text_columns(text);
  return std::string(width > columns ? width - columns : 0, ' ') + std::string(text);
}

std::string printable(std::string_view text) { return orrery::printable(text); }

std::string TextPage::paint(Ink ink, std::string_view text) const {
  const std::string_view sequence = style_.colour ? sequence_of(ink) : std::string_view();
  if (sequence.empty() || text.empty()) {
    return std::string(text);
  }
  std::string painted(sequence);
  painted += text;
  painted += kReset;
  return painted;
}

std::string TextPage::bar(double share, std::size_t width) const {
  constexpr std::array<std::string_view, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  constexpr std::string_view kFull = "█";
  const double columns = std::clamp(share, 0.0, 1.0) * static_cast<double>(width);
  if (!style_.unicode) {
    const auto filled = static_cast<std::size_t>(std::lround(columns));
    return std::string(share > 0.0 ? std::max<std::size_t>(1, filled) : 0, '#');
  }
  constexpr auto kParts = static_cast<double>(kEighths.size());
  auto parts = static_cast<std::size_t>(std::lround(columns * kParts));
  parts = share > 0.0 ? std::max<std::size_t>(1, parts) : 0;
  std::string out;
  for (std::size_t i = 0; i < parts / kEighths.size(); ++i) {
    out += kFull;
  }
  out += kEighths[parts % kEighths.size()];
  return paint(Ink::accent, out);
}

void TextPage::title(std::string_view text) { add_wrapped("", text, 0); }

void TextPage::field(std::string_view name, std::string_view text) {
  add_wrapped(pad_right(name, kPageIndent), text, 0);
}

void TextPage::section(std::string_view name, std::string_view first_line, bool apart) {
  text_ += apart ? "\n" : "";
  field(paint(Ink::strong, name), first_line);
}

void TextPage::line(std::string_view text, std::size_t hanging) {
  add_wrapped(std::string(kPageIndent, ' '), text, hanging);
}

void TextPage::add_wrapped(std::string_view before, std::string_view text, std::size_t hanging) {
  const std::size_t start = text_columns(before);
  std::string row(before);
  std::size_t column = start;
  bool empty = true;
  while (!text.empty()) {
    std::string_view word = next_word(text);
    text.remove_prefix(word.size());
    if (!empty && column + text_columns(word) > kPageWidth) {
      text_ += row + '\n';
      row = std::string(start + hanging, ' ');
      column = start + hanging;
      word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
    }
    row += word;
    column += text_columns(word);
    empty = false;
  }
  text_ += row.substr(0, row.find_last_not_of(' ') + 1) + '\n';
}

}  // namespace orrery::report
