#include "gui/widgets/window/theme.hpp"

#include <QApplication>
#include <QIcon>
#include <QPainter>
#include <QProxyStyle>
#include <QStyleFactory>
#include <QStyleOption>

namespace orrery::gui {

namespace {

struct Ground {
  QPalette::ColorRole role;
  const char* light;
  const char* dark;
};

constexpr Ground kGrounds[] = {{QPalette::WindowText, "#1a1f26", "#e5eaf0"},
                               {QPalette::Base, "#ffffff", "#14181d"},
                               {QPalette::AlternateBase, "#f6f8fa", "#191e24"},
                               {QPalette::ToolTipBase, "#fff6da", "#39424c"},
                               {QPalette::ToolTipText, "#1a1f26", "#e5eaf0"},
                               {QPalette::Text, "#1a1f26", "#e5eaf0"},
                               {QPalette::PlaceholderText, "#57626e", "#a0abb7"},
                               {QPalette::ButtonText, "#1a1f26", "#e5eaf0"},
                               {QPalette::Link, "#0b5cad", "#6db2f5"},
                               {QPalette::Highlight, "#0b5cad", "#2f6fad"},
                               {QPalette::HighlightedText, "#ffffff", "#ffffff"}};

QPalette palette_of(bool dark) {
  QPalette palette = dark ? QPalette(QColor("#2a313a"), QColor("#1c2127"))
                          : QPalette(QColor("#eef1f4"), QColor("#eef1f4"));
  for (const Ground& ground : kGrounds) {
    palette.setColor(ground.role, QColor(dark ? ground.dark : ground.light));
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
    const bool dark = is_dark(QApplication::palette());
    for (const auto role : {QPalette::PlaceholderText, QPalette::Link}) {
      readable.setColor(role, palette_of(dark).color(role));
    }
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
  return tone == Tone::good      ? QColor(dark ? "#4fd6ab" : "#00705a")
         : tone == Tone::bad     ? QColor(dark ? "#ff8f80" : "#b42318")
         : tone == Tone::warning ? QColor(dark ? "#f3c04d" : "#8a5a00")
         : tone == Tone::faint   ? palette.color(QPalette::PlaceholderText)
                                 : palette.color(QPalette::Text);
}

QColor ground_color(Tone tone, const QPalette& palette) {
  const bool dark = is_dark(palette);
  return tone == Tone::good      ? QColor(dark ? "#12372e" : "#d6f0e7")
         : tone == Tone::warning ? QColor(dark ? "#3a2f14" : "#fff1cf")
         : tone == Tone::bad     ? QColor(dark ? "#3f1d19" : "#fdebe8")
                                 : QColor(dark ? "#1b2f45" : "#e4eefa");
}

QString badge_style(Tone tone, const QPalette& palette, bool filled) {
  const bool dark = is_dark(palette);
  const QColor ink =
      tone == Tone::plain ? QColor(dark ? "#6db2f5" : "#0b5cad") : tone_color(tone, palette);
  const bool framed = filled || tone == Tone::bad || tone == Tone::plain;
  return QString(
             "QLabel { color: %1; background: %2; border: 1px solid %3; border-radius: 6px; "
             "padding: 0 4px; }")
      .arg(filled ? (dark ? "#14181d" : "#ffffff") : ink.name(),
           filled   ? ink.name()
           : framed ? "transparent"
                    : ground_color(tone, palette).name(),
           framed ? ink.name() : "transparent");
}

QString to_word(Theme theme) {
  return theme == Theme::dark ? "dark" : theme == Theme::light ? "light" : "desktop";
}

Theme theme_of(const QString& word) {
  return word == "dark" ? Theme::dark : word == "light" ? Theme::light : Theme::desktop;
}

}  // namespace orrery::gui
