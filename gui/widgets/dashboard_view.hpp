#pragma once

// Shows the answer at a glance, as cards in rows that follow the width of the window.

#include <QScrollArea>
#include <vector>

#include "gui/models/tables/dashboard.hpp"

class QGridLayout;
class QLabel;

namespace orrery::gui {

// Lays a veil over a panel whose content belongs to an older text, or takes it away; below it the
// panel works on.
void set_veiled(QWidget* panel, bool veiled);

class CardView;

// Where full ones do not fit, cards leave their detail to the tooltip.
enum class CardForm { full, compact };

class DashboardView : public QScrollArea {
  Q_OBJECT

 public:
  explicit DashboardView(QWidget* parent = nullptr);

  void show_answer(const Dashboard& dashboard);

  // Whether the text has changed since; what is wrong with it, with links to its fixes by number.
  void set_stale(bool stale, const QString& problem = {});

  // What it shows needs no scrolling at this height.
  [[nodiscard]] QSize sizeHint() const override;

 signals:
  void loss_chosen(int hue, const QString& name);                         // that the verdict names
  void keys_wanted(const std::vector<orrery::scenario::KeyValue>& keys);  // of an advice
  void fix_wanted(int number);
  void table_wanted(const QString& title);  // of a card that was clicked

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void color_texts();
  void write_verdict();
  void place_cards();
  void fill_grid(int fitting, CardForm form);

  Dashboard shown_;
  QString problem_;
  QWidget* page_;
  QLabel* title_;
  QLabel* badge_;
  QLabel* verdict_;
  QLabel* subtitle_;
  QLabel* reasons_ = nullptr;
  QGridLayout* grid_;
  std::vector<CardView*> cards_;
  QSize placed_in_;
};

}  // namespace orrery::gui
