#pragma once

// Where does a chart go, and in which format? The same question for every chart of the window.

class QWidget;

namespace orrery::gui {

class ChartView;

void save_chart_with_dialog(QWidget* parent, ChartView& chart);

}  // namespace orrery::gui
