#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <string>

#include "calibrate/samples/sample.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"
#include "sim/base/random.hpp"
#include "tests/support.hpp"

namespace orrery::calibrate {
namespace {

namespace fs = std::filesystem;

kernels::KernelCase gemm(std::int64_t m) {
  return {.operation = kernels::Operation::gemm,
          .role = kernels::Role::fprop,
          .precision = kernels::Precision::bf16,
          .extents = {m, 4096, 8192}};
}

Sample sample_of(std::int64_t m) {
  Sample sample;
  sample.kernel = gemm(m);
  sample.block = "dense";
  sample.times = {101.25, 100.5, 1.0 / 3.0};
  sample.state = {.sm_clock = 1455.0,
                  .memory_clock = 3201.0,
                  .power = std::nullopt,
                  .energy = 0.071,
                  .temperature = 61.0,
                  .throttled = {"sw_power_cap"},
                  .discarded = 3,
                  .late = 2};
  sample.implementation = "cublaslt";
  sample.details = {{"algorithm", "67"}, {"tile", "256x128"}};
  sample.first_choice = 1.02;
  sample.error = 0.25;
  sample.taken_at = "2026-11-20T12:00:00Z";
  return sample;
}

Fingerprint machine() {
  Fingerprint f;
  f.gpu = "NVIDIA H200";
  f.gpu_uuid = "GPU-11111111-2222-3333-4444-555555555555";
  f.gpus = 1;
  f.compute_capability = "9.0";
  f.multiprocessors = 132;
  f.l2_bytes = 62914560;
  f.memory_bytes = 150754820096;
  f.driver = "580.159.03";
  f.cuda_compiled = f.cuda_runtime = f.cuda_driver = "13.0";
  f.cublaslt = {.header = 130100, .runtime = 130100};
  f.nccl = {.header = 22809, .runtime = std::nullopt};
  f.nvlink = NvlinkTopology{.links = 18, .version = "4.0", .switched = true};
  f.power_limit = 700.0;
  f.cpu = "CPU \"of\" a host";
  f.cores = 16;
  f.tool = "0.1.0";
  return f;
}

SettlingCurve curve() {
  return {.kernel = gemm(8192),
          .taken_at = "2026-11-20T12:00:00Z",
          .points = {{.since_load = 0.002, .time = 101.0, .sm_clock = 1980.0, .power = 310.0},
                     {.since_load = 0.25, .time = 118.5, .sm_clock = 1455.0},
                     {.since_load = 1.0, .time = 118.75, .power = 699.5}}};
}

class SampleFile : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path path() const { return folder_ / "a.samples.jsonl"; }

  static std::string refusal(const std::function<void()>& body) {
    try {
      body();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::io);
      return error.what();
    }
    return "accepted";
  }

  TempFolder folder_;
};

TEST(Sample, BringsBackWhatWasWritten) {
  const Sample sample = sample_of(1024);
  const std::optional<Sample> read = read_sample(to_line(sample));
  ASSERT_TRUE(read);
  EXPECT_EQ(to_line(*read), to_line(sample));
  EXPECT_EQ(read->times, sample.times);
  EXPECT_EQ(read->kernel, sample.kernel);
  EXPECT_FALSE(read->state.power);
  EXPECT_EQ(read->state.memory_clock, 3201.0);
  EXPECT_EQ(read->state.energy, 0.071);
  EXPECT_EQ(read->state.discarded, 3);
  EXPECT_EQ(read->state.late, 2);
  const std::string line = to_line(sample);
  for (const char* key :
       {"\"sm_clock_mhz\"", "\"memory_clock_mhz\"", "\"energy_j_per_call\"", "\"throttled\""}) {
    EXPECT_NE(line.find(key), std::string::npos) << key;
  }
  EXPECT_EQ(read->details, sample.details);
}

TEST(Sample, AConditionIsPartOfThePoint) {
  Sample sample = sample_of(1024);
  sample.condition = {
      .kind = Condition::Kind::beside, .count = 0, .other = kernels::KernelCase(gemm(64))};
  sample.alone = 12.5;
  const std::optional<Sample> read = read_sample(to_line(sample));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->condition, sample.condition);
  EXPECT_EQ(read->alone, 12.5);
  EXPECT_NE(key_of(sample.kernel, sample.regime, sample.condition),
            key_of(sample.kernel, sample.regime));
}

