#include "gui/widgets/dashboard_view.hpp"

#include <QEvent>
#include <QFrame>
#include <QGridLayout>
#include <QPainter>
#include <QRegularExpression>
#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "gui/widgets/layouts.hpp"
#include "gui/widgets/window/theme.hpp"

namespace orrery::gui {

namespace {

constexpr int kCardWidth = 118;  // a date
constexpr double kHeadSize = 1.1;
constexpr double kVerdictSize = 1.05;
constexpr double kValueSize = 1.25;
constexpr double kDetailSize = 0.85;

constexpr auto kVeilName = "stale";

// As large as what it covers. An opacity effect would not reach children with a ground of their
// own, as cards and charts are.
class StaleVeil : public QWidget {
 public:
  explicit StaleVeil(QWidget* panel) : QWidget(panel) {
    setObjectName(kVeilName);
    setAttribute(Qt::WA_TransparentForMouseEvents);
    panel->installEventFilter(this);
    resize(panel->size());
  }

 protected:
  bool eventFilter(QObject* /*panel*/, QEvent* event) override {
    if (event->type() == QEvent::Resize) {
      resize(parentWidget()->size());
    } else if (event->type() == QEvent::ChildAdded) {
      raise();
    }
    return false;
  }

  void paintEvent(QPaintEvent* /*event*/) override {
    constexpr int kDense = 160;  // of 255
    QColor ground = palette().color(QPalette::Window);
    ground.setAlpha(kDense);
    QPainter(this).fillRect(rect(), ground);
  }
};

}  // namespace

void set_veiled(QWidget* panel, bool veiled) {
  auto* veil = panel->findChild<QWidget*>(kVeilName, Qt::FindDirectChildrenOnly);
  if (!veiled) {
    delete veil;
  } else if (veil == nullptr) {
    veil = new StaleVeil(panel);
    veil->show();
    veil->raise();
  }
}

// A change stands beside the name where both can be read, else beside the value, else on a line of
// its own.
class CardView : public QFrame {
 public:
  CardView(QWidget* parent, std::function<void(const QString&)> chosen)
      : QFrame(parent), chosen_(std::move(chosen)) {
    setFrameShape(QFrame::StyledPanel);
    setCursor(Qt::PointingHandCursor);
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    for (QLabel** label : {&name_, &value_, &detail_}) {
      *label = new QLabel(this);
    }
    for (QLabel*& label : changes_) {
      label = new QLabel(this);
      label->setForegroundRole(QPalette::WindowText);
    }
    column({row({{name_, 1}, changes_[kBesideName]}, nullptr, {}, kGap),
            row({{value_, 1}, changes_[kBesideValue]}, nullptr, {}, kGap), changes_[kAlone],
            detail_, Laid::rest()},
           this, QMargins{kSide, 4, kSide, 4}, 1);
    for (QLabel* label : {name_, value_, detail_}) {
      label->setMinimumWidth(1);  // cut off rather than wider cards
    }
    value_->setFont(scaled(font(), kValueSize, true));
    name_->setForegroundRole(QPalette::PlaceholderText);
    detail_->setForegroundRole(QPalette::PlaceholderText);
    // Else the text takes the role that goes with the ground, whatever the palette says.
    value_->setForegroundRole(QPalette::WindowText);
    detail_->setWordWrap(true);
    detail_->setFont(scaled(font(), kDetailSize));
    name_->setFont(scaled(font(), kDetailSize));
  }

  void show_card(const Card& card, CardForm form) {
    tone_ = card.tone;
    change_tone_ = card.change_tone;
    table_ = card.table;
    name_->setText(card.name);
    whole_value_ = card.value;
    detail_->setText(card.detail);
    const bool full = form == CardForm::full;
    detail_->setVisible(full && !card.detail.isEmpty());
    const int margin = full ? 4 : 2;
    layout()->setContentsMargins(kSide, margin, kSide, margin);
    for (QLabel* label : changes_) {
      label->setText(card.change);
    }
    color();
    fit_value();
    place_change();
    setToolTip(full || card.detail.isEmpty() ? card.tip : card.detail + "\n" + card.tip);
    setAccessibleName(card.name + ": " + card.value);
    setAccessibleDescription(card.detail + " " + card.change);
  }

 protected:
  void mousePressEvent(QMouseEvent* /*event*/) override { chosen_(table_); }

  void resizeEvent(QResizeEvent* event) override {
    QFrame::resizeEvent(event);
    fit_value();
    place_change();
  }

  void changeEvent(QEvent* event) override {
    QFrame::changeEvent(event);
    // The first one comes while the card is made.
    if (event->type() == QEvent::PaletteChange && changes_[kAlone] != nullptr) {
      color();
    }
  }

