// Where the legend of a chart goes, and the labels of its markers.

#include <algorithm>

#include "gui/charts/chart_view.hpp"

namespace orrery::gui {

// Below the plot, in as many columns as there is room for.
void ChartView::shape_legend(const QSize& whole) {
  show_legend(legend->visible() && legend->itemCount() > 0);
  if (holder_ == nullptr) {
    return;
  }
  const QFontMetrics metrics(legend->font(), this);
  constexpr int kBelowWords = 2;  // else letters lose what reaches below the line
  int widest = 0;
  for (int i = 0; i < legend->itemCount(); ++i) {
    // Places of a grid, of which the last row may have empty ones.
    if (auto* item = qobject_cast<QCPPlottableLegendItem*>(legend->item(i))) {
      item->setMargins({0, 0, 0, kBelowWords});
      widest = std::max(widest, metrics.horizontalAdvance(item->plottable()->name()));
    }
  }
  const QMargins margins = legend->margins();
  const int item = widest + legend->iconSize().width() + legend->iconTextPadding();
  const int air = margins.left() + margins.right();
  const int columns = std::max((whole.width() - 2 * air) / (item + legend->columnSpacing()), 1);
  legend->setWrap(columns);
  legend->setFillOrder(QCPLayoutGrid::foColumnsFirst, true);
}

// As small as the legend allows; an empty element takes what is left beside it.
void ChartView::show_legend(bool seen) {
  if (seen == (holder_ != nullptr)) {
    return;
  }
  legend->layout()->take(legend);
  if (!seen) {
    plotLayout()->remove(holder_);
    plotLayout()->simplify();
    holder_ = nullptr;
    axisRect()->insetLayout()->addElement(legend, Qt::AlignTop | Qt::AlignLeft);
    return;
  }
  constexpr double kAsSmallAsPossible = 0.001;
  constexpr int kAir = 3;
  holder_ = new QCPLayoutGrid;
  holder_->setMargins({0, kAir, 0, kAir});
  holder_->addElement(0, 0, legend);
  holder_->addElement(0, 1, new QCPLayoutElement(this));
  holder_->setColumnStretchFactor(0, kAsSmallAsPossible);
  plotLayout()->addElement(2, 0, holder_);
  plotLayout()->setRowStretchFactor(2, kAsSmallAsPossible);
}

// The label of a line that stands near the right end goes before it.
void ChartView::turn_labels() {
  constexpr double kNearTheEnd = 0.8;
  for (const auto& [label, at] : labels_) {
    const double place = xAxis->coordToPixel(at) - axisRect()->left();
    const bool before = place > kNearTheEnd * axisRect()->width();
    label->setPositionAlignment((before ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignTop);
  }
}

}  // namespace orrery::gui
