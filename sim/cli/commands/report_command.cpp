// `orrery report --post-mortem`: the part of `report` that needs no window; the pages with charts
// are those of orrery-gui (external_command.hpp).

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <memory>

#include "sim/cli/commands/commands.hpp"
#include "sim/cli/commands/shared_options.hpp"
#include "sim/cli/compare/post_mortem_page.hpp"

namespace orrery::cli {

void add_report_command(CLI::App& command, Action& action) {
  const auto asked = std::make_shared<PostMortemQuestion>();
  const auto colour = std::make_shared<std::string>("auto");
  command.add_option("SCENARIO", asked->scenario, "Scenario: a file or a shipped name")->required();
  command
      .add_option(
          "--post-mortem", asked->logs,
          "The log of a run: where its time went, beside the plan; repeatable, for the logs "
          "of its restarts")
      ->required()
      ->check(CLI::ExistingFile)
      ->type_name("LOG")
      ->allow_extra_args(false);
  command.add_flag("--json", asked->json, "orrery-post-mortem/1");
  command
      .add_option("-o,--output", asked->output,
                  "With --post-mortem: .json, .csv or .html; others are text (default: stdout)")
      ->type_name("FILE");
  add_evaluation_options(command, asked->evaluation);
  add_colour_option(command, *colour);
  command.footer(
      "Examples:\n"
      "  orrery report --post-mortem train.log scenario.yaml\n"
      "  orrery report --post-mortem slurm-1.out --post-mortem slurm-2.out -o lost.html run.yaml");
  act_on(command, action, asked, [colour](PostMortemQuestion& question, InterruptWatch& watch) {
    question.style = page_style(*colour, question.output);
    return report_post_mortem(question, watch);
  });
}

}  // namespace orrery::cli
