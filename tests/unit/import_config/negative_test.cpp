// Broken and hostile files end with one precise message, or with a few.

#include <gtest/gtest.h>

#include "tests/unit/import_config/import_fixture.hpp"

namespace orrery::import_config::testing {
namespace {

std::string problems_of(const std::string& name, const std::string& text,
                        std::optional<ConfigFormat> format) {
  Diagnostics diagnostics;
  const std::vector<ConfigFile> files = {{name, text, format}};
  const ImportResult result = import_configs(files, {}, diagnostics);
  EXPECT_EQ(result.scenario, "") << text.substr(0, 200);
  return to_string(diagnostics);
}

std::string json_problems(const std::string& text) {
  return problems_of("a.json", text, ConfigFormat::hugging_face);
}

TEST(BrokenJson, HasAPlace) {
  EXPECT_EQ(json_problems("{\n  \"hidden_size\": 4096,\n  \"model_type\": }\n").substr(0, 36),
            "a.json:3:17: error: is no JSON: synt");
  EXPECT_EQ(json_problems("{\n  \"hidden_size\": 4096,\n  \"hidden_size\": 8192\n}\n"),
            "a.json:3:3: error: hidden_size: duplicate key, first given in line 2 "
            "(give it once)\n");
  EXPECT_NE(json_problems("").find("a.json:1:1: error: is no JSON"), std::string::npos);
  EXPECT_EQ(json_problems("[1, 2]"), "a.json:1:1: error: holds no keys\n");
  EXPECT_NE(json_problems("{\"a\": nan}").find("error: is no JSON"), std::string::npos);
  EXPECT_EQ(json_problems("{\"hidden_size\": 1281e999}"),
            "a.json: error: holds a number that is too large\n");
}

TEST(BrokenJson, NestsSixtyFourLevels) {
  const auto nested = [](std::size_t lists) {
    return "{\"hidden_size\": " + std::string(lists, '[') + std::string(lists, ']') + "}";
  };
  EXPECT_EQ(json_problems(nested(63)).find("levels"), std::string::npos);
  EXPECT_EQ(json_problems(nested(64)), "a.json:1:80: error: has more than 64 levels of brackets\n");
  EXPECT_EQ(json_problems(std::string(100, '[')),
            "a.json:1:65: error: has more than 64 levels of brackets\n");
  const std::string open = json_problems(std::string(64, '['));
  EXPECT_EQ(open.substr(0, 31), "a.json:1:65: error: is no JSON:") << open;
}

// One character, written as two escapes.
TEST(BrokenJson, HalfAPairOfEscapesIsNone) {
  const std::string head = "{\"model_type\": \"llama\", \"\\ud83d";
  const std::string key = json_problems(head + "\\ude00\\\\ud83d\": 1}");
  EXPECT_TRUE(key.starts_with("a.json:1:25: error: \U0001f600\\ud83d: not understood")) << key;
  const std::string behind = json_problems(head + "\\ude00\": 1, \"hidden_size\": \"wide\"}");
  EXPECT_EQ(behind, "a.json:1:44: error: hidden_size: `wide` is no number\n");
  for (const std::string_view half : {"", "x", "\\u0041", "\\ud83d"}) {
    const std::string lone = json_problems(head + std::string(half) + "\": 1}");
    EXPECT_NE(lone.find("is no JSON: syntax error"), std::string::npos) << lone;
    EXPECT_NE(lone.find("surrogate U+D800..U+DBFF must be followed"), std::string::npos) << lone;
  }
}

TEST(BrokenJson, BinaryAndWrongEncodingsHaveAPlace) {
  const std::string binary("{\"model_type\": \"\0\"}", 19);
  EXPECT_NE(json_problems(binary).find("a.json:1:17: error:"), std::string::npos)
      << json_problems(binary);
  EXPECT_NE(json_problems("{\"model_type\": \"\xff\"}").find("a.json:1:17: error:"),
            std::string::npos);
}

TEST(WrongValues, SayWhatIsNeeded) {
  const std::string head = "{\n  \"model_type\": \"llama\",\n  ";
  EXPECT_EQ(json_problems(head + "\"hidden_size\": \"wide\"\n}"),
            "a.json:3:3: error: hidden_size: `wide` is no number\n");
  EXPECT_EQ(json_problems(head + "\"hidden_size\": 40.5\n}"),
            "a.json:3:3: error: hidden_size: `40.5` is no whole number from 0 on\n");
  EXPECT_EQ(json_problems(head + "\"hidden_size\": -4096\n}"),
            "a.json:3:3: error: hidden_size: `-4096` is no whole number from 0 on\n");
  EXPECT_EQ(json_problems(head + "\"hidden_size\": [4096]\n}"),
            "a.json:3:3: error: hidden_size: is a list where a number is needed\n");
  EXPECT_EQ(json_problems(head + "\"hidden_size\": 1e300\n}"),
            "a.json:3:3: error: hidden_size: `1e300` is no whole number from 0 on\n");
  EXPECT_EQ(json_problems(head + "\"tie_word_embeddings\": \"perhaps\"\n}"),
            "a.json:3:3: error: tie_word_embeddings: `perhaps` is neither true nor false\n");
}

// Two readers ask for the batch.
TEST(WrongValues, AreSaidOnce) {
  EXPECT_EQ(
      problems_of("ds.json", "{\"gradient_accumulation_steps\": -1}", ConfigFormat::deepspeed),
      "ds.json:1:2: error: gradient_accumulation_steps: `-1` is no whole number from 0 on\n");
}

// A number that is whole, but far outside of what a scenario takes, is reported where it stands.
TEST(WrongValues, OutsideOfAScenariosBoundsNameTheirKey) {
  const std::string problems = json_problems(
      "{\"model_type\": \"llama\", \"num_hidden_layers\": 99999999,\n \"hidden_size\": 4096,\n"
      " \"num_attention_heads\": 32, \"vocab_size\": 32000}");
  EXPECT_NE(problems.find("a.json:1:25: error: model.num_layers:"), std::string::npos) << problems;
  EXPECT_NE(problems.find("(num_hidden_layers)"), std::string::npos) << problems;
}

TEST(BrokenYaml, HasAPlace) {
  const std::string problems =
      problems_of("a.yaml", "trainer:\n  devices: 8\n\tmodel: 3\n", ConfigFormat::nemo);
  EXPECT_EQ(problems.substr(0, 8), "a.yaml:3") << problems;
  const std::string twice =
      problems_of("a.yaml", "num_layers: 3\nnum_layers: 4\n", ConfigFormat::megatron_yaml);
  EXPECT_NE(twice.find("a.yaml:2:1: error: num_layers:"), std::string::npos) << twice;
}

TEST(BrokenYaml, ReferencesInCirclesStayUnread) {
  Diagnostics diagnostics;
  const std::vector<ConfigFile> files = {
      {"a.yaml",
       "trainer: {devices: 8}\nmodel:\n  num_layers: ${.hidden_size}\n  hidden_size: "
       "${.num_layers}\n",
       ConfigFormat::nemo}};
  const ImportResult result = import_configs(files, {}, diagnostics);
  EXPECT_EQ(to_string(diagnostics), "");
  EXPECT_FALSE(result.complete());
}

TEST(BrokenToml, HasAPlace) {
  const std::string problems = problems_of("a.toml", "[training]\nseq_len = 8192\nseq_len = 4096\n",
                                           ConfigFormat::torchtitan);
  EXPECT_EQ(problems.substr(0, 8), "a.toml:3") << problems;
  const std::string open =
      problems_of("a.toml", "[training\nseq_len = 8192\n", ConfigFormat::torchtitan);
  EXPECT_EQ(open.substr(0, 26), "a.toml:1:10: error: is no ") << open;
}

// The parser's tables of Unicode take such characters for unreachable.
TEST(BrokenToml, LettersBeyondAsciiOutsideQuotesHaveAPlace) {
  for (const std::string_view letter : {"\u00e9", "\u03f6", "\u0499", "\u4e2d", "\u00d7"}) {
    const std::string text = "[training]\nseq_len = 8192\nname" + std::string(letter) + "\"\"\n";
    const std::string problems = problems_of("a.toml", text, ConfigFormat::torchtitan);
    EXPECT_EQ(problems.substr(0, 9), "a.toml:3:") << problems;
  }
}

TEST(HostileToml, DeepKeysAreRefusedBeforeTheyNest) {
  std::string dotted = "a";
  for (int i = 0; i < 100'000; ++i) {
    dotted += ".a";
  }
  const std::string wanted = "has a key with more than 32 dots";
  EXPECT_NE(problems_of("a.toml", dotted + " = 1\n", ConfigFormat::torchtitan).find(wanted),
            std::string::npos);
  EXPECT_NE(problems_of("a.toml", "[" + dotted + "]\n", ConfigFormat::torchtitan).find(wanted),
            std::string::npos);
  EXPECT_NE(
      problems_of("a.toml", "a = " + std::string(100'000, '[') + "\n", ConfigFormat::torchtitan)
          .find("a.toml:1:"),
      std::string::npos);
  std::string inline_tables;
  for (int i = 0; i < 100'000; ++i) {
    inline_tables += "{a = ";
  }
  EXPECT_NE(
      problems_of("a.toml", "a = " + inline_tables, ConfigFormat::torchtitan).find("a.toml:1:"),
      std::string::npos);
}

TEST(HostileJson, WideAndDeepFilesEnd) {
  std::string wide = "{\"model_type\": \"llama\"";
  for (int i = 0; i < 60'000; ++i) {
    wide += ",\"k" + std::to_string(i) + "\":1";
  }
  EXPECT_NE(json_problems(wide + "}").find("too many values (at most 50000 in a file)"),
            std::string::npos);
  const std::string long_key = "{\"" + std::string(1 << 20U, 'x') + "\": {\"a\": 1}}";
  EXPECT_NE(json_problems(long_key).find("a key must be plain text"), std::string::npos);
}

TEST(Files, OfUnknownKindsAreRefusedWithTheKnownOnes) {
  const std::string problems = problems_of("notes.txt", "hello\n", std::nullopt);
  EXPECT_NE(problems.find("notes.txt: error: is no configuration and no log that is known; of a "
                          "log, --pattern says where the time of a step stands, and --set states "
                          "the rest (--format with one of hugging-face, deepspeed, "),
            std::string::npos)
      << problems;
  EXPECT_EQ(
      problems_of("config_registry.py",
                  "from torchtitan.trainer import Trainer\n\n\ndef llama3_8b() -> "
                  "Trainer.Config:\n    num_layers: int = 3\n",
                  std::nullopt),
      "config_registry.py: error: is a program in Python, which is not run, or a log that begins "
      "with one: then --pattern says where the time of a step stands (what it writes "
      "as JSON, YAML or TOML: torchtitan does with --debug.save_config_file FILE.json)\n");
  EXPECT_EQ(problems_of("a.yaml", "format: orrery/1\nmodel: {preset: llama3-8b}\n", std::nullopt),
            "a.yaml: error: is a file of Orrery already\n");
}

TEST(GivenKeys, ThatAScenarioDoesNotHaveAreRefused) {
  Diagnostics diagnostics;
  const std::vector<ConfigFile> files = {{"a.json", config_text("gpt2.json"), std::nullopt}};
  const ImportOptions options = {"", {{"layout.tensors", "8", "--set"}}, "", {}};
  static_cast<void>(import_configs(files, options, diagnostics));
  EXPECT_EQ(to_string(diagnostics),
            "--set: error: layout.tensors: unknown key (did you mean `layout.tensor`?)\n");
}

// Text of a file goes into comments of the scenario: it cannot leave them, and keys with line ends
// are refused.
TEST(HostileText, CannotLeaveItsComment) {
  const Imported imported =
      import_texts({{"config.json",
                     R"({"model_type": "llama", "x\nname: other\nlayout: {tensor: 8}_token_id": "x",
            "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
            "num_attention_heads": 32, "vocab_size": 32000})"}});
  EXPECT_NE(imported.problems().find("holds a control character"), std::string::npos);
  EXPECT_EQ(imported.result.scenario.find("\nlayout:"), std::string::npos);
  EXPECT_EQ(imported.result.scenario.find("\nname: other"), std::string::npos);
}

}  // namespace
}  // namespace orrery::import_config::testing
