// What a log prints beside the files and options of an import: a count of another model, another
// GPU, another task; and lines that a collector has mixed, wrapped or encoded.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "sim/import_config/logs/log_outages.hpp"
#include "tests/support.hpp"
#include "tests/unit/import_config/import_fixture.hpp"

namespace orrery::import_config::testing {
namespace {

std::string megatron_step(int second, int number) {
  return fmt::format(
      " [2026-01-05 09:{:02}:{:02}] iteration {}/ 100 | consumed samples: {} | elapsed time per "
      "iteration (ms): 4000.0 | global batch size: 128 |\n",
      second / 60, second % 60, number, 128 * number);
}

// The arguments of Llama 3 8B, and its steps with other lines behind the first.
std::string megatron_log(const std::string& behind_first) {
  std::string text = "using world size: 16, data-parallel size: 8, tensor-model-parallel size: 2\n";
  text += "--------------- arguments ---------------\n";
  for (const char* argument : {"num_layers ..... 32",
                               "hidden_size .... 4096",
                               "ffn_hidden_size .... 14336",
                               "num_attention_heads ... 32",
                               "group_query_attention . True",
                               "num_query_groups ... 8",
                               "seq_length ... 8192",
                               "max_position_embeddings ... 8192",
                               "swiglu ... True",
                               "normalization ... RMSNorm",
                               "add_bias_linear ... False",
                               "untie_embeddings_and_output_weights ... True",
                               "position_embedding_type ... rope",
                               "padded_vocab_size ... 128256",
                               "bf16 ... True",
                               "micro_batch_size ... 1",
                               "global_batch_size ... 128",
                               "tensor_model_parallel_size ... 2",
                               "pipeline_model_parallel_size ... 1",
                               "world_size ... 16"}) {
    text += fmt::format("  {}\n", argument);
  }
  text += "--------------- end of arguments ---------------\n" + megatron_step(4, 1) + behind_first;
  return text + megatron_step(8, 2) + megatron_step(12, 3);
}

std::string counted(const char* total, const char* embeddings, const char* shard) {
  return fmt::format(
      "Number of parameters in transformer layers in billions:  6.98\n"
      "Number of parameters in embedding layers in billions: {}\n"
      "Total number of parameters in billions: {}\n"
      "Number of parameters in most loaded shard in billions: {}\n",
      embeddings, total, shard);
}

TEST(ContradictedLog, CountsInBillionsAreThoseOfTheModel) {
  const auto problems = [](const std::string& lines) {
    return import_texts({{"a.log", megatron_log(lines)}}, machines(2)).problems();
  };
  EXPECT_EQ(problems(counted("8.03", "1.05", "4.0152")), "");
  EXPECT_NE(problems(counted("7.50", "1.05", "4.0152"))
                .find("Total number of parameters in billions: the log prints 7500000000 "
                      "parameters, but the model of these files has 8030261248"),
            std::string::npos);
  EXPECT_NE(problems(counted("8.03", "0.53", "4.0152")).find("of embeddings"), std::string::npos);
  EXPECT_NE(problems(counted("8.03", "1.05", "8.0305")).find("another model or layout"),
            std::string::npos);
}

std::string titan_log(const std::string& card, const std::string& memory) {
  std::string text =
      "[titan] 2025-07-21 15:57:00,140 - root - INFO - Building 1-D device mesh with ['dp_shard'], "
      "[8]\n" +
      card +
      "[titan] 2025-07-21 15:57:01,140 - root - INFO - Model llama3 8B size: 8,030,261,248 total "
      "parameters\n"
      "[titan] 2025-07-21 15:57:02,140 - root - INFO - Applied selective activation checkpointing "
      "to the model\n"
      "[titan] 2025-07-21 15:57:02,140 - root - INFO - Trainer is initialized with local batch "
      "size 1, global batch size 8, gradient accumulation steps 1, sequence length 8192, total "
      "steps 10\n";
  for (int step = 1; step < 5; ++step) {
    text += fmt::format(
        "[titan] 2025-07-21 15:58:{:02},140 - root - INFO - step: {:2}  loss:  4.9  memory: {}  "
        "tps: 7,000  tflops: 390.15  mfu: 39.45%\n",
        step, step, memory);
  }
  return text;
}

std::string card_line(const std::string& card) {
  return "[titan] 2025-07-21 15:57:00,140 - root - INFO - CUDA capacity: " + card + " memory\n";
}

TEST(ContradictedLog, SaysWhichGpuItRanOn) {
  const auto problems = [](const std::string& card, const std::string& memory) {
    return import_texts({{"a.log", titan_log(card, memory)}}, machines(1)).problems();
  };
  EXPECT_EQ(problems("", "47.59GiB(60.09%)"), "");
  EXPECT_EQ(problems(card_line("NVIDIA H100 80GB HBM3 with 79.11GiB"), "47.59GiB(60.09%)"), "");
  // 60 of 95.1 GiB is no H100 with 80 GB.
  EXPECT_NE(problems("", "60.00GiB(63.08%)")
                .find("memory: the log says a GPU with 95.1 GiB, but h100-sxm-80gb has 79.6 GiB"),
            std::string::npos);
  EXPECT_NE(
      problems(card_line("NVIDIA A100-SXM4-80GB with 79.15GiB"), "47.59GiB(60.09%)").find("A100"),
      std::string::npos);
  // So little leaves the card open.
  EXPECT_EQ(problems("", "0.01GiB(0.01%)"), "");
}

TEST(ContradictedLog, TakesWhatItDoesNotPrintFromTheFileBesideIt) {
  const Imported imported = import_texts(
      {{"a.log", titan_log("", "47.59GiB(60.09%)")},
       {"a.toml",
        "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\nseq_len = "
        "8192\n[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = \"op\"\n"}},
      machines(1));
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("recompute"), "selective_operations");
}

TEST(ContradictedLog, OfPreferencesOrReinforcementIsNoPreTraining) {
  const auto problems = [](const std::string& metrics) {
    std::string text =
        "***** Running training *****\n  Total train batch size (w. parallel, distributed & "
        "accumulation) = 128\n  Gradient Accumulation steps = 4\n  Total optimization steps = "
        "781\n";
    for (int step = 1; step < 9; ++step) {
      text += fmt::format("  1%|#| {}/781 [01:{:02}<2:00:00, 5.00s/it]\n", step, 5 * step);
    }
    return import_texts({{"a.log", text + "{'loss': 0.69, " + metrics +
                                       " 'learning_rate': 1e-06, 'epoch': 0.01}\n"}},
                        machines(2))
        .problems();
  };
  EXPECT_EQ(problems(""), "");
  EXPECT_NE(problems("'rewards/chosen': 0.1,").find("preference tuning"), std::string::npos);
  EXPECT_NE(problems("'reward': 0.5, 'reward_std': 0.2,").find("generates text"),
            std::string::npos);
}

TEST(ContradictedLog, LinesOutOfOrderAreNoRestarts) {
  std::vector<std::string> lines;
  for (int step = 1; step <= 60; ++step) {
    lines.push_back(megatron_step(4 * step, step));
  }
  const auto outages = [](const std::vector<std::string>& all) {
    std::string text;
    for (const std::string& line : all) {
      text += line;
    }
    const std::vector<ConfigFile> files = {{"a.log", text, ConfigFormat::megatron_log}};
    return outages_of_logs(files).outages.size();
  };
  EXPECT_EQ(outages(lines), 0U);
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::string> mixed = lines;
    const int reach = 2 + 3 * round;  // by how many lines one is moved
    for (auto at = mixed.begin(); at < mixed.end(); at += reach) {
      std::shuffle(at, std::min(at + reach, mixed.end()), random);
    }
    EXPECT_EQ(outages(mixed), 0U) << reach;
  }
  std::reverse(lines.begin(), lines.end());
  EXPECT_EQ(outages(lines), 0U);
  // A restart stays one, however its lines are mixed.
  for (int step = 41; step <= 60; ++step) {
    lines.push_back(megatron_step(1200 + 4 * step, step));
  }
  std::shuffle(lines.begin(), lines.end(), random);
  EXPECT_EQ(outages(lines), 1U);
}

