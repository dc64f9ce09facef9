#include "sim/cli/help/man_page.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "sim/base/text/text.hpp"

namespace orrery::cli {

namespace {

// In troff a backslash starts an escape, a bare hyphen is a line break opportunity and not the
// character to type, and a line that starts with a dot or an apostrophe is a request.
std::string escaped(std::string_view text) {
  std::string out;
  bool line_starts = true;
  for (const char c : text) {
    if (line_starts && (c == '.' || c == '\'')) {
      out += "\\&";
    }
    line_starts = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string section(std::string_view title) { return fmt::format(".SH {}\n", title); }

// Lines of prose; an empty line starts a paragraph.
std::string prose(std::string_view text) {
  std::string out;
  for (const std::string& line : lines_of(text)) {
    out += line.empty() ? ".PP\n" : escaped(line) + "\n";
  }
  return out;
}

// Lines as they stand.
std::string verbatim(const std::vector<std::string>& lines) {
  std::string out = ".nf\n";
  for (const std::string& line : lines) {
    out += escaped(line) + "\n";
  }
  return out + ".fi\n";
}

std::string names_of(const ArgumentInfo& option) {
  std::string text;
  for (const std::string& name : option.names) {
    text += fmt::format("{}\\fB{}\\fR", text.empty() ? "" : ", ", escaped(name));
  }
  if (!option.value.empty()) {
    text += fmt::format(" \\fI{}\\fR", escaped(option.value));
  }
  return text;
}

// The choices, unless the meaning has named them all.
std::string notes_of(const ArgumentInfo& argument) {
  std::string text;
  const bool named = std::ranges::all_of(argument.choices, [&argument](const std::string& choice) {
    return argument.meaning.find(choice) != std::string::npos;
  });
  if (!named) {
    text += ".br\nOne of";
    for (const std::string& choice : argument.choices) {
      text += fmt::format("{} \\fB{}\\fR", &choice == &argument.choices.front() ? "" : ",",
                          escaped(choice));
    }
    text += ".\n";
  }
  return text;
}

std::string meaning_of(const ArgumentInfo& argument) {
  const std::vector<std::string> lines = lines_of(argument.meaning);
  std::string out;
  for (const std::string& line : lines) {
    out += escaped(line) + "\n";
    out += &line == &lines.back() ? "" : ".br\n";
  }
  return (out.empty() ? "\\&\n" : out) + notes_of(argument);
}

std::string positional_name(const ArgumentInfo& argument) {
  return fmt::format("\\fI{}\\fR{}", escaped(argument.names.front()),
                     argument.repeatable ? " ..." : "");
}

std::string synopsis(const CommandInfo& program, const CommandInfo& command, bool whole) {
  std::string text = fmt::format("\\fB{}\\fR", escaped(program.name));
  text += whole ? " \\fICOMMAND\\fR" : fmt::format(" \\fB{}\\fR", escaped(command.name));
  text += " [\\fIOPTION\\fR ...]";
  for (const ArgumentInfo& argument : command.positionals) {
    const std::string name = positional_name(argument);
    text += argument.required ? " " + name : fmt::format(" [{}]", name);
  }
  for (const ArgumentInfo& option : command.options) {
    if (option.required) {
      text += " " + names_of(option);
    }
  }
  return text + "\n";
}

std::string option_list(const std::vector<ArgumentInfo>& options, std::string_view group) {
  std::string out;
  for (const ArgumentInfo& option : options) {
    if (option.group == group) {
      out += fmt::format(".TP\n{}\n{}", names_of(option), meaning_of(option));
    }
  }
  return out;
}

std::string option_sections(const CommandInfo& command) {
  std::string out;
  std::vector<std::string> groups;
  for (const ArgumentInfo& option : command.options) {
    if (std::ranges::find(groups, option.group) == groups.end()) {
      groups.push_back(option.group);
    }
  }
  for (const std::string& group : groups) {
    out += section(group.empty() ? "OPTIONS" : "\"" + upper(group) + "\"");
    out += option_list(command.options, group);
  }
  return out;
}

// "Examples:" and "Exit codes: ..." of a footer become sections; the rest is prose.
std::string footer_sections(const std::string& footer) {
  std::string notes;
  std::string out;
  std::vector<std::string> examples;
  std::string codes;
  enum class In { text, example, code } in = In::text;
  for (const std::string& line : lines_of(footer)) {
    constexpr std::string_view kCodes = "Exit codes: ";
    if (line == "Example:" || line == "Examples:") {
      in = In::example;
    } else if (line.starts_with(kCodes)) {
      in = In::code;
      codes = line.substr(kCodes.size()) + "\n";
    } else if (in == In::code && !line.empty()) {
      codes += line + "\n";
    } else if (in == In::example && !line.empty()) {
      examples.push_back(line);
    } else if (!line.empty() || !notes.empty()) {
      in = In::text;
      notes += line + "\n";
    }
  }
  while (notes.ends_with("\n\n")) {
    notes.pop_back();
  }
  out += notes.empty() || notes == "\n" ? "" : section("NOTES") + prose(notes);
  out += examples.empty() ? "" : section("EXAMPLES") + verbatim(examples);
  out += codes.empty() ? "" : section("\"EXIT STATUS\"") + prose(codes);
  return out;
}

std::string argument_section(const CommandInfo& command) {
  std::string out;
  for (const ArgumentInfo& argument : command.positionals) {
    out += fmt::format(".TP\n{}\n{}", positional_name(argument), meaning_of(argument));
  }
  return out.empty() ? out : section("ARGUMENTS") + out;
}

std::string command_section(const CommandInfo& command, std::string_view title) {
  std::string out;
  for (const CommandInfo& child : command.commands) {
    out += fmt::format(".TP\n\\fB{}\\fR\n{}", escaped(child.name), prose(child.summary));
  }
  return out.empty() ? out : section(title) + out;
}

// A command below a command has no page of its own: its options stand in that of the upper one.
std::string child_sections(const CommandInfo& command) {
  std::string out;
  for (const CommandInfo& child : command.commands) {
    const std::string options = option_list(child.options, "");
    if (!options.empty()) {
      out += section("\"OPTIONS OF " + upper(child.name) + "\"") + options;
    }
  }
  return out;
}

constexpr std::string_view kEnvironment =
    ".SH ENVIRONMENT\n"
    ".TP\n\\fBORRERY_PROFILES\\fR\nFolders of profiles, separated by colons, searched first.\n"
    ".TP\n\\fBNO_COLOR\\fR\nNo colour on a terminal.\n"
    ".SH FILES\n"
    ".TP\n\\fI../share/orrery/scenarios\\fR, seen from the program\n"
    "Scenarios to start from, with the profiles of GPUs and training stacks below\n"
    "\\fIprofiles\\fR.\n";

// What man -k shows: the first sentence, without its full stop.
std::string one_line(const std::string& summary) {
  std::string text = summary;
  std::ranges::replace(text, '\n', ' ');
  const std::size_t end = text.find(". ");
  text = text.substr(0, end);
  while (!text.empty() && text.back() == '.') {
    text.pop_back();
  }
  return text;
}

std::string see_also(const CommandInfo& program, const CommandInfo& command, bool whole) {
  std::string out = section("\"SEE ALSO\"");
  if (!whole) {
    return out + fmt::format(".BR {} (1)\n", escaped(program.name));
  }
  std::string separator;
  for (const CommandInfo& child : command.commands) {
    out += fmt::format("{}.BR {} (1)", separator, escaped(program.name + "-" + child.name));
    separator = ",\n";
  }
  return out + "\n";
}

}  // namespace

ManualPage manual_page(const CommandInfo& program, const CommandInfo& command,
                       std::string_view version) {
  const bool whole = &program == &command;
  const std::string name = whole ? program.name : program.name + "-" + command.name;
  std::string text = fmt::format(".TH {} 1 \"\" \"Orrery {}\" \"Orrery manual\"\n",
                                 escaped(upper(name)), escaped(version));
  text += section("NAME") +
          fmt::format("{} \\- {}\n", escaped(name), escaped(one_line(command.summary)));
  text += section("SYNOPSIS") + synopsis(program, command, whole);
  text += section("DESCRIPTION") + prose(command.summary);
  text += command_section(command, "COMMANDS");
  text += argument_section(command);
  text += option_sections(command);
  text += child_sections(command);
  text += whole ? std::string(kEnvironment) : std::string();
  text += footer_sections(command.footer);
  text += see_also(program, command, whole);
  return {name, std::move(text)};
}

}  // namespace orrery::cli
