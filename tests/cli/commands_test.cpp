// What each command prints, on a small scenario.

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/answer/report/metrics.hpp"
#include "sim/base/files/file.hpp"
#include "sim/cli/frame/child_process.hpp"
#include "sim/cli/help/doctor.hpp"
#include "tests/checkout.hpp"
#include "tests/cli/cli_fixture.hpp"

namespace orrery::cli::testing {
namespace {

using CommandsTest = CliTest;
using Json = nlohmann::json;

TEST_F(CommandsTest, CheckWritesJunitForEveryExpectation) {
  write("small.yaml", small_scenario("  - fits_memory\n  - mfu >= 0.99 and hfu < 1\n"));
  write("bad.yaml", "format: orrery/1\n");
  EXPECT_EQ(run("check --junit report.xml small.yaml bad.yaml").code, 3);
  const std::string xml = read("report.xml");
  EXPECT_TRUE(
      has(xml, "<testsuites name=\"orrery check\" tests=\"3\" failures=\"1\" errors=\"1\">"));
  EXPECT_TRUE(has(xml, "<testcase classname=\"small.yaml\" name=\"fits_memory\"/>"));
  EXPECT_TRUE(has(xml, "name=\"mfu &gt;= 0.99 and hfu &lt; 1\""));
  EXPECT_TRUE(has(xml, "<failure type=\"fail\" message=\"mfu is "));
  EXPECT_TRUE(has(xml, "<property name=\"seed\" value=\"3\"/>"));
  EXPECT_TRUE(has(xml, "<error type=\"invalid\" message=\"bad.yaml:"));
}

TEST_F(CommandsTest, CheckAsJsonSaysWhichFileFailed) {
  write("small.yaml", small_scenario("  - mfu >= 0.99\n"));
  const Json json = Json::parse(run("check --json small.yaml").out);
  EXPECT_EQ(json["schema"], "orrery-check/1");
  EXPECT_EQ(json["exit_code"], 1);
  EXPECT_EQ(json["files"][0]["file"], "small.yaml");
  EXPECT_EQ(json["files"][0]["expectations"][0]["pass"], false);
  EXPECT_EQ(json["files"][0]["feasible"], true);
}

TEST_F(CommandsTest, ExplainNamesTheFormulaOfEveryMetric) {
  write("small.yaml", small_scenario());
  for (const report::MetricInfo& metric : report::metric_registry()) {
    const std::string name(metric.name);
    const Finished finished = run("explain " + name + " --trials 2 small.yaml");
    EXPECT_EQ(finished.code, 0) << name << finished.err;
    EXPECT_TRUE(finished.out.starts_with(name)) << finished.out;
    EXPECT_TRUE(finished.out.ends_with('\n')) << name;
  }
  const Json json = Json::parse(run("explain mfu --json small.yaml").out);
  EXPECT_EQ(json["schema"], "orrery-explanation/1");
  EXPECT_EQ(json["metric"], "mfu");
  EXPECT_TRUE(json["value"].is_number());
  const Finished roofline = run("explain roofline small.yaml");
  EXPECT_EQ(roofline.code, 0) << roofline.err;
  EXPECT_NE(roofline.out.find("limited by"), std::string::npos) << roofline.out;
  EXPECT_EQ(run("explain step_time_s small.yaml").code, 0);
}

TEST_F(CommandsTest, AFolderOfProfilesLeavesTheFileAfterItAlone) {
  const std::string file = std::string(kSourceDir) + "/scenarios/jobs/two-ddp-in-phase.yaml";
  const Finished finished = run("jobs --profiles . " + file);
  EXPECT_EQ(finished.code, 0) << finished.err;
}

TEST_F(CommandsTest, ListKnowsEveryKind) {
  const std::pair<std::string, std::string> samples[] = {
      {"models", "llama3-405b"},      {"gpus", "h100-sxm-80gb"},    {"software", "megatron-core"},
      {"networks", "clos-400g"},      {"schedules", "interleaved"}, {"failures", "llama3-2024"},
      {"recovery", "megascale-2024"}, {"metrics", "goodput"}};
  const std::string kinds = run("list").out;
  for (const auto& [kind, name] : samples) {
    const Finished finished = run("list " + kind);
    EXPECT_EQ(finished.code, 0) << kind << finished.err;
    const bool grouped = has(finished.out, "\n  " + name + " ");
    EXPECT_TRUE(grouped || has("\n" + finished.out, "\n" + name + " ")) << kind;
    EXPECT_TRUE(has(kinds, kind));
    const Json json = Json::parse(run("list --json " + kind).out);
    EXPECT_EQ(json["schema"], "orrery-list/1");
    EXPECT_FALSE(json["entries"].empty()) << kind;
    EXPECT_FALSE(json["entries"][0]["summary"].get<std::string>().empty()) << kind;
    EXPECT_EQ(grouped, !json["entries"][0]["group"].get<std::string>().empty()) << kind;
  }
}

// By what the files of the names say; each group once, its names together.
TEST_F(CommandsTest, ManyNamesAreListedInGroups) {
  const std::tuple<std::string, std::string, std::string> samples[] = {
      {"models", "deepseek-v3", "mixtures of experts"},
      {"models", "llama3-8b", "dense"},
      {"models", "nemotron-h-8b", "hybrids, dense"},
      {"models", "qwen3-next-80b-a3b", "hybrids, mixtures of experts"},
      {"gpus", "h100-sxm-80gb", "NVIDIA Hopper"},
      {"gpus", "mi300x", "AMD CDNA"},
      {"clusters", "gb300-nvl72", "NVIDIA Blackwell"},
      {"software", "megatron-core-fa2", "Megatron-LM"},
      {"software", "generic", "others"},
      {"networks", "gcp-a3-mega", "tcpx"},
      {"schedules", "pipedream", "older weights, no flush"},
      {"schedules", "zb-v", "several chunks per device"},
      {"precisions", "nvfp4", "products in 4 bits"},
      {"failures", "llama3-2024", ""}};
  for (const auto& [kind, name, group] : samples) {
    const Json json = Json::parse(run("list --json " + kind).out);
    std::vector<std::string> groups;
    std::string found = "missing";
    for (const Json& entry : json["entries"]) {
      const auto own = entry["group"].get<std::string>();
      if (groups.empty() || groups.back() != own) {
        EXPECT_EQ(std::ranges::count(groups, own), 0) << own << " stands twice in " << kind;
        groups.push_back(own);
      }
      found = entry["name"] == name ? own : found;
    }
    EXPECT_EQ(found, group) << name;
    EXPECT_TRUE(group.empty() || has("\n" + run("list " + kind).out, "\n" + group + "\n"));
  }
}

TEST_F(CommandsTest, CompareSaysWhatIsWithinTheErrorOfPredictions) {
  const std::string base =
      read_file(std::string(kSourceDir) + "/scenarios/llama3-70b-64h100.yaml", 1U << 20U);
  const auto with = [&base](std::initializer_list<std::pair<std::string, std::string>> changes) {
    std::string text = base;
    for (const auto& [from, to] : changes) {
      text.replace(text.find(from), from.size(), to);
    }
    return text;
  };
  write("base.yaml", base);
  write("deeper.yaml", with({{"pipeline: 2", "pipeline: 4"}, {"data: 8", "data: 4"}}));
  write("slower.yaml", with({{"infiniband-400g", "ethernet-25g"}}));
  const std::string compare = "compare --trials 1 --tolerance 1 base.yaml ";
  const Finished deeper = run(compare + "deeper.yaml");
  EXPECT_EQ(deeper.code, 0) << "3 % longer, but predictions do not tell it apart";
  EXPECT_TRUE(has(deeper.out, " a step, within error; what changes most is ")) << deeper.out;
  EXPECT_TRUE(has(deeper.out, "between layouts that differ in pipeline are off by less than "));
  const Json json = Json::parse(run(compare + "deeper.yaml --json").out);
  EXPECT_EQ(json["error"]["of"], "layouts that differ in pipeline");
  EXPECT_TRUE(json["metrics"][0]["within_error"]) << json["metrics"][0];
  const Finished slower = run(compare + "slower.yaml");
  EXPECT_EQ(slower.code, 1) << "an expectation that fails";
  EXPECT_FALSE(has(slower.out, "within error;")) << slower.out;
  EXPECT_EQ(run("compare --trials 1 base.yaml slower.yaml").code, 0) << "nobody asked";
}

TEST_F(CommandsTest, APresetOfAUserIsKnownToEveryCommand) {
  std::filesystem::create_directories(path("mine/prices"));
  write("mine/prices/ours.yaml",
        "format: orrery-preset/1\nname: ours\nsummary: our contract\nsource: the contract\n"
        "prices: {gpu_hour: $2/h, as_of: 2026-05-04}\n");
  std::string text = small_scenario();
  const std::string stated = "{gpu_hour: $2.50/h, as_of: 2026-11-01}";
  write("small.yaml", text.replace(text.find(stated), stated.size(), "{preset: ours}"));
  EXPECT_TRUE(has(run("list prices --profiles mine").out, "our contract  [the contract]"));
  EXPECT_TRUE(has(run("schema --profiles mine").out, "\"ours\""));
  const Finished known = run("run --profiles mine small.yaml");
  EXPECT_EQ(known.code, 0) << known.err;
  EXPECT_TRUE(has(known.out, "2026-05-04"));
  const Finished varied =
      run("sweep --profiles mine --vary prices.preset=ours,aws-p4d-a100-2026 small.yaml");
  EXPECT_EQ(varied.code, 0) << varied.err;
  const Finished unknown = run("run small.yaml");
  EXPECT_EQ(unknown.code, 3);
  EXPECT_TRUE(has(unknown.err, "prices.preset: `ours` is not known (allowed: aws-p5-h100-2026, "))
      << unknown.err;
}

TEST_F(CommandsTest, SchemaIsJsonAndTheReferenceMarkdown) {
  const Json json = Json::parse(run("schema").out);
  EXPECT_EQ(json["$schema"], "http://json-schema.org/draft-07/schema#");
  EXPECT_TRUE(run("schema --reference").out.starts_with("# "));
}

TEST_F(CommandsTest, ExportOfTheStepIsATraceOfEveryPipelineDevice) {
  std::string text = small_scenario();
  text.replace(text.find("sharding: zero1"), 15, "pipeline: 2, schedule: 1f1b");
  write("small.yaml", text);
  const Finished finished = run("export --format chrome-trace -o step.json small.yaml");
  EXPECT_EQ(finished.code, 0) << finished.err;
  const Json trace = Json::parse(read("step.json"));
  std::set<int> devices;
  double end = 0.0;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") {
      devices.insert(event["pid"].get<int>());
      end = std::max(end, event["ts"].get<double>() + event["dur"].get<double>());
    }
  }
  EXPECT_EQ(devices, (std::set<int>{0, 1}));
  // The last slice ends with the step: the trace and the step time come from one graph.
  const Json metrics = Json::parse(run("run --json small.yaml").out)["metrics"];
  EXPECT_LE(end * 1e-6, metrics["step_time_s"]["value"].get<double>() * (1 + 1e-9));
  EXPECT_GE(end * 1e-6, metrics["step_time_s"]["value"].get<double>() * 0.9);
}

