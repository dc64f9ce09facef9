#include "gui/models/key_choices.hpp"

#include "gui/models/tables/text.hpp"
#include "sim/evaluate/catalog.hpp"
#include "sim/hardware/profile_search.hpp"

namespace orrery::gui {

std::optional<QStringList> catalog_names(std::string_view key, const std::string& scenario_file) {
  for (const evaluate::CatalogKindInfo& kind : evaluate::catalog_kinds()) {
    if (kind.key.empty() || kind.key != key) {
      continue;
    }
    QStringList names;
    Diagnostics ignored;
    const auto search = hardware::default_search(scenario_file);
    for (const auto& entry : evaluate::catalog(kind.kind, search, ignored)) {
      names.push_back(qt(entry.name));
    }
    return names;
  }
  return std::nullopt;
}

QStringList names_of(const scenario::Field& field, const std::string& scenario_file) {
  QStringList words;
  for (const std::string& word : field.choices) {
    words.push_back(qt(word));
  }
  return words.isEmpty() ? catalog_names(field.path, scenario_file).value_or(QStringList()) : words;
}

}  // namespace orrery::gui
