#include "sim/cli/help/doctor.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>
#include <thread>

#include "sim/answer/evaluate/catalog.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"
#include "sim/base/text/untrusted_json.hpp"
#include "sim/cli/frame/child_process.hpp"
#include "sim/cli/frame/external_command.hpp"

namespace orrery::cli {

namespace {

namespace fs = std::filesystem;

// Package that holds a program, and what a build needs to have it.
struct Source {
  std::string_view program;
  std::string_view package;
  std::string_view needs;
};

constexpr std::array<Source, 5> kSources = {{{"orrery-calibrate", "orrery-calibrate", "Eigen 3"},
                                             {"orrery-fit", "orrery-calibrate", "Eigen 3"},
                                             {"orrery-gui", "orrery-gui", "Qt 6 and QCustomPlot"},
                                             {"orrery-import", "orrery", "the simulator"},
                                             {"orrery-mpi", "orrery-mpi", "Open MPI"}}};

constexpr std::string_view kMpiProgram = "orrery-mpi";

std::string remedy_of(const std::string& program) {
  for (const Source& source : kSources) {
    if (source.program == program) {
      return fmt::format("install the package {}, or build it with {} (scripts/build)",
                         source.package, source.needs);
    }
  }
  return "build it";
}

std::vector<ProgramState> find_programs() {
  std::vector<ProgramState> programs;
  for (const ExternalCommand& command : external_commands()) {
    const std::string name = program_name(command);
    const auto known = std::ranges::find(programs, name, &ProgramState::name);
    if (known != programs.end()) {
      known->commands += fmt::format(", {}", command.name);
      continue;
    }
    programs.push_back({name, std::string(command.name), program_beside(name), remedy_of(name)});
  }
  const std::string mpi(kMpiProgram);
  programs.push_back({mpi, "sweep under mpirun", program_beside(mpi), remedy_of(mpi)});
  return programs;
}

std::size_t count_yaml(const fs::path& folder) {
  std::size_t count = 0;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".yaml") {
      ++count;
    }
  }
  return count;
}

std::size_t count_presets(const fs::path& folder) {
  std::size_t count = 0;
  for (const std::string_view kind : hardware::kPresetFolders) {
    count += count_yaml(folder / kind);
  }
  return count;
}

// `orrery list` calls the kinds of presets by their folders.
bool is_from_profiles(const evaluate::CatalogKindInfo& info) {
  return info.kind == evaluate::CatalogKind::gpus || info.kind == evaluate::CatalogKind::software ||
         std::ranges::find(hardware::kPresetFolders, info.name) != hardware::kPresetFolders.end();
}

std::vector<ProfileFolder> find_profiles() {
  std::vector<ProfileFolder> folders;
  for (const fs::path& path : hardware::default_search({}).directories) {
    folders.push_back({.path = path,
                       .gpus = count_yaml(path / "gpu"),
                       .software = count_yaml(path / "software"),
                       .collectives = count_yaml(path / "collectives"),
                       .presets = count_presets(path)});
  }
  return folders;
}

// The folder above the first profiles that has scenarios, as the desktop program looks for them.
void find_scenarios(DoctorReport& report) {
  for (const ProfileFolder& folder : report.profiles) {
    const fs::path above = folder.path.parent_path();
    const std::size_t count = count_yaml(above);
    if (count > 0) {
      report.scenarios = above;
      report.scenario_count = count;
      return;
    }
  }
}

MachineState ask_machine() {
  const auto program = program_beside("orrery-calibrate");
  const auto text = program ? output_of(*program, {"--machine"}) : std::nullopt;
  return text ? read_machine(*text) : MachineState{};
}