TEST_F(CommandsTest, ExportOfTheRunTilesTheTimeOfOneTrial) {
  write("small.yaml", small_scenario());
  const Finished finished =
      run("export --format chrome-trace --what run --trial 3 -o run.json small.yaml");
  EXPECT_EQ(finished.code, 0) << finished.err;
  const Json trace = Json::parse(read("run.json"));
  std::map<double, double> slices;  // begin, length: they stand track by track
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") {
      slices[event["ts"].get<double>()] = event["dur"].get<double>();
    }
  }
  double at = 0.0;
  for (const auto& [begin, length] : slices) {
    EXPECT_NEAR(begin, at, 1e-3);
    at = begin + length;
  }
  EXPECT_GT(slices.size(), 10U);
}

TEST_F(CommandsTest, ExportOfTablesIsCsv) {
  write("small.yaml", small_scenario());
  EXPECT_TRUE(run("export --format csv small.yaml").out.starts_with("metric,value,"));
  EXPECT_TRUE(
      run("export --format csv --what ledger small.yaml").out.starts_with("ledger,category,"));
  EXPECT_TRUE(
      run("export --format csv --what memory small.yaml").out.starts_with("stage,peak_bytes,"));
  EXPECT_EQ(run("export --format json small.yaml").out, run("run --json small.yaml").out);
  EXPECT_TRUE(run("export --format svg small.yaml").out.starts_with("<svg "));
  EXPECT_TRUE(has(run("export --format svg --what schedule small.yaml").out, " ticks, devices"));
}

