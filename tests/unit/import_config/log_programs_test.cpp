// Logs of programs that print facts and steps in lines, and logs of none that is known.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "sim/import_config/logs/log_lines.hpp"
#include "tests/support.hpp"
#include "tests/unit/import_config/import_fixture.hpp"

namespace orrery::import_config::testing {
namespace {

const Given kH100 = {{"cluster.gpu", "h100-sxm-80gb", "--gpu"}};

struct Logged {
  ConfigFormat format;
  const char* text;
  std::vector<std::pair<const char*, const char*>> says;
  std::vector<const char*> asks;
};

// Lines as the programs print them; figures of these logs are made up.
const std::vector<Logged> kLogs = {
    {ConfigFormat::nanogpt_log,
     "batch_size = 12\nblock_size = 1024\ngradient_accumulation_steps = 5 * 8\n"
     "tokens per iteration will be: 491,520\n"
     "defaulting to vocab_size of GPT-2 to 50304 (50257 rounded up for efficiency)\n"
     "number of parameters: 123.59M\n"
     "iter 0: loss 10.9885, time 62413.73ms, mfu -100.00%\n"
     "iter 10: loss 9.2, time 251.37ms, mfu 41.20%\niter 20: loss 9.1, time 252.37ms, mfu 41.2%\n",
     {{"measured.step_time", "0.25187s"},
      {"batch.global", "480"},
      {"model.vocab_size", "50304"},
      {"model.activation", "gelu"}},
     {"model.num_layers", "batch.micro", "precision.compute"}},
    {ConfigFormat::modded_nanogpt_log,
     "import os\nimport sys\nwith open(sys.argv[0]) as f:\n    code = f.read()\n"
     "step:0/1390 val_loss:10.8258 train_time:0ms step_avg:nanms\n"
     "step:1/1390 train_time:26214ms step_avg:nanms\nstep:10/1390 train_time:27130ms "
     "step_avg:nanms\n"
     "step:11/1390 train_time:95ms step_avg:94.53ms\nstep:12/1390 train_time:190ms "
     "step_avg:95.03ms\n"
     "step:13/1390 train_time:286ms step_avg:95.33ms\nstep:14/1390 train_time:381ms "
     "step_avg:95.2ms\n",
     {{"measured.step_time", "0.096s"}},
     {"model.num_layers", "layout.tensor", "model.activation"}},
    {ConfigFormat::llm_c_log,
     "| micro batch size B    | 64                |\n| sequence length T     | 1024              "
     "|\n"
     "| total batch size      | 524288            |\n| recompute             | 1                 "
     "|\n"
     "| device                | NVIDIA H100 80GB HBM3 |\n| precision             | BF16     |\n"
     "| vocab_size V          | 50257             |\n| padded_vocab_size Vp  | 50304             "
     "|\n"
     "| num_layers L          | 12                |\n| num_heads NH          | 12                "
     "|\n"
     "| channels C            | 768               |\n| num_parameters        | 124475904         "
     "|\n"
     "| num_processes         | 8                 |\n| zero_stage            | 1                 "
     "|\n"
     "step    1/18865 | loss 11.00 (+nanz)| norm 15.3 (+nanz)| lr 8.57e-07 | 1042.79 ms | 0.0% "
     "bf16 "
     "MFU | 502772 tok/s\n"
     "step    2/18865 | loss 10.90 (+nanz)| norm 15.0 (+nanz)| lr 1.71e-06 | 315.50 ms | 50.1% "
     "bf16 "
     "MFU | 1661454 tok/s\n",
     {{"measured.step_time", "0.3155s"},
      {"batch.global", "512"},
      {"batch.micro", "64"},
      {"cluster.gpus", "8"},
      {"layout.sharding", "zero1"},
      {"precision.compute", "bf16"},
      {"model.position", "learned"}},
     {"recompute"}},
    {ConfigFormat::nanochat_log,
     "Vocab size: 65,536\nnum_layers: 20\nmodel_dim: 1280\nnum_heads: 10\nnum_kv_heads: 10\n"
     "Tokens / micro-batch / rank: 32 x 2048 = 65,536\nTokens / micro-batch: 524,288\n"
     "Total batch size 524,288 => gradient accumulation steps: 1\n"
     "Number of parameters: 560,988,160\n"
     "step 00000/21400 (0.00%) | loss: 11.09 | lrm: 1.00 | dt: 25035.88ms | tok/sec: 20,941 | mfu: "
     "0.91\n"
     "step 00001/21400 (0.01%) | loss: 10.5 | lrm: 1.00 | dt: 480.10ms | tok/sec: 1,092,039 | mfu: "
     "48.2\n",
     {{"measured.step_time", "0.4801s"}, {"batch.global", "256"}, {"model.num_layers", "20"}},
     {"layout.sharding", "precision.compute"}},
    {ConfigFormat::composer_log,
     "max_seq_len: 2048\nprecision: amp_bf16\ncomposer_version: 0.17.0\nnum_gpus_per_node: 8\n"
     "num_nodes: 2\n[batch=1/4800]:\n\t Train time/batch: 0\n\t Train time/sample: 0\n"
     "\t Train trainer/device_train_microbatch_size: 16\n\t Train loss/train/total: 12.0\n"
     "[batch=2/4800]:\n\t Train time/batch: 1\n\t Train time/sample: 256\n"
     "\t Train throughput/batches_per_sec: 0.2010\n\t Train throughput/samples_per_sec: 51.4560\n"
     "\t Train throughput/device/samples_per_sec: 6.4320\n"
     "\t Train throughput/tokens_per_sec: 105381.8880\n[batch=3/4800]:\n\t Train time/batch: 2\n"
     "\t Train time/sample: 512\n\t Train throughput/samples_per_sec: 51.2000\n",
     {{"measured.step_time", "5s"},
      {"batch.global", "256"},
      {"batch.micro", "16"},
      {"cluster.nodes", "2"},
      {"model.sequence_length", "2048"},
      {"precision.compute", "bf16"}},
     {"model.num_layers", "layout.sharding"}},
    {ConfigFormat::maxtext_log,
     "Config param emb_dim: 4096\nConfig param mlp_dim: 14336\nConfig param num_decoder_layers: "
     "32\n"
     "Config param num_query_heads: 32\nConfig param num_kv_heads: 8\nConfig param head_dim: 128\n"
     "Config param vocab_size: 128256\nConfig param logits_via_embedding: False\n"
     "Config param max_target_length: 8192\nConfig param global_batch_size_to_train_on: 64\n"
     "Config param remat_policy: full\nConfig param dtype: bfloat16\n"
     "Config param ici_tensor_parallelism: 1\nConfig param per_device_batch_size: 2\n"
     "Config param mlp_activations: ['silu', 'linear']\nConfig param base_emb_dim: 4096\n"
     "Num_devices: 32, shape (1, 1, 32)\n"
     "number parameters: 8.030 billion\n"
     "completed step: 0, seconds: 44.923, TFLOP/s/device: 17.022, Tokens/s/device: 364.7, "
     "total_weights: 524288, loss: 12.038\n"
     "completed step: 1, seconds: 0.319, TFLOP/s/device: 2400.7, Tokens/s/device: 51360, "
     "total_weights: 524288, loss: 12.038\n"
     "completed step: 2, seconds: 1.902, TFLOP/s/device: 402.0, Tokens/s/device: 8614.0, "
     "total_weights: 524288, loss: 11.379\n"
     "completed step: 3, seconds: 1.902, TFLOP/s/device: 402.0, Tokens/s/device: 8614.0, "
     "total_weights: 524288, loss: 11.3\n",
     {{"measured.step_time", "1.902s"},
      {"cluster.gpus", "32"},
      {"batch.global", "64"},
      {"layout.tensor", "1"},
      {"layout.sharding", "zero3"},
      {"recompute", "full"}},
     {}},
    {ConfigFormat::mlperf_log,
     ":::MLLOG {\"key\": \"submission_benchmark\", \"value\": \"gpt3\"}\n"
     ":::MLLOG {\"key\": \"global_batch_size\", \"value\": 2688, \"metadata\": {}}\n"
     ":::MLLOG {\"key\": \"max_sequence_length\", \"value\": 2048, \"metadata\": {}}\n"
     ":::MLLOG {\"time_ms\": 1696565401886, \"key\": \"tracked_stats\", \"value\": "
     "{\"throughput\": "
     "5154997.26}, \"metadata\": {\"step\": 1211105280}}\n",
     {{"measured.step_time", "1.0679s"}, {"batch.global", "2688"}},  // tokens a second
     {"layout.tensor"}},
    {ConfigFormat::trainer_log,
     "{'loss': 2.1, 'learning_rate': 1e-5, 'epoch': 0.1}\n"
     "Loading: 100%|##| 4/4 [00:30<00:00, 7.5s/it]\n"
     " 5%|# | 10/200 [00:30<09:30,  3.00s/it]\r 10%|# | 20/200 [01:00<09:00,  3.00s/it]\r"
     " 15%|# | 30/200 [01:30<08:30,  3.00s/it]\n",
     {{"measured.step_time", "3s"}},
     {"layout.sharding", "precision.compute", "recompute"}}};

TEST(LogPrograms, SayWhatTheyPrintAndNoMore) {
  for (const Logged& log : kLogs) {
    SCOPED_TRACE(std::string(format_name(log.format)));
    EXPECT_EQ(recognise(log.text), log.format);
    const Imported imported = import_texts({{"a.log", log.text}}, kH100);
    EXPECT_EQ(imported.problems(), "");
    for (const auto& [path, value] : log.says) {
      EXPECT_EQ(imported.value(path), value) << path;
    }
    for (const char* path : log.asks) {
      EXPECT_TRUE(imported.asks(path)) << path;
    }
    // Behind a launcher's prefix and in colours it says the same.
    std::string dressed;
    for (std::string_view rest = log.text; !rest.empty();) {
      const std::size_t end = rest.find('\n');
      dressed += fmt::format("[rank0]: \x1B[32m{}\x1B[0m\n", rest.substr(0, end));
      rest.remove_prefix(end + 1);
    }
    EXPECT_EQ(import_texts({{"a.log", dressed}}, kH100).value("measured.step_time"),
              log.says.front().second);
  }
}

TEST(LogPrograms, OfAnotherModelAreRefused) {
  std::string log = kLogs[3].text;
  log.replace(log.find("560,988,160"), 11, "692,112,640");
  EXPECT_NE(import_texts({{"a.log", log}}, kH100).problems().find("prints 692112640 parameters"),
            std::string::npos);
  std::string mlperf = kLogs[6].text;
  mlperf.replace(mlperf.find("gpt3"), 4, "llama2_70b_lora");
  EXPECT_NE(import_texts({{"a.log", mlperf}}, kH100).problems().find("llama2_70b_lora"),
            std::string::npos);
}

std::optional<ConfigFile> read_with(const std::string& text, const std::string& pattern,
                                    Diagnostics& diagnostics) {
  const TempFolder folder;
  return read_config_file(folder.write("own.log", text), diagnostics, {std::nullopt, pattern, {}});
}

TEST(LogPattern, TellsOfALogThatIsNotKnown) {
  std::string text;
  for (int i = 0; i < 20; ++i) {
    text += fmt::format("INFO it {}/100 || loss 2.1 || 0.{} s per it || lr 1e-4\n", i,
                        i == 0 ? 900 : 412);
  }
  Diagnostics diagnostics;
  const auto file = read_with(text, "it {step}/100 * || {s} s per it", diagnostics);
  ASSERT_TRUE(file) << to_string(diagnostics);
  const auto steps = steps_of_log(*file, {}, diagnostics);
  ASSERT_TRUE(steps);
  EXPECT_EQ(steps->count, 19U);
  EXPECT_DOUBLE_EQ(in_seconds(steps->median), 0.412);
  const auto rate =
      read_with("rate 2,000 tok/s\nrate 2,000 tok/s\n", "rate {tokens/s}", diagnostics);
  std::string why;
  EXPECT_FALSE(steps_of_log(*rate, {}, diagnostics, &why));
  EXPECT_NE(why.find("of how much work"), std::string::npos);
  EXPECT_DOUBLE_EQ(in_seconds(steps_of_log(*rate, {4.0, 1000.0, 8.0}, diagnostics)->median), 2.0);
}

TEST(LogPattern, SaysWhatIsWrongWithIt) {
  for (const auto& [pattern, problem] : std::vector<std::pair<const char*, const char*>>{
           {"it {step}", "says no time of a step"},
           {"it {seconds}", "knows no field `seconds`"},
           {",{step},{s}", "has two fields behind `,`"},
           {"{ms} ms", "needs words in front of it"}}) {
    Diagnostics diagnostics;
    EXPECT_FALSE(read_with("a\n", pattern, diagnostics));
    EXPECT_NE(to_string(diagnostics).find(problem), std::string::npos) << pattern;
  }
}

TEST(Escapes, OfLinksAndColoursAreNoText) {
  EXPECT_EQ(without_colours("a\x1B]8;;https://x.y/\x1B\\link\x1B]8;;\x1B\\ \x1B[1;31mred\x1B[0m"),
            "alink red");
  EXPECT_EQ(without_colours("a\x1B]8;;https://x.y/\alink\x1B]8;;\a b\x1B"), "alink b");
}

}  // namespace
}  // namespace orrery::import_config::testing
