// Every write, read and many an allocation of a command fails once in turn, in a library that is
// loaded before the program (faults/faults.cpp). Each time the command ends with a code of its own
// and a sentence, or does what it should, and every file is the old one or the new one.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "sim/base/files/file.hpp"
#include "tests/checkout.hpp"
#include "tests/cli/cli_fixture.hpp"

namespace orrery::cli::testing {
namespace {

const std::string kOld = "an older answer\n";
constexpr int kFirstSignal = 126;  // and what a shell could not start

class FaultTest : public CliTest {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer has to be loaded first";
#endif
    write("a.yaml", small_scenario());
    write("a.log", read_file(std::string(kSourceDir) +
                                 "/tests/unit/import_config/configs/torchtitan-llama3-8b-8gpu.log",
                             std::size_t{1} << 20U));
  }

  [[nodiscard]] Finished run_with(const std::string& command, const std::string& fault) const {
    return run(command, fmt::format("LD_PRELOAD='{}' ORRERY_FAULT={} ORRERY_FAULT_COUNT=count ",
                                    ORRERY_FAULTS_LIBRARY, fault));
  }

  [[nodiscard]] long calls(const std::string& command, const std::string& kind) const {
    const Finished whole = run_with(command, kind + ":1000000000");
    EXPECT_EQ(whole.code, 0) << whole.err;
    return std::atol(read("count").c_str());
  }

  void expect_clear_ends(const std::string& command, const std::vector<std::string>& outputs) {
    for (const char* kind : {"write", "read", "new"}) {
      const long all = calls(command, kind);
      ASSERT_GT(all, 0);
      std::vector<std::string> whole;
      for (const std::string& output : outputs) {
        whole.push_back(read(output));
      }
      const std::vector<std::string> left = files();
      for (const long call : some_of(all)) {
        SCOPED_TRACE(fmt::format("{}: {}:{}", command, kind, call));
        for (const std::string& output : outputs) {
          write(output, kOld);
        }
        const Finished finished = run_with(command, fmt::format("{}:{}", kind, call));
        EXPECT_LT(finished.code, kFirstSignal);
        EXPECT_EQ(finished.code == 0, finished.err.find("orrery: ") == std::string::npos &&
                                          finished.err.find("error: ") == std::string::npos)
            << finished.code << ": " << finished.err;
        for (std::size_t i = 0; i < outputs.size(); ++i) {
          const std::string now = read(outputs[i]);
          EXPECT_TRUE(now == whole[i] || (finished.code != 0 && now == kOld)) << outputs[i];
        }
        EXPECT_EQ(files(), left);  // no temporary file stays
      }
    }
  }

 private:
  // The first calls, and others further and further apart.
  static std::set<long> some_of(long all) {
    constexpr long kFirst = 12;
    std::set<long> some;
    for (long call = 1; call <= all; call += call < kFirst ? 1 : call / 3) {
      some.insert(call);
    }
    some.insert(all);
    return some;
  }
};

TEST_F(FaultTest, ARunEndsClearly) {
  expect_clear_ends("run a.yaml --trials 2 --threads 2 --json -q -o out.json", {"out.json"});
}

TEST_F(FaultTest, AnImportEndsClearly) {
  expect_clear_ends(
      "import a.log --gpu h200-sxm --set recompute=none --failures f.csv -q -o b.yaml",
      {"f.csv", "b.yaml"});
}

TEST_F(FaultTest, AnImportOfAScriptEndsClearly) {
  write("run.sh",
        "if [ $BIG = yes ]; then M=--swiglu; fi\ntorchrun --nnodes 2 --nproc_per_node 8 train.py "
        "--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --bf16 "
        "--vocab-size 32000 --micro-batch-size 1 --global-batch-size 64 $M\n");
  expect_clear_ends("import run.sh --define BIG=no --gpu h100-sxm-80gb -q -o b.yaml", {"b.yaml"});
}

TEST_F(FaultTest, AReportEndsClearly) {
  if (run("report a.yaml -o page.html").code != 0) {
    GTEST_SKIP() << "built without Qt";
  }
  const std::string command = "report a.yaml -o page.html";
  std::vector<std::string> faults = {"new:1", "new:30", "new:900", "new:30000", "new:400000"};
  for (long call = calls(command, "write"); call > 0; --call) {
    faults.push_back(fmt::format("write:{}", call));
  }
  const std::vector<std::string> left = files();
  for (const std::string& fault : faults) {
    SCOPED_TRACE(fault);
    write("page.html", kOld);
    const Finished finished = run_with(command, fault);
    EXPECT_LT(finished.code, kFirstSignal) << finished.err;
    const std::string page = read("page.html");
    EXPECT_TRUE(finished.code == 0 ? page.ends_with("</html>\n") : page == kOld);
    EXPECT_EQ(files(), left);
  }
}

// What the journal has is taken up: the next sweep gives the same table.
TEST_F(FaultTest, ASweepGoesOnFromItsJournal) {
  const std::string command =
      "sweep a.yaml --vary batch.global=64,128 --trials 2 --threads 1 --journal j -q -o out.csv";
  for (const char* kind : {"write", "new"}) {
    ASSERT_EQ(run("sweep a.yaml --vary batch.global=64,128 --trials 2 -q -o out.csv").code, 0);
    const std::string whole = read("out.csv");
    std::filesystem::remove(path("j"));
    const long all = calls(command, kind);
    for (long call = 1; call <= all; call += 1 + call / 2) {
      SCOPED_TRACE(fmt::format("{}:{}", kind, call));
      std::filesystem::remove(path("j"));
      EXPECT_LT(run_with(command, fmt::format("{}:{}", kind, call)).code, kFirstSignal);
      const bool begun = std::filesystem::exists(path("j"));
      const Finished again = run(command + (begun ? " --resume" : ""));
      EXPECT_EQ(again.code, 0) << again.err;
      EXPECT_EQ(read("out.csv"), whole);
    }
  }
}

}  // namespace
}  // namespace orrery::cli::testing
