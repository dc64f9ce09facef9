#include "sim/import_config/import_config.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "sim/base/yaml/text_check.hpp"
#include "sim/import_config/logs/log_flavours.hpp"
#include "sim/import_config/logs/training_log.hpp"
#include "sim/import_config/trees/key_fates.hpp"
#include "sim/import_config/trees/readers.hpp"
#include "sim/scenario/load.hpp"
#include "sim/scenario/variant.hpp"
#include "sim/step/model/parameters.hpp"

namespace orrery::import_config {

namespace {

using yaml::Value;

// The files that one goes on from: extends, bases, model.
std::vector<SourceItem> bases_of(const LogPart& part) {
  std::vector<SourceItem> bases;
  for (const yaml::Entry& entry : part.tree.entries) {
    if (entry.key != "extends" && entry.key != "bases" && entry.key != "model" &&
        entry.key != "base_config") {
      continue;
    }
    std::vector<Value> names = entry.value.items;
    names.push_back(entry.value);
    for (const Value& name : names) {
      if (name.kind == Value::Kind::scalar && !name.text.empty()) {
        SourceItem& base = bases.emplace_back();
        base.shown = name.text;
        base.where = entry.key_where;
      }
    }
  }
  return bases;
}

// By the last part of its name.
bool is_there(const SourceItem& base, std::span<const LogPart> parts) {
  return std::any_of(parts.begin(), parts.end(), [&base](const LogPart& part) {
    return std::filesystem::path(part.tree.where.file).filename() ==
           std::filesystem::path(base.shown).filename();
  });
}

// The first file that one goes on from and that is not there.
std::optional<SourceItem> missing_base(const std::vector<LogPart>& parts) {
  for (const LogPart& part : parts) {
    for (SourceItem& base : bases_of(part)) {
      if (base.shown.ends_with(".yaml") && !is_there(base, parts)) {
        return std::move(base);
      }
    }
  }
  return std::nullopt;
}

// A file that another one goes on from comes before it: of a key that both state the latter counts.
void put_bases_first(std::vector<LogPart>& parts) {
  for (std::size_t round = 0; round < parts.size(); ++round) {
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto from = parts.begin() + static_cast<std::ptrdiff_t>(i);
      const std::vector<SourceItem> names = bases_of(*from);
      const auto base = std::find_if(from + 1, parts.end(), [&names](const LogPart& other) {
        return std::any_of(names.begin(), names.end(), [&other](const SourceItem& name) {
          return is_there(name, {&other, 1});
        });
      });
      if (base != parts.end()) {
        std::rotate(from, base, base + 1);
      }
    }
  }
}

class Importing {
 public:
  Importing(const ImportOptions& options, Diagnostics& diagnostics)
      : options_(options), diagnostics_(diagnostics), draft_(diagnostics) {}

  ImportResult run(std::span<const ConfigFile> files) {
    take_given();
    std::vector<LogPart> parts;
    for (const ConfigFile& file : files) {
      if (const auto format = format_of(file)) {
        result_.files.push_back({file.name, *format});
        for (LogPart& part : parts_of(file, *format)) {
          parts.push_back(std::move(part));
        }
      }
    }
    put_bases_first(parts);
    missing_base_ = missing_base(parts);
    const bool trainer_told = std::any_of(parts.begin(), parts.end(), [](const LogPart& part) {
      return part.format == ConfigFormat::trainer_yaml || part.format == ConfigFormat::trainer_args;
    });
    const bool alone = drop_partial(parts);
    const auto main =
        std::max_element(logs_.begin(), logs_.end(), [](const NamedLog& a, const NamedLog& b) {
          return a.log->steps.size() < b.log->steps.size();
        });
    if (main != logs_.end()) {
      read_log_facts(*main->log, main->file, alone, draft_, pending_);
    }
    // Models first: what else a file says may depend on the number of layers.
    for (const ConfigFormat format :
         {ConfigFormat::hugging_face, ConfigFormat::megatron_yaml, ConfigFormat::nemo,
          ConfigFormat::megatron_args, ConfigFormat::megatron_log, ConfigFormat::megatron_bridge,
          ConfigFormat::gpt_neox, ConfigFormat::nanotron, ConfigFormat::maxtext,
          ConfigFormat::llm_foundry, ConfigFormat::slurm_topology, ConfigFormat::nccl_topology}) {
      read_format(parts, {format});
    }
    read_format(parts, {ConfigFormat::trainer_yaml, ConfigFormat::trainer_args});
    read_format(parts, {ConfigFormat::trainer_log});
    read_format(parts, {ConfigFormat::torchtitan, ConfigFormat::torchtitan_command,
                        ConfigFormat::torchtitan_saved, ConfigFormat::torchtitan_log});
    read_format(parts, {ConfigFormat::deepspeed});
    if (missing_base_) {
      ask_for_base(*missing_base_);
    }
    if (!diagnostics_.has_errors()) {
      settle(draft_, pending_, diagnostics_);
    }
    take_steps(logs_, draft_, diagnostics_);
    check_task(pending_, trainer_told, draft_, diagnostics_);
    if (alone) {
      ask_for_arguments(main->file, draft_, pending_);
    }
    if (!diagnostics_.has_errors()) {
      finish();
      stop_at_open_keys();
    }
    return std::move(result_);
  }

