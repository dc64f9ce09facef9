// A log as it lies on a disk: several runs, colours, cut off, settings of GPT-NeoX.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>

#include "sim/import_config/logs/log_scan.hpp"
#include "tests/support.hpp"
#include "tests/unit/import_config/import_fixture.hpp"

namespace orrery::import_config::testing {
namespace {

namespace fs = std::filesystem;

const Given kCluster = {{"cluster.gpu", "h100-sxm-80gb", "--gpu"},
                        {"cluster.network.preset", "infiniband-400g", "--network"}};

// A run of Megatron-LM: arguments, and steps of `milliseconds`, the first ten times as long.
std::string megatron_run(int layers, int steps, int milliseconds) {
  std::string log =
      "------------------------ arguments ------------------------\n"
      "  bf16 ................................ True\n"
      "  global_batch_size ................... 8\n"
      "  hidden_size ......................... 1024\n"
      "  micro_batch_size .................... 1\n"
      "  num_attention_heads ................. 8\n"
      "  num_layers .......................... " +
      std::to_string(layers) +
      "\n"
      "  padded_vocab_size ................... 32000\n"
      "  seq_length .......................... 2048\n"
      "  tensor_model_parallel_size .......... 2\n"
      "  world_size .......................... 8\n"
      "-------------------- end of arguments ---------------------\n";
  for (int i = 0; i < steps; ++i) {
    log += " iteration 1/ 20 | elapsed time per iteration (ms): " +
           std::to_string(i == 0 ? 10 * milliseconds : milliseconds) +
           ".0 | global batch size: 8 |\n";
  }
  return log;
}

std::optional<LoggedSteps> steps_of(const std::string& log) {
  return steps_in(log, ConfigFormat::megatron_log);
}

TEST(RunsOfALog, WithOtherSettingsDoNotCount) {
  const auto steps = steps_of(megatron_run(4, 9, 1000) + megatron_run(2, 4, 500));
  ASSERT_TRUE(steps.has_value());
  EXPECT_EQ(steps->count, 3U);
  EXPECT_DOUBLE_EQ(in_seconds(steps->median), 0.5);
  const Imported imported =
      import_texts({{"a.log", megatron_run(4, 9, 1000) + megatron_run(2, 4, 500)}}, kCluster);
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("model.num_layers"), "2");
  EXPECT_EQ(imported.value("measured.step_time"), "0.5s");
  // The last run has not come to a step: the time of the others is not its time.
  EXPECT_FALSE(steps_of(megatron_run(4, 9, 1000) + megatron_run(2, 0, 500)).has_value());
}

TEST(RunsOfALog, BegunAgainCountWithoutTheirFirstSteps) {
  const auto steps = steps_of(megatron_run(4, 5, 1000) + megatron_run(4, 4, 1000));
  ASSERT_TRUE(steps.has_value());
  EXPECT_EQ(steps->count, 7U);
  EXPECT_DOUBLE_EQ(in_seconds(steps->ninetieth), 1.0);
}

// Memory does not grow with the times that a job began anew, nor do the facts run out.
TEST(RunsOfALog, OfOneJobLeaveOneText) {
  std::string log = megatron_run(2, 3, 700);
  for (int i = 0; i < 1000; ++i) {
    log += megatron_run(4, 3, 1000);
  }
  const ScannedLog scanned = scan_log(log, log_program(ConfigFormat::megatron_log));
  EXPECT_EQ(scanned.runs.size(), 1001U);
  EXPECT_LT(scanned.text.size(), 3 * megatron_run(4, 0, 0).size());
  EXPECT_LE(scanned.facts.size(), 16U);
  const Imported imported = import_texts({{"a.log", log}}, kCluster);
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("model.num_layers"), "4");
  EXPECT_EQ(steps_of(log)->count, 2000U);
}

TEST(StepsWithoutATime, AreSaid) {
  std::string log = megatron_run(4, 0, 0);
  for (const std::string time : {"1000.0", "1000.0", "1000.0", "1000.0", "nan", "0.0", "1000.0"}) {
    log += " iteration " + std::to_string(std::count(log.begin(), log.end(), '|') / 2 + 1) +
           "/ 20 | elapsed time per iteration (ms): " + time + " |\n";
  }
  const auto steps = steps_of(log);
  ASSERT_TRUE(steps.has_value());
  EXPECT_EQ(steps->count, 4U);
  EXPECT_EQ(steps->untimed.count, 2U);
  EXPECT_EQ(steps->untimed.first, 17);
  const Imported imported = import_texts({{"a.log", log}}, kCluster);
  EXPECT_NE(report_text(imported.result)
                .find("a.log:17: 2 steps have a time of 0 or none that is a number"),
            std::string::npos)
      << report_text(imported.result);
}

