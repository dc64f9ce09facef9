// `orrery report FILE -o OUT.html|pdf|svg`

#include <QFileInfo>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

#include "gui/report/report_page.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file.hpp"

namespace orrery::gui {

namespace {

// As the other commands of orrery return them.
constexpr int kUsage = 2;
constexpr int kInvalid = 3;
constexpr int kInfeasible = 4;
constexpr int kDevice = 5;
constexpr int kIo = 6;

constexpr std::size_t kMostBytes = std::size_t{8} << 20U;

constexpr std::string_view kHelp =
    "One page about a scenario: figures, charts, expectations; no display is needed\n"
    "Usage: orrery report FILE -o OUT\n\n"
    "  FILE       scenario\n"
    "  -o OUT     .html, .pdf or .svg; - writes HTML to standard output\n"
    "  -h,--help  this text\n\n"
    "Example:\n"
    "  orrery report scenarios/llama3-405b-16k.yaml -o report.pdf\n";

void say(std::FILE* stream, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stream);
}

int usage(const std::string& what) {
  say(stderr, "orrery report: " + what + "; orrery report --help tells how\n");
  return kUsage;
}

int write_page(const QString& file, const QString& out) {
  const std::string text = read_file(std::filesystem::path(file.toStdString()), kMostBytes);
  const OutcomePtr outcome = evaluate_text({.text = text, .file_name = file.toStdString()});
  say(stderr, to_string(outcome->diagnostics));
  if (!outcome->failure.isEmpty()) {
    say(stderr, outcome->failure.toStdString() + "\n");
    return kDevice;
  }
  if (!outcome->evaluation) {
    return kInvalid;
  }
  write_report(report_content(outcome), out);
  return outcome->evaluation->feasible ? 0 : kInfeasible;
}

}  // namespace

void write_report(const ReportContent& content, const QString& path) {
  const QString ending = QFileInfo(path).suffix().toLower();
  const QByteArray bytes = ending == "pdf"   ? report_pdf(content)
                           : ending == "svg" ? report_svg(content)
                                             : report_html(content);
  const std::string_view view(bytes.constData(), static_cast<std::size_t>(bytes.size()));
  if (path == "-") {
    say(stdout, view);
    return;
  }
  write_file_atomically(std::filesystem::path(path.toStdString()), view);
}

int report_command(const QStringList& arguments) {
  QString file;
  QString out;
  for (qsizetype i = 0; i < arguments.size(); ++i) {
    const QString& word = arguments[i];
    if (word == "-h" || word == "--help") {
      say(stdout, kHelp);
      return 0;
    }
    if (word == "-o" || word == "--output") {
      if (i + 1 == arguments.size()) {
        return usage("-o needs a file name");
      }
      out = arguments[++i];
    } else if (word.startsWith('-') && word != "-") {
      return usage("unknown option " + word.toStdString());
    } else if (!file.isEmpty()) {
      return usage("one scenario at a time");
    } else {
      file = word;
    }
  }
  if (file.isEmpty() || out.isEmpty()) {
    return usage(file.isEmpty() ? "which scenario?" : "where to? -o OUT.html, .pdf or .svg");
  }
  const QString ending = QFileInfo(out).suffix().toLower();
  if (out != "-" && ending != "html" && ending != "pdf" && ending != "svg") {
    return usage("-o takes .html, .pdf or .svg, not " + out.toStdString());
  }
  try {
    return write_page(file, out);
  } catch (const Error& error) {
    say(stderr, std::string(error.what()) + "\n");
    return kIo;
  }
}

}  // namespace orrery::gui
