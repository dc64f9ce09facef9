#include "gui/models/form_model.hpp"

#include <QFont>
#include <QSignalBlocker>
#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "gui/models/tables/table.hpp"
#include "sim/answer/evaluate/catalog.hpp"
#include "sim/step/hardware/profile_search.hpp"

namespace orrery::gui {

namespace {

// Nothing for keys that take none of them.
std::optional<QStringList> catalog_names(std::string_view key, const std::string& scenario_file) {
  for (const evaluate::CatalogKindInfo& kind : evaluate::catalog_kinds()) {
    if (key.empty() || (kind.key != key && kind.other_key != key)) {
      continue;
    }
    QStringList names;
    std::string group;
    Diagnostics ignored;
    const auto search = hardware::default_search(scenario_file);
    for (const auto& entry : evaluate::catalog(kind.kind, search, ignored)) {
      if (entry.group != group) {
        names.push_back(qt("\t" + entry.group));
        group = entry.group;
      }
      names.push_back(qt(entry.name + "\t" + entry.summary));
    }
    return names;
  }
  return std::nullopt;
}

}  // namespace

QStringList names_of(const scenario::Field& field, const std::string& scenario_file) {
  if (auto names = catalog_names(field.path, scenario_file)) {
    return *std::move(names);
  }
  const QStringList words = qt(field.choices);
  // What may be a mapping as well has its words among what is allowed.
  return words.isEmpty() && field.type == "name"
             ? qt(field.allowed).remove('`').split(", ", Qt::SkipEmptyParts)
             : words;
}

QString tip_of(const scenario::Field& field) {
  QString tip =
      "<b>" + qt(field.path).toHtmlEscaped() + "</b><br>" + qt(field.meaning).toHtmlEscaped();
  const auto add = [&tip](const char* name, const std::string& text) {
    if (!text.empty()) {
      tip += QString("<br><i>%1:</i> %2").arg(name, qt(text).toHtmlEscaped());
    }
  };
  add("type", field.type);
  constexpr std::size_t kMany = 24;  // names, which the list of the value has
  add("allowed", field.choices.size() > kMany
                     ? std::to_string(field.choices.size()) + " names, in its list"
                     : field.allowed);
  add("default", field.fallback);
  add("without it", field.note);
  add("example", field.example);
  return tip;
}

namespace {

QString takes(const scenario::Field& field) {
  return field.allowed.empty()
             ? qt(field.type)
             : (field.choices.empty() ? qt(field.type + ", " + field.allowed) : qt(field.allowed));
}

}  // namespace

FormModel::FormModel(ScenarioDocument* document, QObject* parent)
    : QStandardItemModel(parent), document_(document) {
  connect(document, &ScenarioDocument::text_changed, this, &FormModel::refresh);
  refresh();
}

void FormModel::refresh() {
  std::vector<Section> sections;
  for (scenario::Field& field : scenario::fields_of(document_->utf8())) {
    const QString name = qt(field.section);
    auto section = std::ranges::find(sections, name, &Section::name);
    if (section == sections.end()) {
      section = sections.insert(sections.end(), {name, {}});
    }
    section->fields.push_back(std::move(field));
  }
  const bool same = std::equal(
      sections.begin(), sections.end(), sections_.begin(), sections_.end(),
      [](const Section& a, const Section& b) {
        return a.name == b.name &&
               std::equal(a.fields.begin(), a.fields.end(), b.fields.begin(), b.fields.end(),
                          [](const auto& x, const auto& y) { return x.path == y.path; });
      });
  sections_ = std::move(sections);
  if (!same) {
    build();
  }
  for (int row = 0; row < static_cast<int>(sections_.size()); ++row) {
    const QModelIndex section = index(row, 0, {});
    emit dataChanged(section, index(row, kColumns - 1, {}));
    emit dataChanged(index(0, 0, section), index(rowCount(section) - 1, kColumns - 1, section));
  }
}

QModelIndex FormModel::find(const QString& path, int column) const {
  const std::string wanted = path.toStdString();
  for (std::size_t s = 0; s < sections_.size(); ++s) {
    for (std::size_t f = 0; f < sections_[s].fields.size(); ++f) {
      if (sections_[s].fields[f].path == wanted) {
        return index(static_cast<int>(f), column, index(static_cast<int>(s), 0, {}));
      }
    }
  }
  return {};
}

// The rows alone: what they say is in the fields.
void FormModel::build() {
  beginResetModel();
  {
    const QSignalBlocker quiet(this);
    clear();
    setHorizontalHeaderLabels({"Key", "Value", "Takes"});
    for (const Section& section : sections_) {
      auto* item = new QStandardItem(static_cast<int>(section.fields.size()), kColumns);
      appendRow(item);
    }
  }
  endResetModel();
}

const scenario::Field* FormModel::field(const QModelIndex& index) const {
  return index.parent().isValid() ? &sections_[static_cast<std::size_t>(index.parent().row())]
                                         .fields[static_cast<std::size_t>(index.row())]
                                  : nullptr;
}

QVariant FormModel::section_data(const Section& section, int column, int role) const {
  const auto stated = std::ranges::count_if(
      section.fields, [](const auto& field) { return field.stated.has_value(); });
  switch (role) {
    case Qt::DisplayRole:
      if (column == kKey) {
        return section.name;
      }
      return column == kValue && stated > 0 ? QString("%1 stated").arg(stated) : QString();
    case kStatedRole:
      return stated > 0;
    case kSearchRole:
      return section.name;
    default:
      return {};
  }
}

QVariant FormModel::data(const QModelIndex& index, int role) const {
  const scenario::Field* key = field(index);
  if (key == nullptr) {
    return index.isValid() ? section_data(sections_[static_cast<std::size_t>(index.row())],
                                          index.column(), role)
                           : QVariant();
  }
  switch (role) {
    case Qt::DisplayRole:
      if (index.column() == kKey) {
        const QString path = qt(key->path);
        const QString section = qt(key->section);
        return path == section ? path : path.mid(section.size() + (path[section.size()] == '.'));
      }
      return index.column() == kTakes ? takes(*key)
                                      : qt(key->stated ? *key->stated : key->fallback);
    case Qt::EditRole:
      return qt(key->stated.value_or(std::string()));
    case Qt::ToolTipRole:
      return tip_of(*key);
    case Qt::FontRole: {
      QFont font;
      font.setBold(key->stated.has_value() && index.column() != kTakes);
      return font;
    }
    case kChoicesRole:
      return choices(*key);
    case kStatedRole:
      return key->stated.has_value();
    case kSearchRole:
      return qt(key->path + " " + key->meaning);
    case kPathRole:
      return qt(key->path);
    case kLineRole:
      return key->stated ? key->where.line : 0;
    default:
      return {};
  }
}

Qt::ItemFlags FormModel::flags(const QModelIndex& index) const {
  const scenario::Field* key = field(index);
  const bool editable = key != nullptr && index.column() == kValue && key->one_line;
  return QAbstractItemModel::flags(index) |
         (editable ? Qt::ItemIsEditable : Qt::ItemFlags(Qt::NoItemFlags));
}

bool FormModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  const scenario::Field* key = field(index);
  if (key == nullptr || role != Qt::EditRole || index.column() != kValue) {
    return false;
  }
  const QString path = qt(key->path);
  const QString text = value.toString().trimmed();
  const QString before = qt(key->stated.value_or(std::string()));
  if (text == before) {
    return true;
  }
  const QString problem =
      text.isEmpty() ? document_->remove_key(path) : document_->set_key(path, text);
  if (!problem.isEmpty()) {
    emit refused(problem);
  }
  return problem.isEmpty();
}

// Profiles are files, looked for once.
QStringList FormModel::choices(const scenario::Field& field) const {
  const auto [names, first] = names_.try_emplace(field.path);
  if (first) {
    names->second = names_of(field, document_->file_name());
  }
  return names->second;
}

}  // namespace orrery::gui