 private:
  std::optional<ConfigFormat> format_of(const ConfigFile& file) {
    const auto format = file.format ? file.format : recognise(file.text);
    if (!format && is_python(file.text)) {
      diagnostics_.error(
          {file.name}, "",
          "is a program in Python, which is not run, or a log that begins with one: then --pattern "
          "says where the time of a step stands",
          "what it writes as JSON, YAML or TOML: torchtitan does with "
          "--debug.save_config_file FILE.json");
      return format;
    }
    if (!format) {
      std::string known;
      for (const ConfigFormatInfo& info : config_formats()) {
        known += fmt::format("{}{}", known.empty() ? "" : ", ", info.name);
      }
      if (const std::string_view why = why_not_read(file.text); !why.empty()) {
        diagnostics_.error({file.name}, "", why);
        return std::nullopt;
      }
      diagnostics_.error({file.name}, "",
                         file.text.empty()
                             ? "is empty"
                             : "is no configuration and no log that is known; of a log, --pattern "
                               "says where the time of a step stands, and --set states the rest",
                         file.text.empty() ? "" : "--format with one of " + known);
      return std::nullopt;
    }
    return is_decoder(file, *format, diagnostics_) ? format : std::nullopt;
  }

  void take_given() {
    for (const GivenKey& given : options_.settings) {
      Diagnostics found;
      if (const auto key = scenario::find_key(given.key, {}, found)) {
        const bool stack = key->path == "software" && !given.value.starts_with('{');
        draft_.set(stack ? "software.name" : key->path, given.value,
                   Origin{OriginKind::given, {}, given.by, ""});
      }
      for (Diagnostic problem : found.all()) {
        problem.where.file = given.by;
        diagnostics_.add(std::move(problem));
      }
    }
  }

  std::vector<LogPart> parts_of(const ConfigFile& file, ConfigFormat format) {
    if (!is_log(format)) {
      return settings_of_file(file, format, result_.left_out, diagnostics_);
    }
    const auto log = log_of(file);
    if (log == nullptr) {
      diagnostics_.error({file.name}, "", "has no lines of steps without --pattern");
      return {};
    }
    logs_.push_back({file.name, log});
    return settings_of_log(*log, file.name, diagnostics_);
  }

  // What a log without its begin says of settings counts beside a file of them. Whether no file
  // holds any.
  [[nodiscard]] bool drop_partial(std::vector<LogPart>& parts) const {
    const bool titan = std::any_of(parts.begin(), parts.end(), [](const LogPart& part) {
      const FormatReader* reader = reader_of(part.format);
      return !part.partial && reader != nullptr && reader->program == "torchtitan";
    });
    std::erase_if(parts, [titan](const LogPart& part) {
      return part.partial && !(titan && part.format == ConfigFormat::torchtitan_log);
    });
    return !logs_.empty() && std::all_of(parts.begin(), parts.end(), [](const LogPart& part) {
      return part.format == ConfigFormat::hugging_face;
    });
  }

