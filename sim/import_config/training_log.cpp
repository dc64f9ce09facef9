#include "sim/import_config/training_log.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <vector>

#include "sim/base/text/text.hpp"

namespace orrery::import_config {

namespace {

using yaml::Value;

struct LogLine {
  std::string_view text;
  int number = 0;
};

std::vector<LogLine> lines_of(std::string_view text) {
  std::vector<LogLine> lines;
  int number = 1;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back({text.substr(0, end), number++});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r' || text.back() == '\t')) {
    text.remove_suffix(1);
  }
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) {
    text.remove_prefix(1);
  }
  return text;
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// The number behind the first `words`, with commas between thousands; nothing without one.
std::optional<double> number_behind(std::string_view line, std::string_view words) {
  const std::size_t at = line.find(words);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view rest = trimmed(line.substr(at + words.size()));
  std::string digits;
  for (const char c : rest) {
    if (c != ',' && std::isdigit(static_cast<unsigned char>(c)) == 0 && c != '.' && c != 'E' &&
        c != 'e' && c != '+' && c != '-') {
      break;
    }
    if (c != ',') {
      digits += c;
    }
  }
  double value = 0.0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc{} && stop != digits.data() && value >= 0.0 ? std::optional(value)
                                                                       : std::nullopt;
}

class Settings {
 public:
  explicit Settings(const std::string& file) : file_(file) {
    tree_.kind = Value::Kind::mapping;
    tree_.where = {file, 1, 1};
  }

  // A later value replaces an earlier one.
  void put(std::string key, std::string_view text, int line) {
    Value value = value_of(text, line);
    const auto known = places_.find(key);
    if (known != places_.end()) {
      tree_.entries[known->second].value = std::move(value);
      tree_.entries[known->second].key_where = {file_, line, 1};
      return;
    }
    places_.emplace(key, tree_.entries.size());
    tree_.entries.push_back({std::move(key), {file_, line, 1}, std::move(value)});
  }

  [[nodiscard]] bool has(const std::string& key) const {
    return places_.contains(key);
  }

  [[nodiscard]] Value take() {
    // Megatron-DeepSpeed prints the experts of each layer as a list of one.
    const auto experts = places_.find("num_experts");
    if (experts != places_.end()) {
      Value& value = tree_.entries[experts->second].value;
      if (value.items.size() == 1) {
        value = Value(value.items.front());
      }
    }
    return std::move(tree_);
  }

