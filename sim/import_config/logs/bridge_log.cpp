// Megatron-Bridge: its ConfigContainer as YAML, then Megatron's lines.

#include <optional>

#include "sim/import_config/logs/log_flavours.hpp"
#include "sim/import_config/trees/source_tree.hpp"

namespace orrery::import_config {

namespace {

constexpr std::string_view kContainer = "_target_: megatron.bridge.training.config.ConfigContainer";

// What a dump of YAML without comments consists of: `key:`, deeper lines, items of a list.
bool continues_dump(std::string_view line) {
  if (line.empty()) {
    return false;
  }
  if (line.front() == ' ' || line.starts_with("- ")) {
    return true;
  }
  std::size_t end = 0;
  while (end < line.size() && is_word(line[end])) {
    ++end;
  }
  const std::string_view rest = line.substr(end);
  return end > 0 && (rest == ":" || rest.starts_with(": "));
}

bool has_section(const yaml::Value& tree, std::string_view name) {
  for (const yaml::Entry& entry : tree.entries) {
    if (entry.key == name && entry.value.kind == yaml::Value::Kind::mapping) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::vector<LogPart> bridge_log_settings(std::string_view text,
                                         const std::string& file,
                                         Diagnostics& diagnostics) {
  const std::vector<LogLine> lines = log_lines(text);
  std::optional<std::size_t> begin;  // of the last dump: earlier ones lack what the setup settles
  for (std::size_t i = 0; i < lines.size(); ++i) {
    begin = lines[i].text.find(kContainer) != std::string_view::npos ? std::optional(i) : begin;
  }
  if (!begin) {
    return {};
  }
  const std::string_view prefix = lines[*begin].text.substr(0, lines[*begin].text.find(kContainer));
  LogExcerpt dump(lines[*begin].number);
  std::size_t next = *begin;
  for (; next < lines.size(); ++next) {
    const auto line = without_prefix(lines[next].text, prefix);
    if (!line || !continues_dump(*line)) {
      break;
    }
    dump.add(*line);
  }
  std::optional<yaml::Value> tree = dump.read(parse_yaml, file, diagnostics);
  if (!tree) {
    return {};
  }
  // The sections are in alphabetical order: with the last one all are there.
  if (!has_section(*tree, "model") || !has_section(*tree, "train")) {
    const int line = next < lines.size() ? lines[next].number : lines.back().number;
    diagnostics.error({file, line, 1},
                      "",
                      "the printed configuration is cut off here: `model` and `train` are needed",
                      "the run_config.yaml that Megatron-Bridge saves with a checkpoint");
    return {};
  }
  std::vector<LogPart> parts;
  parts.push_back({ConfigFormat::megatron_bridge, *std::move(tree)});
  return parts;
}

}  // namespace orrery::import_config
