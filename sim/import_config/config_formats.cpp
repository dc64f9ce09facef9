// The program that a file is for, by its content.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"
#include "sim/base/text/text.hpp"
#include "sim/base/yaml/text_check.hpp"
#include "sim/import_config/import_config.hpp"
#include "sim/import_config/logs/log_flavours.hpp"
#include "sim/import_config/logs/log_programs.hpp"
#include "sim/import_config/logs/log_scan.hpp"
#include "sim/import_config/logs/training_log.hpp"
#include "sim/import_config/shell/shell_script.hpp"
#include "sim/import_config/trees/key_fates.hpp"
#include "sim/import_config/trees/readers.hpp"
#include "sim/import_config/trees/source_keys.hpp"

namespace orrery::import_config {

namespace {

constexpr std::array<ConfigFormatInfo, 34> kFormats = {
    {{ConfigFormat::hugging_face, "hugging-face", "config.json of a model (Hugging Face)"},
     {ConfigFormat::deepspeed, "deepspeed", "DeepSpeed configuration (JSON)"},
     {ConfigFormat::megatron_args, "megatron-args", "arguments of Megatron-LM (script or command)"},
     {ConfigFormat::megatron_yaml, "megatron-yaml", "arguments of Megatron-LM (YAML)"},
     {ConfigFormat::nemo, "nemo", "NeMo configuration (YAML)"},
     {ConfigFormat::torchtitan, "torchtitan", "torchtitan job configuration (TOML)"},
     {ConfigFormat::torchtitan_command, "torchtitan-cli", "torchtitan command"},
     {ConfigFormat::torchtitan_saved, "torchtitan-json", "configuration saved by torchtitan"},
     {ConfigFormat::gpt_neox, "gpt-neox", "GPT-NeoX configuration (YAML)"},
     {ConfigFormat::trainer_yaml, "trainer-yaml",
      "configuration of Accelerate, LLaMA-Factory or Axolotl (YAML)"},
     {ConfigFormat::trainer_args, "trainer-args",
      "arguments of transformers' Trainer, LLaMA-Factory or ms-swift (script or command)"},
     {ConfigFormat::megatron_bridge, "megatron-bridge", "configuration of Megatron-Bridge (YAML)"},
     {ConfigFormat::nanotron, "nanotron", "configuration of nanotron (YAML)"},
     {ConfigFormat::maxtext, "maxtext", "configuration of MaxText (YAML)"},
     {ConfigFormat::llm_foundry, "llm-foundry", "configuration of llm-foundry (YAML)"},
     {ConfigFormat::slurm_topology, "slurm-topology", "topology.conf or topology.yaml of Slurm"},
     {ConfigFormat::nccl_topology, "nccl-topology", "topology of a node by NCCL (XML)"},
     {ConfigFormat::megatron_log, "megatron-log", "log of Megatron-LM or Megatron-DeepSpeed"},
     {ConfigFormat::megatron_bridge_log, "megatron-bridge-log", "log of Megatron-Bridge"},
     {ConfigFormat::nemo_log, "nemo-log", "log of NeMo"},
     {ConfigFormat::torchtitan_log, "torchtitan-log", "log of torchtitan"},
     {ConfigFormat::deepspeed_log, "deepspeed-log", "log of DeepSpeed"},
     {ConfigFormat::trainer_log, "trainer-log", "log of transformers' Trainer"},
     {ConfigFormat::nanotron_log, "nanotron-log", "log of nanotron"},
     {ConfigFormat::nanogpt_log, "nanogpt-log", "log of nanoGPT"},
     {ConfigFormat::modded_nanogpt_log, "modded-nanogpt-log", "log of modded-nanogpt"},
     {ConfigFormat::llm_c_log, "llm-c-log", "log of llm.c"},
     {ConfigFormat::nanochat_log, "nanochat-log", "log of nanochat"},
     {ConfigFormat::composer_log, "composer-log", "log of Composer or llm-foundry"},
     {ConfigFormat::maxtext_log, "maxtext-log", "log of MaxText"},
     {ConfigFormat::mlperf_log, "mlperf-log", "result log of MLPerf Training"},
     {ConfigFormat::trainer_state_log, "trainer-state", "trainer_state.json of transformers"},
     {ConfigFormat::metrics_table, "metrics-csv",
      "table of metrics (CSV, JSON lines), one step a row"},
     {ConfigFormat::pattern_log, "pattern-log", "log with lines as --pattern says"}}};

constexpr std::size_t kMostHead = std::size_t{8} << 20U;  // enough to recognise a log
constexpr std::size_t kBlock = std::size_t{1} << 20U;

bool has(std::string_view text, std::string_view piece) {
  return text.find(piece) != std::string_view::npos;
}

// Whether a line, or a mapping in braces, has `word` and `behind` as a key, however deep it stands.
bool has_key(std::string_view text, std::string_view word, std::string_view behind) {
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    std::size_t before = at;
    while (before > 0 &&
           std::string_view(" \t-").find(text[before - 1]) != std::string_view::npos) {
      --before;
    }
    const std::string_view rest = text.substr(at + word.size());
    const bool is_first =
        before == 0 || std::string_view("\n{,").find(text[before - 1]) != std::string_view::npos;
    if (is_first && rest.starts_with(behind)) {
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

// Whether a sign of formats.signs stands in the text.
bool has_sign(std::string_view text, std::string_view sign) {
  if (sign.ends_with(":") && sign.find(' ') == std::string_view::npos) {
    return has_key(text, sign.substr(0, sign.size() - 1), ":");
  }
  return sign.starts_with("[") ? has_key(text, sign, "") : has(text, sign);
}

bool has_signs(std::string_view text, std::string_view signs) {
  while (!signs.empty()) {
    if (!has_sign(text, orrery::trimmed(cut(signs, '&'), " "))) {
      return false;
    }
  }
  return true;
}

// The first row of a part of formats.signs that the text has: a format, or ! and what to say.
std::string_view row_of(std::string_view part, std::string_view text) {
  std::string_view rest = shipped_text("formats.signs");
  bool inside = false;
  while (!rest.empty()) {
    std::string_view line = cut(rest, '\n');
    if (line.find(" | ") == std::string_view::npos) {
      inside = line.empty() ? inside : line == part;
      continue;
    }
    const std::string_view format = orrery::trimmed(cut(line, '|'), " ");
    while (inside && !line.empty()) {
      if (has_signs(text, cut(line, '|'))) {
        return format;
      }
    }
  }
  return {};
}

// Of a text that is no log; empty when it is none that is known.
std::string_view sign_of(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (begin == std::string_view::npos) {
    return {};
  }
  constexpr std::array<std::string_view, 3> kJson = {"any", "json", "text"};  // {a: 1} of YAML
  constexpr std::array<std::string_view, 4> kText = {"any", "text", "command", "launched"};
  const bool json = text[begin] == '{';
  for (const std::string_view part :
       json ? std::span<const std::string_view>(kJson) : std::span<const std::string_view>(kText)) {
    const bool code = (part == "text" || part == "launched") && is_python(text);
    const std::string_view row = code ? std::string_view() : row_of(part, text);
    if (!row.empty()) {
      return row;
    }
  }
  return {};
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
    const std::string_view extension = std::string_view(name).substr(name.rfind('.') + 1);
    constexpr std::string_view kFiles = " json yaml yml toml sh slurm sbatch log out txt py ";
    const bool hub = !name.starts_with(".") && std::count(name.begin(), name.end(), '/') == 1 &&
                     kFiles.find(fmt::format(" {} ", extension)) == std::string_view::npos;
    return hub ? "is no file here; of a model at Hugging Face give its config.json" : "is no file";
  }
  constexpr std::array<std::string_view, 5> kPacked = {"\x1F\x8B", "PK\x03\x04", "BZh",
                                                       "\xFD"
                                                       "7zXZ",
                                                       "\x28\xB5\x2F\xFD"};
  // A byte-order mark, as PowerShell's `>` writes it, or Latin letters with a zero beside each.
  const auto zero = [text](std::size_t at) { return at < text.size() && text[at] == '\0'; };
  const bool little = text.starts_with("\xFF\xFE") || (zero(1) && zero(3) && !zero(0));
  const bool big = text.starts_with("\xFE\xFF") || (zero(0) && zero(2) && !zero(1));
  if (little || big) {
    return fmt::format(
        "is encoded as UTF-16 ({} byte first), as `>` of PowerShell writes it, and UTF-8 is read: "
        "`iconv -f UTF-16{} -t UTF-8 FILE` converts it",
        little ? "low" : "high", little ? "LE" : "BE");
  }
  const bool packed = std::any_of(kPacked.begin(), kPacked.end(), [text](std::string_view magic) {
    return text.starts_with(magic);
  });
  return packed ? "is packed: unpack it first" : text.empty() ? "is empty" : "";
}

}  // namespace

std::span<const ConfigFormatInfo> config_formats() { return kFormats; }

std::string_view format_name(ConfigFormat format) {
  return kFormats[static_cast<std::size_t>(format)].name;
}

std::string_view format_meaning(ConfigFormat format) {
  return kFormats[static_cast<std::size_t>(format)].meaning;
}

std::optional<ConfigFormat> find_format(std::string_view name) {
  const auto* found = std::find_if(kFormats.begin(), kFormats.end(),
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
  const bool document = begin != std::string_view::npos && text[begin] == '{';
  if (MetricsTable::of(text)) {
    return ConfigFormat::metrics_table;
  }
  const LogProgram* log = recognised_log(text);
  if (begin == std::string_view::npos || text.size() > kMostBytes ||
      (log != nullptr && !document)) {
    return log == nullptr ? std::nullopt : std::optional(log->format);
  }
  // Unless it is one document, a log may begin with JSON, or with a dictionary of Python.
  const std::string_view sign = sign_of(text);
  if (sign.starts_with("!") || !sign.empty() || log == nullptr) {
    return find_format(sign);
  }
  return log->format;
}

std::string_view why_not_read(std::string_view text) {
  const std::string_view sign = sign_of(text);
  return sign.starts_with("! ") ? sign.substr(2) : std::string_view();
}

std::string read_plain_text(const std::filesystem::path& path) {
  return without_colours(FileBlocks(path).next(kMostHead));
}

std::optional<ConfigFile> read_config_file(const std::filesystem::path& path,
                                           Diagnostics& diagnostics, const FileReading& reading) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    throw Error(ErrorKind::io, path.string() + ": " + why_no_file(path, ""));
  }
  ConfigFile file;
  file.name = path.string();
  file.format = reading.format;
  if (std::filesystem::is_directory(path, error)) {
    diagnostics.error({file.name}, "", why_no_file(path, ""));
    return std::nullopt;
  }
  FileBlocks blocks(path);
  file.text = blocks.next(kMostHead);
  if (const std::string why = why_no_file(path, file.text); !why.empty()) {
    diagnostics.error({file.name}, "", why);
    return std::nullopt;
  }
  const LogProgram pattern = pattern_program(reading.pattern, diagnostics);
  const std::string plain = without_colours(file.text);
  const std::optional<ConfigFormat> format = !reading.pattern.empty()
                                                 ? std::optional(ConfigFormat::pattern_log)
                                             : reading.format ? reading.format
                                                              : recognise(plain);
  if (diagnostics.has_errors()) {
    return std::nullopt;
  }
  if (!format || !is_log(*format) || *format == ConfigFormat::trainer_state_log) {
    file.text = plain;
    if (file.text.size() > kMostBytes) {
      diagnostics.error({path.string()}, "", "has more than 4 MiB: no configuration is that long");
      return std::nullopt;
    }
    return file;
  }
  LogScan scan(*format == ConfigFormat::pattern_log ? pattern : log_program(*format));
  auto table = *format == ConfigFormat::metrics_table ? MetricsTable::of(file.text) : std::nullopt;
  if (*format == ConfigFormat::metrics_table && !table) {
    diagnostics.error({file.name, 1, 1}, "", "has no columns of steps and of their times or dates");
    return std::nullopt;
  }
  for (; !file.text.empty(); file.text = blocks.next(kBlock)) {
    if (reading.stop.stop_requested()) {
      throw Error(ErrorKind::interrupted, "interrupted");
    }
    scan.add(table ? table->add(file.text) : file.text);
  }
  if (table) {
    scan.add(table->end());
  }
  auto log = std::make_shared<ScannedLog>(scan.take());
  file.text = log->text;
  file.format = format;
  file.log = std::move(log);
  return file;
}

std::shared_ptr<const ScannedLog> log_of(const ConfigFile& file) {
  const auto format = file.format ? file.format : recognise(file.text);
  if (file.log != nullptr || !format || !is_log(*format) || *format == ConfigFormat::pattern_log) {
    return file.log;
  }
  if (*format == ConfigFormat::metrics_table) {
    auto table = MetricsTable::of(file.text);
    return table ? std::make_shared<ScannedLog>(
                       scan_log(table->add(file.text) + table->end(), log_program(*format)))
                 : nullptr;
  }
  return std::make_shared<ScannedLog>(*format == ConfigFormat::trainer_state_log
                                          ? scan_trainer_state(file.text, file.name)
                                          : scan_log(file.text, log_program(*format)));
}

namespace {

using yaml::Value;

// Primus: modules: {pre_trainer: {framework: megatron, model: NAME.yaml, overrides: {...}}}. What
// it overrides are arguments of the framework; the others stand in files that it names. MosaicML's
// command has the keys of llm-foundry below `parameters`.
ConfigFormat lift_overrides(Value& tree, ConfigFormat format) {
  for (const yaml::Entry& entry : tree.entries) {
    if (entry.key == "parameters" && !entry.value.entries.empty()) {
      std::vector<yaml::Entry> inner = entry.value.entries;
      std::erase_if(tree.entries, [](const yaml::Entry& one) { return one.key == "parameters"; });
      tree.entries.insert(tree.entries.end(), inner.begin(), inner.end());
      return format;
    }
    if (entry.key != "modules" || entry.value.entries.empty()) {
      continue;
    }
    Value lifted;
    lifted.kind = Value::Kind::mapping;
    lifted.where = tree.where;
    for (const yaml::Entry& part : entry.value.entries.front().value.entries) {
      if (part.key == "framework") {
        format = part.value.text == "torchtitan" ? ConfigFormat::torchtitan
                 : part.value.text == "maxtext"  ? ConfigFormat::maxtext
                                                 : format;
      }
      if (part.key == "overrides") {
        lifted.entries.insert(lifted.entries.end(), part.value.entries.begin(),
                              part.value.entries.end());
      } else {
        lifted.entries.push_back(part);
        if (part.key == "config") {  // a name that torchtitan has for something else
          lifted.entries.back().key = "trainer_config";
        }
      }
    }
    if (format == ConfigFormat::torchtitan) {  // `model` is a section there
      std::erase_if(lifted.entries, [](const yaml::Entry& one) {
        return one.value.kind == Value::Kind::scalar && one.key != "seed" &&
               one.key != "trainer_config";
      });
    }
    tree = std::move(lifted);
    return format;
  }
  return format;
}

// YAML 1.1, as PyYAML and OmegaConf read it: yes, no, on and off are truths, 010 is octal.
void read_as_yaml_1_1(Value& value) {
  for (Value& item : value.items) {
    read_as_yaml_1_1(item);
  }
  for (yaml::Entry& entry : value.entries) {
    read_as_yaml_1_1(entry.value);
  }
  std::string& text = value.text;
  if (value.kind != Value::Kind::scalar || value.quoted || text.size() < 2) {
    return;
  }
  const std::string word = lower_case(text);
  if (word == "yes" || word == "on") {
    text = "true";
  } else if (word == "no" || word == "off") {
    text = "false";
  } else if (text[0] == '0') {
    const int base = word[1] == 'x' ? 16 : word[1] == 'b' ? 2 : 8;
    const std::size_t begin = base == 8 ? 1 : 2;
    std::uint64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + begin, end, number, base);
    if (stop == end && error == std::errc{} && begin < text.size()) {
      text = std::to_string(number);
    }
  }
}

std::optional<Value> tree_of(const ConfigFile& file, ConfigFormat format,
                             std::vector<LeftOutKey>& left_out, Diagnostics& diagnostics) {
  if (format == ConfigFormat::hugging_face || format == ConfigFormat::deepspeed ||
      format == ConfigFormat::torchtitan_saved) {
    return parse_json(file.text, file.name, diagnostics);
  }
  if (format == ConfigFormat::torchtitan) {
    return parse_toml(file.text, file.name, diagnostics);
  }
  if (format == ConfigFormat::slurm_topology) {
    return parse_slurm_topology(file.text, file.name, diagnostics);
  }
  if (format == ConfigFormat::nccl_topology) {
    return parse_nccl_topology(file.text, file.name, diagnostics);
  }
  if (format != ConfigFormat::megatron_args && format != ConfigFormat::torchtitan_command &&
      format != ConfigFormat::trainer_args) {
    std::optional<Value> tree = parse_yaml(file.text, file.name, diagnostics);
    if (tree) {
      read_as_yaml_1_1(*tree);
      if (format == ConfigFormat::llm_foundry) {
        static_cast<void>(lift_overrides(*tree, format));
      }
      follow_references(*tree);
    }
    return tree;
  }
  std::vector<PassedOver> passed_over;
  std::optional<Value> tree =
      parse_arguments(file.text, file.name, file.variables, passed_over, diagnostics);
  for (PassedOver& over : passed_over) {
    left_out.push_back(
        {over.where, std::move(over.key), "", Effect::unread, std::move(over.why), ""});
  }
  return tree;
}

}  // namespace

