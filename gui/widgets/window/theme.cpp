#include "gui/widgets/window/theme.hpp"

#include <QApplication>
#include <QIcon>
#include <QPainter>
#include <QPalette>
#include <QProxyStyle>
#include <QStyle>
#include <QStyleFactory>
#include <QStyleOption>

namespace orrery::gui {

namespace {

constexpr auto kFaint = "#57626e";
constexpr auto kFaintInDark = "#a0abb7";

QPalette dark_palette() {
  const QColor window("#26282b");
  const QColor base("#1c1e20");
  const QColor text("#e6e6e6");
  const QColor faint(kFaintInDark);
  QPalette palette;
  palette.setColor(QPalette::Window, window);
  palette.setColor(QPalette::WindowText, text);
  palette.setColor(QPalette::Base, base);
  palette.setColor(QPalette::AlternateBase, QColor("#232527"));
  palette.setColor(QPalette::ToolTipBase, QColor("#3a3d41"));
  palette.setColor(QPalette::ToolTipText, text);
  palette.setColor(QPalette::Text, text);
  palette.setColor(QPalette::PlaceholderText, faint);
  palette.setColor(QPalette::Button, QColor("#33363a"));
  palette.setColor(QPalette::ButtonText, text);
  palette.setColor(QPalette::BrightText, Qt::white);
  palette.setColor(QPalette::Link, QColor("#7cb7ff"));
  palette.setColor(QPalette::Highlight, QColor("#2f6fad"));
  palette.setColor(QPalette::HighlightedText, Qt::white);
  palette.setColor(QPalette::Light, QColor("#44484d"));
  palette.setColor(QPalette::Midlight, QColor("#3a3d41"));
  palette.setColor(QPalette::Mid, QColor("#1a1b1d"));
  palette.setColor(QPalette::Dark, QColor("#141517"));
  palette.setColor(QPalette::Shadow, Qt::black);
  for (const QPalette::ColorRole role :
       {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
    palette.setColor(QPalette::Disabled, role, QColor("#75797f"));
  }
  return palette;
}

QPalette light_palette() {
  QPalette palette(QColor("#f2f3f4"));
  palette.setColor(QPalette::Base, Qt::white);
  palette.setColor(QPalette::AlternateBase, QColor("#f6f7f8"));
  palette.setColor(QPalette::WindowText, QColor("#1b1d1f"));
  palette.setColor(QPalette::Text, QColor("#1b1d1f"));
  palette.setColor(QPalette::ButtonText, QColor("#1b1d1f"));
  palette.setColor(QPalette::PlaceholderText, QColor(kFaint));
  palette.setColor(QPalette::Highlight, QColor("#0067b0"));
  palette.setColor(QPalette::HighlightedText, Qt::white);
  palette.setColor(QPalette::ToolTipBase, QColor("#fff6da"));
  palette.setColor(QPalette::ToolTipText, QColor("#1b1d1f"));
  for (const QPalette::ColorRole role :
       {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
    palette.setColor(QPalette::Disabled, role, QColor("#9a9fa6"));
  }
  return palette;
}

// Fusion frames what can be edited or ticked in a darker shade of the window, which a dark ground
// swallows: an empty box to tick would not be seen at all.
class DarkFusion : public QProxyStyle {
 public:
  DarkFusion() : QProxyStyle("Fusion") {}

  void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                     const QWidget* widget) const override {
    QProxyStyle::drawPrimitive(element, option, painter, widget);
    if (element == PE_FrameLineEdit || element == PE_IndicatorCheckBox ||
        element == PE_IndicatorItemViewItemCheck) {
      const bool focus = element == PE_FrameLineEdit && option->state.testFlag(State_HasFocus);
      painter->save();
      painter->setPen(focus ? option->palette.color(QPalette::Highlight) : QColor("#5b6168"));
      painter->setBrush(Qt::NoBrush);
      painter->drawRect(option->rect.adjusted(0, 0, -1, -1));
      painter->restore();
    }
  }
};

}  // namespace

void apply_theme(Theme theme) {
  static const QString desktop_style = QApplication::style()->objectName();
  static const QString desktop_icons = QIcon::themeName();
  // A desktop without icons of its own has those that every desktop has.
  const bool has_icons = !desktop_icons.isEmpty() && desktop_icons != "hicolor";
  QIcon::setThemeName(theme == Theme::dark                  ? "breeze-dark"
                      : theme == Theme::light || !has_icons ? "breeze"
                                                            : desktop_icons);
  if (theme == Theme::desktop) {
    QApplication::setStyle(desktop_style);
    QApplication::setPalette(QPalette());
    QPalette readable;  // a desktop's own is often half transparent
    readable.setColor(QPalette::PlaceholderText,
                      QColor(is_dark(QApplication::palette()) ? kFaintInDark : kFaint));
    QApplication::setPalette(readable);
    return;
  }
  QApplication::setStyle(theme == Theme::dark ? new DarkFusion : QStyleFactory::create("Fusion"));
  QApplication::setPalette(theme == Theme::dark ? dark_palette() : light_palette());
}

bool is_dark(const QPalette& palette) {
  constexpr int kMiddle = 128;
  return palette.color(QPalette::Base).lightness() < kMiddle;
}

QColor tone_color(Tone tone, const QPalette& palette) {
  const bool dark = is_dark(palette);
  switch (tone) {
    case Tone::good:
      return dark ? "#6fd39b" : "#00703c";
    case Tone::bad:
      return dark ? "#ff8a7a" : "#b3170b";
    case Tone::warning:
      return dark ? "#f0c05a" : "#8a5a00";
    case Tone::faint:
      return palette.color(QPalette::PlaceholderText);
    case Tone::plain:
    case Tone::strong:
      break;
  }
  return palette.color(QPalette::Text);
}

QString badge_style(Tone tone, const QPalette& palette, bool filled) {
  const bool dark = is_dark(palette);
  QString ink = tone == Tone::good      ? (dark ? "#4fd6ab" : "#00705a")
                : tone == Tone::warning ? (dark ? "#f3c04d" : "#8a5a00")
                : tone == Tone::bad     ? (dark ? "#ff8f80" : "#b42318")
                                        : (dark ? "#6db2f5" : "#0b5cad");
  const QString edge = filled || tone == Tone::bad || tone == Tone::plain ? ink : "transparent";
  QString ground = filled                  ? ink
                   : tone == Tone::good    ? (dark ? "#12372e" : "#d6f0e7")
                   : tone == Tone::warning ? (dark ? "#3a2f14" : "#fff1cf")
                                           : "transparent";
  if (filled) {
    ink = dark ? "#14181d" : "#ffffff";
  }
  return QString(
             "QLabel { color: %1; background: %2; border: 1px solid %3; border-radius: 6px; "
             "padding: 0 4px; }")
      .arg(ink, ground, edge);
}

QString to_word(Theme theme) {
  return theme == Theme::dark ? "dark" : theme == Theme::light ? "light" : "desktop";
}

Theme theme_of(const QString& word) {
  return word == "dark" ? Theme::dark : word == "light" ? Theme::light : Theme::desktop;
}

}  // namespace orrery::gui
