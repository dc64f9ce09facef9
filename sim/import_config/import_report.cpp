// The report of an import, for people and for programs.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "sim/base/text/format.hpp"
#include "sim/base/text/json_text.hpp"
#include "sim/base/text/unicode.hpp"
#include "sim/import_config/trees/readers.hpp"

namespace orrery::import_config {

namespace {

std::string setting_line(const ImportedSetting& setting) {
  return fmt::format("  {:<44} {}\n",
                     fmt::format("{}: {}", setting.path, setting.value),
                     origin_text(setting.origin));
}

std::string settings_text(const ImportResult& result,
                          std::string_view title,
                          std::initializer_list<OriginKind> kinds) {
  std::string text;
  int count = 0;
  for (const ImportedSetting& setting : result.settings) {
    if (std::find(kinds.begin(), kinds.end(), setting.origin.kind) != kinds.end()) {
      text += setting_line(setting);
      ++count;
    }
  }
  return count == 0 ? "" : fmt::format("{} ({})\n{}", title, count, text);
}

std::string place_text(const SourceLocation& where) {
  return where.line > 0 ? fmt::format("{}:{}:{}", where.file, where.line, where.column)
                        : where.file;
}

std::string left_out_text(const ImportResult& result, std::string_view title, Effect effect) {
  std::string text;
  int count = 0;
  for (const LeftOutKey& key : result.left_out) {
    if (key.effect != effect) {
      continue;
    }
    ++count;
    const std::string said = key.value.empty() || key.value == "true"
                                 ? key.key
                                 : fmt::format("{} {}", key.key, key.value);
    text += fmt::format("  {}: {}{}\n",
                        place_text(key.where),
                        said,
                        key.why.empty() ? "" : fmt::format(": {}", key.why));
  }
  return count == 0 ? "" : fmt::format("{} ({})\n{}", title, count, text);
}

// Keys without effect are many: their names, a few on a line.
std::string idle_text(const ImportResult& result) {
  constexpr std::size_t kWidth = 96;
  std::string text;
  std::string line = " ";
  int count = 0;
  for (const LeftOutKey& key : result.left_out) {
    if (key.effect != Effect::none) {
      continue;
    }
    ++count;
    if (line.size() + key.key.size() > kWidth && line.size() > 1) {
      text += line + "\n";
      line = " ";
    }
    line += " " + printable(key.key);
  }
  return count == 0 ? "" : fmt::format("No effect on cost ({})\n{}{}\n", count, text, line);
}

std::string model_text(const ImportResult& result) {
  if (!result.model) {
    return {};
  }
  const ImportedModel& model = *result.model;
  const auto count = [](std::int64_t value) {
    return format_count(static_cast<double>(value), {4, false});
  };
  std::string text = fmt::format("Model: {} parameters", count(model.parameters));
  if (model.active != model.parameters) {
    text += fmt::format(", {} active per token", count(model.active));
  }
  if (model.prediction_modules > 0) {
    text += fmt::format(", and {} in prediction modules", count(model.prediction_modules));
  }
  return text + "\n";
}

// Batches are sequences in one world and tokens in another: both are said.
std::string tokens_text(const ImportResult& result) {
  std::int64_t batch = 0;
  std::int64_t length = 0;
  for (const ImportedSetting& setting : result.settings) {
    if (setting.path == "batch.global") {
      batch = std::atoll(setting.value.c_str());
    } else if (setting.path == "model.sequence_length") {
      length = std::atoll(setting.value.c_str());
    }
  }
  constexpr std::int64_t kMost = std::int64_t{1} << 31U;
  if (batch <= 0 || length <= 0 || batch > kMost || length > kMost) {
    return {};
  }
  return fmt::format("Batch: {} sequences of {} tokens, {} tokens a step\n",
                     format_integer(batch),
                     format_integer(length),
                     format_count(static_cast<double>(batch * length), {3, true}));
}

std::string asked_text(const ImportResult& result) {
  if (result.asked.empty()) {
    return {};
  }
  std::string text = fmt::format("Still to be stated ({})\n", result.asked.size());
  for (const AskedKey& key : result.asked) {
    text += fmt::format("  {:<28} {}; {}\n", key.path, key.option, key.what);
    if (!key.why.empty()) {
      text += fmt::format("  {:<28} {}\n", "", key.why);
    }
  }
  const bool script =
      std::any_of(result.files.begin(), result.files.end(), [](const ImportedFile& file) {
        return file.format == ConfigFormat::megatron_args;
      });
  if (script) {
    text +=
        "  --define 1=VALUE says what the caller of a script passes, --define NAME=VALUE what "
        "stands "
        "in its\n  environment. The log of a run says all of it: orrery import train.log\n";
  }
  return text;
}

Json place_json(const SourceLocation& where) {
  Json json = Json::object();
  if (!where.file.empty()) {
    json["file"] = where.file;
    if (where.line > 0) {
      json["line"] = where.line;
      json["column"] = where.column;
    }
  }
  return json;
}

Json file_json(const ImportedFile& file) {
  return {{"name", file.name}, {"format", format_name(file.format)}};
}

Json setting_json(const ImportedSetting& setting) {
  return {{"key", setting.path},
          {"value", setting.value},
          {"origin", to_string(setting.origin.kind)},
          {"where", place_json(setting.origin.where)},
          {"from", setting.origin.key},
          {"why", setting.origin.why}};
}

Json left_out_json(const LeftOutKey& key) {
  return {{"key", key.key},
          {"value", key.value},
          {"effect", to_string(key.effect)},
          {"where", place_json(key.where)},
          {"why", key.why},
          {"states", key.states}};
}

Json asked_json(const AskedKey& key) {
  return {{"key", key.path}, {"what", key.what}, {"option", key.option}, {"why", key.why}};
}

Json problem_json(const Diagnostic& problem) {
  return {{"severity", problem.severity == Severity::error ? "error" : "warning"},
          {"where", place_json(problem.where)},
          {"key", problem.key},
          {"message", problem.message},
          {"allowed", problem.allowed}};
}

}  // namespace

std::string report_text(const ImportResult& result) {
  std::string text;
  for (const ImportedFile& file : result.files) {
    text += fmt::format("{}: {}\n", file.name, format_meaning(file.format));
  }
  text += settings_text(result, "Read", {OriginKind::read, OriginKind::derived});
  text += settings_text(result, "Defaults of the programs", {OriginKind::by_default});
  text += settings_text(result, "Assumed", {OriginKind::assumed});
  text += settings_text(result, "Given", {OriginKind::given});
  text += left_out_text(result, "Could not be read", Effect::unread);
  text += left_out_text(result, "NOT understood, or not in the scenario", Effect::unknown);
  text += left_out_text(result, "AFFECTS cost, not in the scenario", Effect::large);
  text += left_out_text(result, "Affects cost by less than the band", Effect::small);
  text += idle_text(result);
  if (!result.notes.empty()) {
    text += fmt::format("What the scenario cannot say ({})\n", result.notes.size());
    for (const std::string& note : result.notes) {
      text += fmt::format("  {}\n", note);
    }
  }
  return text + model_text(result) + tokens_text(result) + asked_text(result);
}

std::string report_json(const ImportResult& result, const Diagnostics& diagnostics) {
  Json json = {{"schema", "orrery-config-import/1"},
               {"complete", result.complete()},
               {"files", json_list(result.files, file_json)},
               {"settings", json_list(result.settings, setting_json)},
               {"left_out", json_list(result.left_out, left_out_json)},
               {"notes", result.notes},
               {"asked", json_list(result.asked, asked_json)},
               {"diagnostics", json_list(diagnostics.all(), problem_json)},
               {"scenario", result.scenario}};
  if (result.model) {
    json["model"] = {{"parameters", result.model->parameters},
                     {"active_parameters", result.model->active},
                     {"prediction_module_parameters", result.model->prediction_modules}};
  }
  return json_text(nlohmann::json(json));  // members by name
}

}  // namespace orrery::import_config
