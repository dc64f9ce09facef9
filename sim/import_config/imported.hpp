#pragma once

// Words of an import: files, formats, where a value comes from, what is left out or asked for.
//
// where a value comes from | meaning
// -------------------------|-----------------------------------------------------------------------
// read                     | it stands in a file
// derived                  | it follows from values that were read
// by_default               | the file is silent, and the program that reads it takes this value
// assumed                  | no file says it; printed as an assumption
// given                    | the caller stated it (ImportOptions::settings)

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/diagnostics.hpp"

namespace orrery::import_config {

enum class ConfigFormat {
  hugging_face,
  deepspeed,
  megatron_args,
  megatron_yaml,
  nemo,
  torchtitan,
  torchtitan_command,
  torchtitan_saved,
  gpt_neox,
  trainer_yaml,
  trainer_args,
  megatron_bridge,
  nanotron,
  maxtext,
  llm_foundry,
  slurm_topology,
  nccl_topology,
  megatron_log,
  megatron_bridge_log,
  nemo_log,
  torchtitan_log,
  deepspeed_log,
  trainer_log,
  nanotron_log,
  nanogpt_log,
  modded_nanogpt_log,
  llm_c_log,
  nanochat_log,
  composer_log,
  maxtext_log,
  mlperf_log,
  trainer_state_log,
  metrics_table,  // CSV, one step a row
  pattern_log     // of any program, as the caller describes its lines
};

struct ConfigFormatInfo {
  ConfigFormat format;
  std::string_view name;     // as --format takes it
  std::string_view meaning;  // for people
};

[[nodiscard]] std::span<const ConfigFormatInfo> config_formats();
[[nodiscard]] std::string_view format_name(ConfigFormat format);
[[nodiscard]] std::string_view format_meaning(ConfigFormat format);
[[nodiscard]] std::optional<ConfigFormat> find_format(std::string_view name);

[[nodiscard]] constexpr bool is_log(ConfigFormat format) {
  return format >= ConfigFormat::megatron_log;
}

// By what the text says, never by the name of the file; nothing when it is none of them.
[[nodiscard]] std::optional<ConfigFormat> recognise(std::string_view text);

// Of a file that is known and not read what to say; empty for others.
[[nodiscard]] std::string_view why_not_read(std::string_view text);

// Whether the text is a program in Python, which is not run: it can only say what it has written.
[[nodiscard]] bool is_python(std::string_view text);

// The largest file that is read, but for logs.
inline constexpr std::size_t kMostBytes = std::size_t{4} << 20U;

struct ScannedLog;

struct ConfigFile {
  std::string name;                    // what messages call it
  std::string text;                    // at most kMostBytes; of a log what may hold settings
  std::optional<ConfigFormat> format;  // nothing: recognised
  // Of a script what its caller passes: {"1", "8B"} for the first argument, {"TP", "2"}.
  std::vector<std::pair<std::string, std::string>> variables = {};
  std::shared_ptr<const ScannedLog> log = nullptr;  // nothing: the text is the whole log
};

// The log that the file is; nullptr when it is none.
[[nodiscard]] std::shared_ptr<const ScannedLog> log_of(const ConfigFile& file);

// One key of the scenario, as the caller states it.
struct GivenKey {
  std::string key;    // dotted path or alias: layout.tp
  std::string value;  // as it would stand in a scenario
  std::string by;     // what messages call it: --gpu
};

struct ImportOptions {
  std::string name;  // of the scenario; empty: of the first file
  std::vector<GivenKey> settings;
  std::string model_class = {};  // take config.json as this class, whatever it says
  std::vector<std::string> ignored =
      {};  // keys of the files that are not to matter; `*` is any text
};

enum class OriginKind { read, derived, by_default, assumed, given };

[[nodiscard]] std::string_view to_string(OriginKind kind);

struct Origin {
  OriginKind kind = OriginKind::read;
  SourceLocation where;  // may be empty
  std::string key;       // as the file writes it: --num-layers
  std::string why;       // how the value follows; may be empty for read
};

// One key of the scenario and where its value comes from.
struct ImportedSetting {
  std::string path;
  std::string value;
  Origin origin;
};

// Keys that are not understood, and those that matter and have no place in a scenario, end the
// import unless ImportOptions::ignored names them.
enum class Effect { none, small, large, unknown, unread };

[[nodiscard]] std::string_view to_string(Effect effect);

// One key of a file that did not reach the scenario.
struct LeftOutKey {
  SourceLocation where;
  std::string key;
  std::string value;
  Effect effect = Effect::none;
  std::string why;
  std::string states;  // the key of a scenario that says it; may be empty
};

// One key of the scenario that the user must state.
struct AskedKey {
  std::string path;
  std::string what;    // what is needed
  std::string option;  // how to say it: --gpu NAME
  std::string why;     // why no file says it; may be empty
};

// Counts of the imported model, where its dimensions are complete.
struct ImportedModel {
  std::int64_t parameters = 0;
  std::int64_t active = 0;
  std::int64_t prediction_modules = 0;  // multi-token prediction, not among `parameters`
};

struct ImportedFile {
  std::string name;
  ConfigFormat format = ConfigFormat::hugging_face;
};

struct ImportResult {
  std::vector<ImportedFile> files;
  std::vector<ImportedSetting> settings;  // in the order of the scenario
  std::vector<LeftOutKey> left_out;
  std::vector<std::string> notes;  // what the scenario cannot express, in sentences
  std::vector<AskedKey> asked;
  std::optional<ImportedModel> model;
  std::string other_gpu;  // what a log says of its GPU, where it is not that of the scenario
  std::string scenario;   // the text; empty when `diagnostics` holds an error

  [[nodiscard]] bool complete() const { return !scenario.empty() && asked.empty(); }
};

}  // namespace orrery::import_config
