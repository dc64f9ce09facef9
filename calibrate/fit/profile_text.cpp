#include "calibrate/fit/profile_text.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "sim/base/text/text.hpp"
#include "sim/base/yaml/flow_text.hpp"

namespace orrery::fit {

namespace {

using yaml::in_quotes;

constexpr std::size_t kColumns = 100;

struct Block {
  std::size_t first = 0;
  std::size_t end = 0;  // one past the last line
};

// The lines of a top-level key; empty when there is no such key.
Block block_of(const std::vector<std::string>& lines, std::string_view key) {
  const std::string head = fmt::format("{}:", key);
  const auto found = std::find_if(lines.begin(), lines.end(), [&head](const std::string& line) {
    return line.starts_with(head);
  });
  Block block{static_cast<std::size_t>(found - lines.begin()), 0};
  if (found == lines.end()) {
    return {lines.size(), lines.size()};
  }
  block.end = block.first + 1;
  while (block.end < lines.size() && lines[block.end].starts_with(" ")) {
    ++block.end;
  }
  return block;
}

// With the comment above it.
void erase_block(std::vector<std::string>& lines, std::string_view key) {
  Block block = block_of(lines, key);
  while (block.first < block.end && block.first > 0 && lines[block.first - 1].starts_with("#")) {
    --block.first;
  }
  lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(block.first),
              lines.begin() + static_cast<std::ptrdiff_t>(block.end));
}

// A double-quoted scalar folded at blanks.
std::vector<std::string> citation_lines(std::string_view citation) {
  const std::string text = "  citation: " + in_quotes(citation);
  std::vector<std::string> lines;
  std::string line;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = text.find(' ', text.find_first_not_of(' ', at));
    end = std::min(end, text.size());
    const std::string word = text.substr(at, end - at);
    const bool quote_open = lines.empty() && line.find('"') == std::string::npos;
    if (line.size() + word.size() > kColumns && !quote_open) {
      lines.push_back(line);
      line = "    " + word.substr(word.find_first_not_of(' '));
    } else {
      line += word;
    }
    at = end;
  }
  lines.push_back(line);
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += line;
    text += '\n';
  }
  return text;
}

std::vector<std::string> lines_for(const NewValue& value) {
  std::vector<std::string> lines = {fmt::format("{}:", value.key),
                                    fmt::format("  value: {}", value.value),
                                    fmt::format("  source: {}", value.source)};
  for (std::string& line : citation_lines(value.citation)) {
    lines.push_back(std::move(line));
  }
  if (value.residual > 0.0) {
    lines.push_back(fmt::format("  residual: {:.3g}", value.residual));
  }
  return lines;
}

}  // namespace

std::string with_name(std::string_view file, std::string_view name) {
  std::vector<std::string> lines = lines_of(file);
  const Block block = block_of(lines, "name");
  const std::string line = "name: " + in_quotes(name);
  if (block.first < lines.size()) {
    lines[block.first] = line;
  } else {
    lines.push_back(line);
  }
  erase_block(lines, "aliases");
  erase_block(lines, "default_for");
  return joined(lines);
}

std::string with_new_values(std::string_view file, const std::vector<NewValue>& values) {
  std::vector<std::string> lines = lines_of(file);
  for (const NewValue& value : values) {
    const Block block = block_of(lines, value.key);
    const std::vector<std::string> fresh = lines_for(value);
    const auto at = lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(block.first),
                                lines.begin() + static_cast<std::ptrdiff_t>(block.end));
    lines.insert(at, fresh.begin(), fresh.end());
  }
  return joined(lines);
}

std::string explanation_in(std::string_view file, std::string_view key) {
  const std::vector<std::string> lines = lines_of(file);
  const Block block = block_of(lines, key);
  std::string text;
  for (std::size_t i = block.first; i < block.end; ++i) {
    const std::string& line = lines[i];
    const std::size_t start = std::min(line.find_first_not_of(' '), line.size());
    text += (text.empty() ? "" : " ") + line.substr(start);
  }
  const std::size_t fitted = text.find("fitted to ");
  const std::size_t close = text.find("): ", fitted == std::string::npos ? 0 : fitted);
  if (fitted == std::string::npos || close == std::string::npos) {
    return {};
  }
  const std::size_t from = close + 3;
  return text.substr(from, std::min(text.find('"', from), text.size()) - from);
}

}  // namespace orrery::fit
