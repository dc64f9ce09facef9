// DeepSpeed: the JSON that it was given, `name .... value` of what it settled, and samples/s.
//
// Of its throughput timer (deepspeed/utils/timer.py) CurrSamplesPerSec is the batch of a step over
// the time from the first forward to the end of the optimizer; the pipeline engine prints the time.

#include <algorithm>
#include <array>

#include "sim/import_config/logs/log_flavours.hpp"
#include "sim/import_config/trees/source_tree.hpp"

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

std::optional<yaml::Value> printed_json(const std::vector<LogLine>& lines,
                                        std::size_t begin,
                                        std::string_view prefix,
                                        const std::string& file,
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

std::vector<LogPart> deepspeed_parts(const std::vector<LogLine>& lines,
                                     const std::string& file,
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
    const auto* known = std::find_if(
        kSettled.begin(), kSettled.end(), [&](const Settled& s) { return s.name == pair.name; });
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

std::vector<LogPart> deepspeed_log_settings(std::string_view text,
                                            const std::string& file,
                                            Diagnostics& diagnostics) {
  return deepspeed_parts(log_lines(text), file, diagnostics);
}

}  // namespace orrery::import_config
