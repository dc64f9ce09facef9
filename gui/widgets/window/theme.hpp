#pragma once

// Colours of the window: those of the desktop, or a light or dark set of its own; and of what is
// good, bad or doubtful in it.

#include <QColor>
#include <QPalette>
#include <QString>

#include "gui/charts/chart_parts.hpp"
#include "gui/models/tables/table.hpp"

namespace orrery::gui {

enum class Theme { desktop, light, dark };

void apply_theme(Theme theme);

[[nodiscard]] QString to_word(Theme theme);
[[nodiscard]] Theme theme_of(const QString& word);  // desktop for an unknown word

// Text stands light on dark.
[[nodiscard]] bool is_dark(const QPalette& palette);

// Of text in this tone.
[[nodiscard]] QColor tone_color(Tone tone, const QPalette& palette);

// Below it; plain: of what was changed.
[[nodiscard]] QColor ground_color(Tone tone, const QPalette& palette);

// What is better, tight or worse on a ground of its own; filled: white on the full colour.
[[nodiscard]] QString badge_style(Tone tone, const QPalette& palette, bool filled = false);

}  // namespace orrery::gui
