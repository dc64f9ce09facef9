// The widget under keys, wheel and mouse, offscreen, looked at pixel by pixel.

#include <gtest/gtest.h>

#include <QApplication>
#include <QSignalSpy>
#include <QTest>
#include <QWheelEvent>
#include <algorithm>
#include <set>

#include "gui/widgets/timeline/timeline_view.hpp"
#include "tests/gui/synthetic.hpp"

namespace orrery::gui {
namespace {

using timeline::Category;
using timeline::Rgb;

timeline::Levels one_level(std::shared_ptr<const timeline::Store> store) {
  timeline::Levels levels;
  levels.push_back({"trace", "trace", std::move(store), {}, "made up"});
  return levels;
}

class TimelineWidget : public ::testing::Test {
 protected:
  void show(std::shared_ptr<const timeline::Store> store) {
    widget_.resize(1000, 500);
    widget_.set_levels(one_level(std::move(store)));
    widget_.setPalette(QPalette(Qt::white));
    widget_.show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(&widget_));
    widget_.view().rows().set_row_height(18.0);
    widget_.view_changed();
  }

  [[nodiscard]] QPoint in_rows(double share, int y) const {
    const QRect rows = widget_.regions().rows;
    return {rows.left() + static_cast<int>(share * rows.width()), rows.top() + y};
  }

  void wheel(QPoint at, int delta, Qt::KeyboardModifiers modifiers) {
    QWheelEvent event(at, widget_.mapToGlobal(at), {}, {0, delta}, Qt::NoButton, modifiers,
                      Qt::NoScrollPhase, false);
    QApplication::sendEvent(&widget_, &event);
  }

  void drag(QPoint from, QPoint to, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QTest::mousePress(&widget_, Qt::LeftButton, modifiers, from);
    const QPoint half = (from + to) / 2;
    for (const QPoint at : {half, to}) {
      QMouseEvent move(QEvent::MouseMove, at, widget_.mapToGlobal(at), Qt::NoButton, Qt::LeftButton,
                       modifiers);
      QApplication::sendEvent(&widget_, &move);
    }
    QTest::mouseRelease(&widget_, Qt::LeftButton, modifiers, to);
  }

  [[nodiscard]] std::set<Rgb> colors_in(const QRect& part) {
    const QImage image = widget_.grab().toImage().convertToFormat(QImage::Format_RGB32);
    std::set<Rgb> colors;
    for (int y = part.top(); y <= part.bottom(); ++y) {
      for (int x = part.left(); x <= part.right(); ++x) {
        colors.insert(image.pixel(x, y));
      }
    }
    return colors;
  }

