#include <QAbstractItemView>
#include <QCompleter>
#include <QFontDatabase>
#include <QHelpEvent>
#include <QPainter>
#include <QPlainTextDocumentLayout>
#include <QRegularExpression>
#include <QSyntaxHighlighter>
#include <QTextBlock>
#include <QToolTip>
#include <algorithm>

#include "gui/models/form_model.hpp"
#include "gui/models/tables/table.hpp"
#include "gui/widgets/form_view.hpp"
#include "gui/widgets/window/theme.hpp"

namespace orrery::gui {

namespace {

constexpr int kMarginAir = 6;
constexpr int kTabColumns = 2;

class Margin : public QWidget {
 public:
  explicit Margin(CodeEditor* editor) : QWidget(editor), editor_(editor) {}

 protected:
  void paintEvent(QPaintEvent* event) override { editor_->paint_margin(event); }

 private:
  CodeEditor* editor_;
};

// Where the word at `begin` ends; never beyond the line.
int end_of_word(const QTextBlock& block, int column) {
  const QString text = block.text();
  int end = column;
  while (end < text.size() && !QString(" ,:{}[]#").contains(text[end])) {
    ++end;
  }
  return std::max(end, std::min<int>(column + 1, static_cast<int>(text.size())));
}

// The keys around a place of a line, outermost first: by indentation, then within braces.
QStringList keys_around(QTextBlock block, const QString& before) {
  static const QRegularExpression kKey(R"(^(\s*)(?:- )?(\w+):)");
  static const QRegularExpression kBrace(R"((\w+):\s*\{|\})");
  QStringList keys;
  qsizetype indent = before.size() - before.trimmed().size() - (before.endsWith(' ') ? 1 : 0);
  while (indent > 0 && (block = block.previous()).isValid()) {
    const QRegularExpressionMatch key = kKey.match(block.text());
    if (key.hasMatch() && key.capturedLength(1) < indent) {
      indent = key.capturedLength(1);
      keys.prepend(key.captured(2));
    }
  }
  for (const QRegularExpressionMatch& match : kBrace.globalMatch(before)) {
    const QString opened = match.captured(1);
    if (!opened.isEmpty()) {
      keys << opened;
    } else if (!keys.isEmpty()) {
      keys.removeLast();
    }
  }
  return keys;
}

// Below this path: keys, or with `key` the names that it takes.
QStringList words_for(const QStringList& path, const QString& key) {
  static const std::vector<scenario::Field> kFields = scenario::fields_of("format: orrery/1\n");
  static const QRegularExpression kNumber(R"(\[\d*\])");
  const QString within = path.isEmpty() ? QString() : path.join('.') + '.';
  QStringList words;
  for (const scenario::Field& field : kFields) {
    const QString known = qt(field.path).remove(kNumber);
    if (key.isEmpty() && known.startsWith(within)) {
      words << known.mid(within.size()).section('.', 0, 0);
    } else if (!key.isEmpty() && known == within + key) {
      return names_of(field, {})
          .filter(QRegularExpression("^[^\t]"))
          .replaceInStrings(QRegularExpression("\t.*"), "");
    }
  }
  words.removeDuplicates();
  return words;
}

}  // namespace

class YamlHighlighter : public QSyntaxHighlighter {
 public:
  explicit YamlHighlighter(QTextDocument* document) : QSyntaxHighlighter(document) {}

  void set_dark(bool dark) {
    key_.setForeground(QColor(dark ? "#7cb7ff" : "#00508a"));
    comment_.setForeground(QColor(dark ? "#8f9a8f" : "#5f6b5f"));
    comment_.setFontItalic(true);
    quoted_.setForeground(QColor(dark ? "#e6b673" : "#8a4b00"));
    number_.setForeground(QColor(dark ? "#7fd1ae" : "#00684a"));
    rehighlight();
  }

