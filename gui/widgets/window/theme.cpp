#include "gui/widgets/window/theme.hpp"

#include <QApplication>
#include <QIcon>
#include <QPainter>
#include <QProxyStyle>
#include <QStyleFactory>
#include <QStyleOption>

namespace orrery::gui {

namespace {

constexpr auto kFaint = "#57626e";
constexpr auto kFaintInDark = "#a0abb7";

struct Ground {
  QPalette::ColorRole role;
  const char* light;
  const char* dark;
};

// Where the light ground has none of its own, that of the style holds.
constexpr Ground kGrounds[] = {{QPalette::Window, "#f2f3f4", "#26282b"},
                               {QPalette::WindowText, "#1b1d1f", "#e6e6e6"},
                               {QPalette::Base, "#ffffff", "#1c1e20"},
                               {QPalette::AlternateBase, "#f6f7f8", "#232527"},
                               {QPalette::ToolTipBase, "#fff6da", "#3a3d41"},
                               {QPalette::ToolTipText, "#1b1d1f", "#e6e6e6"},
                               {QPalette::Text, "#1b1d1f", "#e6e6e6"},
                               {QPalette::PlaceholderText, kFaint, kFaintInDark},
                               {QPalette::Button, nullptr, "#33363a"},
                               {QPalette::ButtonText, "#1b1d1f", "#e6e6e6"},
                               {QPalette::BrightText, nullptr, "#ffffff"},
                               {QPalette::Link, nullptr, "#7cb7ff"},
                               {QPalette::Highlight, "#0067b0", "#2f6fad"},
                               {QPalette::HighlightedText, "#ffffff", "#ffffff"},
                               {QPalette::Light, nullptr, "#44484d"},
                               {QPalette::Midlight, nullptr, "#3a3d41"},
                               {QPalette::Mid, nullptr, "#1a1b1d"},
                               {QPalette::Dark, nullptr, "#141517"},
                               {QPalette::Shadow, nullptr, "#000000"}};

QPalette palette_of(bool dark) {
  QPalette palette = dark ? QPalette() : QPalette(QColor("#f2f3f4"));
  for (const Ground& ground : kGrounds) {
    if (const char* color = dark ? ground.dark : ground.light) {
      palette.setColor(ground.role, QColor(color));
    }
  }
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
    palette.setColor(QPalette::Disabled, role, QColor(dark ? "#75797f" : "#9a9fa6"));
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
  QApplication::setPalette(palette_of(theme == Theme::dark));
}

bool is_dark(const QPalette& palette) {
  constexpr int kMiddle = 128;
  return palette.color(QPalette::Base).lightness() < kMiddle;
}

QColor tone_color(Tone tone, const QPalette& palette) {
  const bool dark = is_dark(palette);
  return tone == Tone::good      ? QColor(dark ? "#6fd39b" : "#00703c")
         : tone == Tone::bad     ? QColor(dark ? "#ff8a7a" : "#b3170b")
         : tone == Tone::warning ? QColor(dark ? "#f0c05a" : "#8a5a00")
         : tone == Tone::faint   ? palette.color(QPalette::PlaceholderText)
                                 : palette.color(QPalette::Text);
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
