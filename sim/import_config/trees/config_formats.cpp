// Which program is a file for? The content decides.

#include <algorithm>
#include <array>
#include <cctype>

#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"
#include "sim/import_config/import_config.hpp"

namespace orrery::import_config {

namespace {

constexpr std::array<ConfigFormatInfo, 20> kFormats = {
    {{ConfigFormat::hugging_face, "hugging-face", "config.json of a model (Hugging Face)"},
     {ConfigFormat::deepspeed, "deepspeed", "DeepSpeed configuration (JSON)"},
     {ConfigFormat::megatron_args, "megatron-args", "arguments of Megatron-LM (script or command)"},
     {ConfigFormat::megatron_yaml, "megatron-yaml", "arguments of Megatron-LM (YAML)"},
     {ConfigFormat::nemo, "nemo", "NeMo configuration (YAML)"},
     {ConfigFormat::torchtitan, "torchtitan", "torchtitan job configuration (TOML)"},
     {ConfigFormat::torchtitan_command, "torchtitan-cli", "torchtitan command"},
     {ConfigFormat::torchtitan_saved, "torchtitan-json", "configuration saved by torchtitan"},
     {ConfigFormat::gpt_neox, "gpt-neox", "GPT-NeoX configuration (YAML)"},
     {ConfigFormat::trainer_yaml,
      "trainer-yaml",
      "configuration of Accelerate, LLaMA-Factory or Axolotl (YAML)"},
     {ConfigFormat::trainer_args,
      "trainer-args",
      "arguments of transformers' Trainer, LLaMA-Factory or ms-swift (script or command)"},
     {ConfigFormat::megatron_bridge, "megatron-bridge", "configuration of Megatron-Bridge (YAML)"},
     {ConfigFormat::nanotron, "nanotron", "configuration of nanotron (YAML)"},
     {ConfigFormat::megatron_log, "megatron-log", "log of Megatron-LM or Megatron-DeepSpeed"},
     {ConfigFormat::megatron_bridge_log, "megatron-bridge-log", "log of Megatron-Bridge"},
     {ConfigFormat::nemo_log, "nemo-log", "log of NeMo"},
     {ConfigFormat::torchtitan_log, "torchtitan-log", "log of torchtitan"},
     {ConfigFormat::deepspeed_log, "deepspeed-log", "log of DeepSpeed"},
     {ConfigFormat::trainer_log, "trainer-log", "log of transformers' Trainer"},
     {ConfigFormat::nanotron_log, "nanotron-log", "log of nanotron"}}};

bool has(std::string_view text, std::string_view piece) {
  return text.find(piece) != std::string_view::npos;
}

template <std::size_t N>
bool has_any(std::string_view text, const std::array<std::string_view, N>& pieces) {
  return std::any_of(
      pieces.begin(), pieces.end(), [text](std::string_view piece) { return has(text, piece); });
}

std::optional<ConfigFormat> recognise_json(std::string_view text) {
  constexpr std::array<std::string_view, 5> kDeepSpeed = {"\"zero_optimization\"",
                                                          "\"train_micro_batch_size_per_gpu\"",
                                                          "\"train_batch_size\"",
                                                          "\"gradient_accumulation_steps\"",
                                                          "\"zero_allow_untested_optimizer\""};
  if (has(text, "\"log_history\"") && has(text, "\"global_step\"")) {
    return std::nullopt;  // trainer_state.json
  }
  if (has(text, "\"per_device_train_batch_size\"") && !has(text, "\"zero_optimization\"")) {
    return ConfigFormat::trainer_yaml;  // JSON is YAML
  }
  constexpr std::array<std::string_view, 6> kModel = {"\"model_type\"",
                                                      "\"architectures\"",
                                                      "\"hidden_size\"",
                                                      "\"n_embd\"",
                                                      "\"num_hidden_layers\"",
                                                      "\"text_config\""};
  if (has(text, "\"traceEvents\"")) {
    return std::nullopt;  // a trace may quote anything
  }
  if (has(text, "\"parallelism\"") && has(text, "\"data_parallel_shard_degree\"")) {
    return ConfigFormat::torchtitan_saved;
  }
  if (has_any(text, kDeepSpeed)) {
    return ConfigFormat::deepspeed;
  }
  return has_any(text, kModel) ? std::optional(ConfigFormat::hugging_face) : std::nullopt;
}

// Whether a line is `word` and a colon, however deep it stands.
bool has_key(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    std::size_t before = at;
    while (before > 0 && (text[before - 1] == ' ' || text[before - 1] == '-')) {
      --before;
    }
    const std::string_view rest = text.substr(at + word.size());
    if ((before == 0 || text[before - 1] == '\n') && rest.starts_with(":")) {
      return true;
    }
  }
  return false;
}

bool has_table(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    std::size_t before = at;
    while (before > 0 && (text[before - 1] == ' ' || text[before - 1] == '\t')) {
      --before;
    }
    if (before == 0 || text[before - 1] == '\n') {
      return true;
    }
  }
  return false;
}

