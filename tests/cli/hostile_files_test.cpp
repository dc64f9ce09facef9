// Files that mean harm, or that were harmed: what the whole program makes of them.

#include <filesystem>
#include <string>

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

}  // namespace
}  // namespace orrery::cli::testing