  // What the file that is missing would say is not what the program takes where nobody says it.
  void ask_for_base(const SourceItem& base) {
    std::vector<std::string> guessed;
    for (const auto& [path, setting] : draft_.settings()) {
      if (setting.origin.kind == OriginKind::by_default && path.starts_with("model.")) {
        guessed.push_back(path);
      }
    }
    guessed.emplace_back("model.num_layers");
    for (const std::string& path : guessed) {
      if (path != "model.num_layers") {
        draft_.erase(path);
      }
      draft_.leave_open(path, base, "give this file as a further one");
    }
  }

  void read_format(const std::vector<LogPart>& parts, std::initializer_list<ConfigFormat> formats) {
    SourceKeys keys(diagnostics_);
    const FormatReader* reader = nullptr;
    for (const ConfigFormat format : formats) {  // of a program its command counts over its file
      std::vector<LogPart> before;
      for (const LogPart& part : parts) {
        if (part.format != format) {
          continue;
        }
        const std::vector<SourceItem> bases = bases_of(part);
        const bool replaces =
            before.empty() || is_log(format) ||
            std::any_of(bases.begin(), bases.end(),
                        [&before](const SourceItem& base) { return is_there(base, before); });
        keys.add(part.tree, replaces ? SourceKeys::Again::replaces : SourceKeys::Again::agrees);
        before.push_back(part);
        reader = reader_of(format);
      }
    }
    if (reader == nullptr) {
      return;
    }
    Import import{keys,
                  draft_,
                  pending_,
                  result_.left_out,
                  diagnostics_,
                  std::string(reader->program),
                  options_.model_class};
    const KeyTables tables(*reader, keys);
    tables.prepare(keys);
    reader->read(import);
    if (!tables.stack().empty() && draft_.find("software.name") == nullptr) {
      draft_.set_stack(tables.stack());
    }
    judge_keys(import, *reader);
  }

  [[nodiscard]] bool is_ignored(const LeftOutKey& key) const {
    return std::any_of(options_.ignored.begin(), options_.ignored.end(), [&](const auto& name) {
      return matches(name, key.key) || matches(normalised_key(name), normalised_key(key.key));
    });
  }

  // Whether the caller has stated what the key would say.
  [[nodiscard]] bool is_stated(const LeftOutKey& key) const {
    const auto& settings = draft_.settings();
    return !key.states.empty() &&
           std::any_of(settings.begin(), settings.end(), [&](const auto& entry) {
             const std::string& path = entry.first;
             return entry.second.origin.kind == OriginKind::given && path.starts_with(key.states) &&
                    (path.size() == key.states.size() || path[key.states.size()] == '.');
           });
  }

  // A key that matters, or that nobody understands, is never dropped in silence.
  void stop_at_open_keys() {
    for (LeftOutKey& key : result_.left_out) {
      if (is_ignored(key) || is_stated(key)) {
        key.why = is_ignored(key) ? "--ignore" : "stated as " + key.states;
        key.effect = Effect::none;
      } else if (key.effect == Effect::large || key.effect == Effect::unknown) {
        diagnostics_.error(key.where, key.key, key.why,
                           key.states.empty()
                               ? std::string("--ignore KEY leaves it out")
                               : fmt::format("--set {}=VALUE, or --ignore KEY", key.states));
        result_.scenario.clear();
      }
    }
  }

  // The dimensions alone, with any machine and batch around them, to count parameters.
  void count_model() {
    ImportResult alone;
    alone.files = result_.files;
    for (const ImportedSetting& setting : result_.settings) {
      if (setting.path.starts_with("model.")) {
        alone.settings.push_back(setting);
      }
    }
    const Origin none;
    if (draft_.find("model.sequence_length") == nullptr) {
      alone.settings.push_back({"model.sequence_length", "1024", none});
    }
    alone.settings.push_back({"cluster.gpu", "any", none});
    alone.settings.push_back({"cluster.nodes", "1", none});
    alone.settings.push_back({"batch.global", "1", none});
    Diagnostics ignored;
    const auto loaded = scenario::load_text(scenario_text(alone, "model"), "model", ignored);
    if (loaded) {
      const model::ParameterCounts counts = model::count_parameters(loaded->model);
      result_.model = ImportedModel{counts.total, counts.active, counts.mtp};
    }
  }

