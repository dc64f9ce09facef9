#pragma once

// Item model that presents a scenario document as a form: a tree of sections and keys.
//
// An empty value removes the key, so that its default applies. Names of GPU and software profiles
// come from the catalogue.

#include <QStandardItemModel>
#include <QStringList>
#include <map>
#include <string>
#include <vector>

#include "gui/models/scenario_document.hpp"
#include "sim/scenario/table/fields.hpp"

namespace orrery::gui {

// All that a key takes by name: what the catalogue lists, else its words; empty for other keys.
// What a name is stands behind a tab, the heading of a group alone behind one. `scenario_file`,
// which may be empty, says where profiles are looked for.
[[nodiscard]] QStringList names_of(const scenario::Field& field, const std::string& scenario_file);

// What a key means, takes and is without it, for a tooltip.
[[nodiscard]] QString tip_of(const scenario::Field& field);

class FormModel : public QStandardItemModel {
  Q_OBJECT

 public:
  enum Column { kKey, kValue, kTakes, kColumns };

  static constexpr int kChoicesRole = Qt::UserRole;     // QStringList, may be empty
  static constexpr int kStatedRole = Qt::UserRole + 1;  // bool
  static constexpr int kSearchRole = Qt::UserRole + 2;  // all words of a key
  static constexpr int kPathRole = Qt::UserRole + 3;
  static constexpr int kLineRole = Qt::UserRole + 4;  // 0: not stated

  explicit FormModel(ScenarioDocument* document, QObject* parent = nullptr);

  [[nodiscard]] QModelIndex find(const QString& path, int column = kValue) const;

  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;

 public slots:
  void refresh();

 signals:
  void refused(const QString& sentence);

 private:
  struct Section {
    QString name;
    std::vector<scenario::Field> fields;
  };

  void build();
  [[nodiscard]] const scenario::Field* field(const QModelIndex& index) const;
  [[nodiscard]] QVariant section_data(const Section& section, int column, int role) const;
  [[nodiscard]] QStringList choices(const scenario::Field& field) const;

  ScenarioDocument* document_;
  std::vector<Section> sections_;
  mutable std::map<std::string, QStringList> names_;  // by key, read when first asked for
};

}  // namespace orrery::gui
