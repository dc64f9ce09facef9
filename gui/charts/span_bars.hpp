#pragma once

// Floating bars with labels inside or beside them, as a QCustomPlot plottable: bar i covers key +-
// width / 2 from low to high.

#include <qcustomplot.h>

#include <QString>
#include <optional>
#include <vector>

namespace orrery::gui {

class SpanBars : public QCPAbstractPlottable {
 public:
  enum class Words { none, inside, at_end };

  SpanBars(QCPAxis* keys, QCPAxis* values);

  // All of the same length; `texts` may be empty.
  void set_data(std::vector<double> keys, std::vector<double> lows, std::vector<double> highs);
  void set_words(Words where, std::vector<QString> texts);
  void set_width(double width);

  [[nodiscard]] std::optional<std::size_t> bar_at(const QPointF& position) const;
  [[nodiscard]] QPointF middle_of(std::size_t bar) const;  // in coordinates: key, value

  double selectTest(const QPointF& position, bool only_selectable,
                    QVariant* details = nullptr) const override;
  QCPRange getKeyRange(bool& found, QCP::SignDomain sign = QCP::sdBoth) const override;
  QCPRange getValueRange(bool& found, QCP::SignDomain sign = QCP::sdBoth,
                         const QCPRange& keys = QCPRange()) const override;

 protected:
  void draw(QCPPainter* painter) override;
  void drawLegendIcon(QCPPainter* painter, const QRectF& rect) const override;

 private:
  [[nodiscard]] QRectF place_of(std::size_t bar) const;
  void draw_words(QCPPainter* painter, const QRectF& place, const QString& text) const;

  std::vector<double> keys_;
  std::vector<double> lows_;
  std::vector<double> highs_;
  std::vector<QString> texts_;
  Words words_ = Words::none;
  double width_ = 1.0;
};

}  // namespace orrery::gui