TEST_F(CommandsTest, ExportSaysWhatIsNotThere) {
  write("step.yaml", too_big_scenario());
  const Finished finished = run("export --format chrome-trace --what run step.yaml");
  EXPECT_EQ(finished.code, 3);
  EXPECT_TRUE(has(finished.err, "there is no run to export"));
}

TEST_F(CommandsTest, ProfilesOfTheUserComeFirst) {
  std::filesystem::create_directories(path("mine/gpu"));
  std::string profile = read_file(
      std::filesystem::path(kSourceDir) / "scenarios/profiles/gpu/h100-sxm-80gb.yaml", 1'000'000);
  const std::string full_name = "full_name: ";
  const std::size_t at = profile.find(full_name);
  ASSERT_NE(at, std::string::npos);
  profile.replace(at, profile.find('\n', at) - at, full_name + "My own GPU");
  write("mine/gpu/h100-sxm-80gb.yaml", profile);
  write("small.yaml", small_scenario());
  EXPECT_TRUE(has(run("run --profiles mine small.yaml").out, "My own GPU"));
  EXPECT_TRUE(has(run("list --profiles mine gpus").out, "My own GPU"));
}

// 32 layers of Llama 3 8B with adapters of rank 16 on 4096 -> 6144 and 4096 -> 4096. Kept as the
// parameters they take 2 bytes beside 12 of the optimizer, 4 of them a master copy; in fp32 4 and
// 8.
TEST_F(CommandsTest, RunKeepsAdaptersInTheTypeThatIsStated) {
  write("lora.yaml",
        "format: orrery/1\nname: LoRA\n"
        "model: {preset: llama3-8b, sequence_length: 2048,\n"
        "        lora: {rank: 16, targets: [qkv, proj]}}\n"
        "cluster: {gpu: h100-sxm-80gb, nodes: 1, gpus_per_node: 8}\n"
        "layout: {sharding: none}\nbatch: {global: 8, micro: 1}\nprecision: bf16\n");
  const auto terms = [this](const std::string& type) {
    const Finished done = run("run --json -q --set model.lora.dtype=" + type + " lora.yaml");
    EXPECT_EQ(done.code, 0) << done.err;
    return Json::parse(done.out)["memory"][0]["terms"];
  };
  const Json narrow = terms("parameters");
  const Json fp32 = terms("fp32");
  const double adapters = 32.0 * 16.0 * ((4096.0 + 6144.0) + (4096.0 + 4096.0));
  const auto bytes = [](const Json& all, const char* term) { return all[term].get<double>(); };
  EXPECT_DOUBLE_EQ(bytes(narrow, "optimizer_bytes"), 12.0 * adapters);
  EXPECT_DOUBLE_EQ(bytes(fp32, "optimizer_bytes"), 8.0 * adapters);
  EXPECT_DOUBLE_EQ(bytes(fp32, "parameters_bytes") - bytes(narrow, "parameters_bytes"),
                   2.0 * adapters);
  EXPECT_DOUBLE_EQ(bytes(fp32, "gradients_bytes"), bytes(narrow, "gradients_bytes"));
}

