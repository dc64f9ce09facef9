// The Trainer of transformers: what it says before it begins, the model where the log holds its
// config.json, DeepSpeed's settings where it starts DeepSpeed. It prints no time of a step, but a
// progress bar in whole seconds, and the time of the run.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>

#include "sim/base/text/text.hpp"
#include "sim/import_config/logs/log_flavours.hpp"
#include "sim/import_config/trees/source_keys.hpp"

namespace orrery::import_config {

namespace {

constexpr std::string_view kSteps = "Total optimization steps =";

struct Sentence {
  std::string_view words;
  std::string_view key;
};

constexpr std::array<Sentence, 5> kSentences = {
    {{"Instantaneous batch size per device =", "per_device_train_batch_size"},
     {"Total train batch size (w. parallel, distributed & accumulation) =", "train_batch_size"},
     {"Gradient Accumulation steps =", "gradient_accumulation_steps"},
     {kSteps, "max_steps"},
     {"Number of trainable parameters =", "trainable_parameters"}}};

// What a launcher writes before each line, of the length of `begin`: a rank, a date.
std::string_view behind_prefix(std::string_view line, std::string_view begin) {
  const auto alike = [](char a, char b) {
    const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
    return a == b || (digit(a) && digit(b));
  };
  const bool has =
      line.size() >= begin.size() && std::equal(begin.begin(), begin.end(), line.begin(), alike);
  return has ? line.substr(begin.size()) : line;
}

// `  bf16=True,` among the printed TrainingArguments.
void read_argument(std::string_view text, int line, LogSettings& settings) {
  constexpr std::array<std::string_view, 9> kNames = {
      "bf16",  "fp16",          "gradient_checkpointing", "fsdp", "deepspeed", "tp_size",
      "optim", "torch_compile", "use_liger_kernel"};
  text = trimmed(text);
  const std::size_t sign = text.find('=');
  if (sign == std::string_view::npos || !text.ends_with(',')) {
    return;
  }
  const std::string_view name = text.substr(0, sign);
  if (std::find(kNames.begin(), kNames.end(), name) != kNames.end()) {
    text = text.substr(sign + 1, text.size() - sign - 2);
    const std::string value =
        name == "optim" ? lower_case(text.substr(text.rfind('.') + 1)) : std::string(text);
    settings.put(std::string(name), name == "fsdp" && text == "[]" ? "none" : value, line);
  }
}

// The lines from `TrainingArguments(` to the one of its closing parenthesis.
class PrintedArguments {
 public:
  void read(const LogLine& line, LogSettings& settings) {
    const std::size_t begin = line.text.find("TrainingArguments(");
    if (begin != std::string_view::npos) {
      inside_ = true;
      const std::size_t name = line.text.find_last_of(" :", begin);
      prefix_ = line.text.substr(0, name == std::string_view::npos ? 0 : name + 1);
    }
    const std::string_view argument = behind_prefix(line.text, prefix_);
    inside_ = inside_ && trimmed(argument) != ")";
    if (inside_) {
      read_argument(argument, line.number, settings);
    }
  }

