// From configuration files of other stacks to a scenario.

#include <QTabWidget>

#include "gui/models/config_import.hpp"
#include "gui/models/scenario_document.hpp"
#include "gui/widgets/pages/document_page.hpp"
#include "gui/widgets/pages/import_page.hpp"
#include "gui/widgets/window/main_window.hpp"

namespace orrery::gui {

ImportPage* MainWindow::import_files(const QStringList& paths) {
  auto* page = qobject_cast<ImportPage*>(tabs_->currentWidget());
  if (page == nullptr) {
    page = new ImportPage(this);
    connect(page, &ImportPage::title_changed, this, [this, page] {
      tabs_->setTabText(tabs_->indexOf(page), page->title());
      tabs_->setTabToolTip(tabs_->indexOf(page), page->paths().join("\n"));
      update_title();
    });
    connect(
        page, &ImportPage::close_wanted, this, [this, page] { close_tab(tabs_->indexOf(page)); });
    connect(page,
            &ImportPage::open_wanted,
            this,
            [this, page](const QString& text, const QString& title) {
              open_imported(page, text, title);
            });
    tabs_->setCurrentIndex(tabs_->addTab(page, page->title()));
  }
  page->add_files(paths);
  page->setFocus();
  return page;
}

void MainWindow::ask_for_import() {
  const QStringList paths = ask_for_configurations(this);
  if (!paths.isEmpty()) {
    import_files(paths);
  }
}

// A document that no file holds yet: closing it asks.
void MainWindow::open_imported(ImportPage* page, const QString& text, const QString& title) {
  auto* document = new ScenarioDocument;
  document->start_new(text, title);
  document->text_document()->setModified(true);
  close_tab(tabs_->indexOf(page));
  add_page(document);
}

}  // namespace orrery::gui