// A line that begins with `from a.b import c`, `import a.b`.
bool has_python_import(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (line.starts_with("import ") || (line.starts_with("from ") && has(line, " import "))) {
      return true;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

// Settings that a program has printed, or the times of its steps.
std::optional<ConfigFormat> recognise_log(std::string_view text) {
  const bool times = has(text, "elapsed time per iteration (");
  if (has(text, "num_layers ....")) {
    return ConfigFormat::megatron_log;
  }
  if (has(text, "Task Configuration -----") || (times && has(text, "megatron.bridge."))) {
    return ConfigFormat::megatron_bridge_log;
  }
  if (times) {
    return ConfigFormat::megatron_log;
  }
  if (has(text, "train_step_timing in s") || has(text, "* Experiment configuration *")) {
    return ConfigFormat::nemo_log;
  }
  if (has(text, "tps: ") && has(text, "mfu: ")) {
    return ConfigFormat::torchtitan_log;
  }
  if (has(text, "time_per_iteration_ms: ") || has(text, "]: Config(general=")) {
    return ConfigFormat::nanotron_log;
  }
  constexpr std::string_view kTrainerSteps = "Total optimization steps = ";
  const std::size_t said = text.find(kTrainerSteps);
  const std::size_t digit = said == std::string_view::npos ? said : said + kTrainerSteps.size();
  if (digit < text.size() && text[digit] >= '0' && text[digit] <= '9') {
    return ConfigFormat::trainer_log;
  }
  if (has(text, "DeepSpeedEngine configuration:") || has(text, "CurrSamplesPerSec=") ||
      has(text, " SamplesPerSec=")) {
    return ConfigFormat::deepspeed_log;
  }
  return std::nullopt;
}

bool is_trainer_yaml(std::string_view text) {
  return has_key(text, "distributed_type") || has_key(text, "per_device_train_batch_size") ||
         (has_key(text, "model_name_or_path") &&
          (has_key(text, "cutoff_len") || has_key(text, "finetuning_type"))) ||
         (has_key(text, "base_model") && has_key(text, "micro_batch_size"));
}

std::optional<ConfigFormat> recognise_text(std::string_view text) {
  constexpr std::array<std::string_view, 6> kTables = {"[parallelism]",
                                                       "[training]",
                                                       "[job]",
                                                       "[activation_checkpoint]",
                                                       "[lr_scheduler]",
                                                       "[checkpoint]"};
  constexpr std::array<std::string_view, 6> kMegatron = {"--num-layers",
                                                         "--tensor-model-parallel-size",
                                                         "--micro-batch-size",
                                                         "--global-batch-size",
                                                         "--pipeline-model-parallel-size",
                                                         "--hidden-size"};
  if (const auto log = recognise_log(text)) {
    return log;
  }
  constexpr std::array<std::string_view, 4> kTrainer = {"--per_device_train_batch_size",
                                                        "--per-device-train-batch-size",
                                                        "--gradient_accumulation_steps",
                                                        "--gradient-accumulation-steps"};
  constexpr std::array<std::string_view, 4> kTitan = {
      "--parallelism.", "--training.", "--activation_checkpoint.", "--job.config_file"};
  if (is_python(text) && !has_any(text, kMegatron) && !has_any(text, kTitan) &&
      !has_any(text, kTrainer)) {
    return std::nullopt;
  }
  const bool tables = std::any_of(kTables.begin(), kTables.end(), [text](std::string_view name) {
    return has_table(text, name);
  });
  if (tables) {
    return ConfigFormat::torchtitan;
  }
  const bool scenario = has_key(text, "format") && has(text, "orrery/");
  if (scenario) {
    return std::nullopt;
  }
  if (has(text, "_target_: megatron.bridge.")) {
    return ConfigFormat::megatron_bridge;
  }
  if (has_key(text, "model_config") && has_key(text, "tokens") && has_key(text, "parallelism")) {
    return ConfigFormat::nanotron;
  }
  if (has_key(text, "trainer") && (has_key(text, "model") || has_key(text, "exp_manager"))) {
    return ConfigFormat::nemo;
  }
  if (is_trainer_yaml(text)) {
    return ConfigFormat::trainer_yaml;
  }
  const bool yaml = has_key(text, "num_layers") || has_key(text, "num-layers") ||
                    has_key(text, "tensor_model_parallel_size") ||
                    has_key(text, "tensor-model-parallel-size") || has_key(text, "MODEL_ARGS") ||
                    has(text, "framework: megatron\n");
  if (yaml) {
    const bool nested =
        has_key(text, "model") && (has(text, "\n  optim:") || has(text, "mcore_gpt"));
    return nested ? ConfigFormat::nemo : ConfigFormat::megatron_yaml;
  }
  if (has(text, "--module") && has(text, "--config")) {
    return ConfigFormat::torchtitan_command;
  }
  if (has_any(text, kTitan)) {
    return ConfigFormat::torchtitan_command;
  }
  if (has_any(text, kMegatron)) {
    return ConfigFormat::megatron_args;
  }
  return has_any(text, kTrainer) ? std::optional(ConfigFormat::trainer_args) : std::nullopt;
}

// ECMA-48: ESC, [, parameters, and a letter that ends the sequence.
std::string without_colours(std::string_view text) {
  constexpr std::string_view kBegin = "\x1B[";
  std::string plain;
  plain.reserve(text.size());
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t escape = text.find(kBegin, at);
    plain += text.substr(at, escape - at);
    if (escape == std::string_view::npos) {
      break;
    }
    at = escape + kBegin.size();
    while (at < text.size() && (text[at] < '@' || text[at] > '~')) {
      ++at;
    }
    ++at;
  }
  return plain;
}

// What is in the way of reading it; empty when nothing is.
std::string why_no_file(const std::filesystem::path& path, std::string_view text) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return std::filesystem::exists(path / "config.json", error)
               ? "is a folder: give " + (path / "config.json").string()
               : "is a folder: give the files in it that say the settings";
  }
  if (!std::filesystem::exists(path, error)) {
    const std::string name = path.generic_string();
    const bool hub = !name.starts_with(".") && std::count(name.begin(), name.end(), '/') == 1 &&
                     !path.has_extension();
    return hub ? "is no file here; of a model at Hugging Face give its config.json" : "is no file";
  }
  constexpr std::array<std::string_view, 5> kPacked = {"\x1F\x8B",
                                                       "PK\x03\x04",
                                                       "BZh",
                                                       "\xFD"
                                                       "7zXZ",
                                                       "\x28\xB5\x2F\xFD"};
  const bool packed = std::any_of(kPacked.begin(), kPacked.end(), [text](std::string_view magic) {
    return text.starts_with(magic);
  });
  return packed ? "is packed: unpack it first" : text.empty() ? "is empty" : "";
}

}  // namespace

