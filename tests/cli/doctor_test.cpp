// What `orrery doctor` finds, and which of it is a problem.

#include "sim/cli/help/doctor.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/base/files/file.hpp"
#include "sim/cli/frame/child_process.hpp"
#include "tests/checkout.hpp"
#include "tests/cli/cli_fixture.hpp"

namespace orrery::cli::testing {
namespace {

using DoctorTest = CliTest;
using Json = nlohmann::json;

constexpr std::string_view kMachine = R"({"schema": "orrery-machine/1",
"build": {"cuda": null, "collectives": false, "cudnn_attention": false},
"driver": {"installed": true, "version": "580.95.05", "cuda": "13.0", "absence": null},
"gpus": [{"name": "NVIDIA H200", "memory_bytes": 150754820096.0, "profile": "h200-sxm"},
         {"name": "NVIDIA X1", "memory_bytes": null, "profile": null}]})";

TEST(Doctor, ReadsWhatTheCalibrationProgramSays) {
  const MachineState state = read_machine(std::string(kMachine));
  EXPECT_TRUE(state.asked);
  EXPECT_EQ(state.cuda, "");
  EXPECT_EQ(state.driver, "580.95.05");
  ASSERT_EQ(state.gpus.size(), 2U);
  EXPECT_EQ(state.gpus[0].profile, "h200-sxm");
  EXPECT_FALSE(state.gpus[1].memory.has_value());
  EXPECT_FALSE(read_machine("").asked);
  EXPECT_FALSE(read_machine("{\"build\": 3}").asked);
}

TEST(Doctor, ADriverThatDoesNotAnswerIsAProblemAndNoDriverIsNot) {
  DoctorReport report;
  report.machine = {.asked = true, .absence = "libnvidia-ml.so.1 is not on this machine"};
  report.findings = find_findings(report);
  for (const Finding& finding : report.findings) {
    EXPECT_FALSE(has(finding.text, "driver")) << finding.text;
  }
  report.machine.driver_installed = true;
  report.machine.absence = "nvmlInit_v2 returned 18";
  report.findings = find_findings(report);
  EXPECT_FALSE(report.healthy());
  EXPECT_TRUE(has(to_text(report), "the NVIDIA driver does not answer: nvmlInit_v2 returned 18"));
}

TEST(Doctor, WhatIsMissingIsAdviceWithItsRemedy) {
  DoctorReport report;
  report.machine = read_machine(std::string(kMachine));
  report.programs = {{"orrery-gui", "gui, report", std::nullopt, "install the package orrery-gui"}};
  report.folders = {{"results", "/nowhere", false}};
  report.profiles = {{.path = "p", .gpus = 1, .software = 1, .collectives = 0}};
  report.findings = find_findings(report);
  EXPECT_TRUE(report.healthy()) << to_text(report);
  const std::string text = to_text(report);
  EXPECT_TRUE(has(text, "orrery-gui is not there: no gui, report\n"));
  EXPECT_TRUE(has(text, "  install the package orrery-gui\n"));
  EXPECT_TRUE(has(text, "no profile is shipped for NVIDIA X1\n"));
  EXPECT_TRUE(has(text, "built without CUDA and cannot measure the GPU\n"));
  EXPECT_TRUE(has(text, "/nowhere for results cannot be written\n"));
  EXPECT_TRUE(has(text, "NVIDIA H200, 140 GiB, profile h200-sxm\n")) << text;
}

// Packages of a build with CUDA on a machine without it.
TEST(Doctor, LibrariesOfCudaThatAreNotFoundAreNamed) {
  std::string json(kMachine);
  json.replace(json.find("\"cudnn_attention\": false"),
               std::string_view("\"cudnn_attention\": false").size(),
               "\"cudnn_attention\": false, \"missing\": [\"libnccl.so.2\", \"libcublas.so.13\"]");
  DoctorReport report;
  report.machine = read_machine(json);
  report.findings = find_findings(report);
  const std::string text = to_text(report);
  EXPECT_TRUE(has(text,
                  "           orrery-calibrate fits and lists, but does not measure: libnccl.so.2, "
                  "libcublas.so.13 not\n"))
      << text;
  EXPECT_TRUE(has(text, "cannot measure the GPU: libnccl.so.2, libcublas.so.13 not found\n"))
      << text;
  EXPECT_FALSE(has(text, "built without CUDA")) << text;
}

// env asks the loader: /bin/sh finds all of its libraries.
TEST(Doctor, AProgramThatStartsLacksNoLibrary) {
  EXPECT_TRUE(missing_libraries("/bin/sh").empty());
  EXPECT_TRUE(missing_libraries("/nowhere/at/all").empty());
}

TEST(Doctor, NoProfileIsAProblem) {
  DoctorReport report;
  report.findings = find_findings(report);
  EXPECT_FALSE(report.healthy());
  EXPECT_TRUE(has(to_text(report), "no GPU profile is found"));
}

