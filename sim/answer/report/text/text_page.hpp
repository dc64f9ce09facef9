#pragma once

// Text for a terminal: sections, aligned cells, bars, wrapping, colour.
//
// symbol | meaning                                                            | unit    | origin
// -------|--------------------------------------------------------------------|---------|--------
// width  | of the page                                                        | columns | 100
// indent | where the text of a section begins, to the right of its title      | columns | 11
// bar    | filled columns = share * width of the bar, in eighths with Unicode | columns | share
//
// Widths count code points and leave escape sequences out. Control characters in text that came
// from a file are replaced, so that no file can speak to the terminal.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::report {

struct TextStyle {
  bool colour = false;  // ANSI colours: for terminals only
  bool unicode = true;  // block characters for bars; false: plain ASCII
};

enum class Ink { plain, strong, faint, good, bad, warning, accent };

inline constexpr std::size_t kPageWidth = 100;
inline constexpr std::size_t kPageIndent = 11;

// Columns on a terminal: code points, without escape sequences.
[[nodiscard]] std::size_t text_columns(std::string_view text);

// Blanks added on the right, or on the left, up to `width` columns.
[[nodiscard]] std::string pad_right(std::string_view text, std::size_t width);
[[nodiscard]] std::string pad_left(std::string_view text, std::size_t width);

// Control characters replaced by '?'.
[[nodiscard]] std::string printable(std::string_view text);

// Lines of a table or a formula wider than the page, broken between words. What follows stands
// below the last cell of its line (cells are two blanks apart), or two columns behind the indent
// where that cell begins in the right third.
[[nodiscard]] std::string wrap_lines(std::string_view text);

class TextPage {
 public:
  explicit TextPage(TextStyle style) : style_(style) {}

  [[nodiscard]] std::string paint(Ink ink, std::string_view text) const;

  // `width` columns at share 1; a share above zero shows at least a sliver.
  [[nodiscard]] std::string bar(double share, std::size_t width) const;

  // A line without indent, wrapped.
  void title(std::string_view text);

  // `name` in front of a line, wrapped; without a blank line before.
  void field(std::string_view name, std::string_view text);

  // `name` in front of the first line of the section, after a blank line when `apart`.
  void section(std::string_view name, std::string_view first_line, bool apart = true);

  // The sign between an estimate and its margin.
  [[nodiscard]] std::string_view plus_minus() const { return style_.unicode ? "±" : "+-"; }

  // A line of the section, wrapped at the width of the page; continuations are indented by
  // `hanging` columns more.
  void line(std::string_view text, std::size_t hanging = 0);

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void add_wrapped(std::string_view before, std::string_view text, std::size_t hanging);

  TextStyle style_;
  std::string text_;
};

}  // namespace orrery::report