 private:
  enum Place { kBesideName, kBesideValue, kAlone, kPlaces };

  static constexpr int kSide = 8;
  static constexpr int kGap = 6;

  static int width_of(const QLabel* label) {
    return label->wordWrap()         ? label->fontMetrics().horizontalAdvance(label->text())
           : label->text().isEmpty() ? 0
                                     : label->sizeHint().width();
  }

  // In the tones of a light or a dark ground.
  void color() {
    QPalette colors = palette();
    if (tone_ != Tone::plain && tone_ != Tone::strong) {
      colors.setColor(QPalette::WindowText, tone_color(tone_, palette()));
    }
    value_->setPalette(colors);
    // Better is filled, worse outlined: told apart without colour.
    for (QLabel* label : changes_) {
      label->setStyleSheet(badge_style(change_tone_, palette(), change_tone_ == Tone::good));
    }
  }

  // In a narrow card smaller; a date then without its time of day.
  void fit_value() {
    const int room = width() - 2 * (kSide + frameWidth());
    name_->setWordWrap(name_->fontMetrics().horizontalAdvance(name_->text()) > room);
    static const QRegularExpression kTime(" \\d\\d:\\d\\d");
    for (const QString& text : {whole_value_, QString(whole_value_).remove(kTime)}) {
      for (const double size : {kValueSize, 1.1, 0.95, kDetailSize}) {
        value_->setFont(scaled(font(), size, true));
        value_->setText(text);
        if (value_->fontMetrics().horizontalAdvance(text) <= room) {
          return;
        }
      }
    }
  }

  void place_change() {
    const int change = width_of(changes_[kAlone]);
    const int room = width() - 2 * (kSide + frameWidth()) - kGap - change;
    const Place place = width_of(name_) <= room    ? kBesideName
                        : width_of(value_) <= room ? kBesideValue
                                                   : kAlone;
    for (int i = 0; i < kPlaces; ++i) {
      changes_[static_cast<std::size_t>(i)]->setVisible(change > 0 && i == place);
    }
  }

