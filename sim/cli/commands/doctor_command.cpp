// `orrery doctor`: what is installed, what is missing, and what to do about it.

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <memory>

#include "sim/cli/commands/commands.hpp"
#include "sim/cli/commands/shared_options.hpp"
#include "sim/cli/help/doctor.hpp"

namespace orrery::cli {

namespace {

struct DoctorOptions {
  std::optional<std::string> output;
  bool json = false;
};

ExitCode show_report(const DoctorOptions& options, const InterruptWatch&) {
  const DoctorReport report = examine();
  deliver(options.json ? to_json(report) : to_text(report), options.output);
  return report.healthy() ? ExitCode::ok : ExitCode::device;
}

}  // namespace

void add_doctor_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "doctor", "What is installed, which GPU and profiles are found, what is missing");
  const auto options = std::make_shared<DoctorOptions>();
  command->add_flag("--json", options->json, "orrery-doctor/1");
  add_output_option(*command, options->output);
  command->footer(
      "Example:\n"
      "  orrery doctor\n\n"
      "Exit codes: 0 nothing is wrong, even if optional parts are missing; 5 profiles are missing "
      "or\n"
      "broken, or a GPU driver does not answer.");
  act_on(*command, action, options, show_report);
}

}  // namespace orrery::cli