TEST(Condition, ReadsBackWhatItWrites) {
  using Kind = Condition::Kind;
  for (const Condition& condition :
       {Condition{}, Condition{.kind = Kind::enqueued}, Condition{.kind = Kind::graph, .count = 64},
        Condition{.kind = Kind::fewer_multiprocessors, .count = 16},
        Condition{.kind = Kind::streaming, .count = 8},
        Condition{.kind = Kind::concurrent, .count = 4},
        Condition{.kind = Kind::beside, .count = 0, .other = gemm(128)}}) {
    EXPECT_EQ(parse_condition(to_text(condition)), condition) << to_text(condition);
  }
  for (const std::string_view wrong :
       {"alone", "graph calls=", "graph calls=0", "graph calls=2x", "multiprocessors removed=-1",
        "multiprocessors streaming=0", "beside", "beside nothing"}) {
    EXPECT_EQ(parse_condition(wrong), std::nullopt) << wrong;
  }
}

TEST(Sample, WhatIsNotSupportedIsAResult) {
  Sample sample = sample_of(1024);
  sample.supported = false;
  sample.status = "cuBLAS status 15 (CUBLAS_STATUS_NOT_SUPPORTED)";
  const std::optional<Sample> read = read_sample(to_line(sample));
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->supported);
  EXPECT_EQ(read->status, sample.status);
}

TEST(Sample, ALineThatIsNoneIsRefused) {
  EXPECT_FALSE(read_sample(""));
  EXPECT_FALSE(read_sample("{}"));
  EXPECT_FALSE(read_sample(R"({"case":"gemm","regime":"burst","block":"","at":"","us":[1]})"));
  std::string line = to_line(sample_of(64));
  EXPECT_FALSE(read_sample(line.substr(0, line.size() / 2)));
}

TEST(Fingerprint, BringsBackWhatWasWrittenAndKnowsWhatChanged) {
  const Fingerprint here = machine();
  const std::optional<Fingerprint> read = read_fingerprint(to_json(here));
  ASSERT_TRUE(read);
  EXPECT_EQ(to_json(*read), to_json(here));
  Fingerprint other = here;
  other.driver = "590.1";
  other.cublaslt.runtime = std::nullopt;
  EXPECT_EQ(differences(here, other), "driver, cublaslt");
  other = here;
  other.nvlink = NvlinkTopology{.links = 12, .peers = {0, 4, 4, 4}};
  ASSERT_TRUE(read_fingerprint(to_json(other)));
  EXPECT_EQ(read_fingerprint(to_json(other))->nvlink, other.nvlink);
  EXPECT_EQ(differences(here, other), "nvlink");
}

TEST(Settling, BringsBackWhatWasWritten) {
  const std::optional<SettlingCurve> read = read_settling(to_line(curve()));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->kernel, curve().kernel);
  EXPECT_EQ(read->points, curve().points);
  EXPECT_FALSE(read_sample(to_line(curve())));
  EXPECT_FALSE(read_settling(to_line(sample_of(64))));
}

TEST(Settling, ACurveThatGoesBackInTimeOrMissesAColumnIsNone) {
  SettlingCurve back = curve();
  back.points[2].since_load = 0.1;
  EXPECT_FALSE(read_settling(to_line(back)));
  EXPECT_FALSE(
      read_settling(to_line(SettlingCurve{.kernel = gemm(64), .taken_at = {}, .points = {}})));
  std::string line = to_line(curve());
  line.replace(line.find("[101.0,118.5,118.75]"), 20, "[101.0,118.5]");
  EXPECT_FALSE(read_settling(line));
}

TEST_F(SampleFile, ResumesAndTheLaterSampleOfAPointHolds) {
  {
    SampleJournal journal(path(), machine());
    EXPECT_FALSE(journal.has(gemm(1024), Regime::sustained));
    journal.append(sample_of(1024));
    journal.append(sample_of(2048));
    Sample again = sample_of(1024);
    again.times = {7.0};
    journal.append(again);
    journal.close();
  }
  SampleJournal journal(path(), machine());
  ASSERT_EQ(journal.samples().size(), 2U);
  EXPECT_EQ(journal.samples()[0].times, std::vector<double>{7.0});
  EXPECT_TRUE(journal.has(gemm(2048), Regime::sustained));
  EXPECT_FALSE(journal.has(gemm(2048), Regime::burst));
  EXPECT_EQ(read_measurements(path()).samples.size(), 2U);
  EXPECT_EQ(to_json(read_measurements(path()).fingerprint), to_json(machine()));
}

// Killed at any byte: what was finished is there, and nothing else.
TEST_F(SampleFile, SurvivesACutAtAnyByte) {
  {
    SampleJournal journal(path(), machine());
    journal.append(sample_of(1024));
    journal.append(sample_of(2048));
  }
  const std::string whole = read_file(path(), 1U << 20U);
  const std::size_t first = whole.find('\n') + 1;
  const std::size_t second = whole.find('\n', first) + 1;
  for (std::size_t size = 0; size <= whole.size(); size += 7) {
    SCOPED_TRACE(size);
    write_file_atomically(path(), whole.substr(0, size));
    const SampleJournal journal(path(), machine());
    const std::size_t expected = size >= whole.size() ? 2 : size >= second ? 1 : 0;
    EXPECT_EQ(journal.samples().size(), expected);
  }
}

