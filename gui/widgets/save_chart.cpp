#include "gui/widgets/save_chart.hpp"

#include "gui/charts/chart_view.hpp"
#include "gui/widgets/table_view.hpp"

namespace orrery::gui {

void save_chart_with_dialog(QWidget* parent, ChartView& chart) {
  save_with_dialog(parent,
                   "Save chart",
                   chart.plot().name,
                   "PNG image (*.png);;SVG drawing (*.svg);;PDF page (*.pdf);;CSV table (*.csv)",
                   [&chart](const QString& path) { return chart.save(path); });
}

}  // namespace orrery::gui
