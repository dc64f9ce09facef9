#include "gui/models/config_import.hpp"

#include <QDir>
#include <QFileInfo>
#include <algorithm>
#include <array>

#include "gui/models/form_model.hpp"
#include "gui/models/tables/answer_tables.hpp"
#include "sim/answer/evaluate/inputs/resolve.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"
#include "sim/base/text/format.hpp"
#include "sim/scenario/load.hpp"
#include "sim/scenario/table/fields.hpp"
#include "sim/step/hardware/profile_search.hpp"

namespace orrery::gui {

namespace {

using import_config::AskedKey;
using import_config::ConfigFile;
using import_config::Effect;
using import_config::ImportedSetting;
using import_config::LeftOutKey;
using import_config::OriginKind;

// Machines are seldom in such files: these keys are always offered.
constexpr std::array<std::string_view, 4> kOffered = {
    "cluster.gpu", "cluster.nodes", "cluster.gpus_per_node", "cluster.network.preset"};

Cell tipped(std::string_view text) { return {.text = qt(text), .tip = qt(text)}; }

QString place_text(const SourceLocation& where) {
  const QString file = QFileInfo(qt(where.file)).fileName();
  return where.line > 0 ? QString("%1:%2").arg(file).arg(where.line) : file;
}

Tone tone_of(OriginKind kind) {
  return kind == OriginKind::assumed      ? Tone::warning
         : kind == OriginKind::by_default ? Tone::faint
         : kind == OriginKind::given      ? Tone::strong
                                          : Tone::plain;
}

Table keys_table(const ImportAnswer& answer) {
  const import_config::ImportResult& result = answer.result;
  Table table{"Keys", {"key", "value", "", "where", "there", "how, or why"}, {}};
  for (const ImportKey& key : answer.keys) {
    if (key.asked) {
      const QString why = key.why.isEmpty() ? key.what : key.why;
      table.rows.push_back({{.text = key.path},
                            {.text = "to be stated", .tone = Tone::bad},
                            {.text = "asked", .tone = Tone::bad},
                            {},
                            {},
                            {.text = why, .tip = why}});
    }
  }
  for (const ImportedSetting& setting : result.settings) {
    const import_config::Origin& origin = setting.origin;
    table.rows.push_back({tipped(setting.path),
                          tipped(setting.value),
                          {.text = qt(to_string(origin.kind)), .tone = tone_of(origin.kind)},
                          {.text = place_text(origin.where)},
                          tipped(origin.key),
                          tipped(origin.why)});
  }
  return table;
}

Table left_out_table(const import_config::ImportResult& result) {
  Table table{"Not in the scenario", {"effect on cost", "where", "key", "value", "why"}, {}};
  for (const auto& [effect, words] : {std::pair{Effect::unread, "could not be read"},
                                      {Effect::unknown, "not understood"},
                                      {Effect::large, "above the band"},
                                      {Effect::small, "below the band"}}) {
    for (const LeftOutKey& key : result.left_out) {
      if (key.effect == effect) {
        table.rows.push_back({{.text = words, .tone = Tone::warning},
                              {.text = place_text(key.where)},
                              tipped(key.key),
                              tipped(key.value),
                              tipped(key.why)});
      }
    }
  }
  return table;
}

Table notes_table(const import_config::ImportResult& result) {
  Table table{"What it cannot say", {"what a scenario cannot express"}, {}};
  for (const std::string& note : result.notes) {
    table.rows.push_back({tipped(note)});
  }
  return table;
}

Table idle_table(const import_config::ImportResult& result) {
  Table table{"Without effect on cost", {"where", "key", "value"}, {}};
  for (const LeftOutKey& key : result.left_out) {
    if (key.effect == Effect::none) {
      table.rows.push_back({{.text = place_text(key.where)}, tipped(key.key), tipped(key.value)});
    }
  }
  return table;
}

// The name of a model is that of its folder where the file is only called config.json.
QString name_of(const QString& path) {
  const QFileInfo file(path);
  const QString stem = file.completeBaseName();
  return stem == "config" ? file.absoluteDir().dirName() : stem;
}

// Whether the text is meant as a scenario, however wrong it is.
bool looks_like_scenario(std::string_view text) {
  const auto begins_line = [text](std::string_view words) {
    return text.starts_with(words) ||
           text.find("\n" + std::string(words)) != std::string_view::npos;
  };
  return text.find("orrery/") != std::string_view::npos ? begins_line("format:")
                                                        : begins_line("cluster:");
}

std::vector<ConfigFile> read_files(const ImportQuestion& question, Diagnostics& problems) {
  std::vector<ConfigFile> files;
  for (const ImportSource& source : question.files) {
    std::optional<ConfigFile> file;
    try {
      file = import_config::read_config_file(source.path.toStdString(), problems,
                                             {source.format, {}, {}});
    } catch (const Error& error) {
      problems.error({source.path.toStdString()}, "", error.what());
    }
    if (!file) {
      continue;
    }
    // Of scenarios and programs the import itself says why it does not read them.
    if (!file->format && !import_config::recognise(file->text) &&
        !looks_like_scenario(file->text) && !import_config::is_python(file->text)) {
      problems.error({file->name}, "", "is no configuration that is known",
                     "choose what it is to be read as");
      continue;
    }
    files.push_back(*std::move(file));
  }
  return files;
}

// Layout, batch, machines and profiles, as an evaluation needs them.
bool goes_together(const std::string& text, const std::string& name, Diagnostics& problems) {
  Diagnostics found;
  const auto scenario = scenario::load_text(text, name, found);
  const bool sound = scenario &&
                     evaluate::resolve(*scenario, hardware::default_search({}), found) &&
                     !found.has_errors();
  problems.add(found);
  return sound;
}

void add_key(const std::string& path, const std::vector<scenario::Field>& fields,
             ImportAnswer& answer) {
  const QString name = qt(path);
  if (std::ranges::any_of(answer.keys, [&](const ImportKey& key) { return key.path == name; })) {
    return;
  }
  ImportKey key{.path = name};
  const auto field = std::ranges::find_if(fields, [&](const auto& f) { return f.path == path; });
  if (field != fields.end()) {
    key.what = qt(field->meaning);
    key.choices = names_of(*field, {});
  }
  for (const ImportedSetting& setting : answer.result.settings) {
    if (setting.path == path && setting.origin.kind != OriginKind::given) {
      key.found = qt(setting.value);
    }
  }
  answer.keys.push_back(std::move(key));
}

// Files by their names alone.
QString without_folders(const ImportQuestion& question, QString text) {
  for (const ImportSource& source : question.files) {
    text.replace(source.path, QFileInfo(source.path).fileName());
  }
  return text;
}

void find_keys(const ImportQuestion& question, ImportAnswer& answer) {
  const std::vector<scenario::Field> fields = scenario::fields_of("format: orrery/1\n");
  for (const std::string_view path : kOffered) {
    add_key(std::string(path), fields, answer);
  }
  for (const import_config::GivenKey& stated : question.stated) {
    add_key(stated.key, fields, answer);
  }
  for (const AskedKey& asked : answer.result.asked) {
    const std::string path =
        asked.path == "cluster.network" ? "cluster.network.preset" : asked.path;
    add_key(path, fields, answer);
    const auto key =
        std::ranges::find_if(answer.keys, [&](const auto& k) { return k.path == qt(path); });
    key->asked = true;
    key->why = without_folders(question, qt(asked.why));
    key->what = key->what.isEmpty() ? qt(asked.what) : key->what;
  }
}

QString verdict_of(const ImportQuestion& question, const ImportAnswer& answer) {
  if (question.files.empty()) {
    return "Add the configuration files of one training: of its model, its launch script, its "
           "optimizer.";
  }
  if (answer.result.scenario.empty()) {
    return "Nothing came of these files: see the problems.";
  }
  QStringList files;
  for (const import_config::ImportedFile& file : answer.result.files) {
    files << QString("%1 (%2)").arg(QFileInfo(qt(file.name)).fileName(),
                                    qt(format_meaning(file.format)));
  }
  QString verdict = "Read from " + files.join(", ");
  if (answer.result.model) {
    verdict += QString(": a model of %1 parameters")
                   .arg(qt(format_count(static_cast<double>(answer.result.model->parameters))));
  }
  const std::size_t asked = answer.result.asked.size();
  if (asked > 0) {
    return verdict +
           QString(". %1 still to be stated, marked on the left.")
               .arg(asked == 1 ? QString("One key is") : QString("%1 keys are").arg(asked));
  }
  return verdict + (answer.sound
                        ? ". All that a scenario needs is stated."
                        : ". All is stated, but it does not go together: see the problems.");
}

}  // namespace

ImportAnswerPtr import_answer(const ImportQuestion& question) {
  auto answer = std::make_shared<ImportAnswer>();
  const std::vector<ConfigFile> files = read_files(question, answer->problems);
  const QString name =
      question.files.empty() ? QString("imported") : name_of(question.files.front().path);
  answer->title = name + ".yaml";
  if (!files.empty() && !answer->problems.has_errors()) {
    answer->result = import_config::import_configs(files, {name.toStdString(), question.stated},
                                                   answer->problems);
  }
  if (answer->result.complete()) {
    answer->sound =
        goes_together(answer->result.scenario, answer->title.toStdString(), answer->problems);
  }
  find_keys(question, *answer);
  answer->verdict = verdict_of(question, *answer);
  answer->report = qt(import_config::report_text(answer->result));
  answer->tables = {problems_table(answer->problems, {}, place_text), keys_table(*answer),
                    left_out_table(answer->result), notes_table(answer->result),
                    idle_table(answer->result)};
  std::erase_if(answer->tables, [](const Table& table) { return table.rows.empty(); });
  return answer;
}

TextKind text_kind(std::string_view text, const QString& path) {
  if (looks_like_scenario(text)) {
    return TextKind::scenario;
  }
  if (import_config::recognise(text) || import_config::is_python(text)) {
    return TextKind::configuration;
  }
  const QString ending = QFileInfo(path).suffix().toLower();
  const bool named = ending == "yaml" || ending == "yml";
  const bool empty = text.find_first_not_of(" \t\r\n") == std::string_view::npos;
  return named || empty ? TextKind::scenario : TextKind::unknown;
}

TextKind text_kind_of(const QString& path) {
  try {
    return text_kind(read_file(path.toStdString(), import_config::kMostBytes), path);
  } catch (const Error&) {
    return TextKind::scenario;
  }
}

QString unknown_sentence(const QString& path) {
  return QString(
             "%1 is no scenario, no saved answer, no trace and no configuration file that can be "
             "imported (%2).")
      .arg(QFileInfo(path).fileName(), known_programs());
}

QString known_programs() { return "Hugging Face, DeepSpeed, Megatron-LM, NeMo, torchtitan"; }

}  // namespace orrery::gui