TEST(ContradictedLog, AsDockerKeepsItIsReadAsItWasPrinted) {
  const std::string plain = megatron_log(counted("8.03", "1.05", "4.0152"));
  std::string kept;
  for (std::size_t at = 0; at < plain.size();) {
    const std::size_t end = plain.find('\n', at);
    kept += fmt::format(R"({{"log":"{}\n","stream":"stdout","time":"2026-01-05T09:00:01.5Z"}})"
                        "\n",
                        plain.substr(at, end - at));
    at = end + 1;
  }
  const Imported imported = import_texts({{"a.log", kept}}, machines(2));
  EXPECT_EQ(imported.problems(), "");
  EXPECT_EQ(imported.value("model.num_layers"), "32");
  EXPECT_EQ(imported.value("measured.step_time"), "4s");
  EXPECT_EQ(imported.result.scenario,
            import_texts({{"a.log", plain}}, machines(2)).result.scenario);
}

TEST(ContradictedLog, InAnotherEncodingIsNamed) {
  const TempFolder folder;
  const auto problems = [&folder](const std::string& mark, bool low_first) {
    std::string text = mark;
    for (const char c : std::string("iteration 1/ 10\n")) {
      text += low_first ? std::string{c, '\0'} : std::string{'\0', c};
    }
    Diagnostics diagnostics;
    EXPECT_FALSE(read_config_file(folder.write("utf16.log", text), diagnostics));
    return to_string(diagnostics);
  };
  EXPECT_NE(problems("\xFF\xFE", true).find("iconv -f UTF-16LE"), std::string::npos);
  EXPECT_NE(problems("\xFE\xFF", false).find("iconv -f UTF-16BE"), std::string::npos);
  EXPECT_NE(problems("", true).find("low byte first"), std::string::npos);
}

}  // namespace
}  // namespace orrery::import_config::testing
