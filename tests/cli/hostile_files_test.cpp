// Files that mean harm, or that were harmed: what the whole program makes of them.

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/cli/frame/exit_code.hpp"
#include "tests/checkout.hpp"
#include "tests/cli/cli_fixture.hpp"

namespace orrery::cli::testing {
namespace {

namespace fs = std::filesystem;

class HostileFilesTest : public CliTest {
 protected:
  // The small scenario with this line in place of the one with the same key.
  void write_scenario(const std::string& name, const std::string& key, const std::string& value) {
    std::string text = small_scenario();
    const std::size_t at = text.find("\n" + key + ":");
    if (at == std::string::npos) {
      text += key + ": " + value + "\n";
    } else {
      text.replace(at + 1, text.find('\n', at + 1) - at - 1, key + ": " + value);
    }
    write(name, text);
  }
};

constexpr const char* kTrace = "time,available\n0,2\n3600,1\n7200,2\n90000,2\n";
constexpr const char* kSpot = "{spares: 1, spot: {share: 0.5, traces: [trace.csv]}}";

// Some points of one trace beside some of another are no table.
TEST_F(HostileFilesTest, AJournalOfOtherFilesIsNotContinued) {
  write_scenario("spot.yaml", "capacity", kSpot);
  write("trace.csv", kTrace);
  const std::string sweep =
      "sweep spot.yaml --trials 5 --vary checkpoint.interval=20min,1h --journal j -o t.csv";
  const Finished first = run(sweep);
  ASSERT_EQ(first.code, 0) << first.err;
  const std::string table = read("t.csv");
  EXPECT_EQ(run(sweep + " --resume").code, 0);
  EXPECT_EQ(read("t.csv"), table);
  write("trace.csv", "time,available\n0,2\n600,0\n7200,2\n90000,2\n");
  const Finished other = run(sweep + " --resume");
  EXPECT_EQ(other.code, 6);
  EXPECT_EQ(other.err, "orrery: j: belongs to another sweep (" + path("trace.csv") +
                           " has changed): remove it, or choose another\n");
  EXPECT_EQ(read("t.csv"), table);
}

TEST_F(HostileFilesTest, AJournalOfAnotherProfileByPathOrLogIsNotContinued) {
  const fs::path profile = fs::path(kSourceDir) / "scenarios/profiles/gpu/h100-sxm-80gb.yaml";
  fs::copy_file(profile, path("mine.yaml"));
  write("log.csv", "time_h,cause\n5,GPU\n");
  std::string text = small_scenario();
  text.replace(text.find("h100-sxm-80gb"), 13, "./mine.yaml");
  text.replace(text.find("{node_rate: 0.05/d}"), 19, "{log: log.csv}");
  write("a.yaml", text);
  const std::string sweep =
      "sweep a.yaml --trials 5 --vary checkpoint.interval=20min,1h --journal j -o t.csv";
  const Finished first = run(sweep);
  ASSERT_EQ(first.code, 0) << first.err;
  write("log.csv", "time_h,cause\n6,GPU\n");
  EXPECT_NE(run(sweep + " --resume").err.find("log.csv has changed"), std::string::npos);
  write("log.csv", "time_h,cause\n5,GPU\n");
  EXPECT_EQ(run(sweep + " --resume").code, 0);
  write("mine.yaml", read("mine.yaml") + "\n# a remark\n");
  EXPECT_NE(run(sweep + " --resume").err.find("mine.yaml has changed"), std::string::npos);
}

TEST_F(HostileFilesTest, ADamagedJournalIsRefusedWithItsLine) {
  write("small.yaml", small_scenario());
  const std::string sweep = "sweep small.yaml --trials 5 --vary capacity.spares=1,2,3 --journal j";
  ASSERT_EQ(run(sweep + " -o t.csv").code, 0);
  std::string journal = read("j");
  const std::size_t line = journal.find("\n{\"point\"") + 1;
  const std::size_t digit = journal.find_first_of("123456789", journal.find("\"cells\"", line));
  journal[digit] = journal[digit] == '9' ? '1' : static_cast<char>(journal[digit] + 1);
  write("j", journal);
  const Finished damaged = run(sweep + " --resume -o u.csv");
  EXPECT_EQ(damaged.code, 6);
  EXPECT_EQ(damaged.err, "orrery: j: line 2 is damaged: remove the line, or the journal\n");
  write("j", "{\"schema\": 5}\n");
  EXPECT_EQ(run(sweep + " --resume -o u.csv").code, 6);
  EXPECT_FALSE(fs::exists(path("u.csv")));
}

TEST_F(HostileFilesTest, AMillionLevelsOfBracketsAreRefused) {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  write("x.json", "{\"schema\":\"orrery-evaluation/1\",\"metrics\":" + deep + "}");
  const Finished compared = run("compare x.json x.json");
  EXPECT_EQ(compared.code, 3);
  EXPECT_NE(compared.err.find("has more than 64 levels of brackets"), std::string::npos);
  write("t.json", "{\"traceEvents\":" + deep + "}");
  write("small.yaml", small_scenario());
  const Finished traced = run("compare small.yaml t.json");
  EXPECT_EQ(traced.code, 3);
  EXPECT_NE(traced.err.find("does not end within 1048576 bytes"), std::string::npos) << traced.err;
}

// Forty megabytes of text that would be two gigabytes of values, with memory for a quarter of that.
TEST_F(HostileFilesTest, MemoryIsBoundedByTheText) {
  std::string text = "{\"schema\":\"orrery-evaluation/1\",\"a\":[";
  for (int i = 0; i < 20'000'000; ++i) {
    text += "1,";
  }
  write("x.json", text + "1]}");
  const Finished compared = run("compare x.json x.json", "ulimit -v 500000;");
  EXPECT_EQ(compared.code, 3);
  EXPECT_EQ(compared.err.substr(0, 50), "orrery: x.json: holds more than 4000000 values\norr");
}

// What a scenario can name, a stranger can name: none of it may show in a message.
TEST_F(HostileFilesTest, MessagesDoNotShowFilesOfAnotherKind) {
  write("secret.txt", "password=hunter2\nrealm: [hunter2, hunter3]\n");
  write("secret.yaml", "password: hunter2\ntoken: [hunter2]\n");
  const auto shown = [this](const std::string& key, const std::string& value) {
    for (const char* file : {"secret.txt", "secret.yaml"}) {
      std::string with = value;
      with.replace(with.find("FILE"), 4, file);
      write_scenario("s.yaml", key, with);
      const Finished finished = run("run s.yaml --trials 2");
      EXPECT_NE(finished.code, 0) << value;
      EXPECT_EQ((finished.err + finished.out).find("hunter"), std::string::npos) << finished.err;
      EXPECT_EQ((finished.err + finished.out).find("password"), std::string::npos) << finished.err;
    }
  };
  shown("failures", "{log: ./FILE}");
  shown("capacity", "{spares: 1, spot: {share: 0.5, traces: [./FILE]}}");
  shown("software", "./FILE");
  shown("cluster", "{gpu: ./FILE, nodes: 2, gpus_per_node: 8, network: {preset: infiniband-400g}}");
  shown("cluster",
        "{gpu: h100-sxm-80gb, nodes: 2, gpus_per_node: 8, network: {preset: infiniband-400g, "
        "collectives: ./FILE}}");
  for (const char* file : {"secret.txt", "secret.yaml"}) {
    write("sweep.yaml", std::string("format: orrery-sweep/1\nscenario: ") + file +
                            "\nvary: {capacity.spares: [1, 2]}\n");
    const Finished finished = run("sweep sweep.yaml");
    EXPECT_NE(finished.code, 0);
    EXPECT_EQ(finished.err.find("hunter"), std::string::npos) << finished.err;
    EXPECT_EQ(finished.err.find("password"), std::string::npos) << finished.err;
  }
}

// C1 controls are refused by the reader; escapes in quotes make them all the same.
TEST_F(HostileFilesTest, NamesDoNotSteerTheTerminal) {
  write_scenario("a.yaml", "name", R"("a\u009b31mb\u202ec\e[31md\uffffe")");
  const Finished finished = run("run a.yaml --trials 2");
  ASSERT_EQ(finished.code, 0) << finished.err;
  EXPECT_TRUE(finished.out.starts_with("a?31mb?c?[31md?e\n")) << finished.out.substr(0, 80);
  const Finished junit = run("check a.yaml --trials 2 --junit j.xml");
  EXPECT_EQ(read("j.xml").find("\xEF\xBF\xBF"), std::string::npos);
  EXPECT_EQ(run("export --format svg -o a.svg a.yaml").code, 0);
  EXPECT_EQ(read("a.svg").find("\xEF\xBF\xBF"), std::string::npos);
  write("b\x1b[31m.yaml", "format: orrery/1\n");
  const Finished named = run("run 'b\x1b[31m.yaml'");
  EXPECT_EQ(named.code, 3);
  EXPECT_EQ(named.err.find('\x1b'), std::string::npos) << named.err;
  EXPECT_EQ(run("run 'c\x1b[31m.yaml'").err.find('\x1b'), std::string::npos);
}

TEST_F(HostileFilesTest, AnInputIsNeverTheOutput) {
  const std::string text = small_scenario();
  write("s.yaml", text);
  fs::create_symlink("s.yaml", path("link.yaml"));
  fs::create_hard_link(path("s.yaml"), path("hard.yaml"));
  for (const char* output : {"s.yaml", "./s.yaml", "link.yaml", "hard.yaml"}) {
    for (const char* command :
         {"run", "check", "export --format csv", "sweep --vary capacity.spares=1", "plan"}) {
      const Finished refused = run(std::string(command) + " -o " + output + " s.yaml");
      EXPECT_EQ(refused.code, 2) << command << refused.err;
      EXPECT_NE(refused.err.find("is read by this command: choose another file"), std::string::npos)
          << refused.err;
    }
  }
  EXPECT_EQ(run("check s.yaml -o a --junit a").code, 2);
  write_scenario("spot.yaml", "capacity", kSpot);
  write("trace.csv", kTrace);
  for (const char* command : {"run spot.yaml --trials 2", "plan spot.yaml --trials 2",
                              "compare spot.yaml s.yaml --trials 2"}) {
    const Finished named = run(std::string(command) + " -o trace.csv");
    EXPECT_EQ(named.code, 2) << command << named.err;
  }
  EXPECT_EQ(read("trace.csv"), kTrace);
  EXPECT_EQ(read("s.yaml"), text);
}

// A million trials would be computed first.
TEST_F(HostileFilesTest, SaysBeforeTheWorkThatAnOutputCannotBeWritten) {
  write("s.yaml", small_scenario());
  for (const char* command : {"run", "check", "sweep --vary capacity.spares=1:40:40"}) {
    const Finished finished =
        run(std::string(command) + " s.yaml --trials 1000000 -o none/x", "timeout 5");
    EXPECT_EQ(finished.code, 6) << finished.err;
    EXPECT_EQ(finished.err,
              "orrery: none/x: cannot create a temporary file beside it: No such file or "
              "directory\n");
  }
}

// A message that names a key says where, also where the key is not stated.
TEST_F(HostileFilesTest, MessagesHaveAPlace) {
  std::string text = small_scenario();
  text = text.substr(0, text.find("layout:")) +
         "batch: {global: 1073741824, micro: 1}\nprecision: bf16\n";
  write("batch.yaml", text);
  const Finished batch = run("run batch.yaml");
  EXPECT_EQ(batch.code, 3);
  const std::string place = "batch.yaml:5:36: error: layout.schedule: p v m must not exceed";
  EXPECT_EQ(batch.err.substr(0, place.size()), place);
  write("plain.yaml", small_scenario());
  fs::copy(fs::path(kSourceDir) / "scenarios/profiles", path("profiles"),
           fs::copy_options::recursive);
  fs::remove_all(path("profiles/software"));
  fs::create_directories(path("bin"));
  fs::copy_file(program(), path("bin/orrery"));
  const Finished software =
      run("--version >/dev/null; cd profiles/.. && bin/orrery run plain.yaml");
  EXPECT_EQ(software.code, 3);
  EXPECT_TRUE(software.err.starts_with("plain.yaml:1:1: error: software: ")) << software.err;
}

// Every exit code of the contract, from the command itself.

using ExitCodeTest = CliTest;

TEST_F(ExitCodeTest, CheckPassesWithZero) {
  write("small.yaml", small_scenario("  - fits_memory\n  - mfu >= 0.01\n"));
  const Finished finished = run("check small.yaml");
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(finished.out,
            "pass      small.yaml:17: fits_memory\npass      small.yaml:18: mfu >= 0.01\n");
  EXPECT_EQ(finished.err, "orrery: 2 of 2 expectations met in 1 file\n");
}

TEST_F(ExitCodeTest, AFailedExpectationIsOne) {
  write("small.yaml", small_scenario("  - mfu >= 0.01\n  - mfu >= 0.99\n"));
  const Finished finished = run("check small.yaml");
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(has(finished.out, "FAIL      small.yaml:18: mfu >= 0.99 -- mfu is "));
  EXPECT_FALSE(has(run("check -q small.yaml").out, "pass"));
  EXPECT_EQ(run("run small.yaml").code, 0);
}

TEST_F(ExitCodeTest, UsageIsTwo) {
  EXPECT_EQ(run("").code, 2);
  EXPECT_EQ(run("run").code, 2);
  EXPECT_EQ(run("run --trials none x.yaml").code, 2);
  EXPECT_EQ(run("run --trials 0 x.yaml").code, 2);
  EXPECT_EQ(run("list gpu").code, 2);
  EXPECT_EQ(run("export --format xml x.yaml").code, 2);
  EXPECT_EQ(run("export --format csv --what run x.yaml").code, 2);
}

TEST_F(ExitCodeTest, TypingErrorsGetTheNearestName) {
  EXPECT_EQ(run("chekc x.yaml").err, "orrery: unknown command `chekc`, did you mean `check`?\n");
  EXPECT_EQ(run("run --jsn x.yaml").err,
            "orrery: run: unexpected option `--jsn`, did you mean `--json`?\n");
  EXPECT_EQ(run("explain mfuu x.yaml").err,
            "orrery: explain: unknown metric `mfuu` (did you mean `mfu`?)\n");
  EXPECT_EQ(run("list gpu").err,
            "orrery: list: there is no list of `gpu` (did you mean `gpus`?)\n");
}

TEST_F(ExitCodeTest, AnInvalidScenarioIsThreeAndSaysWhere) {
  write("bad.yaml", "format: orrery/1\nmodle: {preset: llama2-7b}\n");
  for (const std::string command : {"run", "check", "explain mfu", "export --format csv"}) {
    const Finished finished = run(command + " bad.yaml");
    EXPECT_EQ(finished.code, 3) << command;
    EXPECT_TRUE(has(finished.err, "bad.yaml:2:1: error: modle")) << finished.err;
  }
  EXPECT_EQ(run("run bad.yaml").out, "");
}

TEST_F(ExitCodeTest, AnExpectationThatCannotBeReadIsThree) {
  write("small.yaml", small_scenario("  - mfuu >= 0.1\n"));
  const Finished finished = run("check small.yaml");
  EXPECT_EQ(finished.code, 3);
  EXPECT_TRUE(has(finished.err, "small.yaml:17:")) << finished.err;
  EXPECT_TRUE(has(finished.err, "did you mean `mfu`?")) << finished.err;
}

TEST_F(ExitCodeTest, WhatDoesNotFitIsFourUnlessTheMemoryIsExpected) {
  write("silent.yaml", too_big_scenario("  - mfu >= 0.01\n"));
  const Finished silent = run("check silent.yaml");
  EXPECT_EQ(silent.code, 4) << silent.err;
  EXPECT_TRUE(has(silent.out, "does not fit in memory: "));
  write("expected.yaml", too_big_scenario("  - not fits_memory\n"));
  EXPECT_EQ(run("check expected.yaml").code, 0);
  write("wrong.yaml", too_big_scenario("  - fits_memory\n"));
  EXPECT_EQ(run("check wrong.yaml").code, 1);
  const Finished report = run("run silent.yaml");
  EXPECT_EQ(report.code, 0);
  EXPECT_TRUE(has(report.out, "DOES NOT FIT"));
}

TEST_F(ExitCodeTest, ARunThatMostTrialsGaveUpIsFour) {
  std::string text = small_scenario();
  text.replace(text.find("0.05/d"), std::string("0.05/d").size(), "1000/d");
  write("hopeless.yaml", text);
  const Finished finished = run("run hopeless.yaml");
  EXPECT_EQ(finished.code, 4) << finished.err;
  EXPECT_TRUE(has(finished.out, "trials gave up")) << finished.out;
}

TEST_F(ExitCodeTest, AMissingProfileIsFive) {
  std::string text = small_scenario();
  text.replace(text.find("h100-sxm-80gb"), std::string("h100-sxm-80gb").size(), "h101");
  write("foreign.yaml", text);
  const Finished finished = run("run foreign.yaml");
  EXPECT_EQ(finished.code, 5);
  EXPECT_TRUE(has(finished.err, "foreign.yaml:4:16: error: cluster.gpu")) << finished.err;
}

TEST_F(ExitCodeTest, AMissingFileIsSix) {
  const Finished finished = run("check missing.yaml");
  EXPECT_EQ(finished.code, 6);
  EXPECT_TRUE(has(finished.err, "orrery: missing.yaml: no such file\n"));
  EXPECT_EQ(run("run .").code, 6);
}

TEST_F(ExitCodeTest, TheWorstOfSeveralFilesDecides) {
  write("good.yaml", small_scenario("  - fits_memory\n"));
  write("failing.yaml", small_scenario("  - mfu >= 0.99\n"));
  write("big.yaml", too_big_scenario("  - mfu >= 0.01\n"));
  write("bad.yaml", "format: orrery/1\n");
  EXPECT_EQ(run("check good.yaml failing.yaml").code, 1);
  EXPECT_EQ(run("check failing.yaml big.yaml good.yaml").code, 4);
  EXPECT_EQ(run("check big.yaml bad.yaml failing.yaml").code, 3);
  // The broken file does not keep the others from being judged.
  EXPECT_TRUE(has(run("check bad.yaml good.yaml").out, "pass      good.yaml"));
}

TEST_F(ExitCodeTest, VersionAndHelpAreZero) {
  const Finished version = run("--version");
  EXPECT_EQ(version.code, 0);
  EXPECT_TRUE(version.out.starts_with("orrery "));
  const Finished help = run("--help");
  EXPECT_EQ(help.code, 0);
  EXPECT_TRUE(has(help.out, "Exit codes:"));
  EXPECT_TRUE(has(run("export --help").out, "Usage: orrery export"));
  EXPECT_TRUE(has(run("").err, "Usage: orrery"));
}

TEST(ExitCodes, TheOrderIsThatOfTheContract) {
  using enum ExitCode;
  EXPECT_EQ(worse(ok, expectation_failed), expectation_failed);
  EXPECT_EQ(worse(does_not_fit, expectation_failed), does_not_fit);
  EXPECT_EQ(worse(does_not_fit, invalid), invalid);
  EXPECT_EQ(worse(invalid, io), io);
  EXPECT_EQ(worse(ok, ok), ok);
}

// --set: a key in place of what the file says, in every command that takes a scenario.

using Set = CliTest;

constexpr const char* kScenario = R"(format: orrery/1
name: small
model: {preset: llama3-8b, sequence_length: 8192}
cluster: {gpu: h100-sxm-80gb, nodes: 2, gpus_per_node: 8, network: {preset: infiniband-400g}}
layout: {tensor: 1, sharding: zero3}
batch: {global: 64, micro: 1}
precision: bf16
recompute: full
)";

double step_time(const std::string& json) {
  return nlohmann::json::parse(json)["metrics"]["step_time_s"]["value"].get<double>();
}

TEST_F(Set, IsTheSameAsTheKeyInTheFile) {
  write("a.yaml", kScenario);
  std::string other = kScenario;
  other.replace(other.find("tensor: 1"), 9, "tensor: 4");
  other.replace(other.find("global: 64"), 10, "global: 32");
  write("b.yaml", other);
  const Finished set = run("run --json a.yaml --set layout.tp=4 --set batch.global=32");
  EXPECT_EQ(set.code, 0) << set.err;
  EXPECT_EQ(step_time(set.out), step_time(run("run --json b.yaml").out));
  EXPECT_NE(step_time(set.out), step_time(run("run --json a.yaml").out));
  EXPECT_EQ(run("check a.yaml --set layout.tensor=3").code, 3);
  EXPECT_EQ(run("explain step_time a.yaml --set layout.tensor=4").code, 0);
  EXPECT_EQ(run("sweep --vary layout.tensor=2,4 a.yaml --set batch.global=32").out,
            run("sweep --vary layout.tensor=2,4 b.yaml").out);
}

// Two nodes of eight GPUs: with tensor 4 the replicas are four, not eight.
TEST_F(Set, DerivesReplicasAgainUnlessTheyAreKept) {
  std::string stated = kScenario;
  stated.replace(stated.find("tensor: 1"), 9, "tensor: 2, data: 8");
  write("a.yaml", stated);
  const Finished derived = run("run a.yaml --set layout.tensor=4");
  EXPECT_EQ(derived.code, 0);
  EXPECT_NE((derived.out + derived.err).find("layout.data: is taken as 4: 8, as stated"),
            std::string::npos)
      << derived.err;
  EXPECT_EQ(run("run a.yaml --set layout.tensor=4 --keep layout.data").code, 3);
  const auto statuses = [this](const std::string& options) {
    std::string words;
    const auto table =
        nlohmann::json::parse(run("sweep --json --vary layout.tensor=1,2,4 a.yaml" + options).out);
    for (const auto& point : table["points"]) {
      words += point["status"].get<std::string>() + " ";
    }
    return words;
  };
  EXPECT_EQ(statuses(""), "ok ok ok ");
  EXPECT_EQ(statuses(" --keep layout.data"), "invalid ok invalid ");
  const Finished other = run("run a.yaml --keep layout.pipeline");
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("--keep layout.pipeline: follows no other key; layout.data does"),
            std::string::npos)
      << other.err;
}

TEST_F(Set, OfAnUnknownKeyOrWithoutAValueIsRefused) {
  write("a.yaml", kScenario);
  const Finished unknown = run("run a.yaml --set layout.tensors=4");
  EXPECT_EQ(unknown.code, 3);
  EXPECT_NE(unknown.err.find("did you mean `layout.tensor`?"), std::string::npos) << unknown.err;
  EXPECT_EQ(run("run a.yaml --set layout.tensor").code, 2);
}

TEST_F(Set, TakesTheNamesThatPeopleGiveGpusAndSharding) {
  write("a.yaml", kScenario);
  const std::string names = " a.yaml --set cluster.gpu=h100 --set layout.sharding=fsdp";
  EXPECT_NE(run("run" + names).out.find("cluster.gpu: `h100` is taken as `h100-sxm-80gb`"),
            std::string::npos);
  const Finished flag = run("check a.yaml --set layout.fsdp=true");
  EXPECT_EQ(flag.code, 3);
  EXPECT_NE(flag.err.find("layout.sharding: `true` is not known"), std::string::npos) << flag.err;
  const Finished alias = run("run --json" + names);
  EXPECT_EQ(alias.code, 0) << alias.err;
  EXPECT_EQ(step_time(alias.out), step_time(run("run --json a.yaml").out));
}

}  // namespace
}  // namespace orrery::cli::testing