TEST(Doctor, ReadsTheLimitOfTheControlGroup) {
  EXPECT_EQ(cpu_limit_of("150000 100000\n"), 1.5);
  EXPECT_EQ(cpu_limit_of("max 100000\n"), std::nullopt);
  EXPECT_EQ(cpu_limit_of(""), std::nullopt);
}

TEST_F(DoctorTest, IsHealthyHereAndSaysWhatItIsBuiltFrom) {
  const Finished finished = run("doctor");
  EXPECT_EQ(finished.code, 0) << finished.out;
  for (const auto* part : {"Orrery     ", "fmt ", "CLI11 ", "PROGRAMS   ", "PROFILES   ", "GPU ",
                           "SCENARIOS  ", "MACHINE    ", "scenarios/profiles: "}) {
    EXPECT_TRUE(has(finished.out, part)) << part << "\n" << finished.out;
  }
  const Json json = Json::parse(run("doctor --json").out);
  EXPECT_EQ(json["schema"], "orrery-doctor/1");
  EXPECT_EQ(json["healthy"], true);
  EXPECT_GE(json["profiles"][0]["gpus"].get<int>(), 19);
  EXPECT_FALSE(json["build"]["libraries"].empty());
}

// Wider are only words that cannot be broken: the paths of deep folders.
TEST_F(DoctorTest, LinesFitThePage) {
  DoctorReport report;
  report.build.libraries = {8, {"a-library-with-a-name", "12.345.678-9", "MIT"}};
  report.programs = {{"orrery-calibrate", "calibrate, validate --hardware", "/usr/bin/x", ""},
                     {"orrery-gui", "gui, report", std::nullopt, "install"}};
  report.profiles = {{"/opt/somebody/projects/simulators/orrery/scenarios/profiles", 19, 16, 4}};
  report.scenarios = "/opt/somebody/projects/simulators/orrery/scenarios";
  report.machine = {.asked = true, .absence = "libnvidia-ml.so.1 is not on this machine"};
  report.findings = {{true, std::string(30, 'a') + ":1:2: error: k: " + std::string(60, 'b'), "c"},
                     {false, "text",
                      "remedy that is long enough to go on in a second line, which "
                      "stands below the words of the first and not its blanks"}};
  const std::string text = to_text(report);
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    EXPECT_LE(end - begin, 100U) << text.substr(begin, end - begin);
    begin = end + 1;
  }
  EXPECT_TRUE(has(text, "orrery-calibrate  calibrate, validate --hardware  here\n")) << text;
  EXPECT_TRUE(has(text, "orrery-gui        gui, report                     not there\n")) << text;
  EXPECT_TRUE(has(text, "\n             remedy that is long")) << text;
  EXPECT_TRUE(has(text, "\n               ")) << text;
}

TEST_F(DoctorTest, AWrongFolderInTheEnvironmentIsFive) {
  const Finished finished = run("doctor", "ORRERY_PROFILES=/nowhere/at/all");
  EXPECT_EQ(finished.code, 5);
  EXPECT_TRUE(has(finished.out, "ORRERY_PROFILES names /nowhere/at/all, which is no folder"));
}

TEST_F(DoctorTest, ABrokenProfileIsFiveAndSaysWhere) {
  std::filesystem::create_directories(path("mine/gpu"));
  write("mine/gpu/h100-sxm-80gb.yaml", "format: orrery-gpu/1\nnmae: x\n");
  const Finished finished = run("doctor", "ORRERY_PROFILES=mine");
  EXPECT_EQ(finished.code, 5) << finished.out;
  EXPECT_TRUE(has(finished.out, "mine/gpu/h100-sxm-80gb.yaml:2:1: error: nmae")) << finished.out;
}

TEST_F(DoctorTest, ABrokenPresetIsFiveAndSaysWhere) {
  std::filesystem::create_directories(path("mine/models"));
  write("mine/models/ours.yaml", "format: orrery-preset/1\nname: ours\n");
  const Finished finished = run("doctor", "ORRERY_PROFILES=mine");
  EXPECT_EQ(finished.code, 5);
  EXPECT_TRUE(has(finished.out, "mine/models/ours.yaml:")) << finished.out;
}

TEST_F(DoctorTest, ShowsTheGpusThatTheDriverNames) {
  const std::string build(kBinaryDir);
  if (!std::filesystem::exists(build + "/bin/orrery-calibrate") ||
      !std::filesystem::exists(build + "/fake_driver/libnvidia-ml.so.1")) {
    GTEST_SKIP() << "orrery-calibrate or the driver of the tests is not built";
  }
  const Finished finished =
      run("doctor", "LD_LIBRARY_PATH=" + build + "/fake_driver:$LD_LIBRARY_PATH");
  EXPECT_EQ(finished.code, 0) << finished.out;
  EXPECT_TRUE(has(finished.out, "NVIDIA H200, 140 GiB, profile h200-sxm")) << finished.out;
  EXPECT_TRUE(has(finished.out, "driver 580.95.05, runs CUDA up to 13.0\n"));
}

}  // namespace
}  // namespace orrery::cli::testing