 protected:
  void highlightBlock(const QString& text) override {
    static const QRegularExpression kNumber(
        R"((?<=[\s\[,{:])\$?-?\d[\d.]*([eE][+-]?\d+)?[A-Za-z%/]*(?=[\s\],}]|$))");
    static const QRegularExpression kKey(R"((?:^|(?<=[\s{,-]))([A-Za-z_][\w]*)(?=\s*:(?:\s|$)))");
    static const QRegularExpression kQuoted(R"("(?:[^"\\]|\\.)*"|'[^']*')");
    static const QRegularExpression kComment(R"((?:^|\s)#.*$)");
    const auto paint = [&](const QRegularExpression& what, const QTextCharFormat& format) {
      for (const QRegularExpressionMatch& found : what.globalMatch(text)) {
        const auto begin = static_cast<int>(found.capturedStart());
        // A # inside quotes begins no comment.
        if (&format != &comment_ || text.left(begin).count('"') % 2 == 0) {
          setFormat(begin, static_cast<int>(found.capturedLength()), format);
        }
      }
    };
    paint(kNumber, number_);
    paint(kKey, key_);
    paint(kQuoted, quoted_);
    paint(kComment, comment_);
  }

 private:
  QTextCharFormat key_;
  QTextCharFormat comment_;
  QTextCharFormat quoted_;
  QTextCharFormat number_;
};

CodeEditor::CodeEditor(QTextDocument* document, QWidget* parent)
    : QPlainTextEdit(parent), margin_(new Margin(this)) {
  if (qobject_cast<QPlainTextDocumentLayout*>(document->documentLayout()) == nullptr) {
    document->setDocumentLayout(new QPlainTextDocumentLayout(document));
  }
  const QFont fixed = QFontDatabase::systemFont(QFontDatabase::FixedFont);
  setFont(fixed);
  document->setDefaultFont(fixed);
  setDocument(document);
  highlighter_ = new YamlHighlighter(document);
  highlighter_->set_dark(is_dark(palette()));
  setLineWrapMode(QPlainTextEdit::NoWrap);
  setTabStopDistance(fontMetrics().horizontalAdvance(' ') * kTabColumns);
  setAccessibleName("Scenario as text");
  connect(this, &QPlainTextEdit::blockCountChanged, this, &CodeEditor::lay_out_margin);
  connect(this, &QPlainTextEdit::updateRequest, this, [this](const QRect& rect, int dy) {
    dy != 0 ? margin_->scroll(0, dy)
            : margin_->update(0, rect.y(), margin_->width(), rect.height());
  });
  connect(this, &QPlainTextEdit::cursorPositionChanged, this, &CodeEditor::show_marks);
  completer_ = new QCompleter(&words_, this);
  completer_->setWidget(this);
  connect(completer_, qOverload<const QString&>(&QCompleter::activated), this,
          &CodeEditor::insert_completion);
  lay_out_margin();
}

void CodeEditor::set_problems(const Diagnostics& diagnostics) {
  marks_.clear();
  for (const Diagnostic& problem : diagnostics.all()) {
    const QTextBlock block = document()->findBlockByNumber(problem.where.line - 1);
    if (problem.where.line < 1 || !block.isValid()) {
      continue;
    }
    const int column = std::clamp(problem.where.column - 1, 0, block.length() - 1);
    QString text = told(problem);
    if (!problem.allowed.empty()) {
      text += "\nAllowed: " + qt(problem.allowed);
    }
    marks_.push_back({block.position() + column, block.position() + end_of_word(block, column),
                      problem.where.line, problem.severity, text});
  }
  show_marks();
  margin_->update();
}

void CodeEditor::show_marks() {
  QList<QTextEdit::ExtraSelection> selections;
  QTextEdit::ExtraSelection here;
  QColor line = palette().color(QPalette::Highlight);
  line.setAlphaF(0.10F);
  here.format.setBackground(line);
  here.format.setProperty(QTextFormat::FullWidthSelection, true);
  here.cursor = textCursor();
  here.cursor.clearSelection();
  selections.push_back(here);
  const int last = document()->characterCount() - 1;
  for (const Mark& mark : marks_) {
    QTextEdit::ExtraSelection selection;
    selection.cursor = QTextCursor(document());
    selection.cursor.setPosition(std::min(mark.begin, last));
    selection.cursor.setPosition(std::min(mark.end, last), QTextCursor::KeepAnchor);
    selection.format.setUnderlineStyle(QTextCharFormat::WaveUnderline);
    selection.format.setUnderlineColor(
        QColor(mark.severity == Severity::error ? "#d62718" : "#d08700"));
    selections.push_back(selection);
  }
  setExtraSelections(selections);
}

QString CodeEditor::problem_at(int position) const {
  QStringList texts;
  for (const Mark& mark : marks_) {
    if (position >= mark.begin && position <= mark.end) {
      texts.push_back(mark.text);
    }
  }
  return texts.join("\n\n");
}

void CodeEditor::go_to(int line, int column) {
  const QTextBlock block = document()->findBlockByNumber(std::max(line, 1) - 1);
  if (!block.isValid()) {
    return;
  }
  QTextCursor cursor(block);
  cursor.setPosition(block.position() + std::clamp(column - 1, 0, block.length() - 1));
  setTextCursor(cursor);
  centerCursor();
  setFocus();
}

int CodeEditor::margin_width() const {
  const int digits = static_cast<int>(QString::number(std::max(blockCount(), 100)).size());
  return 3 * kMarginAir + fontMetrics().horizontalAdvance('9') * digits;
}

void CodeEditor::lay_out_margin() {
  setViewportMargins(margin_width(), 0, 0, 0);
  const QRect inside = contentsRect();
  margin_->setGeometry(inside.left(), inside.top(), margin_width(), inside.height());
}

void CodeEditor::paint_margin(QPaintEvent* event) {
  QPainter painter(margin_);
  painter.fillRect(event->rect(), palette().color(QPalette::Window));
  painter.setFont(font());
  QTextBlock block = firstVisibleBlock();
  qreal top = blockBoundingGeometry(block).translated(contentOffset()).top();
  while (block.isValid() && top <= event->rect().bottom()) {
    const qreal height = blockBoundingRect(block).height();
    const int line = block.blockNumber() + 1;
    const auto mark = std::ranges::find(marks_, line, &Mark::line);
    if (mark != marks_.end()) {
      painter.fillRect(QRectF(0, top, 3, height),
                       QColor(mark->severity == Severity::error ? "#d62718" : "#d08700"));
    }
    painter.setPen(palette().color(textCursor().block() == block ? QPalette::WindowText
                                                                 : QPalette::PlaceholderText));
    painter.drawText(QRectF(0, top, margin_->width() - kMarginAir, height),
                     Qt::AlignRight | Qt::AlignVCenter, QString::number(line));
    top += height;
    block = block.next();
  }
}

void CodeEditor::resizeEvent(QResizeEvent* event) {
  QPlainTextEdit::resizeEvent(event);
  lay_out_margin();
}

void CodeEditor::changeEvent(QEvent* event) {
  QPlainTextEdit::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) {
    highlighter_->set_dark(is_dark(palette()));
    show_marks();
  }
}

// What the word at the cursor may become: after `key:` a name that it takes, else a key.
void CodeEditor::complete(bool asked) {
  static const QRegularExpression kWord(R"((?:(\w+):\s+|^\s*(?:- )?|[{,]\s*)([^\s,:{}\[\]#]*)$)");
  const QString before = textCursor().block().text().left(textCursor().positionInBlock());
  const QRegularExpressionMatch word = kWord.match(before);
  const QString typed = word.captured(2);
  if (!word.hasMatch() || before.contains('#') || (typed.isEmpty() && !asked)) {
    completer_->popup()->hide();
    return;
  }
  completes_key_ = word.captured(1).isEmpty();
  words_.setStringList(words_for(keys_around(textCursor().block(), before), word.captured(1)));
  completer_->setCompletionPrefix(typed);
  if (completer_->completionCount() == 0 || completer_->currentCompletion() == typed) {
    completer_->popup()->hide();
    return;
  }
  QRect place = cursorRect().translated(margin_width(), 0);
  place.setWidth(completer_->popup()->sizeHintForColumn(0) + 2 * fontMetrics().height());
  completer_->popup()->setCurrentIndex(completer_->completionModel()->index(0, 0));
  completer_->complete(place);
}

void CodeEditor::insert_completion(const QString& word) {
  insertPlainText(word.mid(completer_->completionPrefix().size()) + (completes_key_ ? ": " : ""));
}

// Tab is two blanks, which YAML wants; Return keeps the indent.
void CodeEditor::keyPressEvent(QKeyEvent* event) {
  if (completer_->popup()->isVisible() &&
      (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter ||
       event->key() == Qt::Key_Escape || event->key() == Qt::Key_Tab)) {
    event->ignore();  // the list takes them
    return;
  }
  if (event->key() == Qt::Key_Space && event->modifiers() == Qt::ControlModifier) {
    complete(true);
    return;
  }
  if (event->key() == Qt::Key_Tab && event->modifiers() == Qt::NoModifier) {
    insertPlainText(QString(kTabColumns, ' '));
    return;
  }
  if ((event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) &&
      event->modifiers() == Qt::NoModifier) {
    static const QRegularExpression kIndent("^ *");
    const QString before = textCursor().block().text().left(textCursor().positionInBlock());
    insertPlainText("\n" + kIndent.match(before).captured());
    return;
  }
  QPlainTextEdit::keyPressEvent(event);
  if (!event->text().isEmpty() && event->text()[0].isPrint()) {
    complete(false);
  } else {
    completer_->popup()->hide();
  }
}

bool CodeEditor::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const QPoint inside = viewport()->mapFromGlobal(help->globalPos());
    const QString text = problem_at(cursorForPosition(inside).position());
    QToolTip::showText(help->globalPos(), text, this);
    return true;
  }
  return QPlainTextEdit::event(event);
}

}  // namespace orrery::gui
