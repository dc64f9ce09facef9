#pragma once

// Paints the parts of the timeline that are not scanlines, with a QPainter: names, axis, marks,
// labels, selection, arrows, legend. Used by TimelineView only.

#include <QPainter>
#include <QRect>
#include <QStringList>
#include <optional>
#include <vector>

#include "gui/widgets/timeline/timeline_view.hpp"

namespace orrery::gui {

// Pixels of a row from which on its text can be read.
inline constexpr int kLegendLine = 19;
inline constexpr double kLegibleHeight = 11.0;
inline constexpr double kWholeFigure = 1000.0;  // from here on digits after the point say nothing

class TimelinePainter {
 public:
  static constexpr int kPinWidth = 22;

  TimelinePainter(const TimelineView& widget, QPainter& painter);

  void paint();

  // One per level, in the header.
  [[nodiscard]] static std::vector<QRect> level_tabs(const TimelineView& widget);

  // What the marks near a column are, for the cursor.
  [[nodiscard]] static QStringList marks_near(const TimelineView& widget, int column);

 private:
  struct LaidLine {
    const timeline::LaidRow* row;
    double top;
    bool pinned;
  };

  void paint_empty();
  void paint_header();
  void paint_minimap();
  void paint_axis();
  void paint_grid();
  void paint_marks();
  void paint_names();
  void paint_some_names();
  void paint_name(const LaidLine& line);
  void paint_labels();
  void paint_track_labels(timeline::TrackId track, const timeline::Copy& copy, QRectF lane);
  void paint_copies();
  void paint_flows();
  void paint_flow(const timeline::Flow& flow);
  void paint_selection();
  void paint_area();
  void paint_ruler();
  void paint_legend();
  void paint_hover();
  void paint_statistics();

  [[nodiscard]] QColor color(timeline::Rgb rgb, int alpha = 255) const;
  [[nodiscard]] std::vector<LaidLine> visible_rows() const;
  [[nodiscard]] std::optional<QRectF> place_of(timeline::SliceId slice) const;
  [[nodiscard]] double x_of(std::int64_t time) const;
  [[nodiscard]] QRectF area_place() const;
  void box_of_text(const QStringList& lines, QPoint near, std::optional<int> top = {});

  const TimelineView& widget_;
  const timeline::View& view_;
  const timeline::Palette& palette_;
  const TimelineRegions& at_;
  QPainter& painter_;
  timeline::PixelAxis axis_;
  std::vector<timeline::Copy> copies_;
};

}  // namespace orrery::gui