// 14 bytes of each of 6.74e9 parameters wait on two hosts: 47.2 GB on each; two copies of a tier in
// memory take twice as much, and a synchronous save nothing.
TEST_F(CommandsTest, RunNeedsHostMemoryForTheCopiesOfSaves) {
  write("small.yaml", small_scenario());
  const auto reason = [this](const std::string& keys) {
    const Finished done = run("run --json -q --trials 1 " + keys + " small.yaml");
    const Json answer = Json::parse(done.out);
    return answer["feasible"].get<bool>() ? std::string() : answer["reasons"][0].get<std::string>();
  };
  const std::string async = "--set checkpoint.mode=async --set offload.host_memory=";
  EXPECT_EQ(reason(async + "48GB"), "");
  EXPECT_EQ(reason(async + "47GB"),
            "a node needs 43.9 GiB of host memory for the copies of saves, and has 43.8 GiB");
  EXPECT_EQ(reason("--set checkpoint.mode=sync --set offload.host_memory=1GB"), "");
  const std::string tier =
      "--set 'checkpoint.tiers=[{medium: memory, replicas: 2}]' --set offload.host_memory=";
  EXPECT_EQ(reason(tier + "95GB"), "");
  EXPECT_NE(reason(tier + "94GB"), "");
}

// What `orrery doctor` finds, and which of it is a problem.

using DoctorTest = CliTest;

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
