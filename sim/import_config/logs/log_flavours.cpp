#include "sim/import_config/logs/log_flavours.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "sim/import_config/trees/key_fates.hpp"
#include "sim/import_config/trees/source_keys.hpp"

namespace orrery::import_config {

namespace {

// Settings that a program prints as one text, over many lines of its log.
struct Dump {
  ConfigFormat log;
  ConfigFormat settings;
  std::string_view heading;  // of a line before it; empty: the mark's line is its first
  std::string_view mark;
  LogExcerpt::Parser parse;
  // What a line of the log adds: nothing behind the end, an empty text where others write between.
  std::optional<std::string_view> (*line_of)(std::string_view line, std::string_view prefix);
  std::array<std::string_view, 2> sections;  // that a whole one has
  std::string_view instead;                  // where the program saves the same
};

// YAML without comments: `key:`, deeper lines, items of a list.
std::optional<std::string_view> bridge_line(std::string_view text, std::string_view prefix) {
  const auto line = without_prefix(text, prefix);
  const auto ends = [&line] { return std::find_if_not(line->begin(), line->end(), is_word); };
  const bool continues =
      line && !line->empty() &&
      (line->front() == ' ' || line->starts_with("- ") ||
       (ends() != line->begin() && (std::string_view(ends(), line->end()) == ":" ||
                                    std::string_view(ends(), line->end()).starts_with(": "))));
  return continues ? line : std::nullopt;
}

constexpr std::string_view kNemoLogger = "[NeMo ";

// YAML, each line indented below the line of the logger.
std::optional<std::string_view> nemo_line(std::string_view text, std::string_view prefix) {
  return text.find(kNemoLogger) != std::string_view::npos
             ? std::nullopt
             : std::optional(without_prefix(text, std::string(prefix) + "    ").value_or(""));
}

// The repr() of a Config, behind the date and the ranks:
// `08/31/2024 14:37:22 [INFO|DP=0|PP=0|TP=0]: `
std::optional<std::string_view> nanotron_line(std::string_view text, std::string_view /*prefix*/) {
  constexpr std::string_view kEnd = "]: ";
  const std::size_t level = text.find("[INFO|");
  const std::size_t end = level == std::string_view::npos ? level : text.find(kEnd, level);
  if (end == std::string_view::npos) {
    return "";
  }
  const auto message = without_prefix(text.substr(end + kEnd.size()), "");
  return message && message->starts_with(' ') ? message : std::nullopt;
}

constexpr std::array<Dump, 3> kDumps = {
    {{ConfigFormat::megatron_bridge_log,
      ConfigFormat::megatron_bridge,
      "",
      "_target_: megatron.bridge.training.config.ConfigContainer",
      parse_yaml,
      bridge_line,
      {"model", "train"},
      "the run_config.yaml that Megatron-Bridge saves with a checkpoint"},
     {ConfigFormat::nemo_log,
      ConfigFormat::nemo,
      "Experiment configuration",
      kNemoLogger,
      parse_yaml,
      nemo_line,
      {"trainer", "model"},
      "the hparams.yaml that NeMo saves"},
     {ConfigFormat::nanotron_log,
      ConfigFormat::nanotron,
      "",
      "]: Config(general=",
      parse_python_repr,
      nanotron_line,
      {},
      ""}}};

// The first line of the last dump: earlier ones lack what the setup settles.
std::optional<std::size_t> begin_of(const Dump& dump, const std::vector<LogLine>& lines) {
  const auto has = [&lines](std::size_t i, std::string_view words) {
    return lines[i].text.find(words) != std::string_view::npos;
  };
  std::optional<std::size_t> begin;
  bool headed = dump.heading.empty();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    headed = headed || has(i, dump.heading);
    if (headed && has(i, dump.mark)) {
      begin = i;
      headed = dump.heading.empty();
    }
  }
  return begin;
}

std::vector<LogPart> dump_settings(const Dump& dump, std::string_view text, const std::string& file,
                                   Diagnostics& diagnostics) {
  const std::vector<LogLine> lines = log_lines(text);
  const auto begin = begin_of(dump, lines);
  if (!begin) {
    return {};
  }
  const LogLine& first = lines[*begin];
  const std::size_t mark = first.text.find(dump.mark);
  const bool included = dump.heading.empty();
  LogExcerpt excerpt(first.number + (included ? 0 : 1));
  if (included) {
    excerpt.add(first.text.substr(mark + dump.mark.find_first_not_of("]: ")));
  }
  std::size_t next = *begin + 1;
  for (; next < lines.size(); ++next) {
    const auto line = dump.line_of(lines[next].text, first.text.substr(0, mark));
    if (!line) {
      break;
    }
    excerpt.add(*line);
  }
  std::optional<yaml::Value> tree = excerpt.read(dump.parse, file, diagnostics);
  if (!tree) {
    return {};
  }
  if (dump.settings == ConfigFormat::nanotron) {
    return nanotron_parts(*std::move(tree));
  }
  for (const std::string_view section : dump.sections) {
    if (std::none_of(tree->entries.begin(), tree->entries.end(), [&](const yaml::Entry& entry) {
          return entry.key == section && entry.value.kind == yaml::Value::Kind::mapping;
        })) {
      const int line = next < lines.size() ? lines[next].number : lines.back().number;
      diagnostics.error({file, line, 1}, "",
                        fmt::format("the printed configuration is cut off here: `{}` and `{}` "
                                    "are needed",
                                    dump.sections[0], dump.sections[1]),
                        dump.instead);
      return {};
    }
  }
  follow_references(*tree);
  return {{dump.settings, *std::move(tree)}};
}

// What MaxText works out of base_emb_dim and its kin, and of global_parameter_scale.
constexpr std::array<std::string_view, 6> kWorkedOut = {
    "emb_dim", "mlp_dim", "moe_mlp_dim", "num_query_heads", "num_kv_heads", "num_decoder_layers"};

// MaxText: a line for each key, sorted, in the names of its YAML: `Config param head_dim: 128`.
std::vector<LogPart> maxtext_settings(std::string_view text, const std::string& file,
                                      Diagnostics& /*diagnostics*/) {
  constexpr std::string_view kParam = "Config param ";
  LogSettings settings(file);
  for (const LogLine& line : log_lines(text)) {
    const std::size_t at = line.text.find(kParam);
    if (at == std::string_view::npos) {
      continue;
    }
    std::string_view value = line.text.substr(at + kParam.size());
    const std::string key(cut(value, ':'));
    const std::string_view plain = trimmed(value);
    if (key != "global_parameter_scale") {
      const bool size = std::count(kWorkedOut.begin(), kWorkedOut.end(), key) > 0;
      settings.put(size && plain != "None" ? "base_" + key : key, plain, line.number);
    }
  }
  const bool partial = !settings.has("base_emb_dim");
  yaml::Value tree = settings.take();
  open_dictionaries(tree);
  return {{ConfigFormat::maxtext, std::move(tree), partial}};
}

using Reader = std::vector<LogPart> (*)(std::string_view, const std::string&, Diagnostics&);

constexpr std::array<std::pair<ConfigFormat, Reader>, 5> kReaders = {
    {{ConfigFormat::maxtext_log, maxtext_settings},
     {ConfigFormat::megatron_log, megatron_log_settings},
     {ConfigFormat::torchtitan_log, torchtitan_log_settings},
     {ConfigFormat::deepspeed_log, deepspeed_log_settings},
     {ConfigFormat::trainer_log, trainer_log_settings}}};

}  // namespace

std::vector<LogPart> settings_of_text(ConfigFormat format, std::string_view text,
                                      const std::string& file, Diagnostics& diagnostics) {
  for (const Dump& dump : kDumps) {
    if (dump.log == format) {
      return dump_settings(dump, text, file, diagnostics);
    }
  }
  for (const auto& [log, read] : kReaders) {
    if (log == format) {
      return read(text, file, diagnostics);
    }
  }
  return {};  // facts alone
}

}  // namespace orrery::import_config
