// nanotron: the repr() of its Config, one line of the log for each line of it, and a line a step.

#include <algorithm>
#include <optional>

#include "sim/import_config/logs/log_flavours.hpp"
#include "sim/import_config/training_log.hpp"
#include "sim/import_config/trees/source_tree.hpp"

namespace orrery::import_config {

namespace {

// Behind the date and the ranks: `08/31/2024 14:37:22 [INFO|DP=0|PP=0|TP=0]: `
std::optional<std::string_view> message_of(std::string_view line) {
  const std::size_t level = line.find("[INFO|");
  const std::size_t end = level == std::string_view::npos ? level : line.find("]: ", level);
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  constexpr std::size_t kSeparator = 3;
  return without_prefix(line.substr(end + kSeparator), "");
}

}  // namespace

std::vector<LogPart> nanotron_log_settings(std::string_view text,
                                           const std::string& file,
                                           Diagnostics& diagnostics) {
  constexpr std::string_view kBegin = "Config(general=";
  const std::vector<LogLine> lines = log_lines(text);
  std::optional<std::size_t> begin;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto message = message_of(lines[i].text);
    begin = message && message->starts_with(kBegin) ? std::optional(i) : begin;
  }
  if (!begin) {
    return {};
  }
  LogExcerpt dump(lines[*begin].number);
  for (std::size_t i = *begin; i < lines.size(); ++i) {
    const auto message = message_of(lines[i].text);
    if (i > *begin && message && !message->starts_with(' ')) {
      break;
    }
    dump.add(message.value_or(""));  // other ranks and libraries write between the lines
  }
  auto tree = dump.read(parse_python_repr, file, diagnostics);
  return tree ? nanotron_parts(*std::move(tree)) : std::vector<LogPart>();
}

}  // namespace orrery::import_config