  std::function<void(const QString&)> chosen_;
  QString table_;
  Tone tone_ = Tone::plain;
  Tone change_tone_ = Tone::plain;
  QString whole_value_;
  QLabel* name_ = nullptr;
  QLabel* value_ = nullptr;
  QLabel* detail_ = nullptr;
  std::array<QLabel*, kPlaces> changes_{};
};

DashboardView::DashboardView(QWidget* parent) : QScrollArea(parent), page_(new QWidget) {
  setWidgetResizable(true);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setAccessibleName("Dashboard");
  for (QLabel** label : {&title_, &badge_, &verdict_, &subtitle_, &reasons_}) {
    *label = new QLabel(page_);
  }
  verdict_->setWordWrap(true);
  reasons_->setWordWrap(true);
  for (QLabel* label : {title_, subtitle_}) {
    label->setMinimumWidth(1);  // cut off rather than a wider window
  }
  title_->setFont(scaled(font(), kHeadSize, true));
  verdict_->setFont(scaled(font(), kVerdictSize));
  badge_->setFont(scaled(font(), kVerdictSize, true));
  reasons_->setTextFormat(Qt::RichText);
  subtitle_->setForegroundRole(QPalette::PlaceholderText);
  grid_ = new QGridLayout;
  grid_->setSpacing(5);
  column({row({title_, {subtitle_, 1}}, nullptr, {}, 12),
          row({{badge_, 0, Qt::AlignTop}, {verdict_, 1}}), reasons_, grid_, Laid::rest()},
         page_, QMargins{8, 4, 8, 4}, 4);
  setWidget(page_);
  connect(verdict_, &QLabel::linkActivated, this,
          [this] { emit loss_chosen(shown_.loss_hue, shown_.loss); });
  connect(reasons_, &QLabel::linkActivated, this, [this](const QString& place) {
    problem_.isEmpty() ? emit keys_wanted(shown_.advice[place.toULongLong()].second)
                       : emit fix_wanted(place.toInt());
  });
  show_answer({.subtitle = "Open a scenario to see its answer here."});
}

// What takes most is a link in the colour of the sentence.
void DashboardView::write_verdict() {
  QString text = shown_.verdict.toHtmlEscaped();
  if (shown_.loss_hue >= 0) {
    const QString loss = shown_.loss.toHtmlEscaped();
    const auto at = text.lastIndexOf(loss);
    if (at >= 0) {
      text.replace(at, loss.size(),
                   QString("<a href='loss' style='color:%1'>%2</a>")
                       .arg(palette().color(QPalette::WindowText).name(), loss));
    }
  }
  verdict_->setText(text);
}

void DashboardView::show_answer(const Dashboard& dashboard) {
  shown_ = dashboard;
  title_->setText(dashboard.title);
  subtitle_->setText(dashboard.subtitle);
  verdict_->setToolTip(dashboard.why);
  verdict_->setVisible(!dashboard.verdict.isEmpty());
  badge_->setText(dashboard.badge);
  badge_->setVisible(!dashboard.badge.isEmpty());
  color_texts();
  set_stale(false);
}

void DashboardView::set_stale(bool stale, const QString& problem) {
  problem_ = problem;
  color_texts();
  subtitle_->setText(stale ? "As of an earlier text. " + shown_.subtitle : shown_.subtitle);
  set_veiled(page_, stale);
  reasons_->raise();
  placed_in_ = {};
  place_cards();
}

QSize DashboardView::sizeHint() const {
  page_->layout()->activate();  // cards may have changed a moment ago
  const int width = viewport()->width();
  const int height = page_->layout()->totalHeightForWidth(width);
  return {width, std::max(height, page_->minimumSizeHint().height()) + 2};
}

void DashboardView::resizeEvent(QResizeEvent* event) {
  QScrollArea::resizeEvent(event);
  place_cards();
}

void DashboardView::changeEvent(QEvent* event) {
  QScrollArea::changeEvent(event);
  if (event->type() == QEvent::PaletteChange && reasons_ != nullptr) {
    color_texts();
  }
}

void DashboardView::color_texts() {
  badge_->setStyleSheet(badge_style(shown_.tone, palette(), shown_.impossible));
  write_verdict();
  // Why it cannot be, and what can be as links.
  QStringList lines;
  for (const QString& reason : shown_.reasons) {
    lines << QString("<span style='color:%1'>%2</span>")
                 .arg(tone_color(Tone::bad, palette()).name(), reason.toHtmlEscaped());
  }
  for (std::size_t i = 0; i < shown_.advice.size(); ++i) {
    const auto& [words, keys] = shown_.advice[i];
    lines << (keys.empty() ? words.toHtmlEscaped()
                           : QString("<a href='%1'>%2</a>").arg(i).arg(words.toHtmlEscaped()));
  }
  reasons_->setText(problem_.isEmpty() ? lines.join("<br>") : problem_);
  reasons_->setVisible(!reasons_->text().isEmpty());
}

void DashboardView::place_cards() {
  const QSize room = viewport()->size();
  if (room == placed_in_) {
    return;
  }
  placed_in_ = room;
  // In the lowest windows the tab tells which scenario it is.
  constexpr int kLowest = 600;
  const bool head = window()->height() >= kLowest || verdict_->isHidden() || !problem_.isEmpty();
  title_->setVisible(head);
  subtitle_->setVisible(head);
  fill_grid(room.width() / kCardWidth, CardForm::full);
  constexpr double kMost = 0.2;  // of the window
  if (page_->layout()->totalHeightForWidth(room.width()) > kMost * window()->height()) {
    fill_grid(room.width() / kCardWidth, CardForm::compact);
  }
  updateGeometry();
}

// In a low window one line of the first cards; the tables have the rest.
void DashboardView::fill_grid(int fitting, CardForm form) {
  std::vector<const Card*> cards;
  for (const auto* group : {&shown_.step, &shown_.run}) {
    for (const Card& card : *group) {
      cards.push_back(&card);
    }
  }
  while (cards_.size() < cards.size()) {
    cards_.push_back(
        new CardView(page_, [this](const QString& title) { emit table_wanted(title); }));
  }
  if (constexpr int kLow = 720; form == CardForm::compact && window()->height() < kLow) {
    cards.resize(std::min(cards.size(), static_cast<std::size_t>(std::max(fitting, 1))));
  }
  // Rows of equal length.
  const int most = std::clamp(fitting, 1, std::max(static_cast<int>(cards.size()), 1));
  const int rows = (static_cast<int>(cards.size()) + most - 1) / most;
  const int columns = rows > 0 ? (static_cast<int>(cards.size()) + rows - 1) / rows : 1;
  for (int column = 0; column < std::max(grid_->columnCount(), columns); ++column) {
    grid_->setColumnStretch(column, column < columns ? 1 : 0);
  }
  for (std::size_t i = 0; i < cards_.size(); ++i) {
    grid_->removeWidget(cards_[i]);
    cards_[i]->setVisible(i < cards.size());
    if (i < cards.size()) {
      const int place = static_cast<int>(i);
      grid_->addWidget(cards_[i], place / columns, place % columns);
      cards_[i]->show_card(*cards[i], form);
    }
  }
}

}  // namespace orrery::gui
