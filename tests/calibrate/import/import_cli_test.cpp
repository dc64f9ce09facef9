// `orrery import` as a user calls it: exit codes, files, summaries.

#include <nlohmann/json.hpp>

#include "tests/calibrate/import/sample_log.hpp"
#include "tests/cli/cli_fixture.hpp"
#include "tests/support.hpp"
#include "tests/unit/trace/kineto_writer.hpp"

namespace orrery::calibration_import::testing {
namespace {

using cli::testing::CliTest;
using cli::testing::Finished;
using ImportCli = CliTest;
using Json = nlohmann::json;

SampleLog two_hosts(double slowness) {
  return {.ranks = 16,
          .hosts = 2,
          .factor = 1.875,
          .rows = {{1048576, 90.0 * slowness},
                   {268435456, 1250.0 * slowness},
                   {4294967296, 19000.0 * slowness}}};
}

TEST_F(ImportCli, WritesTablesThatAScenarioUses) {
  write("two.log", log_text(two_hosts(3.0)));
  for (const std::string operation : {"all_gather", "reduce_scatter"}) {
    SampleLog sample = two_hosts(10.0);
    sample.program = operation + "_perf";
    sample.factor /= 2.0;
    write(operation + ".log", log_text(sample));
  }
  const Finished imported =
      run("import two.log all_gather.log reduce_scatter.log --network infiniband-400g --rig east "
          "--as-of 2026-11-20 -o tables.yaml");
  EXPECT_EQ(imported.code, 0) << imported.err;
  EXPECT_TRUE(has(imported.out, "all_reduce         16     2  1 MiB-4 GiB"));
  EXPECT_TRUE(has(imported.out, "  given    nic_rate 400Gbps (--network infiniband-400g)\n"));
  EXPECT_TRUE(has(imported.out, "written to tables.yaml\n"));
  EXPECT_TRUE(has(imported.err, "two.log:1:1: warning: all_reduce on 16 ranks"));
  const std::string tables = read("tables.yaml");
  EXPECT_TRUE(has(tables, "format: orrery-collectives/1\narch: hopper\nnvlink: 450GB/s\n"));
  EXPECT_TRUE(has(tables, "as_of: 2026-11-20\n"));
  EXPECT_TRUE(has(tables, "    degraded: true\n"));
  EXPECT_TRUE(has(tables, "# assumed: nvlink_domain 8 ("));
  EXPECT_EQ(files(), (std::vector<std::string>{"all_gather.log", "reduce_scatter.log",
                                               "tables.yaml", "two.log"}));
  // A slow fabric makes a slower step than the shipped tables.
  std::string scenario = cli::testing::small_scenario();
  write("shipped.yaml", scenario);
  const std::string network = "network: {preset: infiniband-400g";
  scenario.replace(scenario.find(network), network.size(), network + ", collectives: tables.yaml");
  write("own.yaml", scenario);
  const auto step = [this](const std::string& file) {
    const Finished finished = run("explain --trials 1 step_time --json " + file);
    EXPECT_EQ(finished.code, 0) << finished.err;
    return Json::parse(finished.out)["value"].get<double>();
  };
  EXPECT_GT(step("own.yaml"), 1.02 * step("shipped.yaml"));
}

TEST_F(ImportCli, SaysAsJsonWhatWasImported) {
  write("one.log", log_text({}));
  const Finished finished = run("import --json one.log");
  EXPECT_EQ(finished.code, 0) << finished.err;
  const Json json = Json::parse(finished.out);
  EXPECT_EQ(json["schema"], "orrery-import/1");
  EXPECT_EQ(json["files"][0]["format"], "nccl-tests text");
  EXPECT_EQ(json["rig"], "one");
  EXPECT_TRUE(json["output"].is_null());
  EXPECT_EQ(json["tables"][0]["operation"], "all_reduce");
  EXPECT_EQ(json["tables"][0]["ranks"], 8);
  EXPECT_EQ(json["tables"][0]["points"], 3);
  EXPECT_NEAR(json["tables"][0]["busbw_bytes_per_second"].get<double>(), 465.2e9, 0.1e9);
  EXPECT_DOUBLE_EQ(json["tables"][0]["alpha_seconds"].get<double>(), 40.5e-6);
  EXPECT_EQ(files(), (std::vector<std::string>{"one.log"}));
}

TEST_F(ImportCli, BrokenLogsLeaveNoFileAndAreInvalid) {
  write("alone.log", log_text({.ranks = 1, .factor = 0.0}));
  const Finished finished = run("import alone.log -o tables.yaml");
  EXPECT_EQ(finished.code, 3);
  EXPECT_EQ(finished.out, "");
  EXPECT_EQ(finished.err,
            "alone.log:1:1: error: ranks = 1: every process ran for itself, so nothing was "
            "measured (build nccl-tests with MPI=1, or use -g for the GPUs of one process)\n");
  EXPECT_EQ(files(), (std::vector<std::string>{"alone.log"}));
  // One broken log among good ones: nothing is written either.
  write("good.log", log_text({}));
  EXPECT_EQ(run("import good.log alone.log -o tables.yaml").code, 3);
  EXPECT_EQ(files(), (std::vector<std::string>{"alone.log", "good.log"}));
  write("only.log", log_text({.program = "gather_perf"}));
  const Finished nothing = run("import only.log");
  EXPECT_EQ(nothing.code, 3);
  EXPECT_TRUE(has(nothing.err, "orrery: import: the files hold nothing that can be used\n"));
}

// As for every command (tests/cli/hostile_files_test.cpp).
TEST_F(ImportCli, AnInputIsNeverTheOutput) {
  const std::string log = log_text(two_hosts(1.0));
  write("two.log", log);
  for (const char* output :
       {"-o two.log", "-o ./two.log", "--fragment two.log", "-o a --fragment a"}) {
    const Finished refused = run(std::string("import two.log ") + output);
    EXPECT_EQ(refused.code, 2) << output << refused.err;
    EXPECT_TRUE(has(refused.err, "choose another file")) << refused.err;
  }
  EXPECT_EQ(read("two.log"), log);
  EXPECT_EQ(run("import two.log -o gone/tables.yaml").code, 6);
}

TEST_F(ImportCli, ArgumentsThatMakeNoSenseAreUsage) {
  write("one.log", log_text({}));
  EXPECT_EQ(run("import").code, 2);
  EXPECT_EQ(run("import one.log --nics 0").code, 2);
  EXPECT_EQ(run("import one.log --fabric token_ring").code, 2);
  const Finished rate = run("import one.log --nic-rate fast");
  EXPECT_EQ(rate.code, 2);
  EXPECT_EQ(rate.err, "orrery: import: --nic-rate: `fast` is no rate, such as 400Gbps or 50GB/s\n");
  EXPECT_EQ(run("import one.log --as-of yesterday").code, 2);
  EXPECT_EQ(run("import one.log --operation reduce_perf").code, 2);
  EXPECT_EQ(run("import one.log --fragment host.yaml").code, 2);
  const Finished preset = run("import one.log --network none");
  EXPECT_EQ(preset.code, 2);
  EXPECT_TRUE(has(preset.err, "--network: `none` is no network preset ("));
}

TEST_F(ImportCli, MissingProfilesAndFilesHaveTheirOwnCodes) {
  write("one.log", log_text({}));
  EXPECT_EQ(run("import one.log --gpu h101").code, 5);
  EXPECT_EQ(run("import absent.log").code, 6);
  EXPECT_EQ(run("import one.log -o no/such/folder/tables.yaml").code, 6);
  EXPECT_EQ(files(), (std::vector<std::string>{"one.log"}));
}

TEST_F(ImportCli, CopiesBecomeAFragment) {
  write("nvb.txt",
        "Device 0: NVIDIA H200 (00000000:1b:00)\n\nRunning host_to_device_memcpy_ce.\n"
        "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n           0\n 0     55.60\n");
  const Finished shown = run("import nvb.txt");
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_TRUE(has(shown.out, "host_bandwidth:\n  value: 55.6GB/s\n  source: measured\n"));
  EXPECT_EQ(run("import nvb.txt -o host.yaml").code, 0);
  EXPECT_TRUE(has(read("host.yaml"), "in a copy of the GPU profile h200-sxm.\nhost_bandwidth:\n"));
  write("one.log", log_text({}));
  EXPECT_EQ(run("import nvb.txt one.log --fragment f.yaml -o t.yaml").code, 0);
  EXPECT_EQ(files(),
            (std::vector<std::string>{"f.yaml", "host.yaml", "nvb.txt", "one.log", "t.yaml"}));
}

TEST_F(ImportCli, HelpNamesTheCommand) {
  EXPECT_TRUE(has(run("--help").out, "import "));
  const Finished help = run("import --format nccl-tests --help");
  EXPECT_EQ(help.code, 0);
  EXPECT_TRUE(has(help.out, "--nvlink-domain"));
}

TEST_F(ImportCli, PrintsTheMeasuredStepOfTracesAndWritesItForAScenario) {
  trace::testing::KinetoWriter writer(0, 2);
  for (int step = 1; step < 3; ++step) {
    const double begin = 2000.0 * step;
    writer.annotation("ProfilerStep#" + std::to_string(step), begin, 2000.0)
        .kernel("nvjet_hsh", begin, 1500.0)
        .kernel("ncclDevKernel_AllReduce", begin + 1500.0, 500.0, {.stream = 20});
  }
  write("rank0.json.gz", trace::testing::packed(writer.text()));
  const Finished text = run("import rank0.json.gz -o measured.yaml");
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_TRUE(has(text.out, "Measured: 2 steps of 1 rank, mean 2.00 ms")) << text.out;
  EXPECT_TRUE(has(text.out, "  exposed_data                           500 us      25.0%\n"))
      << text.out;
  EXPECT_EQ(read("measured.yaml"), "measured:\n  step_time: 0.002s\n");
  const Finished json = run("import --json --step 2 rank0.json.gz");
  EXPECT_EQ(Json::parse(json.out)["measured_steps"], 1) << json.err;
  // The lines are those that validate reads.
  write("scenario.yaml", cli::testing::small_scenario() + read("measured.yaml"));
  EXPECT_EQ(run("validate scenario.yaml").code, 0);
}

TEST_F(ImportCli, RefusesTracesAndLogsTogether) {
  write("rank0.json", R"({"traceEvents": []})");
  write("two.log", log_text(two_hosts(3.0)));
  const Finished mixed = run("import rank0.json two.log");
  EXPECT_EQ(mixed.code, 2);
  EXPECT_TRUE(has(mixed.err, "two.log is no trace; import traces by themselves")) << mixed.err;
  EXPECT_EQ(run("import two.log --step 4").code, 2);
  EXPECT_EQ(run("import rank0.json").code, 3);
}

}  // namespace
}  // namespace orrery::calibration_import::testing
