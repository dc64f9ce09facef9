// `orrery report FILE -o OUT.html|pdf|svg`

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <QFileInfo>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "gui/report/report_page.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"
#include "sim/cli/frame/evaluating.hpp"
#include "sim/cli/frame/interrupt.hpp"
#include "sim/cli/frame/output.hpp"
#include "sim/cli/frame/program.hpp"

namespace orrery::gui {

namespace {

constexpr std::size_t kMostBytes = std::size_t{8} << 20U;

struct ReportOptions {
  std::string file;
  std::string out;
  bool full = false;
  bool slides = false;
};

void say(std::FILE* stream, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stream);
}

void write_bytes(const QByteArray& bytes, const std::string& path) {
  write_file_atomically(
      std::filesystem::path(path),
      std::string_view(bytes.constData(), static_cast<std::size_t>(bytes.size())));
}

cli::ExitCode write_page(const ReportOptions& options, const cli::InterruptWatch& watch) {
  const std::string ending = std::filesystem::path(options.out).extension().string();
  if (options.out != "-" && ending != ".html" && ending != ".pdf" && ending != ".svg") {
    throw cli::UsageError("report: -o takes .html, .pdf or .svg, not " + options.out);
  }
  if (options.slides && ending != ".pdf") {
    throw cli::UsageError("report: --slides writes .pdf, not " + options.out);
  }
  const std::string file = cli::scenario_file(options.file, false);
  const std::string text = read_file(file, kMostBytes);
  const OutcomePtr outcome = evaluate_text({.text = text, .file_name = file}, watch.token());
  say(stderr, to_string(outcome->diagnostics));
  if (!outcome->failure.isEmpty()) {
    throw Error(ErrorKind::device, outcome->failure.toStdString());
  }
  if (!outcome->evaluation) {
    return cli::ExitCode::invalid;
  }
  cli::check_not_read(options.out, *outcome->scenario);
  const auto code = outcome->evaluation->feasible ? cli::ExitCode::ok : cli::ExitCode::does_not_fit;
  if (options.slides) {
    write_bytes(slides_pdf(*outcome->evaluation), options.out);
    return code;
  }
  const ReportContent content = report_content(outcome, options.full);
  watch.check();
  write_report(content, QString::fromStdString(options.out));
  return code;
}

cli::ExitCode run_report(const QStringList& arguments) {
  CLI::App app("One page about a scenario: figures, charts, expectations; no display is needed",
               "orrery report");
  ReportOptions options;
  app.add_option("SCENARIO", options.file, "Scenario: a file or a shipped name")->required();
  app.add_option("-o,--output", options.out, ".html, .pdf or .svg; - writes HTML to stdout")
      ->required()
      ->type_name("FILE");
  app.add_flag("--full", options.full,
               "Also the charts that take many runs; a PDF has all charts then");
  app.add_flag("--slides", options.slides,
               "Three slides, 16:9: the verdict, where the money goes, what to change")
      ->excludes("--full");
  app.footer(
      "Examples:\n  orrery report llama3-405b-16k -o report.pdf\n"
      "  orrery report --slides llama3-405b-16k -o slides.pdf");
  std::vector<std::string> words = {"orrery-gui"};
  for (const QString& argument : arguments) {
    words.push_back(argument.toStdString());
  }
  std::vector<const char*> pointers;
  for (const std::string& word : words) {
    pointers.push_back(word.c_str());
  }
  return cli::run_program(
      app, static_cast<int>(pointers.size()), pointers.data(), "report",
      [&options](const cli::InterruptWatch& watch) { return write_page(options, watch); });
}

}  // namespace

void write_report(const ReportContent& content, const QString& path) {
  const QString ending = QFileInfo(path).suffix().toLower();
  const QByteArray bytes = ending == "pdf"   ? report_pdf(content)
                           : ending == "svg" ? report_svg(content)
                                             : report_html(content);
  if (path == "-") {
    say(stdout, std::string_view(bytes.constData(), static_cast<std::size_t>(bytes.size())));
    return;
  }
  write_bytes(bytes, path.toStdString());
}

int report_command(const QStringList& arguments) {
  return cli::run_guarded([&arguments] { return run_report(arguments); });
}

}  // namespace orrery::gui
