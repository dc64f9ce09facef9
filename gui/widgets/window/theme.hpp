#pragma once

// Colours of the window: those of the desktop, or a light or dark set of its own.

#include <QString>

namespace orrery::gui {

enum class Theme { desktop, light, dark };

void apply_theme(Theme theme);

[[nodiscard]] QString to_word(Theme theme);
[[nodiscard]] Theme theme_of(const QString& word);  // desktop for an unknown word

}  // namespace orrery::gui
