#include "gui/widgets/pages/welcome_page.hpp"

#include <QApplication>
#include <QFile>
#include <QFileInfo>
#include <QLineEdit>
#include <QListWidget>
#include <QPainter>
#include <QStyledItemDelegate>
#include <array>

#include "gui/models/tables/table.hpp"
#include "gui/widgets/layouts.hpp"
#include "gui/widgets/window/theme.hpp"
#include "sim/answer/evaluate/shipped_scenarios.hpp"

namespace orrery::gui {

namespace {

struct Question {
  const char* text;
  const char* section;  // of the scenarios that answer it; null: of all others
};

// In the order in which they are asked. A measured run or a plan has failures too.
constexpr std::array kQuestions = {
    Question{"What will a run take, and what do failures cost?", "failures"},
    Question{"What fits, and where does a step lose its time?", nullptr},
    Question{"Which layout and which cluster are best?", "plan"},
    Question{"How near is a prediction to what was measured?", "measured"},
};

std::size_t question_of(const QString& path) {
  QFile file(path);
  const QByteArray text = file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
  std::size_t found = 1;
  for (std::size_t i = 0; i < kQuestions.size(); ++i) {
    const char* section = kQuestions[i].section;
    if (section != nullptr && text.contains(QByteArray("\n") + section + ":")) {
      found = i;  // the last is the most particular
    }
  }
  return found;
}

}  // namespace

std::vector<ShippedScenario> shipped_scenarios() {
  std::array<std::vector<ShippedScenario>, kQuestions.size()> groups;
  for (const evaluate::ShippedScenario& one : evaluate::shipped_scenarios()) {
    const QString path = qt(one.path.string());
    const std::size_t question = question_of(path);
    groups[question].push_back({path, qt(one.title), qt(one.summary), kQuestions[question].text});
  }
  std::vector<ShippedScenario> found;
  for (const std::vector<ShippedScenario>& group : groups) {
    found.insert(found.end(), group.begin(), group.end());
  }
  // The scenario that the documentation walks through comes first.
  std::stable_partition(found.begin(), found.end(), [](const ShippedScenario& scenario) {
    return scenario.path.endsWith("/llama3-405b-16k.yaml");
  });
  return found;
}

namespace {

constexpr int kSummaryRole = Qt::UserRole + 1;
constexpr int kAir = 6;
constexpr double kTitle = 1.8;  // times the size of text
constexpr double kHead = 1.1;
constexpr auto kKey = "recent_files";
constexpr auto kPurpose =
    "How long does a training run take, what does it cost, and what is lost on the way? Choose a "
    "scenario, change it, and see.";

// By the names of shipped scenarios.
constexpr auto kTemplates =
    "Begin with: <a href='llama3-70b-64h100'>a dense model</a>, "
    "<a href='mixtral-8x7b-64h100'>a mixture of experts</a>, <a href='mpt-7b'>FSDP</a>, "
    "<a href='lora-llama2-70b-8h100'>fine-tuning</a>, <a href='spot-70b'>spot nodes</a>";

bool is_heading(const QModelIndex& index) { return !index.data(Qt::UserRole).isValid(); }

// A name with a fainter line below it; a heading has none.
class TwoLines : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& option,
                               const QModelIndex& index) const override {
    const int lines = is_heading(index) ? 1 : 2;
    return {200, lines * option.fontMetrics.height() + 2 * kAir};
  }

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    QStyleOptionViewItem empty = option;
    initStyleOption(&empty, index);
    empty.text.clear();
    QApplication::style()->drawControl(QStyle::CE_ItemViewItem, &empty, painter, option.widget);
    const bool chosen = (option.state & QStyle::State_Selected) != 0;
    const int indent = is_heading(index) ? kAir : 2 * kAir;
    const QRect inside = option.rect.adjusted(indent, kAir, -2 * kAir, -kAir);
    const int height = option.fontMetrics.height();
    painter->save();
    QFont font = option.font;
    font.setBold(true);
    painter->setFont(font);
    painter->setPen(option.palette.color(chosen              ? QPalette::HighlightedText
                                         : is_heading(index) ? QPalette::PlaceholderText
                                                             : QPalette::Text));
    const auto line = [&](int top, const QString& text) {
      const QRect place(inside.left(), inside.top() + top, inside.width(), height);
      painter->drawText(place, Qt::AlignLeft | Qt::AlignVCenter,
                        painter->fontMetrics().elidedText(text, Qt::ElideRight, place.width()));
    };
    line(0, index.data().toString());
    painter->setFont(option.font);
    if (!chosen) {
      painter->setPen(option.palette.color(QPalette::PlaceholderText));
    }
    line(height, index.data(kSummaryRole).toString());
    painter->restore();
  }
};

// The scenarios below their questions; the questions as links to their rows.
QString fill(QListWidget& list) {
  QStringList links;
  QString question;
  for (const ShippedScenario& scenario : shipped_scenarios()) {
    if (scenario.question != question) {
      question = scenario.question;
      links << QString("<a href=\"%1\">%2</a>").arg(list.count()).arg(question);
      (new QListWidgetItem(question, &list))->setFlags(Qt::NoItemFlags);
    }
    auto* item = new QListWidgetItem(scenario.name, &list);
    item->setData(Qt::UserRole, scenario.path);
    item->setData(kSummaryRole, scenario.summary);
    item->setData(Qt::AccessibleDescriptionRole, scenario.summary);
    item->setToolTip("<p>" + scenario.summary.toHtmlEscaped() + "</p><p>" +
                     scenario.path.toHtmlEscaped() + "</p>");
  }
  links << "<a href=\"import\">What does my own configuration take?</a>"
        << "<a href=\"compare\">What differs between two scenarios, or a trace and one?</a>"
        << kTemplates;
  return links.join("<br>");
}

}  // namespace

