#pragma once

// The report of `orrery doctor`: whether the installation is complete and what this machine can do.
//
// part     | question                                            | answered by
// ---------|-----------------------------------------------------|--------------------------------
// programs | which are here, and how to get those that are not   | files beside this program
// profiles | which folders are searched, what is in them         | evaluate/catalog
// machine  | which GPUs and driver                               | orrery-calibrate --machine
// threads  | how many, and does something limit them             | affinity, control group
// folders  | can results be written                              | the working and temporary folder
//
// A finding is a problem when the main scenario could not run, a profile is broken, or a driver
// does not answer; everything else is advice. No part of the report throws.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/cli/frame/build_info.hpp"

namespace orrery::cli {

struct ProgramState {
  std::string name = {};
  std::string commands = {};  // "calibrate, validate --hardware"
  std::optional<std::filesystem::path> path = {};
  std::string remedy = {};  // how to get it
};

struct ProfileFolder {
  std::filesystem::path path = {};
  std::size_t gpus = 0;
  std::size_t software = 0;
  std::size_t collectives = 0;  // files of measured collectives
  std::size_t presets = 0;      // of models, networks, failures ...
};

struct GpuState {
  std::string name = {};
  std::optional<double> memory = {};  // B
  std::string profile = {};           // empty: none is shipped
};

struct MachineState {
  bool asked = false;     // orrery-calibrate is there and answered
  std::string cuda = {};  // of the build; empty without
  bool collectives = false;
  bool cudnn_attention = false;
  std::vector<std::string> missing = {};  // libraries of CUDA that the loader does not find
  bool driver_installed = false;
  std::string driver = {};
  std::string driver_cuda = {};
  std::string absence = {};
  std::vector<GpuState> gpus = {};
};

struct WritableFolder {
  std::string use = {};
  std::filesystem::path path = {};
  bool writable = false;
};

struct Finding {
  bool problem = false;
  std::string text = {};
  std::string remedy = {};
};

struct DoctorReport {
  BuildInfo build;
  std::string program;
  std::vector<ProgramState> programs;
  std::vector<ProfileFolder> profiles;
  std::optional<std::filesystem::path> scenarios;  // folder of the shipped ones
  std::size_t scenario_count = 0;
  MachineState machine;
  unsigned threads = 0;
  std::optional<double> cpu_limit;  // CPUs, of the control group
  std::vector<WritableFolder> folders;
  std::vector<Finding> findings;

  [[nodiscard]] bool healthy() const;
};

[[nodiscard]] DoctorReport examine();

// From the JSON of orrery-calibrate --machine; not `asked` when it cannot be read.
[[nodiscard]] MachineState read_machine(const std::string& json);

// Problems and advice, from the other parts.
[[nodiscard]] std::vector<Finding> find_findings(const DoctorReport& report);

// "150000 100000" of cpu.max is 1.5; nothing for "max 100000" and what cannot be read.
[[nodiscard]] std::optional<double> cpu_limit_of(const std::string& cpu_max);

[[nodiscard]] std::string to_text(const DoctorReport& report);

// "orrery-doctor/1"
[[nodiscard]] std::string to_json(const DoctorReport& report);

}  // namespace orrery::cli
