#include "gui/widgets/pages/saved_page.hpp"

#include <QLabel>
#include <QTabWidget>
#include <QVBoxLayout>
#include <utility>

#include "gui/models/saved_answer.hpp"
#include "gui/widgets/table_view.hpp"

namespace orrery::gui {

SavedPage::SavedPage(QString path, QString title, SavedPtr saved, QWidget* parent)
    : QWidget(parent),
      path_(std::move(path)),
      title_(std::move(title)),
      saved_(std::move(saved)),
      tables_(new QTabWidget(this)) {
  auto* sentence = new QLabel(saved_sentence(*saved_), this);
  sentence->setWordWrap(true);
  sentence->setTextInteractionFlags(Qt::TextSelectableByMouse);
  tables_->setDocumentMode(true);
  tables_->setAccessibleName("Saved answer");
  show_tables(*tables_, saved_tables(*saved_));
  auto* column = new QVBoxLayout(this);
  column->addWidget(sentence);
  column->addWidget(tables_, 1);
}

}  // namespace orrery::gui
