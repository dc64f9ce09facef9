// Seeds of every kind of file, and what random damage makes of them; scenarios up to their answers.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/base/file.hpp"
#include "sim/base/random.hpp"
#include "tests/fuzz/exercise_evaluation.hpp"
#include "tests/fuzz/exercise_files.hpp"

namespace orrery::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFileBytes = std::size_t{4} << 20U;
constexpr std::uint64_t kSeed = 20'261'122;

std::vector<std::string> texts_in(const std::string& folder, const std::string& extension) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(ORRERY_SOURCE_DIR) / folder)) {
    if (entry.is_regular_file() && (extension.empty() || entry.path().extension() == extension)) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> texts;
  for (const fs::path& file : files) {
    texts.push_back(read_file(file, kMaxFileBytes));
  }
  return texts;
}

std::vector<std::string> seeds_of(const std::string& name) {
  if (name == "spot_trace") {
    std::vector<std::string> seeds = texts_in("scenarios/traces", ".csv");
    seeds.emplace_back("time,available\n0,1\n1e-12,1\n");
    seeds.emplace_back("time,available,price\n0,16,1.5\n60,12,1.75\n3600,16,1.5\n");
    seeds.emplace_back(R"({"metadata": {"gap_seconds": 600}, "data": [16, 12, 16]})");
    return seeds;
  }
  if (name == "failure_log") {
    return {"time_h,cause,nodes,outage_min\n12.5,faulty GPU,1,40\n3,\"switch, leaf 7\",,\n",
            "timestamp,cause\n2023-11-15T10:00Z,GPU\n",
            "time,cause,outage\n1e300h,GPU,2h\n"};
  }
  if (name == "kineto") {
    return {
        R"({"distributedInfo":{"rank":3,"world_size":8},"traceEvents":[)"
        R"({"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":10.5,"dur":4.25,)"
        R"("args":{"device":0,"stream":7,"correlation":1}},)"
        R"({"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":1,)"
        R"("dur":90},{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":0,"tid":20,)"
        R"("ts":20,"dur":9e15,"args":{"stream":20,"Group size":2,"Collective name":"a"}}]})",
        R"([{"ph":"X","cat":"kernel","name":"a","ts":-9e300,"dur":1e300,"pid":0,"tid":0}])"};
  }
  if (name == "journal") {
    return {R"({"schema":"orrery-sweep-journal/2","version":"1"})"
            "\n"
            R"({"point":["1"],"status":"ok","reason":"","cells":[0.5,null],"files":{}})"
            "\n",
            R"({"point":["2"],"status":"gave up","reason":"x","cells":[1e308,-0.0],)"
            R"("files":{"/a":"0"}})"};
  }
  if (name == "saved_answer") {
    return {read_file(fs::path(ORRERY_SOURCE_DIR) / "tests/golden/report.json", kMaxFileBytes)};
  }
  return texts_in("tests/unit/import_config/configs", "");
}

constexpr std::array<std::string_view, 22> kPieces = {"\"",
                                                      "{",
                                                      "}",
                                                      "[",
                                                      "]",
                                                      ",",
                                                      ":",
                                                      "\n",
                                                      "-1",
                                                      "1e999",
                                                      "null",
                                                      "0",
                                                      "true",
                                                      "\\",
                                                      "\t",
                                                      "\xC3",
                                                      "1e-12",
                                                      "[[[[[[",
                                                      "\xE2\x80\xAE",
                                                      "9223372036854775807",
                                                      "-",
                                                      "e"};

std::string damaged(std::string text, RandomStream& random) {
  const std::uint64_t times = 1 + random.uniform_int(4);
  for (std::uint64_t i = 0; i < times && !text.empty(); ++i) {
    const std::size_t at = random.uniform_int(text.size());
    switch (random.uniform_int(5)) {
      case 0:
        text[at] = static_cast<char>(random.uniform_int(256));
        break;
      case 1:
        text.erase(at, 1 + random.uniform_int(20));
        break;
      case 2:
        text.insert(at, kPieces[random.uniform_int(kPieces.size())]);
        break;
      case 3:
        text.insert(at, text.substr(random.uniform_int(text.size()), random.uniform_int(60)));
        break;
      default:
        text.resize(at);
    }
  }
  return text;
}

// The exercises abort when a promise is broken, so reaching the end is the result.
TEST(FuzzFiles, SeedsAndDamagedSeedsKeepThePromisesOfTheirReaders) {
  for (const Exercise& exercise : kExercises) {
    SCOPED_TRACE(exercise.name);
    RandomStream random(kSeed, 0, Purpose::property_test);
    const std::vector<std::string> seeds = seeds_of(std::string(exercise.name));
    ASSERT_FALSE(seeds.empty());
    for (const std::string& seed : seeds) {
      exercise.run(seed);
      const int rounds = static_cast<int>(2000 / seeds.size()) + 10;
      for (int round = 0; round < rounds; ++round) {
        exercise.run(damaged(seed, random));
      }
    }
  }
}

// Values changed to others that stand in scenarios: most are still scenarios.
TEST(FuzzEvaluation, AnswersOfChangedScenariosKeepTheirPromises) {
  constexpr int kRounds = 150;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  const std::string base = R"(format: orrery/1
name: Small
model: {preset: llama2-7b, sequence_length: 4096}
cluster: {gpu: h100-sxm-80gb, nodes: 2, gpus_per_node: 8, network: {preset: infiniband-400g}}
layout: {tensor: 2, sequence_parallel: true, sharding: zero1}
batch: {global: 64, micro: 1}
precision: bf16
recompute: selective
training: {steps: 20000}
failures: {node_rate: 0.05/d}
recovery: {preset: rsc-2024}
checkpoint: {interval: auto}
capacity: {spares: 1}
prices: {gpu_hour: $2.50/h, as_of: 2026-11-01}
simulation: {trials: 2, seed: 3}
)";
  const std::vector<std::string> values = {"0",         "1",    "2",     "3",    "4",
                                           "8",         "64",   "1e-9",  "1e9",  "0.5",
                                           "none",      "full", "zero3", "fsdp", "true",
                                           "fp8-block", "1h",   "1ns",   "70y",  "0/d",
                                           "1000/d",    "$0/h", "1e300", "auto", "a100-sxm4-80gb",
                                           "b200-sxm"};
  EXPECT_TRUE(exercise_evaluation(base));
  RandomStream random(kSeed, 1, Purpose::property_test);
  int evaluated = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::string text = base;
    for (std::uint64_t i = 0; i <= random.uniform_int(2); ++i) {
      const std::size_t at = text.find(": ", text.find("model") + random.uniform_int(500));
      if (at == std::string::npos || text[at + 2] == '{') {
        continue;
      }
      const std::size_t end = text.find_first_of(",}\n", at);
      text.replace(at + 2, end - at - 2, values[random.uniform_int(values.size())]);
    }
    evaluated += exercise_evaluation(text) ? 1 : 0;
  }
  EXPECT_GT(evaluated, kRounds / 20);
}

}  // namespace
}  // namespace orrery::fuzz