 private:
  // As Python prints it: None, True, 12, ['16', '16', '5859375'].
  Value value_of(std::string_view text, int line) const {
    Value value;
    value.where = {file_, line, 1};
    if (text.empty() || text == "None") {
      return value;
    }
    if (text.front() != '[' || text.back() != ']') {
      value.kind = Value::Kind::scalar;
      value.text = std::string(text);
      return value;
    }
    value.kind = Value::Kind::sequence;
    text = text.substr(1, text.size() - 2);
    while (!text.empty()) {
      const std::size_t end = std::min(text.find(','), text.size());
      std::string_view item = trimmed(text.substr(0, end));
      if (item.size() >= 2 && (item.front() == '\'' || item.front() == '"')) {
        item = item.substr(1, item.size() - 2);
      }
      Value one;
      one.kind = Value::Kind::scalar;
      one.where = value.where;
      one.text = std::string(item);
      value.items.push_back(std::move(one));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return value;
  }

  const std::string& file_;
  Value tree_;
  std::map<std::string, std::size_t> places_;
};

// `  num_layers ......... 32`, whatever a launcher puts before it.
void read_dotted(const LogLine& line, Settings& settings) {
  constexpr std::string_view kDots = " ...";
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
               trimmed(line.text.substr(end)),
               line.number);
}

Value megatron_settings(std::string_view text, const std::string& file) {
  Settings settings(file);
  for (const LogLine& line : lines_of(text)) {
    read_dotted(line, settings);
    // > padded vocab (size: 50257) with 47 dummy tokens (new size: 50304)
    if (line.text.find("padded vocab (size:") != std::string_view::npos) {
      if (const auto rows = number_behind(line.text, "new size:")) {
        settings.put("padded_vocab_size", fmt::format("{:.0f}", *rows), line.number);
      }
    }
  }
  return settings.take();
}

// ['dp_shard', 'tp'], [4, 2] or pp=1, dp_replicate=1, dp_shard=2, cp=1, tp=1, ep=1
void read_mesh(const LogLine& line, Settings& settings) {
  constexpr std::pair<std::string_view, std::string_view> kAxes[] = {
      {"pp", "pipeline_parallel_degree"},
      {"dp_replicate", "data_parallel_replicate_degree"},
      {"dp_shard", "data_parallel_shard_degree"},
      {"dp", "data_parallel_shard_degree"},
      {"cp", "context_parallel_degree"},
      {"tp", "tensor_parallel_degree"},
      {"ep", "expert_parallel_degree"}};
  const auto put = [&](std::string_view axis, std::string_view degree) {
    for (const auto& [name, key] : kAxes) {
      if (axis == name) {
        settings.put(fmt::format("parallelism.{}", key), degree, line.number);
      }
    }
  };
  for (const auto& [name, key] : kAxes) {
    static_cast<void>(key);
    if (const auto degree = number_behind(line.text, fmt::format(" {}=", name))) {
      put(name, fmt::format("{:.0f}", *degree));
    }
  }
  const std::size_t names = line.text.find("['");
  const std::size_t degrees = line.text.find("], [");
  if (names == std::string_view::npos || degrees == std::string_view::npos) {
    return;
  }
  std::string_view axes = line.text.substr(names + 1, degrees - names - 1);
  std::string_view counts = line.text.substr(degrees + 4);
  while (!axes.empty() && !counts.empty()) {
    const std::size_t axis_end = std::min(axes.find(','), axes.size());
    const std::size_t count_end = std::min(counts.find_first_of(",]"), counts.size());
    std::string_view axis = trimmed(axes.substr(0, axis_end));
    if (axis.size() > 2) {
      put(axis.substr(1, axis.size() - 2), trimmed(counts.substr(0, count_end)));
    }
    axes.remove_prefix(std::min(axis_end + 1, axes.size()));
    counts.remove_prefix(std::min(count_end + 1, counts.size()));
  }
}

// Building llama3 8B with ...; Model llama3 8B size: 8,030,261,248 total parameters
void read_titan_model(const LogLine& line, Settings& settings) {
  for (const std::string_view before : {"- Building ", "- Model "}) {
    const std::size_t at = line.text.find(before);
    if (at == std::string_view::npos) {
      continue;
    }
    std::string_view rest = line.text.substr(at + before.size());
    const std::size_t space = rest.find(' ');
    if (space == std::string_view::npos) {
      continue;
    }
    const std::string_view name = rest.substr(0, space);
    rest.remove_prefix(space + 1);
    const std::string_view flavor = rest.substr(0, std::min(rest.find(' '), rest.size()));
    const bool plain = std::all_of(name.begin(), name.end(), is_word) && flavor != "device" &&
                       flavor != "mesh" && name != "device" && flavor != "tokenizer";
    if (plain && !flavor.empty()) {
      settings.put("model.name", name, line.number);
      settings.put("model.flavor", flavor, line.number);
    }
  }
}

Value titan_settings(std::string_view text, const std::string& file) {
  Settings settings(file);
  constexpr std::pair<std::string_view, std::string_view> kFigures[] = {
      {"local batch size ", "training.local_batch_size"},
      {"global batch size ", "training.global_batch_size"},
      {"sequence length ", "training.seq_len"},
      {"total steps ", "training.steps"}};
  for (const LogLine& line : lines_of(text)) {
    read_titan_model(line, settings);
    if (line.text.find("Building") != std::string_view::npos &&
        line.text.find("device mesh") != std::string_view::npos) {
      read_mesh(line, settings);
    }
    if (line.text.find("local batch size") != std::string_view::npos) {
      for (const auto& [words, key] : kFigures) {
        if (const auto figure = number_behind(line.text, words)) {
          settings.put(std::string(key), fmt::format("{:.0f}", *figure), line.number);
        }
      }
    }
    for (const std::string_view mode : {"full", "selective"}) {
      if (line.text.find(fmt::format("Applied {} activation checkpointing", mode)) !=
          std::string_view::npos) {
        settings.put("activation_checkpoint.mode", mode, line.number);
      }
    }
    if (line.text.find("Compiling each TransformerBlock") != std::string_view::npos) {
      settings.put("compile.enable", "true", line.number);
    }
    if (line.text.find("Swapped to Float8Linear") != std::string_view::npos) {
      settings.put("model.converters", "float8", line.number);
    }
  }
  if (!settings.has("activation_checkpoint.mode")) {
    settings.put("activation_checkpoint.mode", "none", 1);
  }
  if (!settings.has("compile.enable")) {
    settings.put("compile.enable", "false", 1);
  }
  return settings.take();
}

// Of one step: its batch in sequences, its time, what the program counts.
struct LoggedStep {
  double batch = 0.0;
  double seconds = 0.0;
  std::optional<double> tflops;
  int line = 0;
};

std::vector<LoggedStep> megatron_steps(std::string_view text) {
  std::vector<LoggedStep> steps;
  for (const LogLine& line : lines_of(text)) {
    const auto thousandths = number_behind(line.text, "elapsed time per iteration (ms):");
    const auto whole = number_behind(line.text, "elapsed time per iteration (s):");
    const Seconds time = thousandths ? milliseconds(*thousandths) : seconds(whole.value_or(0.0));
    if (time <= Seconds{}) {
      continue;
    }
    auto tflops = number_behind(line.text, "throughput per GPU (TFLOP/s/GPU):");
    tflops = tflops ? tflops : number_behind(line.text, "TFLOPs:");
    steps.push_back({number_behind(line.text, "global batch size:").value_or(0.0),
                     in_seconds(time),
                     tflops,
                     line.number});
  }
  return steps;
}

double count_at(const Value& tree, std::string_view key) {
  for (const yaml::Entry& entry : tree.entries) {
    if (entry.key == key) {
      return number_behind(entry.value.text, "").value_or(0.0);
    }
  }
  return 0.0;
}

std::vector<LoggedStep> titan_steps(std::string_view text, const std::string& file) {
  const Value tree = titan_settings(text, file);
  const double tokens =
      count_at(tree, "training.global_batch_size") * count_at(tree, "training.seq_len");
  double gpus = 1.0;
  for (const char* axis : {"pipeline_parallel_degree",
                           "data_parallel_replicate_degree",
                           "data_parallel_shard_degree",
                           "context_parallel_degree",
                           "tensor_parallel_degree"}) {
    gpus *= std::max(1.0, count_at(tree, fmt::format("parallelism.{}", axis)));
  }
  std::vector<LoggedStep> steps;
  for (const LogLine& line : lines_of(text)) {
    const auto rate = number_behind(line.text, "tps:");
    if (rate && *rate > 0.0 && tokens > 0.0 && number_behind(line.text, "step:")) {
      steps.push_back(
          {1.0, tokens / (*rate * gpus), number_behind(line.text, "tflops:"), line.number});
    }
  }
  return steps;
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(place);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (place - static_cast<double>(low)) * (values[high] - values[low]);
}

}  // namespace

