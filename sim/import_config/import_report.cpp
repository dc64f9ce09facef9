// The report of an import, for people and for programs.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>

#include "sim/base/text/format.hpp"
#include "sim/base/text/json_text.hpp"
#include "sim/base/text/text.hpp"
#include "sim/base/yaml/flow_text.hpp"
#include "sim/import_config/trees/readers.hpp"

namespace orrery::import_config {

namespace {

std::string setting_line(const ImportedSetting& setting) {
  return fmt::format("  {:<44} {}\n", fmt::format("{}: {}", setting.path, setting.value),
                     origin_text(setting.origin));
}

std::string settings_text(const ImportResult& result, std::string_view title,
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
    text += fmt::format("  {}: {}{}\n", place_text(key.where), said,
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
  return fmt::format("Batch: {} sequences of {} tokens, {} tokens a step\n", format_integer(batch),
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
  const bool script = std::any_of(
      result.files.begin(), result.files.end(),
      [](const ImportedFile& file) { return file.format == ConfigFormat::megatron_args; });
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

namespace {

// Sections and the keys in them, in the order in which people write them; others follow.
constexpr std::string_view kOrder =
    "model.preset model.name model.num_layers model.hidden_size model.num_attention_heads "
    "model.num_query_groups model.head_dim model.ffn_hidden_size model.vocab_size "
    "model.sequence_length model.activation model.norm model.position model.max_positions "
    "model.tie_embeddings model.linear_bias model.qkv_bias model.embedding_norm "
    "model.moe.num_experts model.moe.top_k model.moe.ffn_hidden_size model.moe.shared "
    "model.moe.dense_branch model.moe.dense_layers model.moe.capacity model.moe.node_limit "
    "model.attention_window.size model.attention_window.full_every model.mla.q_lora_rank "
    "model.mla.kv_lora_rank model.mla.qk_nope_head_dim model.mla.qk_rope_head_dim "
    "model.mla.v_head_dim model.mtp model.lora.kind model.lora.rank model.lora.targets "
    "model.lora.dropout model.lora.base model.trainable cluster.gpu cluster.gpus cluster.nodes "
    "cluster.gpus_per_node cluster.network cluster.network.preset layout.tensor "
    "layout.sequence_parallel layout.context layout.context_method layout.pipeline "
    "layout.virtual_stages layout.schedule layout.stage_layers layout.expert "
    "layout.expert_tensor layout.data layout.sharding layout.shard_group batch.global "
    "batch.micro precision.compute precision.gradient_dtype precision.deterministic "
    "precision.optimizer.name precision.optimizer.state_bytes recompute recompute.modules "
    "recompute.memory_budget recompute.layers overlap.data overlap.tensor overlap.pipeline "
    "overlap.expert "
    "overlap.bucket overlap.cycle overlap.fsdp.reshard overlap.fsdp.reshard_group "
    "software_options.expert_dispatcher offload.optimizer offload.parameters "
    "offload.nvme_read offload.nvme_write software software.name software.recipe compile "
    "training.steps training.tokens training.batch_ramp.start checkpoint.interval "
    "checkpoint.mode measured.step_time ";

// Where a key stands; one that is not listed behind the last that shares most of its path.
std::size_t place_of(std::string_view path) {
  const std::string order = " " + std::string(kOrder);
  std::string part = " " + std::string(path) + " ";
  std::size_t found = order.find(part);
  while (found == std::string::npos && part.find('.') != std::string::npos) {
    part.resize(part.rfind('.') + 1);
    found = order.rfind(part);
    part.resize(part.size() - 1);
  }
  return std::min(found, order.size());
}

struct Line {
  std::string path;
  std::string value;
  std::string comment;
};

// One line of the text before its comment is aligned.
struct Written {
  std::string text;
  std::string comment;
};

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t dot = path.find('.');
    parts.push_back(path.substr(0, dot));
    if (dot == std::string_view::npos) {
      return parts;
    }
    path.remove_prefix(dot + 1);
  }
}

std::vector<Written> nested(const std::vector<Line>& lines) {
  std::vector<Written> written;
  std::vector<std::string_view> open;
  for (const Line& line : lines) {
    const std::vector<std::string_view> parts = parts_of(line.path);
    std::size_t same = 0;
    while (same + 1 < parts.size() && same < open.size() && parts[same] == open[same]) {
      ++same;
    }
    open.resize(same);
    for (std::size_t i = same; i + 1 < parts.size(); ++i) {
      written.push_back({std::string(2 * i, ' ') + std::string(parts[i]) + ":", ""});
      open.push_back(parts[i]);
    }
    const std::string indent(2 * (parts.size() - 1), ' ');
    const std::string key(parts.back());
    written.push_back(
        {line.value.empty() ? indent + key + ":" : fmt::format("{}{}: {}", indent, key, line.value),
         line.comment});
  }
  return written;
}

// One line of printable text, cut where it would be too long.
std::string comment_of(std::string text) {
  constexpr std::size_t kMost = 110;
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    constexpr unsigned char kSpace = 0x20;
    constexpr unsigned char kDelete = 0x7F;
    c = byte < kSpace || byte >= kDelete ? ' ' : c;
  }
  return text.size() > kMost ? text.substr(0, kMost - 3) + "..." : text;
}

std::string head_of(const ImportResult& result) {
  std::string text = "# Read by `orrery import` from:\n";
  for (const ImportedFile& file : result.files) {
    text +=
        "#   " + comment_of(fmt::format("{}: {}", file.name, format_meaning(file.format))) + "\n";
  }
  text += "# Behind each key stands where its value comes from.\n";
  if (!result.notes.empty()) {
    text += "# What a scenario cannot say, or the files do not:\n";
    for (const std::string& note : result.notes) {
      text += "#   " + comment_of(note) + "\n";
    }
  }
  return text;
}

}  // namespace

std::string origin_text(const Origin& origin) {
  std::string place;
  if (!origin.where.file.empty()) {
    place = fmt::format("{}{}", std::filesystem::path(origin.where.file).filename().string(),
                        origin.where.line > 0 ? fmt::format(":{}", origin.where.line) : "");
  }
  if (!origin.key.empty()) {
    place += (place.empty() ? "" : " ") + origin.key;
  }
  switch (origin.kind) {
    case OriginKind::read:
      return place;
    case OriginKind::derived:
      return origin.why.empty() ? place : fmt::format("{}: {}", place, origin.why);
    case OriginKind::by_default:
      return fmt::format("default of {}", origin.why);
    case OriginKind::assumed:
      return fmt::format("assumed: {}{}", origin.why, place.empty() ? "" : " (" + place + ")");
    case OriginKind::given:
      return fmt::format("given: {}{}", origin.key, origin.why.empty() ? "" : ", " + origin.why);
  }
  return place;
}

std::vector<ImportedSetting> in_order(const Draft& draft) {
  std::vector<ImportedSetting> settings;
  for (const auto& [path, setting] : draft.settings()) {
    settings.push_back(setting);
  }
  std::stable_sort(settings.begin(), settings.end(), [](const auto& a, const auto& b) {
    return place_of(a.path) < place_of(b.path);
  });
  return settings;
}

std::string scenario_text(const ImportResult& result, const std::string& name) {
  std::vector<Line> lines;
  for (const ImportedSetting& setting : result.settings) {
    lines.push_back({setting.path, setting.value, origin_text(setting.origin)});
  }
  for (const AskedKey& asked : result.asked) {
    const std::string section = asked.path + ".";
    if (std::any_of(lines.begin(), lines.end(),
                    [&section](const Line& line) { return line.path.starts_with(section); })) {
      continue;  // a name in place of a section that has keys by now
    }
    lines.push_back({asked.path, "", fmt::format("TO BE STATED: {}", asked.what)});
  }
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
    return place_of(a.path) < place_of(b.path);
  });
  std::string text = head_of(result);
  text += fmt::format("format: orrery/1\nname: {}\n", yaml::flow_scalar(name));
  constexpr std::size_t kColumn = 38;
  for (const Written& line : nested(lines)) {
    text += line.text;
    if (!line.comment.empty()) {
      const std::size_t gap = line.text.size() < kColumn ? kColumn - line.text.size() : 2;
      text += std::string(gap, ' ') + "# " + comment_of(line.comment);
    }
    text += '\n';
  }
  return text;
}

}  // namespace orrery::import_config
