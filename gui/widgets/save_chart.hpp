#pragma once

// Asks for the file and the format to save a chart in, for every chart of the window.

class QWidget;

namespace orrery::gui {

class ChartView;

void save_chart_with_dialog(QWidget* parent, ChartView& chart);

}  // namespace orrery::gui