Value settings_of_log(std::string_view text, const std::string& file, ConfigFormat format) {
  return format == ConfigFormat::torchtitan_log ? titan_settings(text, file)
                                                : megatron_settings(text, file);
}

std::optional<LoggedSteps> steps_of_log(std::string_view text,
                                        const std::string& file,
                                        ConfigFormat format) {
  std::vector<LoggedStep> steps =
      format == ConfigFormat::torchtitan_log ? titan_steps(text, file) : megatron_steps(text);
  if (steps.size() > 1) {
    steps.erase(steps.begin());
  }
  std::map<double, std::size_t> batches;
  double commonest = 0.0;
  for (const LoggedStep& step : steps) {
    const std::size_t seen = ++batches[step.batch];
    commonest = seen >= batches[commonest] ? step.batch : commonest;
  }
  std::erase_if(steps, [commonest](const LoggedStep& step) { return step.batch != commonest; });
  if (steps.empty()) {
    return std::nullopt;
  }
  std::vector<double> times;
  std::vector<double> rates;
  for (const LoggedStep& step : steps) {
    times.push_back(step.seconds);
    if (step.tflops) {
      rates.push_back(*step.tflops);
    }
  }
  constexpr double kTenth = 0.1;
  LoggedSteps logged;
  logged.count = times.size();
  logged.median = seconds(quantile(times, 0.5));
  logged.tenth = seconds(quantile(times, kTenth));
  logged.ninetieth = seconds(quantile(times, 1.0 - kTenth));
  logged.first = {file, steps.front().line, 1};
  if (!rates.empty()) {
    logged.tflops = quantile(rates, 0.5);
  }
  return logged;
}

std::string gpu_of_log(std::string_view text) {
  constexpr std::string_view kWords = "CUDA capacity: ";
  const std::size_t at = text.find(kWords);
  if (at == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = text.substr(at + kWords.size());
  return std::string(rest.substr(0, std::min({rest.find(" with "), rest.find('\n'), rest.size()})));
}

}  // namespace orrery::import_config