std::string text_or_empty(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

WritableFolder writable_folder(std::string use, const fs::path& path) {
  const bool writable = !path.empty() && access(path.c_str(), W_OK) == 0;
  return {std::move(use), path, writable};
}

std::vector<WritableFolder> find_folders() {
  std::error_code error;
  std::vector<WritableFolder> folders;
  folders.push_back(writable_folder("results", fs::current_path(error)));
  folders.push_back(writable_folder("temporary files", fs::temp_directory_path(error)));
  return folders;
}

std::optional<double> find_cpu_limit() {
  constexpr std::size_t kMostBytes = 4096;
  try {
    return cpu_limit_of(read_file("/sys/fs/cgroup/cpu.max", kMostBytes));
  } catch (const Error&) {
    return std::nullopt;
  }
}

void judge_environment(std::vector<Finding>& findings) {
  for (const std::string& entry : hardware::missing_in_environment()) {
    findings.push_back({.problem = true,
                        .text = fmt::format("ORRERY_PROFILES names {}, which is no folder", entry),
                        .remedy = "correct the variable"});
  }
}

// Every profile and preset that a scenario could name must be readable.
void judge_profiles(const DoctorReport& report, std::vector<Finding>& findings) {
  std::size_t gpus = 0;
  std::size_t software = 0;
  for (const ProfileFolder& folder : report.profiles) {
    gpus += folder.gpus;
    software += folder.software;
  }
  if (gpus == 0 || software == 0) {
    findings.push_back(
        {.problem = true,
         .text = gpus == 0 ? "no GPU profile is found" : "no profile of a training stack is found",
         .remedy = "install the whole package, or say where profiles are in "
                   "ORRERY_PROFILES"});
  }
  Diagnostics diagnostics;
  const hardware::ProfileSearch search = hardware::default_search({});
  for (const evaluate::CatalogKindInfo& info : evaluate::catalog_kinds()) {
    if (is_from_profiles(info)) {
      static_cast<void>(evaluate::catalog(info.kind, search, diagnostics));
    }
  }
  if (diagnostics.has_errors()) {
    std::string text = to_string(diagnostics);
    while (text.ends_with('\n')) {
      text.pop_back();
    }
    findings.push_back({.problem = true, .text = text, .remedy = "correct or remove the file"});
  }
}

void judge_machine(const MachineState& machine, std::vector<Finding>& findings) {
  if (!machine.asked) {
    return;
  }
  if (machine.driver_installed && !machine.absence.empty()) {
    findings.push_back({.problem = true,
                        .text = "the NVIDIA driver does not answer: " + machine.absence,
                        .remedy = "nvidia-smi should work; load or update the driver"});
  }
  if (!machine.missing.empty() && !machine.gpus.empty()) {
    findings.push_back(
        {.text = fmt::format("orrery-calibrate cannot measure the GPU: {} not found",
                             fmt::join(machine.missing, ", ")),
         .remedy = "install the CUDA toolkit and NCCL, or name their folder in LD_LIBRARY_PATH"});
  } else if (machine.cuda.empty() && !machine.gpus.empty()) {
    findings.push_back(
        {.text = "this orrery-calibrate is built without CUDA and cannot measure the GPU",
         .remedy = "build it where the CUDA toolkit 12.9 or later is installed"});
  }
  for (const GpuState& gpu : machine.gpus) {
    if (gpu.profile.empty()) {
      findings.push_back({.text = fmt::format("no profile is shipped for {}", gpu.name),
                          .remedy = "`orrery calibrate --base NAME -o FILE` measures one on it"});
    }
  }
}

}  // namespace

bool DoctorReport::healthy() const { return std::ranges::none_of(findings, &Finding::problem); }

MachineState read_machine(const std::string& json) {
  MachineState state;
  try {
    const nlohmann::json parsed = read_json(json).value;
    const auto& build = parsed.at("build");
    const auto& driver = parsed.at("driver");
    state.cuda = text_or_empty(build.at("cuda"));
    state.collectives = build.at("collectives").get<bool>();
    state.cudnn_attention = build.at("cudnn_attention").get<bool>();
    state.missing = build.value("missing", std::vector<std::string>{});
    state.driver_installed = driver.at("installed").get<bool>();
    state.driver = text_or_empty(driver.at("version"));
    state.driver_cuda = text_or_empty(driver.at("cuda"));
    state.absence = text_or_empty(driver.at("absence"));
    for (const auto& gpu : parsed.at("gpus")) {
      const auto& memory = gpu.at("memory_bytes");
      state.gpus.push_back(
          {.name = gpu.at("name").get<std::string>(),
           .memory = memory.is_number() ? std::optional(memory.get<double>()) : std::nullopt,
           .profile = text_or_empty(gpu.at("profile"))});
    }
    state.asked = true;
  } catch (const nlohmann::json::exception&) {
    return {};
  }
  return state;
}

std::vector<Finding> find_findings(const DoctorReport& report) {
  std::vector<Finding> findings;
  judge_environment(findings);
  judge_profiles(report, findings);
  judge_machine(report.machine, findings);
  for (const WritableFolder& folder : report.folders) {
    if (!folder.writable) {
      findings.push_back(
          {.text =
               fmt::format("{} for {} cannot be written",
                           folder.path.empty() ? "the folder" : folder.path.string(), folder.use),
           .remedy = "write elsewhere: -o FILE, TMPDIR"});
    }
  }
  for (const ProgramState& program : report.programs) {
    if (!program.path) {
      findings.push_back(
          {.text = fmt::format("{} is not there: no {}", program.name, program.commands),
           .remedy = program.remedy});
    }
  }
  return findings;
}

std::optional<double> cpu_limit_of(const std::string& cpu_max) {
  std::istringstream words(cpu_max);
  double quota = 0.0;   // us of CPU in each period
  double period = 0.0;  // us
  if (words >> quota >> period && quota > 0.0 && period > 0.0) {
    return quota / period;
  }
  return std::nullopt;
}

DoctorReport examine() {
  DoctorReport report;
  report.build = build_info();
  std::error_code error;
  report.program = fs::read_symlink("/proc/self/exe", error).string();
  report.programs = find_programs();
  report.profiles = find_profiles();
  find_scenarios(report);
  report.machine = ask_machine();
  report.threads = std::thread::hardware_concurrency();
  report.cpu_limit = find_cpu_limit();
  report.folders = find_folders();
  report.findings = find_findings(report);
  return report;
}

}  // namespace orrery::cli
