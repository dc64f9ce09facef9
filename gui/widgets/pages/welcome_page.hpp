#pragma once

// The welcome page: shipped scenarios with a line each, and recently opened files.

#include <QSettings>
#include <QString>
#include <QStringList>
#include <QWidget>
#include <vector>

class QLineEdit;
class QListWidget;
class QListWidgetItem;

namespace orrery::gui {

// The shipped scenarios of evaluate/shipped_scenarios.hpp in the order of the window: grouped by
// the question that they answer, the main one first.

struct ShippedScenario {
  QString path;
  QString name;      // what the file says after `name:`, else the file's name
  QString summary;   // one line
  QString question;  // that its sections answer
};

[[nodiscard]] std::vector<ShippedScenario> shipped_scenarios();

inline constexpr int kMostRecentFiles = 10;

// The files opened last, newest first, kept in the settings; those that are gone are left out.
[[nodiscard]] QStringList recent_files(const QSettings& settings);
void add_recent_file(QSettings& settings, const QString& path);

class WelcomePage : public QWidget {
  Q_OBJECT

 public:
  explicit WelcomePage(QWidget* parent = nullptr);

  void set_recent(const QStringList& files);

  [[nodiscard]] const QListWidget& examples() const { return *examples_; }

 signals:
  void example_chosen(const QString& path);
  void file_chosen(const QString& path);
  void open_wanted();
  void new_wanted();
  void import_wanted();
  void compare_wanted();

 private:
  void filter(const QString& words);

  QLineEdit* search_;
  QListWidget* examples_;
  QListWidget* recent_;
};

}  // namespace orrery::gui