  // A value that scenarios refuse is reported where it was read.
  void check_text() {
    Diagnostics found;
    static_cast<void>(scenario::load_text(result_.scenario, "scenario", found));
    for (Diagnostic problem : found.all()) {
      const bool hole =
          std::any_of(result_.asked.begin(), result_.asked.end(), [&](const AskedKey& asked) {
            return problem.key == asked.path || asked.path.starts_with(problem.key + ".") ||
                   problem.key.empty();
          });
      if (problem.severity != Severity::error || hole) {
        continue;
      }
      const ImportedSetting* setting = draft_.find(problem.key);
      if (setting != nullptr && !setting->origin.where.file.empty()) {
        problem.where = setting->origin.where;
        problem.message = fmt::format("{} ({})", problem.message, setting->origin.key);
      } else if (setting != nullptr && setting->origin.kind == OriginKind::given) {
        problem.where = {setting->origin.key};
      } else {
        problem.where = {result_.files.front().name};
      }
      diagnostics_.add(std::move(problem));
    }
    if (diagnostics_.has_errors()) {
      result_.scenario.clear();
    }
  }

  void finish() {
    assume_network(draft_);
    result_.asked = missing_keys(draft_);
    result_.settings = in_order(draft_);
    result_.notes = draft_.notes();
    std::stable_sort(result_.left_out.begin(), result_.left_out.end(),
                     [](const LeftOutKey& a, const LeftOutKey& b) {
                       return std::tie(a.where.file, a.where.line) <
                              std::tie(b.where.file, b.where.line);
                     });
    count_model();
    if (result_.model) {
      if (unties_embedding(pending_, *result_.model, draft_)) {
        result_.settings = in_order(draft_);
        count_model();
      }
      check_printed_counts(pending_, *result_.model, draft_, diagnostics_);
    }
    result_.other_gpu = check_card(pending_, draft_, diagnostics_);
    std::string name = options_.name;
    if (name.empty() && !result_.files.empty()) {
      const std::filesystem::path path = result_.files.front().name;
      const bool plain = path.stem() == "config" && path.has_parent_path();
      name = (plain ? path.parent_path() : path).stem().string();
    }
    result_.scenario = scenario_text(result_, name.empty() ? "imported" : name);
    check_text();
  }

  const ImportOptions& options_;
  Diagnostics& diagnostics_;
  Draft draft_;
  Pending pending_;
  ImportResult result_;
  std::vector<NamedLog> logs_;
  std::optional<SourceItem> missing_base_;
};

}  // namespace

std::string_view to_string(OriginKind kind) {
  constexpr std::array<std::string_view, 5> kNames = {"read", "derived", "default", "assumed",
                                                      "given"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view to_string(Effect effect) {
  constexpr std::array<std::string_view, 5> kNames = {"none", "small", "large", "unknown",
                                                      "unread"};
  return kNames[static_cast<std::size_t>(effect)];
}

ImportResult import_configs(std::span<const ConfigFile> files, const ImportOptions& options,
                            Diagnostics& diagnostics) {
  return Importing(options, diagnostics).run(files);
}

std::vector<ImportedSetting> said_by_log(const ConfigFile& log, const std::string& gpu) {
  Diagnostics unsaid;
  const ImportResult result =
      import_configs({&log, 1}, {"", {{"cluster.gpu", gpu, "--gpu"}}}, unsaid);
  std::vector<ImportedSetting> said;
  for (const ImportedSetting& setting : result.settings) {
    if (setting.origin.kind == OriginKind::read || setting.origin.kind == OriginKind::derived) {
      said.push_back(setting);
    }
  }
  if (!result.other_gpu.empty()) {
    said.push_back({"cluster.gpu", result.other_gpu, Origin()});
  }
  return said;
}

}  // namespace orrery::import_config
