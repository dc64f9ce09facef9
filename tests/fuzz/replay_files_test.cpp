// Seeds of every kind of file, and what random damage makes of them; scenarios up to their answers.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/base/files/file.hpp"
#include "sim/base/random.hpp"
#include "tests/checkout.hpp"
#include "tests/fuzz/exercise_evaluation.hpp"
#include "tests/fuzz/exercise_files.hpp"

namespace orrery::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFileBytes = std::size_t{4} << 20U;
constexpr std::uint64_t kSeed = 20'261'122;

std::vector<std::string> texts_in(const std::string& folder, const std::string& extension) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(kSourceDir) / folder)) {
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
  std::vector<std::string> seeds;
  const auto add = [&seeds](std::vector<std::string> more) {
    seeds.insert(seeds.end(), more.begin(), more.end());
  };
  if (name == "spot_trace") {
    add(texts_in("scenarios/traces", ".csv"));
  } else if (name == "saved_answer") {
    add({read_file(fs::path(kSourceDir) / "tests/golden/report.json", kMaxFileBytes)});
  } else if (name == "import") {
    return texts_in("tests/unit/import_config/configs", "");
  } else if (name == "profile") {
    for (const char* folder : {"gpu", "software", "collectives"}) {
      add(texts_in(std::string("scenarios/profiles/") + folder, ".yaml"));
    }
  }
  const std::string corpus = "tests/fuzz/files_corpus/" + name;
  if (fs::exists(fs::path(kSourceDir) / corpus)) {
    add(texts_in(corpus, ""));
  }
  return seeds;
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
