// GoogleTest under a QApplication that needs no display and leaves neither settings nor recovery
// files behind. A process that a test starts of itself to kill it shares the latter with it.

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
  constexpr auto kShared = "ORRERY_TEST_DATA";
  if (qEnvironmentVariableIsEmpty(kShared)) {
    qputenv(kShared, settings.path().toUtf8());
  }
  qputenv("XDG_DATA_HOME", qgetenv(kShared));
  const QApplication application(argc, argv);
  QApplication::setOrganizationName("orrery-test");
  QApplication::setApplicationName("orrery-gui-test");
  return RUN_ALL_TESTS();
}
