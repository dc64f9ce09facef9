#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "sim/base/format.hpp"
#include "sim/base/units.hpp"
#include "sim/cli/doctor.hpp"

namespace orrery::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kIndent = "           ";

// A titled part: the first line beside the title, the others below it.
class Part {
 public:
  explicit Part(std::string_view title) : text_(fmt::format("{:<11}", title)) {}

  void line(std::string_view text) {
    text_ += fmt::format("{}{}\n", first_ ? "" : kIndent, text);
    first_ = false;
  }

  [[nodiscard]] std::string text() const {
    return first_ ? std::string() : text_;
  }

 private:
  std::string text_;
  bool first_ = true;
};

std::string head(const DoctorReport& report) {
  std::string libraries;
  for (const LibraryInfo& library : report.build.libraries) {
    libraries +=
        fmt::format("{}{} {}", libraries.empty() ? "" : ", ", library.name, library.version);
  }
  Part part("Orrery");
  part.line(fmt::format(
      "{}, {} build by {}", report.build.version, report.build.build_type, report.build.compiler));
  part.line(report.program);
  part.line(libraries);
  for (const std::string_view left_out : report.build.left_out) {
    part.line(fmt::format("left out: {}", left_out));
  }
  return part.text();
}

std::string programs(const DoctorReport& report) {
  Part part("PROGRAMS");
  for (const ProgramState& program : report.programs) {
    part.line(fmt::format("{:<17} {:<28} {}",
                          program.name,
                          program.commands,
                          program.path ? program.path->string() : "not there"));
  }
  return part.text();
}

std::string profiles(const DoctorReport& report) {
  Part part("PROFILES");
  for (const ProfileFolder& folder : report.profiles) {
    part.line(fmt::format("{}: {} GPUs, {} training stacks, {} files of measured collectives",
                          folder.path.string(),
                          folder.gpus,
                          folder.software,
                          folder.collectives));
  }
  if (report.profiles.empty()) {
    part.line("none");
  }
  Part scenarios("SCENARIOS");
  scenarios.line(report.scenarios
                     ? fmt::format("{}: {}", report.scenarios->string(), report.scenario_count)
                     : "none shipped with this program");
  return part.text() + scenarios.text();
}

std::string build_line(const MachineState& machine) {
  if (machine.cuda.empty()) {
    return "orrery-calibrate is built without CUDA: fits and lists, but does not measure";
  }
  return fmt::format("orrery-calibrate is built with CUDA {}, {} NCCL, {} cuDNN attention",
                     machine.cuda,
                     machine.collectives ? "with" : "without",
                     machine.cudnn_attention ? "with" : "without");
}

std::string machine_part(const MachineState& machine) {
  Part part("GPU");
  if (!machine.asked) {
    part.line("not asked: orrery-calibrate is not there or does not answer");
    return part.text();
  }
  for (const GpuState& gpu : machine.gpus) {
    part.line(
        fmt::format("{}{}, {}",
                    gpu.name,
                    gpu.memory ? ", " + format_bytes_binary(bytes(*gpu.memory)) : std::string(),
                    gpu.profile.empty() ? "no profile shipped" : "profile " + gpu.profile));
  }
  if (machine.gpus.empty()) {
    part.line(fmt::format("none: {}; only `orrery calibrate` needs one",
                          machine.absence.empty() ? "the driver lists no GPU" : machine.absence));
  }
  if (!machine.driver.empty()) {
    part.line(fmt::format("driver {}, runs CUDA up to {}",
                          machine.driver,
                          machine.driver_cuda.empty() ? "unknown" : machine.driver_cuda));
  }
  part.line(build_line(machine));
  return part.text();
}

std::string surroundings(const DoctorReport& report) {
  Part part("MACHINE");
  part.line(fmt::format(
      "{} threads{}",
      report.threads,
      report.cpu_limit ? fmt::format(", the control group allows {:.3g} CPUs", *report.cpu_limit)
                       : ""));
  for (const WritableFolder& folder : report.folders) {
    part.line(fmt::format("{} {} for {}",
                          folder.path.string(),
                          folder.writable ? "can be written" : "CANNOT be written",
                          folder.use));
  }
  return part.text();
}

std::string findings(const DoctorReport& report) {
  std::string text;
  for (const bool problem : {true, false}) {
    Part part(problem ? "PROBLEMS" : "ADVICE");
    for (const Finding& finding : report.findings) {
      if (finding.problem == problem) {
        part.line(finding.text);
        part.line("  " + finding.remedy);
      }
    }
    text += part.text();
  }
  return text;
}

Json machine_json(const MachineState& machine) {
  Json gpus = Json::array();
  for (const GpuState& gpu : machine.gpus) {
    gpus.push_back({{"name", gpu.name},
                    {"memory_bytes", gpu.memory ? Json(*gpu.memory) : Json(nullptr)},
                    {"profile", gpu.profile.empty() ? Json(nullptr) : Json(gpu.profile)}});
  }
  return {{"asked", machine.asked},
          {"cuda", machine.cuda},
          {"collectives", machine.collectives},
          {"cudnn_attention", machine.cudnn_attention},
          {"driver_installed", machine.driver_installed},
          {"driver", machine.driver},
          {"driver_cuda", machine.driver_cuda},
          {"absence", machine.absence},
          {"gpus", gpus}};
}

Json build_json(const BuildInfo& build) {
  Json libraries = Json::array();
  for (const LibraryInfo& library : build.libraries) {
    libraries.push_back(
        {{"name", library.name}, {"version", library.version}, {"licence", library.licence}});
  }
  Json left_out = Json::array();
  for (const std::string_view part : build.left_out) {
    left_out.push_back(part);
  }
  return {{"type", build.build_type},
          {"compiler", build.compiler},
          {"libraries", libraries},
          {"left_out", left_out}};
}

}  // namespace

std::string to_text(const DoctorReport& report) {
  return head(report) + programs(report) + profiles(report) + machine_part(report.machine) +
         surroundings(report) + findings(report);
}

std::string to_json(const DoctorReport& report) {
  Json programs = Json::array();
  for (const ProgramState& program : report.programs) {
    programs.push_back({{"name", program.name},
                        {"commands", program.commands},
                        {"path", program.path ? Json(program.path->string()) : Json(nullptr)}});
  }
  Json profiles = Json::array();
  for (const ProfileFolder& folder : report.profiles) {
    profiles.push_back({{"path", folder.path.string()},
                        {"gpus", folder.gpus},
                        {"software", folder.software},
                        {"collectives", folder.collectives}});
  }
  Json folders = Json::array();
  for (const WritableFolder& folder : report.folders) {
    folders.push_back(
        {{"path", folder.path.string()}, {"use", folder.use}, {"writable", folder.writable}});
  }
  Json findings = Json::array();
  for (const Finding& finding : report.findings) {
    findings.push_back(
        {{"problem", finding.problem}, {"text", finding.text}, {"remedy", finding.remedy}});
  }
  const Json out = {
      {"schema", "orrery-doctor/1"},
      {"healthy", report.healthy()},
      {"version", report.build.version},
      {"program", report.program},
      {"build", build_json(report.build)},
      {"programs", programs},
      {"profiles", profiles},
      {"scenarios", report.scenarios ? Json(report.scenarios->string()) : Json(nullptr)},
      {"machine", machine_json(report.machine)},
      {"threads", report.threads},
      {"cpu_limit", report.cpu_limit ? Json(*report.cpu_limit) : Json(nullptr)},
      {"folders", folders},
      {"findings", findings}};
  constexpr int kSpaces = 2;
  return out.dump(kSpaces, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace orrery::cli
