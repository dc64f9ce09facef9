#pragma once

// The options of a plan: the keys of `plan:` as a form whose entries apply to this plan only.

#include <QScrollArea>
#include <map>
#include <string>
#include <vector>

#include "gui/models/plan_options.hpp"

class QComboBox;
class QFormLayout;
class QLineEdit;

namespace orrery::gui {

class PlanOptionsView : public QScrollArea {
  Q_OBJECT

 public:
  explicit PlanOptionsView(QWidget* parent = nullptr);

  // What holds where nothing is typed is that of this text.
  void set_text(const std::string& text);

  [[nodiscard]] PlanChoices choices() const;

  // Two figures for the trade-off; empty: as they fit.
  [[nodiscard]] std::vector<std::string> pareto() const;

  // As a user would type or choose it. False where there is no such key.
  bool choose(const std::string& key, const QString& value);

  void clear();

 signals:
  void plan_wanted();  // Return in a field

 private:
  void build(const std::vector<PlanOption>& options);
  void add_group(const QString& title);
  void add_trade_off();
  void refresh(const PlanOption& option);

  QWidget* page_ = nullptr;
  QFormLayout* form_ = nullptr;
  std::vector<PlanOption> options_;
  std::map<std::string, QLineEdit*> lines_;
  std::map<std::string, QComboBox*> boxes_;
  QComboBox* trade_x_ = nullptr;
  QComboBox* trade_y_ = nullptr;
};

}  // namespace orrery::gui
