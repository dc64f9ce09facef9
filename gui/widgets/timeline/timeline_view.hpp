#pragma once

// The timeline widget: it paints timeline::View and passes input on to it. Its keys are those of
// gui/widgets/window/command_palette.cpp.
//
// The raster is kept until the view changes: moving the mouse repaints text and lines only.
// Searches run on another thread; the widget stays alive meanwhile.

#include <QImage>
#include <QLineEdit>
#include <QPainter>
#include <QRect>
#include <QStringList>
#include <QWidget>
#include <optional>
#include <vector>

#include "gui/models/jobs/evaluation_job.hpp"
#include "gui/timeline/finding.hpp"
#include "gui/timeline/raster.hpp"
#include "gui/timeline/view.hpp"

class QScrollBar;

namespace orrery::gui {

// The search box of the timeline: looks for slices by name through all levels on another thread,
// and shows how many there are and which one is selected.

class TimelineSearch : public QLineEdit {
  Q_OBJECT

 public:
  explicit TimelineSearch(QWidget* parent);

  // Takes the focus, with these words to go on from; none: those of the last search.
  void start(const QString& words = {});

  // Reported by found() and finished(), unless another search begins before.
  void find(const timeline::Levels& levels, timeline::FindRequest request);

  void cancel() { task_.cancel(); }

  // At the right of what was typed; in the colour of what is wrong when nothing was found.
  void show_outcome(bool found, const QString& note);

 Q_SIGNALS:
  void found(const orrery::timeline::Finding& finding);
  void finished(bool found);
  void left();

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  void report(const std::optional<timeline::Finding>& finding);

  QString note_;
  LatestTask task_;
};

// Where the parts of the widget stand.
struct TimelineRegions {
  QRect header;
  QRect search;  // at the right of the header
  QRect minimap;
  QRect axis;
  QRect marks;
  QRect names;
  QRect rows;
  QRect legend;
};

class TimelineView : public QWidget {
  Q_OBJECT

 public:
  explicit TimelineView(QWidget* parent = nullptr);

  // Replaces what is shown; no levels: nothing. `keep_place`: what is looked at and selected
  // stays, as long as there is such a place.
  void set_levels(timeline::Levels levels, bool keep_place = false);

  // One more within the innermost; what the user looks at stays.
  void add_level(timeline::Level level);

  // Slices of these categories keep their colours, all others fade; the same ones again, or none:
  // all as they are. Goes to a level where there are any.
  void light(timeline::CategorySet categories, const QString& name);

  // As if it had been clicked; nothing: what is selected stays.
  void choose(std::optional<timeline::SliceId> slice);

  [[nodiscard]] timeline::View& view() { return view_; }

  // After a change of view() by the caller: paints and reports what it shows now.
  void view_changed();

  [[nodiscard]] const timeline::View& view() const { return view_; }

  [[nodiscard]] const TimelineRegions& regions() const { return regions_; }

  // Of the selected area.
  [[nodiscard]] const std::optional<timeline::AreaStatistics>& statistics() const {
    return statistics_;
  }

  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 public Q_SLOTS:
  void zoom(double factor);  // below 1: closer
  void step_slice(bool forward);
  void clear_selection();
  void go_to_level(int level);
  void toggle_fit_rows();

  // The next slice (in the order of time, from the selected one) whose name contains the text, in
  // this level or another; found on another thread, reported by search_finished(). "rank 17" opens
  // that rank.
  void find_next(const QString& text);

 Q_SIGNALS:
  void selection_changed();
  void selection_entered();  // by Return
  void search_finished(bool found);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void changeEvent(QEvent* event) override;
  bool event(QEvent* event) override;

 private:
  enum class Drag { none, pan, area, ruler, minimap };

  friend class TimelinePainter;

  void dress();                                          // in the colours of light or dark
  [[nodiscard]] timeline::CategorySet lit_here() const;  // of what is lit, what the level has
  void changed();  // the view shows something else: paint all of it
  void return_to(const timeline::View& before);
  void layout_regions();
  void fit_regions();
  void make_images();
  void update_scroll_bar();
  void hover_at(QPoint position);
  void click_at(QPoint position);
  bool click_header(QPoint position);
  bool click_names(QPoint position);
  void drag_area(QPoint position);
  void report_selection();
  void place_search();
  bool go_to_rank(int rank);
  bool view_key(int key);
  void choose_by_length(bool shorter);
  [[nodiscard]] double column_of(QPoint position) const;
  [[nodiscard]] double row_y_of(QPoint position) const;
  [[nodiscard]] double zoom_column() const;

  timeline::View view_;
  timeline::Palette palette_;

  struct Lit {
    timeline::CategorySet categories = 0;
    QString name;
  } lit_;

  TimelineRegions regions_;
  QImage raster_;
  QImage minimap_;
  enum class RowHeight { readable, all_fit, chosen } row_height_ = RowHeight::readable;
  bool raster_stale_ = true;
  QScrollBar* scroll_bar_ = nullptr;
  std::size_t shown_level_ = 0;

  Drag drag_ = Drag::none;
  QPoint press_;
  QPoint last_;
  bool moved_ = false;
  timeline::RowId area_row_ = timeline::kNoRow;
  std::optional<QPoint> cursor_;
  timeline::Hit hover_;
  QStringList hover_lines_;

  std::optional<timeline::AreaStatistics> statistics_;
  TimelineSearch* search_;
};

// Paints the parts of the timeline that are not scanlines, with a QPainter: names, axis, marks,
// labels, selection, arrows, legend. Used by TimelineView only.

// Pixels of a row from which on its text can be read.
inline constexpr int kLegendLine = 19;
inline constexpr double kLegibleHeight = 11.0;

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
  void write(const QRectF& place, Qt::Alignment side, const QString& words, timeline::Rgb ink);
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
