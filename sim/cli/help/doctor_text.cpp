#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/answer/report/text/text_page.hpp"
#include "sim/base/text/format.hpp"
#include "sim/base/text/json_text.hpp"
#include "sim/cli/help/doctor.hpp"

namespace orrery::cli {

namespace {

using report::TextPage;

// A titled part: the first line beside the title, the others below it.
class Part {
 public:
  Part(TextPage& page, std::string_view title) : page_(page), title_(title) {}

  // What does not fit on the line goes on `hanging` columns further right.
  void line(std::string_view text, std::size_t hanging = 2) {
    if (first_) {
      page_.section(title_, text, false);
    } else {
      page_.line(text, hanging);
    }
    first_ = false;
  }

  void lines(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      line(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

 private:
  TextPage& page_;
  std::string_view title_;
  bool first_ = true;
};

// Lines that break between libraries, not between a name and its version.
void add_libraries(const std::vector<LibraryInfo>& libraries, Part& part) {
  constexpr std::size_t kRoom = report::kPageWidth - report::kPageIndent - 1;  // before a comma
  std::string line;
  for (const LibraryInfo& library : libraries) {
    const std::string one = fmt::format("{} {}", library.name, library.version);
    if (!line.empty() && line.size() + 2 + one.size() > kRoom) {
      part.line(line + ",");
      line.clear();
    }
    line += line.empty() ? one : ", " + one;
  }
  part.line(line);
}

void add_head(const DoctorReport& report, TextPage& page) {
  Part part(page, "Orrery");
  part.line(fmt::format("{}, {} build by {}", report.build.version, report.build.build_type,
                        report.build.compiler));
  part.line(report.program);
  add_libraries(report.build.libraries, part);
  for (const std::string_view left_out : report.build.left_out) {
    part.line(fmt::format("left out: {}", left_out));
  }
}

// All of them stand in the folder of this one, which the head names.
void add_programs(const DoctorReport& report, TextPage& page) {
  Part part(page, "PROGRAMS");
  std::size_t name = 0;
  std::size_t commands = 0;
  for (const ProgramState& program : report.programs) {
    name = std::max(name, program.name.size());
    commands = std::max(commands, program.commands.size());
  }
  for (const ProgramState& program : report.programs) {
    part.line(fmt::format("{}  {}  {}", report::pad_right(program.name, name),
                          report::pad_right(program.commands, commands),
                          program.path ? "here" : "not there"));
  }
}

void add_profiles(const DoctorReport& report, TextPage& page) {
  Part part(page, "PROFILES");
  for (const ProfileFolder& folder : report.profiles) {
    part.line(fmt::format(
        "{}: {} GPUs, {} training stacks, {} presets, {} files of measured collectives",
        folder.path.string(), folder.gpus, folder.software, folder.presets, folder.collectives));
  }
  if (report.profiles.empty()) {
    part.line("none");
  }
  Part scenarios(page, "SCENARIOS");
  scenarios.line(
      report.scenarios
          ? fmt::format("{}: {} (orrery list scenarios), to be named without the folder: orrery "
                        "run llama3-405b-16k",
                        report.scenarios->string(), report.scenario_count)
          : "none shipped with this program");
}

std::string build_line(const MachineState& machine) {
  if (!machine.missing.empty()) {
    return fmt::format(
        "orrery-calibrate fits and lists, but does not measure: {} not found (CUDA, NCCL)",
        fmt::join(machine.missing, ", "));
  }
  if (machine.cuda.empty()) {
    return "orrery-calibrate is built without CUDA: fits and lists, but does not measure";
  }
  return fmt::format("orrery-calibrate is built with CUDA {}, {} NCCL, {} cuDNN attention",
                     machine.cuda, machine.collectives ? "with" : "without",
                     machine.cudnn_attention ? "with" : "without");
}

void add_machine(const MachineState& machine, TextPage& page) {
  Part part(page, "GPU");
  if (!machine.asked) {
    part.line("not asked: orrery-calibrate is not there or does not answer");
    return;
  }
  for (const GpuState& gpu : machine.gpus) {
    part.line(
        fmt::format("{}{}, {}", gpu.name,
                    gpu.memory ? ", " + format_bytes_binary(bytes(*gpu.memory)) : std::string(),
                    gpu.profile.empty() ? "no profile shipped" : "profile " + gpu.profile));
  }
  if (machine.gpus.empty()) {
    part.line(fmt::format("none: {}; only `orrery calibrate` needs one",
                          machine.absence.empty() ? "the driver lists no GPU" : machine.absence));
  }
  if (!machine.driver.empty()) {
    part.line(fmt::format("driver {}, runs CUDA up to {}", machine.driver,
                          machine.driver_cuda.empty() ? "unknown" : machine.driver_cuda));
  }
  part.line(build_line(machine));
}

void add_surroundings(const DoctorReport& report, TextPage& page) {
  Part part(page, "MACHINE");
  part.line(fmt::format(
      "{} threads{}", report.threads,
      report.cpu_limit ? fmt::format(", the control group allows {:.3g} CPUs", *report.cpu_limit)
                       : ""));
  for (const WritableFolder& folder : report.folders) {
    part.line(fmt::format("{} {} for {}", folder.path.string(),
                          folder.writable ? "can be written" : "CANNOT be written", folder.use));
  }
}

void add_findings(const DoctorReport& report, TextPage& page) {
  for (const bool problem : {true, false}) {
    Part part(page, problem ? "PROBLEMS" : "ADVICE");
    for (const Finding& finding : report.findings) {
      if (finding.problem == problem) {
        part.lines(finding.text);
        part.line("  " + finding.remedy, 4);
      }
    }
  }
}

Json gpu_json(const GpuState& gpu) {
  return {{"name", gpu.name},
          {"memory_bytes", gpu.memory},
          {"profile", gpu.profile.empty() ? Json(nullptr) : Json(gpu.profile)}};
}

Json machine_json(const MachineState& machine) {
  return {{"asked", machine.asked},
          {"cuda", machine.cuda},
          {"collectives", machine.collectives},
          {"cudnn_attention", machine.cudnn_attention},
          {"missing", machine.missing},
          {"driver_installed", machine.driver_installed},
          {"driver", machine.driver},
          {"driver_cuda", machine.driver_cuda},
          {"absence", machine.absence},
          {"gpus", json_list(machine.gpus, gpu_json)}};
}

Json library_json(const LibraryInfo& library) {
  return {{"name", library.name}, {"version", library.version}, {"licence", library.licence}};
}

Json build_json(const BuildInfo& build) {
  return {{"type", build.build_type},
          {"compiler", build.compiler},
          {"libraries", json_list(build.libraries, library_json)},
          {"left_out", build.left_out}};
}

Json program_json(const ProgramState& program) {
  return {{"name", program.name},
          {"commands", program.commands},
          {"path", program.path ? Json(program.path->string()) : Json(nullptr)}};
}

Json profiles_json(const ProfileFolder& folder) {
  return {{"path", folder.path.string()},
          {"gpus", folder.gpus},
          {"software", folder.software},
          {"presets", folder.presets},
          {"collectives", folder.collectives}};
}

Json folder_json(const WritableFolder& folder) {
  return {{"path", folder.path.string()}, {"use", folder.use}, {"writable", folder.writable}};
}

Json finding_json(const Finding& finding) {
  return {{"problem", finding.problem}, {"text", finding.text}, {"remedy", finding.remedy}};
}

}  // namespace

std::string to_text(const DoctorReport& report) {
  TextPage page(report::TextStyle{});
  add_head(report, page);
  add_programs(report, page);
  add_profiles(report, page);
  add_machine(report.machine, page);
  add_surroundings(report, page);
  add_findings(report, page);
  return page.text();
}

std::string to_json(const DoctorReport& report) {
  return json_text(
      {{"schema", "orrery-doctor/1"},
       {"healthy", report.healthy()},
       {"version", report.build.version},
       {"program", report.program},
       {"build", build_json(report.build)},
       {"programs", json_list(report.programs, program_json)},
       {"profiles", json_list(report.profiles, profiles_json)},
       {"scenarios", report.scenarios ? Json(report.scenarios->string()) : Json(nullptr)},
       {"machine", machine_json(report.machine)},
       {"threads", report.threads},
       {"cpu_limit", report.cpu_limit},
       {"folders", json_list(report.folders, folder_json)},
       {"findings", json_list(report.findings, finding_json)}});
}

}  // namespace orrery::cli