TEST(CutLog, IsRefusedWithItsLine) {
  const std::string log = megatron_run(4, 0, 0);
  const Imported cut = import_texts({{"a.log", log.substr(0, log.find("  seq_length"))}}, kCluster);
  EXPECT_NE(cut.problems().find("a.log:8:1: error: the printed arguments break off here"),
            std::string::npos)
      << cut.problems();
}

TEST(CutLog, OfTorchtitanSaysNothingOfItsBegin) {
  const Imported imported = import_texts(
      {{"a.log",
        "[rank0]:[titan] - step: 14  loss:  3.24405  memory:  9.46GiB(64.99%)  tps: 7,282  "
        "tflops: 0.52  mfu: 0.17%\n"}},
      kCluster);
  EXPECT_TRUE(imported.asks("model.num_layers"));
  EXPECT_EQ(imported.value("recompute"), "");
  EXPECT_EQ(imported.value("compile"), "");
}

TEST(Colours, AreNoPartOfALog) {
  const TempFolder folder;
  for (const std::string& name : config_names()) {
    if (!name.ends_with(".log")) {
      continue;
    }
    SCOPED_TRACE(name);
    const std::string plain = config_text(name);
    const std::string coloured =
        std::regex_replace(plain, std::regex("(.+)"), "\x1B[38;5;226m$1\x1B[0m");
    const std::string read = read_plain_text(folder.write("coloured.log", coloured));
    EXPECT_EQ(read,
              read_plain_text(folder.write("plain.log", plain)));  // one has colours of its own
    EXPECT_EQ(read.find('\x1B'), std::string::npos);
  }
}

TEST(NeoxLog, IsReadAsItsConfiguration) {
  const Imported imported = import_texts(
      {{"neox.log",
        "-------------------- arguments --------------------\n"
        "  attention_config ................ ['global', 'global']updated\n"
        "  batch_size ...................... 4...........................updated\n"
        "  hidden_size ..................... 6144........................updated\n"
        "  model_parallel_size ............. 2...........................updated\n"
        "  norm ............................ layernorm...................default\n"
        "  num_attention_heads ............. 64..........................updated\n"
        "  num_layers ...................... 44..........................updated\n"
        "  padded_vocab_size ............... 50432.......................updated\n"
        "  pipe_parallel_size .............. 4...........................updated\n"
        "  pos_emb ......................... rotary......................updated\n"
        "  precision ....................... fp16........................updated\n"
        "  seq_length ...................... 2048........................updated\n"
        "  train_batch_size ................ 1536........................updated\n"
        "  train_micro_batch_size_per_gpu .. 4...........................updated\n"
        "  world_size ...................... 96..........................default\n"
        "  zero_optimization ............... {'stage': 1, 'overlap_comm': True}updated\n"
        "---------------- end of arguments ----------------\n"
        " samples/sec: 31.2 | iteration 2/ 9 | elapsed time per iteration (ms): 49230.5 |\n"
        " samples/sec: 31.2 | iteration 3/ 9 | elapsed time per iteration (ms): 49130.5 |\n"}},
      {{"cluster.gpu", "a100-sxm-40gb", "--gpu"},
       {"cluster.network.preset", "infiniband-200g", "--network"}});
  EXPECT_EQ(imported.problems(), "");
  EXPECT_TRUE(imported.result.complete());
  EXPECT_EQ(imported.value("model.num_layers"), "44");
  EXPECT_EQ(imported.value("layout.tensor"), "2");
  EXPECT_EQ(imported.value("layout.pipeline"), "4");
  EXPECT_EQ(imported.value("layout.sharding"), "zero1");
  EXPECT_EQ(imported.value("batch.global"), "1536");
  EXPECT_EQ(imported.value("batch.micro"), "4");
  EXPECT_EQ(imported.value("cluster.gpus"), "96");
  EXPECT_EQ(imported.value("measured.step_time"), "49.1305s");
}

TEST(GptNeox, KeepsItsPipeline) {
  std::string text = config_text("gpt-neox-pythia-1b.yml");
  const std::string one = "\"pipe-parallel-size\": 1";
  ASSERT_NE(text.find(one), std::string::npos);
  text.replace(text.find(one), one.size(), "\"pipe-parallel-size\": 4");
  Given given = machines(8);
  given.push_back({"model.vocab_size", "50304", "--set"});
  EXPECT_EQ(import_texts({{"neox.yml", text}}, given).value("layout.pipeline"), "4");
}

}  // namespace
}  // namespace orrery::import_config::testing
