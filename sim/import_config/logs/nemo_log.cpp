// NeMo: its configuration as YAML, each line indented below the line of the logger, and the time of
// a step in the progress bar (NeMo 1) or in a line of its own (NeMo 2, which prints no settings).

#include <algorithm>
#include <optional>

#include "sim/import_config/logs/log_flavours.hpp"
#include "sim/import_config/trees/source_tree.hpp"

namespace orrery::import_config {

namespace {

constexpr std::string_view kHeading = "Experiment configuration";
constexpr std::string_view kLogger = "[NeMo ";

bool has_entry(const yaml::Value& tree, std::string_view name) {
  return std::any_of(tree.entries.begin(), tree.entries.end(), [name](const yaml::Entry& entry) {
    return entry.key == name;
  });
}

// The line of the logger behind the last heading; the number of lines where there is none.
std::size_t logger_line(const std::vector<LogLine>& lines) {
  std::size_t found = lines.size();
  bool headed = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    headed = headed || lines[i].text.find(kHeading) != std::string_view::npos;
    if (headed && lines[i].text.find(kLogger) != std::string_view::npos) {
      found = i;
      headed = false;
    }
  }
  return found;
}

}  // namespace

std::vector<LogPart> nemo_log_settings(std::string_view text,
                                       const std::string& file,
                                       Diagnostics& diagnostics) {
  const std::vector<LogLine> lines = log_lines(text);
  const std::size_t begin = logger_line(lines);
  if (begin == lines.size()) {
    return {};
  }
  constexpr std::string_view kIndent = "    ";
  const std::string prefix =
      std::string(lines[begin].text.substr(0, lines[begin].text.find(kLogger))) +
      std::string(kIndent);
  LogExcerpt dump(lines[begin].number + 1);
  for (std::size_t i = begin + 1; i < lines.size(); ++i) {
    if (lines[i].text.find(kLogger) != std::string_view::npos) {
      break;
    }
    // Other ranks write between the lines: their lines are kept empty, for the numbers' sake.
    dump.add(without_prefix(lines[i].text, prefix).value_or(""));
  }
  std::optional<yaml::Value> tree = dump.read(parse_yaml, file, diagnostics);
  if (!tree) {
    return {};
  }
  if (!has_entry(*tree, "trainer") || !has_entry(*tree, "model")) {
    diagnostics.error({file, lines[begin].number, 1},
                      "",
                      "the printed configuration is cut off: `trainer` and `model` are needed",
                      "the hparams.yaml that NeMo saves");
    return {};
  }
  follow_references(*tree);
  std::vector<LogPart> parts;
  parts.push_back({ConfigFormat::nemo, *std::move(tree)});
  return parts;
}

}  // namespace orrery::import_config
