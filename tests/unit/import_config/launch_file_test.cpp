// Launch files of all shipped scenarios: what a program can run comes back as it went, and the rest
// is refused by its key.

#include "sim/import_config/launch/launch_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "sim/scenario/load.hpp"
#include "tests/checkout.hpp"

namespace orrery::import_config::testing {
namespace {

std::vector<std::filesystem::path> shipped_scenarios() {
  std::vector<std::filesystem::path> files;
  const auto folder = std::filesystem::path(kSourceDir) / "scenarios";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml") {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

// A refusal names a key of the scenario, never a file that could not be read back.
TEST(LaunchFile, ShippedScenariosComeBackOrAreRefusedByKey) {
  std::map<std::string_view, int> written;
  for (const auto& file : shipped_scenarios()) {
    Diagnostics problems;
    const auto scenario = scenario::load_file(file, problems);
    ASSERT_TRUE(scenario.has_value()) << to_string(problems);
    for (const std::string_view name : kLaunchPrograms) {
      SCOPED_TRACE(file.filename().string() + " for " + std::string(name));
      Diagnostics refused;
      const auto text = launch_file(*scenario, *find_launch_program(name), refused);
      EXPECT_NE(text.has_value(), refused.has_errors());
      written[name] += text ? 1 : 0;
      for (const Diagnostic& one : refused.all()) {
        EXPECT_NE(one.key, "export") << to_string(one);
      }
    }
  }
  EXPECT_EQ(shipped_scenarios().size(), 111U);
  EXPECT_EQ(written["megatron"], 72);
  EXPECT_EQ(written["megatron-bridge"], 72);
  EXPECT_EQ(written["nemo"], 72);
  EXPECT_EQ(written["torchtitan"], 8);
  EXPECT_EQ(written["deepspeed"], 52);
}

TEST(LaunchFile, GathersOfTorchtitanComeBack) {
  for (const bool eight : {true, false}) {
    Diagnostics problems;
    const auto scenario = scenario::load_text(
        std::string("format: orrery/1\nmodel: {preset: llama3-8b}\n"
                    "cluster: {gpu: h100-sxm-80gb, nodes: 1}\nlayout: {sharding: zero3}\n"
                    "batch: {global: 64}\nsoftware: torchtitan-fsdp2\n"
                    "precision: {compute: fp8-tensorwise, parameters: ") +
            (eight ? "fp8}\n" : "bf16}\n"),
        "titan.yaml", problems);
    ASSERT_TRUE(scenario.has_value()) << to_string(problems);
    const auto text = launch_file(*scenario, LaunchProgram::torchtitan, problems);
    ASSERT_TRUE(text.has_value()) << to_string(problems);
    const std::string line =
        std::string("enable_fsdp_float8_all_gather = ") + (eight ? "true" : "false");
    EXPECT_NE(text->find(line), std::string::npos) << *text;
  }
}

// PyTorch's first bucket is its recipe's: stated, DeepSpeed has no key for it.
TEST(LaunchFile, DefaultsOfAnotherProgramStayBehind) {
  for (const bool stated : {false, true}) {
    Diagnostics problems;
    const auto scenario = scenario::load_text(
        std::string("format: orrery/1\nmodel: {preset: llama3-8b}\n"
                    "cluster: {gpu: h100-sxm-80gb, nodes: 1}\nbatch: {global: 64}\n"
                    "software: pytorch-ddp\n") +
            (stated ? "overlap: {first_bucket: 1MiB}\n" : ""),
        "ddp.yaml", problems);
    ASSERT_TRUE(scenario.has_value()) << to_string(problems);
    EXPECT_EQ(launch_file(*scenario, LaunchProgram::deepspeed, problems).has_value(), !stated)
        << to_string(problems);
  }
}

TEST(LaunchFile, TablesOfKeysAreReadTheOtherWayRound) {
  const auto said = [](std::string_view program, std::string_view key, std::string_view value) {
    const auto setting = inverted(program, key, value);
    return setting ? setting->key + "=" + setting->value : std::string("nothing");
  };
  EXPECT_EQ(said("torchtitan", "layout.tensor", "4"), "parallelism.tensor_parallel_degree=4");
  EXPECT_EQ(said("torchtitan", "software_options.expert_dispatcher", "alltoall"),
            "parallelism.expert_parallel_comm_backend=standard");
  EXPECT_EQ(said("deepspeed", "layout.context", "2"), "sequence_parallel_size=2");
  EXPECT_EQ(said("torchtitan", "layout.expert", "auto"), "nothing");
  EXPECT_EQ(said("torchtitan", "layout.nothing", "4"), "nothing");
  EXPECT_EQ(key_ending_in("megatron-bridge", "micro_batch_size"), "train.micro_batch_size");
  EXPECT_EQ(key_ending_in("megatron-bridge", "fp8_recipe"), "model.fp8_recipe");
}

TEST(LaunchFile, SectionsNestAsTheirFormatHasThem) {
  const std::vector<LaunchSetting> settings = {
      {"seed", "1"}, {"model.name", "llama3"}, {"model.list", "[a, 2]"}, {"ddp.on", "true"}};
  EXPECT_EQ(as_tree(settings, TreeFormat::yaml),
            "seed: 1\nmodel:\n  name: \"llama3\"\n  list: [\"a\",2]\nddp:\n  on: true\n");
  EXPECT_EQ(as_tree(settings, TreeFormat::toml),
            "seed = 1\n\n[model]\nname = \"llama3\"\nlist = [\"a\",2]\n\n[ddp]\non = true\n");
  EXPECT_EQ(as_tree({{"a.b", "2"}}, TreeFormat::json), "{\n  \"a\": {\n    \"b\": 2\n  }\n}\n");
}

}  // namespace
}  // namespace orrery::import_config::testing