TEST_F(SampleFile, OfAnotherMachineIsRefusedWithWhatDiffers) {
  { const SampleJournal journal(path(), machine()); }
  Fingerprint other = machine();
  other.gpu = "NVIDIA B200";
  other.gpu_uuid = "GPU-22222222-2222-3333-4444-555555555555";
  EXPECT_EQ(refusal([&] { const SampleJournal journal(path(), other); }),
            path().string() +
                ": was measured on another machine or with other libraries (it differs in: gpu, "
                "gpu_uuid): "
                "remove it, or choose another file");
  write_file_atomically(path(), "a profile\n");
  EXPECT_EQ(refusal([&] { const SampleJournal journal(path(), other); }),
            path().string() + ": is no journal of samples: choose another file");
  EXPECT_EQ(refusal([&] { (void)read_measurements(path()); }),
            path().string() + ": is no journal of samples");
}

// Two boards of one type differ by several per cent: a sweep never goes on on the second.
TEST_F(SampleFile, OfAnotherBoardOfTheSameTypeIsRefused) {
  { const SampleJournal journal(path(), machine()); }
  Fingerprint other = machine();
  other.gpu_uuid = "GPU-22222222-2222-3333-4444-555555555555";
  EXPECT_EQ(refusal([&] { const SampleJournal journal(path(), other); }),
            path().string() +
                ": was measured on another board of the same type "
                "(GPU-11111111-2222-3333-4444-555555555555, this one is "
                "GPU-22222222-2222-3333-4444-555555555555): boards differ by several per cent, so "
                "go on on that board, or choose another file");
}

TEST_F(SampleFile, OfTheOldFormIsRefusedByName) {
  const std::string old =
      ": is of the old form orrery-samples/1, which does not say which board was measured nor "
      "whether its clock had settled: measure again into another file";
  write_file_atomically(path(), R"({"schema":"orrery-samples/1","fingerprint":{}})"
                                "\n");
  EXPECT_EQ(refusal([&] { (void)read_measurements(path()); }), path().string() + old);
  EXPECT_EQ(refusal([&] { const SampleJournal journal(path(), machine()); }),
            path().string() + old);
}

TEST_F(SampleFile, KeepsEverySettlingCurve) {
  {
    SampleJournal journal(path(), machine());
    journal.append(curve());
    journal.append(sample_of(1024));
  }
  {
    SampleJournal journal(path(), machine());
    ASSERT_EQ(journal.settling().size(), 1U);
    journal.append(curve());
  }
  const Measurements read = read_measurements(path());
  EXPECT_EQ(read.samples.size(), 1U);
  ASSERT_EQ(read.settling.size(), 2U);
  EXPECT_EQ(read.settling.back().points, curve().points);
}

TEST_F(SampleFile, ADamagedLineIsNamed) {
  {
    SampleJournal journal(path(), machine());
    journal.append(sample_of(1024));
  }
  std::string text = read_file(path(), 1U << 20U);
  text += "{\"case\": 1}\n" + to_line(sample_of(64)) + "\n";
  write_file_atomically(path(), text);
  EXPECT_EQ(refusal([&] { (void)read_measurements(path()); }),
            path().string() + ":3: is no sample, or damaged: remove the line");
  EXPECT_EQ(refusal([&] { const SampleJournal journal(path(), machine()); }),
            path().string() + ": line 3 is damaged: remove the line, or the journal");
}

// A bit of any byte turns over (sealed_line_test has all values of every byte): the same samples,
// the last one missing, or a refusal.
TEST_F(SampleFile, NeverReadsOtherSamplesFromOneChangedBit) {
  {
    SampleJournal journal(path(), machine());
    journal.append(sample_of(1024));
    journal.append(sample_of(2048));
    journal.close();
  }
  const std::string whole = read_file(path(), 1U << 20U);
  const std::vector<Sample> samples = read_measurements(path()).samples;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    const auto bit = static_cast<unsigned>(at % 8);
    std::string changed = whole;
    changed[at] = static_cast<char>(static_cast<unsigned char>(changed[at]) ^ (1U << bit));
    std::ofstream(path(), std::ios::binary) << changed;
    try {
      const Measurements read = read_measurements(path());
      ASSERT_LT(read.samples.size(), samples.size()) << at << " " << bit;
      for (std::size_t i = 0; i < read.samples.size(); ++i) {
        ASSERT_EQ(to_line(read.samples[i]), to_line(samples[i])) << at << " " << bit;
      }
      ASSERT_EQ(to_json(read.fingerprint), to_json(machine())) << at << " " << bit;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::io);
    }
  }
}

}  // namespace
}  // namespace orrery::calibrate
