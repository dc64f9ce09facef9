// DeepSpeed: the JSON that it was given, `name .... value` of what it settled, and samples/s.
//
// Of its throughput timer (deepspeed/utils/timer.py) CurrSamplesPerSec is the batch of a step over
// the time from the first forward to the end of the optimizer; the pipeline engine prints the time.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "sim/base/units.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/import_config/logs/log_flavours.hpp"
#include "sim/import_config/trees/source_keys.hpp"

namespace orrery::import_config {

namespace {

struct Settled {
  std::string_view name;
  std::string_view key;
};

constexpr std::array<Settled, 6> kSettled = {
    {{"train_batch_size", "train_batch_size"},
     {"train_micro_batch_size_per_gpu", "train_micro_batch_size_per_gpu"},
     {"gradient_accumulation_steps", "gradient_accumulation_steps"},
     {"zero_optimization_stage", "zero_optimization.stage"},
     {"bfloat16_enabled", "bf16.enabled"},
     {"fp16_enabled", "fp16.enabled"}}};

// `[config.py:1003:print]   train_batch_size ............. 32`, `  fp16_enabled  True`
struct Printed {
  std::string_view name;
  std::string_view value;
};

Printed printed_pair(std::string_view line) {
  constexpr std::string_view kBy = ":print]";
  const std::size_t by = line.find(kBy);
  if (by == std::string_view::npos || line.find("[config.py:") == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = trimmed(line.substr(by + kBy.size()));
  const std::size_t space = rest.find(' ');
  if (space == std::string_view::npos) {
    return {};
  }
  const std::size_t value = rest.find_first_not_of(" .", space);
  return {rest.substr(0, space),
          value == std::string_view::npos ? std::string_view() : rest.substr(value)};
}

std::string_view prefix_of(std::string_view line) {
  const std::size_t level = line.find("[INFO]");
  const std::size_t date = level == std::string_view::npos ? level : line.rfind("[20", level);
  return date == std::string_view::npos ? std::string_view() : line.substr(0, date);
}

}  // namespace

std::optional<yaml::Value> printed_json(const std::vector<LogLine>& lines, std::size_t begin,
                                        std::string_view prefix, const std::string& file,
                                        Diagnostics& diagnostics) {
  LogExcerpt dump(lines[begin].number);
  const std::size_t brace = lines[begin].text.rfind('{');
  dump.add(lines[begin].text.substr(brace));
  int open = 1;
  for (std::size_t i = begin + 1; i < lines.size() && open > 0; ++i) {
    const auto line = without_prefix(lines[i].text, prefix);
    if (!line) {
      break;
    }
    std::string kept(trimmed(*line));
    const std::size_t infinite = kept.find("\": inf");
    if (infinite != std::string::npos) {
      kept.replace(infinite + 3, 3, "Infinity");
    }
    open += static_cast<int>(kept.ends_with('{')) - static_cast<int>(kept.starts_with('}'));
    dump.add(kept);
  }
  if (open > 0) {
    diagnostics.error({file, lines[begin].number, 1}, "", "the printed JSON is cut off");
    return std::nullopt;
  }
  return dump.read(parse_json, file, diagnostics);
}

std::vector<LogPart> deepspeed_parts(const std::vector<LogLine>& lines, const std::string& file,
                                     Diagnostics& diagnostics) {
  LogSettings settled(file);
  std::size_t given = lines.size();
  bool any = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view text = lines[i].text;
    if (text.find("print_user_config]") != std::string_view::npos && trimmed(text).ends_with('{')) {
      given = i;
    }
    const Printed pair = printed_pair(text);
    const auto* known = std::find_if(kSettled.begin(), kSettled.end(),
                                     [&](const Settled& s) { return s.name == pair.name; });
    if (known != kSettled.end()) {
      settled.put(std::string(known->key), pair.value, lines[i].number);
      any = true;
    }
  }
  std::vector<LogPart> parts;
  if (given < lines.size()) {
    auto tree = printed_json(lines, given, prefix_of(lines[given].text), file, diagnostics);
    if (!tree) {
      return {};
    }
    parts.push_back({ConfigFormat::deepspeed, *std::move(tree)});
  }
  if (any) {
    parts.push_back({ConfigFormat::deepspeed, settled.take()});
  }
  return parts;
}

std::vector<LogPart> deepspeed_log_settings(std::string_view text, const std::string& file,
                                            Diagnostics& diagnostics) {
  return deepspeed_parts(log_lines(text), file, diagnostics);
}

// Megatron-LM, Megatron-Core, Megatron-DeepSpeed: `  num_layers ..... 32`, and one line a step.
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
               without_origin(trimmed(line.text.substr(end))), line.number);
}

}  // namespace

std::vector<LogPart> megatron_log_settings(std::string_view text, const std::string& file,
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
