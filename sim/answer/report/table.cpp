#include "sim/answer/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "sim/base/text/json_text.hpp"
#include "sim/base/text/text.hpp"

namespace orrery::report {

namespace {

// What XML 1.0 (section 2.2) lets a document hold, less what a reader cannot see.
bool is_xml(std::string_view text, std::size_t length) {
  const char c = text.front();
  return length > 0 && (c == '\t' || c == '\n' || is_visible(code_point(text, length)));
}

constexpr std::size_t kBarInCell = 12;

// Nothing for a number that is not finite.
std::optional<double> number_in(const Cell& cell) {
  const auto* number = std::get_if<double>(&cell);
  return number != nullptr && std::isfinite(*number) ? std::optional(*number) : std::nullopt;
}

// For people, whatever a text holds.
std::string shown(const Cell& cell, const Column& column) {
  if (const auto* text = std::get_if<std::string>(&cell)) {
    return *text;
  }
  const auto number = number_in(cell);
  return !number            ? "-"
         : column.dimension ? format_value(*column.dimension, *number)
                            : fmt::format("{:g}", *number);
}

std::string csv_of(const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  const auto number = number_in(cell);
  return text != nullptr ? csv_cell(*text) : number ? fmt::format("{}", *number) : std::string();
}

// No cell ends the table.
std::string markdown_of(std::string text) {
  for (std::size_t at = 0; (at = text.find_first_of("|\n", at)) != std::string::npos; at += 2) {
    text.replace(at, 1, text[at] == '|' ? "\\|" : " ");
  }
  return text;
}

using Texts = std::vector<std::string>;

Texts titles_of(const Table& table) {
  Texts titles;
  for (const Column& column : table.columns) {
    titles.push_back(column.title);
  }
  return titles;
}

}  // namespace

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c;
    if (c == '"') {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string xml_text(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char c = text.front();
    if (!is_xml(text, length)) {
      out += '?';
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\n') {
      out += "&#10;";
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return out;
}

Table table_of(std::initializer_list<std::string_view> names) {
  Table table;
  for (const std::string_view name : names) {
    table.columns.push_back({std::string(name), std::string(name)});
  }
  return table;
}

std::string to_text(const Table& table, const TextPage& page) {
  constexpr std::string_view kGap = "  ";
  std::vector<Texts> lines = {titles_of(table)};
  for (const auto& row : table.rows) {
    Texts& line = lines.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) {
      const auto* share = std::get_if<double>(&row[i]);
      line.push_back(table.columns[i].bar && share != nullptr
                         ? page.bar(*share, kBarInCell)
                         : printable(shown(row[i], table.columns[i])));
    }
  }
  std::size_t columns = 0;
  for (std::size_t total = 0; columns < table.columns.size(); ++columns) {
    std::size_t width = 0;
    for (const Texts& line : lines) {
      width = std::max(width, columns < line.size() ? text_columns(line[columns]) : 0);
    }
    total += width + (columns == 0 ? 0 : kGap.size());
    if (columns > 0 && total > kPageWidth) {
      break;
    }
    for (Texts& line : lines) {
      if (columns < line.size()) {
        line[columns] =
            columns < table.left ? pad_right(line[columns], width) : pad_left(line[columns], width);
      }
    }
  }
  std::string text;
  for (Texts& line : lines) {
    line.resize(std::min(line.size(), columns));
    std::string words = fmt::format("{}", fmt::join(line, kGap));
    words.resize(words.find_last_not_of(' ') + 1);
    text += (text.empty() ? page.paint(Ink::faint, words) : words) + "\n";
  }
  return text;
}

std::string to_csv(const Table& table) {
  Texts names;
  for (const Column& column : table.columns) {
    names.push_back(csv_cell(column.name));
  }
  std::string csv = fmt::format("{}\n", fmt::join(names, ","));
  for (const auto& row : table.rows) {
    Texts cells;
    for (const Cell& cell : row) {
      cells.push_back(csv_of(cell));
    }
    csv += fmt::format("{}\n", fmt::join(cells, ","));
  }
  return csv;
}

std::string to_markdown(const Table& table) {
  std::string text = fmt::format("| {} |\n|", fmt::join(titles_of(table), " | "));
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    text += "---|";
  }
  for (const auto& row : table.rows) {
    text += "\n|";
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += fmt::format(" {} |", markdown_of(shown(row[i], table.columns[i])));
    }
  }
  return text + "\n";
}

Json json_of(const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  return text != nullptr ? Json(*text) : Json(number_in(cell));
}

Json rows_json(const Table& table) {
  return json_list(table.rows, [&table](const std::vector<Cell>& row) {
    Json line = Json::object();
    for (std::size_t i = 0; i < row.size(); ++i) {
      line[table.columns[i].name] = json_of(row[i]);
    }
    return line;
  });
}

}  // namespace orrery::report