QStringList recent_files(const QSettings& settings) {
  QStringList files = settings.value(kKey).toStringList();
  files.removeIf([](const QString& path) { return !QFileInfo::exists(path); });
  return files;
}

void add_recent_file(QSettings& settings, const QString& path) {
  const QString absolute = QFileInfo(path).absoluteFilePath();
  QStringList files = settings.value(kKey).toStringList();
  files.removeAll(absolute);
  files.prepend(absolute);
  settings.setValue(kKey, files.mid(0, kMostRecentFiles));
}

WelcomePage::WelcomePage(QWidget* parent) : QWidget(parent) {
  search_ = new QLineEdit(this);
  search_->setPlaceholderText("Search the shipped scenarios");
  search_->setClearButtonEnabled(true);
  examples_ = new QListWidget(this);
  examples_->setAccessibleName("Shipped scenarios");
  examples_->setItemDelegate(new TwoLines(examples_));
  auto* questions = new QLabel(fill(*examples_), this);
  questions->setAccessibleName("Questions");
  questions->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  examples_->setCurrentRow(1);
  recent_ = new QListWidget(this);
  recent_->setAccessibleName("Recent files");
  recent_->setItemDelegate(new TwoLines(recent_));
  auto* open = button(this, "&Open a file...", [this] { emit open_wanted(); });
  auto* fresh = button(this, "&New scenario", [this] { emit new_wanted(); });
  auto* imports = button(
      this, "&Import...", [this] { emit import_wanted(); },
      "Configuration files of Hugging Face, DeepSpeed, Megatron-LM, NeMo, torchtitan");

  auto* left = column(
      {heading("Start from a shipped scenario", kHead, this), questions, search_, {examples_, 1}});
  auto* right = column({heading("Recent files", kHead, this), {recent_, 1}, open, imports, fresh});
  auto* line = new QLabel(kPurpose, this);
  line->setWordWrap(true);
  line->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
  column({heading("Orrery", kTitle, this),
          line,
          Laid::gap(12),
          {row({{left, 3}, {right, 2}}, nullptr, {}, 24), 1}},
         this, QMargins{32, 24, 32, 24});

  connect(search_, &QLineEdit::textChanged, this, &WelcomePage::filter);
  connect(questions, &QLabel::linkActivated, this, [this](const QString& row) {
    if (row == "import" || row == "compare") {
      return row == "import" ? emit import_wanted() : emit compare_wanted();
    }
    for (const ShippedScenario& one : shipped_scenarios()) {
      if (QFileInfo(one.path).completeBaseName() == row) {
        return emit example_chosen(one.path);
      }
    }
    search_->clear();
    examples_->setCurrentRow(row.toInt() + 1);
    examples_->scrollToItem(examples_->item(row.toInt()), QAbstractItemView::PositionAtTop);
    examples_->setFocus();
  });
  const auto open_example = [this](const QListWidgetItem* item) {
    if (item != nullptr) {
      emit example_chosen(item->data(Qt::UserRole).toString());
    }
  };
  connect(examples_, &QListWidget::itemActivated, this, open_example);
  connect(search_, &QLineEdit::returnPressed, this,
          [this, open_example] { open_example(examples_->currentItem()); });
  connect(recent_, &QListWidget::itemActivated, this,
          [this](QListWidgetItem* item) { emit file_chosen(item->data(Qt::UserRole).toString()); });
  setFocusProxy(examples_);
}

void WelcomePage::set_recent(const QStringList& files) {
  recent_->clear();
  if (files.isEmpty()) {
    (new QListWidgetItem("Files that you open stand here.", recent_))->setFlags(Qt::NoItemFlags);
  }
  for (const QString& path : files) {
    const QFileInfo info(path);
    auto* item = new QListWidgetItem(info.fileName(), recent_);
    item->setData(Qt::UserRole, path);
    item->setData(kSummaryRole, info.absolutePath());
  }
}

void WelcomePage::filter(const QString& words) {
  int first = -1;
  QListWidgetItem* heading = nullptr;
  for (int row = 0; row < examples_->count(); ++row) {
    QListWidgetItem* item = examples_->item(row);
    if (is_heading(examples_->indexFromItem(item))) {
      heading = item;
      heading->setHidden(true);  // until something below it is found
      continue;
    }
    const QString text = item->text() + ' ' + item->data(kSummaryRole).toString() + ' ' +
                         item->data(Qt::UserRole).toString().section('/', -1);
    bool hidden = false;
    for (const QString& word : words.split(' ', Qt::SkipEmptyParts)) {
      hidden = hidden || !text.contains(word, Qt::CaseInsensitive);
    }
    item->setHidden(hidden);
    if (!hidden) {
      heading->setHidden(false);
      first = first < 0 ? row : first;
    }
  }
  examples_->setCurrentRow(first);
}

}  // namespace orrery::gui
