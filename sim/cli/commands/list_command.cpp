// `orrery list`: which names may a scenario use?

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <algorithm>
#include <memory>

#include "sim/answer/evaluate/catalog.hpp"
#include "sim/base/text/json_text.hpp"
#include "sim/base/text/text.hpp"
#include "sim/cli/commands/commands.hpp"
#include "sim/cli/commands/shared_options.hpp"
#include "sim/cli/frame/program.hpp"

namespace orrery::cli {

namespace {

struct ListOptions {
  std::string kind;
  std::vector<std::filesystem::path> profiles;
  std::optional<std::string> output;
  bool json = false;
};

const evaluate::CatalogKindInfo& kind_of(const std::string& name) {
  std::vector<std::string_view> names;
  for (const evaluate::CatalogKindInfo& kind : evaluate::catalog_kinds()) {
    if (kind.name == name) {
      return kind;
    }
    names.push_back(kind.name);
  }
  const std::string_view near = nearest_name(name, names);
  std::string known;
  for (const std::string_view word : names) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", word);
  }
  throw UsageError(fmt::format("list: there is no list of `{}` ({})", name,
                               near.empty() ? known : fmt::format("did you mean `{}`?", near)));
}

std::vector<evaluate::CatalogEntry> entries_of(const ListOptions& options,
                                               Diagnostics& diagnostics) {
  if (options.kind.empty()) {
    std::vector<evaluate::CatalogEntry> kinds;
    for (const evaluate::CatalogKindInfo& kind : evaluate::catalog_kinds()) {
      kinds.push_back({std::string(kind.name), std::string(kind.meaning), ""});
    }
    return kinds;
  }
  return evaluate::catalog(kind_of(options.kind).kind,
                           evaluate::profile_search({}, options.profiles), diagnostics);
}

std::string to_text(const std::vector<evaluate::CatalogEntry>& entries) {
  std::size_t widest = 0;
  for (const evaluate::CatalogEntry& entry : entries) {
    widest = std::max(widest, report::text_columns(printable(entry.name)));
  }
  std::string text;
  std::string_view group;
  for (const evaluate::CatalogEntry& entry : entries) {
    if (entry.group != group) {
      text += fmt::format("{}{}\n", text.empty() ? "" : "\n", entry.group);
      group = entry.group;
    }
    text += group.empty() ? "" : "  ";
    text += report::pad_right(printable(entry.name), widest) + "  " + printable(entry.summary);
    text += entry.origin.empty() ? "\n" : fmt::format("  [{}]\n", printable(entry.origin));
  }
  return text;
}

std::string to_json(const std::string& kind, const std::vector<evaluate::CatalogEntry>& entries) {
  return json_text({{"schema", "orrery-list/1"},
                    {"kind", kind.empty() ? "lists" : kind},
                    {"entries", json_list(entries, [](const evaluate::CatalogEntry& entry) {
                       return Json{{"name", entry.name},
                                   {"group", entry.group},
                                   {"summary", entry.summary},
                                   {"source", entry.origin}};
                     })}});
}

ExitCode list_names(const ListOptions& options, const InterruptWatch&) {
  Diagnostics diagnostics;
  const auto entries = entries_of(options, diagnostics);
  message_block(to_string(diagnostics));
  deliver(options.json ? to_json(options.kind, entries) : to_text(entries), options.output);
  return diagnostics.has_errors() ? ExitCode::invalid : ExitCode::ok;
}

}  // namespace

void add_list_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("list", "Names that scenarios may use, with their sources");
  const auto options = std::make_shared<ListOptions>();
  std::string kinds;
  for (const evaluate::CatalogKindInfo& kind : evaluate::catalog_kinds()) {
    kinds += fmt::format("{}{}", kinds.empty() ? "" : ", ", kind.name);
  }
  command->add_option("WHAT", options->kind, kinds);
  command->add_flag("--json", options->json, "orrery-list/1");
  add_profiles_option(*command, options->profiles);
  add_output_option(*command, options->output);
  command->footer(
      "Example:\n"
      "  orrery list gpus");
  act_on(*command, action, options, list_names);
}

}  // namespace orrery::cli
