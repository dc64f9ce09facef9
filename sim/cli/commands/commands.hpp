#pragma once

// The commands of `orrery`. Each adds itself to the parser and sets the action to run when chosen.
//
// command  | answers
// ---------|-------------------------------------------------------------------------------------
// run      | what does this training run take, and why: one screen, or JSON
// check    | does it meet its `expect:` lines: for CI, with JUnit
// explain  | how did one number come about: formula, inputs, coefficients, sources
// list     | which names may a scenario use, and which scenarios are shipped
// schema   | what may a scenario file say: JSON Schema, or the reference in Markdown
// export   | the same for other programs: traces, tables, JSON
// sweep    | what happens at many values of its keys
// plan     | which layout, how many GPUs, which run
// jobs     | what do jobs on one network cost one another
// validate | how far are predictions from published measurements
// compare  | what differs between two calibrations of a machine, two scenarios, or a prediction
//          | and traces of the real step
// project  | from traces and configurations of a small job: what does a larger one take
// report   | where did the time of a run go (--post-mortem); pages with charts are orrery-gui's
// doctor   | what is installed, what is missing
// completion | candidates for the end of a command line: for shells
// man      | the manual pages

#include "sim/cli/frame/interrupt.hpp"
#include "sim/cli/frame/program.hpp"

namespace CLI {
class App;
}

namespace orrery::sweep {
class Team;
}

namespace orrery::cli {

// `action`: what the chosen command does; empty when none was chosen.
void add_run_command(CLI::App& app, Action& action);
void add_check_command(CLI::App& app, Action& action);
void add_explain_command(CLI::App& app, Action& action);
void add_jobs_command(CLI::App& app, Action& action);
void add_list_command(CLI::App& app, Action& action);
void add_schema_command(CLI::App& app, Action& action);
void add_export_command(CLI::App& app, Action& action);
void add_validate_command(CLI::App& app, Action& action);
void add_compare_command(CLI::App& app, Action& action);
void add_doctor_command(CLI::App& app, Action& action);
void add_project_command(CLI::App& app, Action& action);
// To the command that stands for the one of another program.
void add_report_command(CLI::App& command, Action& action);
// These read the commands that `app` has when they are chosen.
void add_completion_command(CLI::App& app, Action& action);
void add_man_command(CLI::App& app, Action& action);
// `team` evaluates the points; it must outlive the action.
void add_sweep_command(CLI::App& app, Action& action, sweep::Team& team);
// `team` simulates the plans, likewise.
void add_plan_command(CLI::App& app, Action& action, sweep::Team& team);

}  // namespace orrery::cli