  TimelineView widget_;
};

std::shared_ptr<const timeline::Store> plain_store() {
  timeline::StoreBuilder builder;
  const auto group = builder.group("stage 0");
  const auto a = builder.row("compute", group);
  const auto b = builder.row("messages", group);
  const auto first = builder.add(a, {0, 400'000, builder.name("forward 0"), Category::forward});
  builder.add(a, {500'000, 1'000'000, builder.name("backward 0"), Category::backward});
  const auto send = builder.add(b, {400'000, 500'000, builder.name("send 0"), Category::pipeline});
  builder.flow(first, send, timeline::FlowKind::message);
  builder.mark(900'000, timeline::MarkKind::failure, "GPU fell off");
  builder.counter("memory", "GB", {{0, 1.0}, {500'000, 3.0}}, group);
  return builder.build();
}

TEST_F(TimelineWidget, PaintsNothingWithoutLevels) {
  widget_.resize(600, 300);
  widget_.show();
  EXPECT_FALSE(widget_.grab().isNull());
  QTest::keyClick(&widget_, Qt::Key_W);
  QTest::mouseClick(&widget_, Qt::LeftButton, Qt::NoModifier, {300, 150});
}

TEST_F(TimelineWidget, PaintsEachCategoryWhereItsSlicesAre) {
  show(plain_store());
  const timeline::Palette palette = timeline::light_palette();
  const QRect rows = widget_.regions().rows;
  const int left = rows.left() + static_cast<int>(0.3 * rows.width());
  const int right = rows.left() + static_cast<int>(0.7 * rows.width());
  const int middle = rows.top() + 27;  // second unit: the first row of slices
  EXPECT_TRUE(colors_in({left, middle, 20, 2}).contains(palette.of(Category::forward)));
  EXPECT_TRUE(colors_in({right, middle, 20, 2}).contains(palette.of(Category::backward)));
  EXPECT_FALSE(colors_in({right, middle, 20, 2}).contains(palette.of(Category::forward)));
  EXPECT_TRUE(colors_in(widget_.regions().marks).contains(palette.of(Category::lost)));
}

TEST_F(TimelineWidget, KeysZoomAndMove) {
  show(plain_store());
  const auto window = [this] { return widget_.view().window(); };
  const auto whole = window();
  QTest::keyClick(&widget_, Qt::Key_W);
  QTest::keyClick(&widget_, Qt::Key_W);
  const auto close = window();
  EXPECT_LT(close.length(), whole.length());
  QTest::keyClick(&widget_, Qt::Key_D);
  EXPECT_GT(window().begin, close.begin);
  EXPECT_EQ(window().length(), close.length());
  QTest::keyClick(&widget_, Qt::Key_A);
  QTest::keyClick(&widget_, Qt::Key_S);
  EXPECT_GT(window().length(), close.length());
  QTest::keyClick(&widget_, Qt::Key_Home);
  EXPECT_EQ(window(), whole);
  QTest::keyClick(&widget_, Qt::Key_W, Qt::ControlModifier);
  EXPECT_EQ(window(), whole) << "Ctrl+W belongs to the window, not to the timeline";
}

TEST_F(TimelineWidget, CtrlWheelZoomsAtTheCursor) {
  show(plain_store());
  const QPoint at = in_rows(0.25, 30);
  const double column = at.x() - widget_.regions().rows.left() + 0.5;
  const auto before = widget_.view().time_at(column);
  const auto length = widget_.view().window().length();
  wheel(at, 120, Qt::ControlModifier);
  EXPECT_LT(widget_.view().window().length(), length);
  const double pixel = static_cast<double>(length) / widget_.view().columns();
  EXPECT_NEAR(static_cast<double>(widget_.view().time_at(column)), static_cast<double>(before),
              pixel);
  wheel(at, -120, Qt::ShiftModifier);
  EXPECT_GT(widget_.view().time_at(column), before);
}

TEST_F(TimelineWidget, CommaAndPeriodWalkAndFFrames) {
  show(plain_store());
  QSignalSpy spy(&widget_, &TimelineView::selection_changed);
  const auto selected = [this] {
    const timeline::View& view = widget_.view();
    return view.selected() ? view.store().name_of(view.store().slices()[*view.selected()]) : "";
  };
  QTest::mouseClick(&widget_, Qt::LeftButton, Qt::NoModifier, in_rows(0.2, 27));
  ASSERT_EQ(spy.count(), 1);
  EXPECT_EQ(selected(), "forward 0");
  QTest::keyClick(&widget_, Qt::Key_Period);
  EXPECT_EQ(selected(), "backward 0");
  QTest::keyClick(&widget_, Qt::Key_F);
  EXPECT_EQ(widget_.view().window(), (timeline::TimeRange{375'000, 1'125'000}));
  QTest::keyClick(&widget_, Qt::Key_Comma);
  EXPECT_EQ(selected(), "forward 0");
  QTest::keyClick(&widget_, Qt::Key_Escape);
  EXPECT_EQ(selected(), "");
  EXPECT_EQ(spy.count(), 4);
  QSignalSpy found(&widget_, &TimelineView::search_finished);
  widget_.find_next("SEND");
  ASSERT_TRUE(found.count() > 0 || found.wait(5000));
  EXPECT_TRUE(found[0][0].toBool());
  EXPECT_TRUE(selected().starts_with("send 0"));
  widget_.find_next("no such name");
  ASSERT_TRUE(found.count() > 1 || found.wait(5000));
  EXPECT_FALSE(found[1][0].toBool());
}

TEST_F(TimelineWidget, DraggingMovesAndShiftDraggingSelectsAnArea) {
  show(timeline::synthetic_store({.rows = 30, .slices = 30'000}));
  QTest::keyClick(&widget_, Qt::Key_W);
  const auto before = widget_.view().window();
  drag(in_rows(0.5, 60), in_rows(0.3, 60));
  EXPECT_GT(widget_.view().window().begin, before.begin);
  drag(in_rows(0.2, 5), in_rows(0.6, 60), Qt::ShiftModifier);
  ASSERT_TRUE(widget_.view().area().has_value());
  EXPECT_EQ(widget_.view().area()->rows, (std::vector<timeline::RowId>{0, 1, 2, 3}));
  const auto expected =
      timeline::area_statistics(widget_.view().store(), *widget_.view().local_area());
  ASSERT_TRUE(widget_.statistics().has_value());
  EXPECT_EQ(widget_.statistics()->total, expected.total);
  EXPECT_GT(widget_.statistics()->count, 100U);
}

TEST_F(TimelineWidget, DraggingOnTheAxisMeasures) {
  show(plain_store());
  const QRect axis = widget_.regions().axis;
  const QPoint from(axis.left() + 100, axis.center().y());
  drag(from, from + QPoint(200, 0));
  ASSERT_TRUE(widget_.view().ruler().has_value());
  const double expected =
      200.0 * static_cast<double>(widget_.view().window().length()) / axis.width();
  EXPECT_NEAR(static_cast<double>(widget_.view().ruler()->length()), expected, 2.0);
  QTest::mouseClick(&widget_, Qt::LeftButton, Qt::NoModifier, from);
  EXPECT_FALSE(widget_.view().ruler().has_value());
}

TEST_F(TimelineWidget, NamesFoldGroupsAndPinRows) {
  show(plain_store());
  const QRect names = widget_.regions().names;
  QTest::mouseClick(&widget_, Qt::LeftButton, Qt::NoModifier, {names.left() + 30, names.top() + 8});
  EXPECT_TRUE(widget_.view().rows().is_collapsed(0));
  QTest::mouseClick(&widget_, Qt::LeftButton, Qt::NoModifier, {names.left() + 30, names.top() + 8});
  EXPECT_FALSE(widget_.view().rows().is_collapsed(0));
  QTest::mouseClick(&widget_, Qt::LeftButton, Qt::NoModifier,
                    {names.right() - 8, names.top() + 45});
  EXPECT_TRUE(widget_.view().rows().is_pinned(2));
}

TEST_F(TimelineWidget, HoverTellsNameAndDurationAtOnce) {
  show(plain_store());
  const QImage before = widget_.grab().toImage();
  QTest::mouseMove(&widget_, in_rows(0.7, 27));
  QMouseEvent move(QEvent::MouseMove, in_rows(0.7, 27), widget_.mapToGlobal(in_rows(0.7, 27)),
                   Qt::NoButton, Qt::NoButton, Qt::NoModifier);
  QApplication::sendEvent(&widget_, &move);
  EXPECT_NE(widget_.grab().toImage(), before);
  const QRect rows = widget_.regions().rows;
  const QPoint at = in_rows(0.7, 27);
  const timeline::View& view = widget_.view();
  EXPECT_EQ(view.describe(view.pick(at.x() - rows.left() + 0.5, at.y() - rows.top() + 0.5)),
            (std::vector<std::string>{"backward 0", "backward", "takes 500 us", "from 500 us",
                                      "stage 0 / compute"}));
}

TEST_F(TimelineWidget, TwoGrabsOfTheSameStateAreTheSamePicture) {
  show(timeline::synthetic_store({.rows = 300, .slices = 100'000}));
  QTest::keyClick(&widget_, Qt::Key_Z);
  EXPECT_LT(widget_.view().rows().row_height(), 2.0);
  EXPECT_EQ(widget_.grab().toImage(), widget_.grab().toImage());
  EXPECT_GT(colors_in(widget_.regions().rows).size(), 20U);
  widget_.setPalette(QPalette(Qt::black));
  EXPECT_TRUE(colors_in(widget_.regions().legend).contains(timeline::dark_palette().panel));
}

TEST_F(TimelineWidget, MMarksTheTimeOfTheSelectionUntilItIsPressedAgain) {
  show(plain_store());
  QTest::keyClick(&widget_, Qt::Key_M);
  EXPECT_FALSE(widget_.view().ruler());
  widget_.view().select_slice(1);
  const timeline::Slice first = widget_.view().store().slices()[1];
  QTest::keyClick(&widget_, Qt::Key_M);
  ASSERT_TRUE(widget_.view().ruler());
  EXPECT_EQ(widget_.view().ruler()->begin, first.begin());
  EXPECT_EQ(widget_.view().ruler()->end, widget_.view().store().end_of(first));
  widget_.view().select_slice(0);  // the mark stays
  EXPECT_EQ(widget_.view().ruler()->begin, first.begin());
  QTest::keyClick(&widget_, Qt::Key_M);
  QTest::keyClick(&widget_, Qt::Key_M);
  EXPECT_FALSE(widget_.view().ruler());
}

TEST_F(TimelineWidget, TheSearchBoxTellsHowManyThereAreAndOpensRanks) {
  timeline::StoreBuilder builder;
  const auto outer = builder.group("stages");
  const auto stage = builder.group("stage 0", outer);
  const auto row = builder.row("compute", stage);
  for (std::int64_t i = 0; i < 3; ++i) {
    builder.add(row, {i * 1'000, i * 1'000 + 500, builder.name("forward"), Category::forward});
  }
  builder.set_ranks(stage, {4, 5, 12});
  show(builder.build());
  auto* box = widget_.findChild<TimelineSearch*>();
  QSignalSpy found(&widget_, &TimelineView::search_finished);
  const auto search = [&](const QString& text) {
    const auto before = found.count();
    box->setText(text);
    QTest::keyClick(box, Qt::Key_Return);
    EXPECT_TRUE(found.count() > before || found.wait(5000));
    return box->accessibleDescription().toStdString();
  };
  EXPECT_EQ(search("forward"), "1 of 3");
  EXPECT_EQ(search("forward"), "2 of 3");
  EXPECT_EQ(search("backward"), "none");
  widget_.view().rows().set_collapsed(0, true);
  QTest::keyClick(&widget_, Qt::Key_G);
  EXPECT_EQ(box->text(), "rank ");
  EXPECT_EQ(search("rank 5"), "stage 0");
  const auto& rows = widget_.view().rows().scrolled();
  const auto rank = std::find_if(rows.begin(), rows.end(), [](const timeline::LaidRow& laid) {
    return laid.part == timeline::RowPart::rank && !laid.collapsed;
  });
  ASSERT_NE(rank, rows.end());
  EXPECT_EQ(row_name(widget_.view().store(), rank->place()), "rank 5");
  EXPECT_EQ(search("rank 6"), "none");
}

}  // namespace
}  // namespace orrery::gui

int main(int argc, char** argv) {
  if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
  }
  ::testing::InitGoogleTest(&argc, argv);
  const QApplication application(argc, argv);
  return RUN_ALL_TESTS();
}