std::span<const ConfigFormatInfo> config_formats() {
  return kFormats;
}

std::string_view format_name(ConfigFormat format) {
  return kFormats[static_cast<std::size_t>(format)].name;
}

std::string_view format_meaning(ConfigFormat format) {
  return kFormats[static_cast<std::size_t>(format)].meaning;
}

std::optional<ConfigFormat> find_format(std::string_view name) {
  const auto* found = std::find_if(kFormats.begin(),
                                   kFormats.end(),
                                   [name](const ConfigFormatInfo& f) { return f.name == name; });
  return found == kFormats.end() ? std::nullopt : std::optional(found->format);
}

bool is_python(std::string_view text) {
  constexpr std::string_view kInterpreter = "#!";
  const std::string_view first = text.substr(0, text.find('\n'));
  const bool shell = first.starts_with(kInterpreter) && !has(first, "python");
  return !shell && has_python_import(text);
}

std::optional<ConfigFormat> recognise(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (begin == std::string_view::npos) {
    return std::nullopt;
  }
  if (text.size() > kMostBytes) {
    return recognise_log(text);
  }
  if (has(text, "pipe-parallel-size\"") || has(text, "pipe_parallel_size\"") ||
      has_key(text, "pipe_parallel_size") || has_key(text, "pipe-parallel-size")) {
    return ConfigFormat::gpt_neox;
  }
  return text[begin] == '{' ? recognise_json(text) : recognise_text(text);
}

std::string read_plain_text(const std::filesystem::path& path) {
  return without_colours(read_file(path, kMostLogBytes));
}

std::optional<ConfigFile> read_config_file(const std::filesystem::path& path,
                                           Diagnostics& diagnostics) {
  std::error_code error;
  std::string why;
  if (!std::filesystem::exists(path, error) || std::filesystem::is_directory(path, error)) {
    why = why_no_file(path, "");
    if (!std::filesystem::exists(path, error)) {
      throw Error(ErrorKind::io, path.string() + ": " + why);
    }
    diagnostics.error({path.string()}, "", why);
    return std::nullopt;
  }
  const auto size = std::filesystem::is_regular_file(path, error)
                        ? std::filesystem::file_size(path, error)
                        : std::uintmax_t{0};
  ConfigFile file{path.string(), {}, std::nullopt};
  if (!error && size > kMostLogBytes) {
    diagnostics.error({path.string()}, "", "has more than 256 MiB");
    return std::nullopt;
  }
  file.text = read_plain_text(path);
  why = why_no_file(path, file.text);
  if (!why.empty()) {
    diagnostics.error({path.string()}, "", why);
    return std::nullopt;
  }
  if (file.text.size() > kMostBytes && !recognise_log(file.text)) {
    diagnostics.error({path.string()}, "", "has more than 4 MiB: no configuration is that long");
    return std::nullopt;
  }
  return file;
}

}  // namespace orrery::import_config