std::vector<LogPart> settings_of_file(const ConfigFile& file, ConfigFormat format,
                                      std::vector<LeftOutKey>& left_out, Diagnostics& diagnostics) {
  std::optional<Value> tree = tree_of(file, format, left_out, diagnostics);
  if (tree && tree->kind != Value::Kind::mapping) {
    diagnostics.error(tree->where, "", "holds no keys");
    tree.reset();
  }
  std::vector<LogPart> parts;
  if (tree && (format == ConfigFormat::megatron_yaml || format == ConfigFormat::maxtext)) {
    format = lift_overrides(*tree, format);
  }
  if (tree && format == ConfigFormat::nanotron) {
    parts = nanotron_parts(*std::move(tree));
  } else if (tree) {
    parts.push_back({format, *std::move(tree)});
  }
  return parts;
}

bool is_decoder(const ConfigFile& file, ConfigFormat format, Diagnostics& diagnostics) {
  constexpr std::array<std::string_view, 9> kOthers = {
      "pretrain_bert",  "pretrain_t5",    "pretrain_ict",        "pretrain_vision",  "pretrain_vlm",
      "pretrain_mamba", "pretrain_retro", "building BERT model", "building T5 model"};
  constexpr std::string_view kBenchmark = "\"submission_benchmark\", \"value\": \"";
  const std::size_t benchmark =
      format == ConfigFormat::mlperf_log ? file.text.find(kBenchmark) : std::string::npos;
  if (benchmark != std::string::npos) {
    const std::string_view name = std::string_view(file.text).substr(benchmark + kBenchmark.size());
    if ((!name.starts_with("gpt") && !name.starts_with("llama3") && !name.starts_with("moe")) ||
        name.substr(0, name.find('"')).ends_with("lora")) {
      diagnostics.error(yaml::LineIndex(file.text).location_of(file.name, benchmark), "",
                        fmt::format("{}: trains another model than a decoder of attention layers, "
                                    "or not all of its weights",
                                    yaml::display(name.substr(0, name.find('"')))));
      return false;
    }
  }
  const bool megatron =
      format == ConfigFormat::megatron_args || format == ConfigFormat::megatron_log;
  for (const std::string_view program : kOthers) {
    const std::size_t at = megatron ? file.text.find(program) : std::string::npos;
    if (at != std::string::npos && file.text.find("pretrain_gpt") == std::string::npos) {
      diagnostics.error(
          yaml::LineIndex(file.text).location_of(file.name, at), "",
          fmt::format("{}: another model than a decoder of attention layers, which a scenario "
                      "cannot express",
                      program));
      return false;
    }
  }
  return true;
}

}  // namespace orrery::import_config
