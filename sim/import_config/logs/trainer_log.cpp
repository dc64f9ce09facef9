// The Trainer of transformers: what it says before it begins, the model where the log holds its
// config.json, DeepSpeed's settings where it starts DeepSpeed. It prints no time of a step, but a
// progress bar in whole seconds, and the time of the run.

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "sim/import_config/logs/deepspeed_log.hpp"
#include "sim/import_config/logs/log_flavours.hpp"

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

// `  bf16=True,` among the printed TrainingArguments.
void read_argument(const LogLine& line, LogSettings& settings) {
  constexpr std::array<std::string_view, 6> kNames = {
      "bf16", "fp16", "gradient_checkpointing", "fsdp", "deepspeed", "tp_size"};
  std::string_view text = trimmed(line.text);
  const std::size_t sign = text.find('=');
  if (sign == std::string_view::npos || !text.ends_with(',')) {
    return;
  }
  const std::string_view name = text.substr(0, sign);
  if (std::find(kNames.begin(), kNames.end(), name) != kNames.end()) {
    text = text.substr(sign + 1, text.size() - sign - 2);
    settings.put(std::string(name), name == "fsdp" && text == "[]" ? "none" : text, line.number);
  }
}

// trainable params: 20,185,088 || all params: 8,312,351,744 || trainable%: 0.2428
bool trains_all(const LogLine& line, const std::string& file, Diagnostics& diagnostics) {
  constexpr std::string_view kPaddle = "(per device)";
  if (line.text.find("trainable parameters =") != std::string_view::npos &&
      line.text.find(kPaddle) != std::string_view::npos) {
    diagnostics.error({file, line.number, 1},
                      "",
                      "is of PaddleNLP's Trainer, whose layout this import does not know");
    return false;
  }
  const auto trained = number_behind(line.text, "trainable params:");
  const auto all = number_behind(line.text, "all params:");
  if (trained && all && *trained < *all) {
    diagnostics.error({file, line.number, 1},
                      "",
                      fmt::format("{:.0f} of {:.0f} parameters are trained: frozen weights cannot "
                                  "be expressed in a scenario",
                                  *trained,
                                  *all));
    return false;
  }
  return true;
}

// The last line of the run; lines on the way may have the time and the tokens so far.
bool is_summary(std::string_view line) {
  return line.find("'train_runtime': ") != std::string_view::npos &&
         line.find("'train_samples_per_second': ") != std::string_view::npos;
}

struct Progress {
  double done = 0.0;
  double seconds = 0.0;
};

// 3:05:26 or 01:58
std::optional<double> clock_seconds(std::string_view text) {
  double total = 0.0;
  constexpr double kSixty = 60.0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(':'), text.size());
    const std::string_view part = text.substr(0, end);
    if (part.empty() || part.find_first_not_of("0123456789") != std::string_view::npos) {
      return std::nullopt;
    }
    total = total * kSixty + number_behind(part, "").value_or(0.0);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return total;
}

// ` 10%|#   | 57/4900 [10:58<15:32:28, 11.55s/it]` where 4900 is `total`.
std::optional<Progress> progress_of(std::string_view line, const std::string& total) {
  const std::size_t at = line.find(total);
  if (at == std::string_view::npos || at == 0) {
    return std::nullopt;
  }
  std::size_t begin = at;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') {
    --begin;
  }
  const std::string_view rest = line.substr(at + total.size());
  const std::size_t end = rest.find('<');
  const auto elapsed =
      end == std::string_view::npos ? std::nullopt : clock_seconds(rest.substr(0, end));
  if (begin == at || !elapsed) {
    return std::nullopt;
  }
  return Progress{number_behind(line.substr(begin, at - begin), "").value_or(0.0), *elapsed};
}

}  // namespace

std::vector<LogPart> trainer_log_settings(std::string_view text,
                                          const std::string& file,
                                          Diagnostics& diagnostics) {
  const std::vector<LogLine> lines = log_lines(text);
  LogSettings settings(file);
  std::size_t model = lines.size();
  bool arguments = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = lines[i].text;
    for (const Sentence& sentence : kSentences) {
      if (const auto figure = number_behind(line, sentence.words)) {
        settings.put(std::string(sentence.key), fmt::format("{:.0f}", *figure), lines[i].number);
      }
    }
    arguments = (arguments && trimmed(line) != ")") ||
                line.find("TrainingArguments(") != std::string_view::npos;
    if (arguments) {
      read_argument(lines[i], settings);
    }
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
    const std::string_view prefix =
        level == std::string_view::npos || trimmed(line.substr(0, level)).empty()
            ? std::string_view()
            : line.substr(0, level);
    auto tree = printed_json(lines, model, prefix, file, diagnostics);
    if (!tree) {
      return {};
    }
    parts.push_back({ConfigFormat::hugging_face, *std::move(tree)});
  }
  parts.push_back({ConfigFormat::trainer_log, settings.take()});
  return parts;
}

// Means over stretches of the bar that are long beside its whole seconds; else that of the run.
std::vector<LoggedStep> trainer_log_steps(std::string_view text, const std::string& /*file*/) {
  constexpr double kStretch = 20.0;
  std::vector<LoggedStep> steps;
  std::string total;
  double all = 0.0;
  std::optional<Progress> last;
  Progress begin;
  std::optional<LoggedStep> run;
  for (const LogLine& line : log_lines(text)) {
    if (const auto count = number_behind(line.text, kSteps)) {
      all = *count;
      total = fmt::format("/{:.0f} [", all);
    }
    auto runtime = number_behind(line.text, "'train_runtime': ");
    runtime = runtime ? runtime : number_behind(line.text, "'train_runtime': '");
    if (runtime && *runtime > 0.0 && all > 0.0 && is_summary(line.text) &&
        (!last || last->done == all)) {
      run = LoggedStep{.seconds = *runtime / all, .line = line.number, .whole_run = true};
    }
    const auto now = total.empty() ? std::nullopt : progress_of(line.text, total);
    if (!now) {
      continue;
    }
    const bool anew = !last || now->done < begin.done || now->seconds < begin.seconds;
    if (anew) {
      begin = *now;
    } else if (now->done > begin.done && now->seconds - begin.seconds >= kStretch) {
      steps.push_back({.seconds = (now->seconds - begin.seconds) / (now->done - begin.done),
                       .line = line.number});
      begin = *now;
    }
    last = now;
  }
  constexpr std::size_t kFew = 2;
  if (steps.size() < kFew && run) {
    return {*run};
  }
  return steps;
}

}  // namespace orrery::import_config