 private:
  bool inside_ = false;
  std::string_view prefix_;
};

// trainable params: 20,185,088 || all params: 8,312,351,744 || trainable%: 0.2428
bool trains_all(const LogLine& line, const std::string& file, Diagnostics& diagnostics) {
  constexpr std::string_view kPaddle = "(per device)";
  if (line.text.find("trainable parameters =") != std::string_view::npos &&
      line.text.find(kPaddle) != std::string_view::npos) {
    diagnostics.error({file, line.number, 1}, "",
                      "is of PaddleNLP's Trainer, whose layout this import does not know");
    return false;
  }
  const auto trained = number_behind(line.text, "trainable params:");
  const auto all = number_behind(line.text, "all params:");
  if (trained && all && *trained < *all) {
    diagnostics.error({file, line.number, 1}, "",
                      fmt::format("{:.0f} of {:.0f} parameters are trained: frozen weights cannot "
                                  "be expressed in a scenario",
                                  *trained, *all));
    return false;
  }
  return true;
}

// The last line of the run; lines on the way may have the time and the tokens so far.
bool is_summary(std::string_view line) {
  return line.find("'train_runtime': ") != std::string_view::npos &&
         line.find("'train_samples_per_second': ") != std::string_view::npos;
}

}  // namespace

std::vector<LogPart> trainer_log_settings(std::string_view text, const std::string& file,
                                          Diagnostics& diagnostics) {
  const std::vector<LogLine> lines = log_lines(text);
  LogSettings settings(file);
  std::size_t model = lines.size();
  PrintedArguments arguments;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = lines[i].text;
    for (const Sentence& sentence : kSentences) {
      if (const auto figure = number_behind(line, sentence.words)) {
        settings.put(std::string(sentence.key), fmt::format("{:.0f}", *figure), lines[i].number);
      }
    }
    arguments.read(lines[i], settings);
    if (line.find("Model config ") != std::string_view::npos && trimmed(line).ends_with('{')) {
      model = i;
    }
    const auto tokens =
        is_summary(line) ? number_behind(line, "'num_input_tokens_seen': ") : std::nullopt;
    if (tokens) {
      settings.put("input_tokens_seen", fmt::format("{:.0f}", *tokens), lines[i].number);
    }
    if (!trains_all(lines[i], file, diagnostics)) {
      return {};
    }
  }
  std::vector<LogPart> parts = deepspeed_parts(lines, file, diagnostics);
  if (model < lines.size()) {
    const std::string_view line = lines[model].text;
    const std::size_t level = line.find("[INFO|");
    const std::string_view before =
        level == std::string_view::npos || trimmed(line.substr(0, level)).empty()
            ? std::string_view()
            : line.substr(0, level);
    auto tree = printed_json(lines, model, before, file, diagnostics);
    if (!tree) {
      return {};
    }
    parts.push_back({ConfigFormat::hugging_face, *std::move(tree)});
  }
  parts.push_back({ConfigFormat::trainer_log, settings.take()});
  return parts;
}

ScannedLog scan_trainer_state(std::string_view text, const std::string& file) {
  ScannedLog log;
  log.format = ConfigFormat::trainer_state_log;
  log.runs.emplace_back();
  log.writers.emplace_back();
  Diagnostics unsaid;  // whoever reads the settings says it
  const std::optional<yaml::Value> tree = parse_json(text, file, unsaid);
  std::map<std::string, yaml::Value> values;
  const auto take = [&values](const yaml::Value& mapping) {
    for (const yaml::Entry& entry : mapping.entries) {
      values[entry.key] = entry.value;
    }
  };
  if (tree) {
    take(*tree);
    for (const yaml::Value& entry : values["log_history"].items) {
      take(entry);
    }
  }
  const auto number = [&values](const char* key) {
    return number_behind(values[key].text, "").value_or(0.0);
  };
  const double steps = number("global_step");
  const double rate = number("train_steps_per_second");
  const double seconds = number("train_runtime") > 0.0 && steps > 0.0
                             ? number("train_runtime") / steps
                             : (rate > 0.0 ? 1.0 / rate : 0.0);
  const auto say = [&](std::string_view key, std::string_view words, double value) {
    if (value >= 1.0) {
      log.facts.push_back({key, words, fmt::format("{:.0f}", value), 0.0, 1});
    }
  };
  const double local = number("train_batch_size");
  say(fact::kLocalBatch, "train_batch_size", local);
  say("layout.tensor", "the Trainer", 1.0);
  say("layout.pipeline", "the Trainer", 1.0);
  say("training.steps", "max_steps", number("max_steps"));
  if (seconds > 0.0) {
    // Samples of a step, within the digits of the two rates, are a multiple of those of a rank.
    constexpr double kDigits = 0.0005;
    const double samples = number("train_samples_per_second");
    const double low = (samples - kDigits) * seconds;
    const double high = (samples + kDigits) * seconds;
    const double batch = local > 0.0 ? std::floor(high / local) * local : 0.0;
    const bool only = batch >= low - kDigits && batch - local < low;
    ScannedStep& step = log.steps.emplace_back();
    step.value = seconds;
    step.batch = only ? batch : 0.0;
    step.line = 1;
    step.whole_run = true;
  }
  return log;
}

}  // namespace orrery::import_config
