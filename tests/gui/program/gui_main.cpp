// GoogleTest under a QApplication that needs no display and leaves no settings behind.

#include <gtest/gtest.h>

#include <QApplication>
#include <QSettings>
#include <QTemporaryDir>

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  ::testing::InitGoogleTest(&argc, argv);
  const QTemporaryDir settings;
  QSettings::setDefaultFormat(QSettings::IniFormat);
  QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, settings.path());
  const QApplication application(argc, argv);
  QApplication::setOrganizationName("orrery-test");
  QApplication::setApplicationName("orrery-gui-test");
  return RUN_ALL_TESTS();
}
