// The bar that offers lost texts.

#include <QLabel>
#include <QLocale>
#include <QPushButton>
#include <QToolBar>
#include <vector>

#include "gui/models/recovery.hpp"
#include "gui/widgets/window/main_window.hpp"

namespace orrery::gui {

namespace {

QString sentence_of(const std::vector<LostText>& lost) {
  const QString when = QLocale().toString(lost.back().written, QLocale::ShortFormat);
  return lost.size() == 1
             ? QString("Orrery did not end as it should. Changes of %1 (%2) were not saved.")
                   .arg(lost.front().state.title, when)
             : QString("Orrery did not end as it should. %1 scenarios were not saved (last %2).")
                   .arg(lost.size())
                   .arg(when);
}

}  // namespace

QToolBar* offer_lost_texts(MainWindow& window) {
  const std::vector<LostText> lost = Recovery::of_program()->take_lost();
  if (lost.empty()) {
    Recovery::of_program()->drop_lost();  // folders without a text
    return nullptr;
  }
  auto* bar = new QToolBar("Recovery", &window);
  bar->setObjectName("Recovery");
  bar->setMovable(false);
  auto* sentence = new QLabel(sentence_of(lost), bar);
  sentence->setMargin(6);
  auto* restore = new QPushButton("&Restore", bar);
  auto* discard = new QPushButton("&Discard", bar);
  for (QWidget* widget : std::initializer_list<QWidget*>{sentence, restore, discard}) {
    bar->addWidget(widget);
  }
  QObject::connect(restore, &QPushButton::clicked, &window, [&window, bar, lost] {
    for (const LostText& one : lost) {
      auto* document = new ScenarioDocument;
      document->restore(one.state);
      window.add_page(document);  // which keeps a copy of its own before the lost one goes
    }
    Recovery::of_program()->drop_lost();
    bar->deleteLater();
  });
  QObject::connect(discard, &QPushButton::clicked, bar, [bar] {
    Recovery::of_program()->drop_lost();
    bar->deleteLater();
  });
  window.addToolBar(bar);
  return bar;
}

}  // namespace orrery::gui
