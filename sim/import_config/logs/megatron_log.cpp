// Megatron-LM, Megatron-Core, Megatron-DeepSpeed: `  num_layers ..... 32`, and one line a step.

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/base/units.hpp"
#include "sim/import_config/logs/log_flavours.hpp"
#include "sim/yaml/document.hpp"

namespace orrery::import_config {

namespace {

// GPT-NeoX: `44..........................updated`, `gelu...............default`.
std::string_view without_origin(std::string_view value) {
  for (const std::string_view origin : {"updated", "default"}) {
    if (value.size() > origin.size() && value.ends_with(origin)) {
      value.remove_suffix(origin.size());
      value.remove_suffix(value.size() - 1 -
                          std::min(value.find_last_not_of('.'), value.size() - 1));
      break;
    }
  }
  return value;
}

// `  num_layers ......... 32`, whatever a launcher puts before it.
void read_dotted(const LogLine& line, LogSettings& settings) {
  constexpr std::string_view kDots = " ..";  // long names leave no room for more
  const std::size_t dots = line.text.find(kDots);
  if (dots == std::string_view::npos || dots == 0 ||
      line.text.find("[config.py") != std::string_view::npos) {
    return;
  }
  std::size_t begin = dots;
  while (begin > 0 && is_word(line.text[begin - 1])) {
    --begin;
  }
  const bool apart = begin == 0 || line.text[begin - 1] == ' ' || line.text[begin - 1] == ':';
  const std::size_t end = line.text.find_first_not_of('.', dots + 1);
  if (begin == dots || !apart || end == std::string_view::npos || line.text[end] != ' ') {
    return;
  }
  settings.put(std::string(line.text.substr(begin, dots - begin)),
               without_origin(trimmed(line.text.substr(end))),
               line.number);
}

}  // namespace

std::vector<LogPart> megatron_log_settings(std::string_view text,
                                           const std::string& file,
                                           Diagnostics& diagnostics) {
  constexpr std::string_view kEnd = "end of arguments -";
  LogSettings settings(file);
  int open = 0;  // line of the arguments that are not ended yet
  int last = 0;
  for (const LogLine& line : log_lines(text)) {
    if (line.text.find("- arguments -") != std::string_view::npos) {
      open = line.number;
    } else if (line.text.find(kEnd) != std::string_view::npos) {
      open = 0;
    }
    last = line.number;
    read_dotted(line, settings);
  }
  if (open > 0) {
    diagnostics.error({file, last, 1}, "", "the printed arguments break off here");
    return {};
  }
  const bool neox = settings.has("pipe_parallel_size");
  const bool partial = !settings.has("num_layers");
  yaml::Value tree = settings.take();
  if (neox) {
    open_dictionaries(tree);
    // Derived from train_micro_batch_size_per_gpu and world_size.
    std::erase_if(tree.entries, [](const yaml::Entry& entry) {
      return entry.key == "batch_size" || entry.key == "global_num_gpus";
    });
  }
  return {{neox ? ConfigFormat::gpt_neox : ConfigFormat::megatron_log, std::move(tree), partial}};
}

}  // namespace orrery::import_config
