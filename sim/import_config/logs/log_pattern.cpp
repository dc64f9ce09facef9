#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>

#include "sim/base/units.hpp"
#include "sim/import_config/logs/log_lines.hpp"
#include "sim/import_config/logs/log_programs.hpp"

namespace orrery::import_config {

namespace {

struct Field {
  std::string_view name;
  Says says;
  double unit = 1.0;
};

constexpr std::array<Field, 15> kFields = {{{"", Says::heading},
                                            {"step", Says::number},
                                            {"s", Says::seconds},
                                            {"ms", Says::seconds, kMilli},
                                            {"min", Says::seconds, kSecondsPerMinute},
                                            {"s so far", Says::run_seconds},
                                            {"ms so far", Says::run_seconds, kMilli},
                                            {"steps/s", Says::steps_per_second},
                                            {"sequences/s", Says::sequences_per_second},
                                            {"tokens/s", Says::tokens_per_second},
                                            {"tokens/s/gpu", Says::tokens_per_second_of_rank},
                                            {"sequences", Says::sequences},
                                            {"sequences so far", Says::sequences_so_far},
                                            {"units/s", Says::units_per_second},
                                            {"tflops", Says::tflops}}};

std::string field_names() {
  std::string names;
  for (const Field& field : std::span(kFields).subspan(1)) {
    names += fmt::format("{}{{{}}}", names.empty() ? "" : ", ", field.name);
  }
  return names;
}

std::string_view without_end(std::string_view text) {
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

std::optional<Figure> figure_of(std::string_view before,
                                std::string_view field,
                                std::string_view after,
                                Diagnostics& diagnostics) {
  const auto* known = std::find_if(
      kFields.begin(), kFields.end(), [field](const Field& f) { return f.name == field; });
  if (known == kFields.end()) {
    diagnostics.error({"--pattern"}, "", fmt::format("knows no field `{}`", field), field_names());
    return std::nullopt;
  }
  if (trimmed(before).empty()) {
    diagnostics.error(
        {"--pattern"},
        "",
        fmt::format("{{{}}} needs words in front of it, by which its place is found", field));
    return std::nullopt;
  }
  return Figure{trimmed(before), known->says, known->unit, without_end(after)};
}

}  // namespace

std::vector<Figure> figures_of(std::string_view text, Diagnostics& diagnostics) {
  std::vector<Figure> figures;
  for (std::size_t open = text.find('{'); open != std::string_view::npos; open = text.find('{')) {
    const std::size_t close = text.find('}', open);
    if (close == std::string_view::npos) {
      break;
    }
    const std::string_view words = text.substr(0, open);
    const std::string_view next = text.substr(close + 1);
    if (const auto figure = figure_of(words.substr(words.rfind('*') + 1),
                                      text.substr(open + 1, close - open - 1),
                                      next.substr(0, next.find_first_of("*{")),
                                      diagnostics)) {
      figures.push_back(*figure);
    }
    text = next;
  }
  return figures;
}

LogProgram pattern_program(std::string_view pattern, Diagnostics& diagnostics) {
  LogProgram program;
  program.figures = figures_of(pattern, diagnostics);
  const bool timed =
      std::any_of(program.figures.begin(), program.figures.end(), [](const Figure& figure) {
        return figure.says >= Says::seconds && figure.says <= Says::tokens_per_second_of_rank;
      });
  for (std::size_t i = 0; i < program.figures.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (program.figures[i].before == program.figures[k].before) {
        diagnostics.error(
            {"--pattern"},
            "",
            fmt::format("has two fields behind `{}`: their places cannot be told apart",
                        program.figures[i].before),
            "other words before each; a table with a header needs no --pattern");
      }
    }
  }
  if (!pattern.empty() && !timed && !diagnostics.has_errors()) {
    diagnostics.error({"--pattern"}, "", "says no time of a step", field_names());
  }
  return program;
}

}  // namespace orrery::import_config
