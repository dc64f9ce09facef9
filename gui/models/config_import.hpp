#pragma once

// Converts configuration files of other training stacks into a scenario and lists what the user has
// to add. Uses the readers of `orrery import`: Hugging Face, DeepSpeed, Megatron-LM, NeMo,
// torchtitan, several files together.

#include <QString>
#include <QStringList>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "gui/models/tables/table.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/import_config/import_config.hpp"

namespace orrery::gui {

struct ImportSource {
  QString path;
  std::optional<import_config::ConfigFormat> format;  // nothing: by its content

  friend bool operator==(const ImportSource&, const ImportSource&) = default;
};

struct ImportQuestion {
  std::vector<ImportSource> files;
  std::vector<import_config::GivenKey> stated;
};

// A key that the user may state, or must.
struct ImportKey {
  QString path = {};   // of the scenario
  QString what = {};   // is meant
  QString why = {};    // no file says it; may be empty
  QString found = {};  // what the files say
  QStringList choices = {};
  bool asked = false;  // no file says it
};

struct ImportAnswer {
  import_config::ImportResult result;
  Diagnostics problems;
  bool sound = false;  // all is stated, and layout, batch and machines go together
  QString title;       // of the scenario as a document
  QString verdict;     // one or two sentences
  QString report;      // what `orrery import` prints
  std::vector<ImportKey> keys;
  std::vector<Table> tables;  // those that have rows
};

using ImportAnswerPtr = std::shared_ptr<const ImportAnswer>;

[[nodiscard]] ImportAnswerPtr import_answer(const ImportQuestion& question);

// What a text file holds, by its content; one that cannot be read counts as a scenario, which
// opening it then reports.
enum class TextKind { scenario, configuration, unknown };

[[nodiscard]] TextKind text_kind(std::string_view text, const QString& path);
[[nodiscard]] TextKind text_kind_of(const QString& path);

// Why a file that is nothing of all that cannot be opened.
[[nodiscard]] QString unknown_sentence(const QString& path);

// The programs whose files can be imported, for sentences.
[[nodiscard]] QString known_programs();

}  // namespace orrery::gui
