// Walks the tables of scenarios/imports: what a table says of a key is what an import does with it.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "sim/import_config/trees/key_fates.hpp"
#include "sim/scenario/variant.hpp"
#include "tests/unit/import_config/import_fixture.hpp"

namespace orrery::import_config::testing {
namespace {

struct Row {
  std::string fate;
  std::string why;
  std::string key;
  std::string neutral;
};

std::vector<Row> rows_of(std::string_view text) {
  std::vector<Row> rows;
  Row row;
  while (!text.empty()) {
    std::string_view line = cut(text, '\n');
    if (line.empty() || line.front() == '#') {
      continue;
    }
    if (line.front() != ' ') {
      row.fate = cut(line, ' ');
      row.why = line;
      continue;
    }
    while (!line.empty()) {
      std::string_view word = cut(line, ' ');
      if (!word.empty()) {
        row.key = cut(word, '=');
        row.neutral = word;
        rows.push_back(row);
      }
    }
  }
  return rows;
}

// A file of each program in which one more line makes no other sense.
struct TableProgram {
  std::string table;
  std::string file;
  std::string text;
  bool yaml = false;  // sections become mappings
};

std::vector<TableProgram> table_programs() {
  const std::string megatron =
      "python pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 "
      "--seq-length 4096 --vocab-size 32000 --bf16 --micro-batch-size 1 --global-batch-size 64 "
      "--num-experts 8 --moe-ffn-hidden-size 4096 ";
  const std::string model =
      R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
      "num_attention_heads": 32, "intermediate_size": 11008, "vocab_size": 32000)";
  return {
      {"megatron-lm", "run.sh", megatron},
      {"hugging-face", "config.json", model},
      {"hf-trainer", "args.yaml", "per_device_train_batch_size: 1\noutput_dir: out\nbf16: true\n",
       true},
      {"llama-factory", "sft.yaml",
       "model_name_or_path: a/b\nfinetuning_type: full\ncutoff_len: 2048\nbf16: true\n", true},
      {"axolotl", "ax.yaml", "base_model: a/b\nsequence_len: 2048\nmicro_batch_size: 1\n", true},
      {"accelerate", "acc.yaml", "distributed_type: FSDP\nmixed_precision: bf16\n", true},
      {"nanotron", "nano.yaml",
       "parallelism: {dp: 8}\ntokens: {sequence_length: 2048}\nmodel: {dtype: bfloat16}\n"
       "model_config: {}\n",
       true},
      {"torchtitan", "job.toml", "[model]\nname = \"deepseek_v3\"\nflavor = \"16B\"\n[job]\n"}};
}

// A value that is not as if the key were absent.
std::string value_for(const Row& row) {
  if (row.neutral == "true") {
    return "false";
  }
  return row.neutral.empty() ? "true" : row.neutral.find_first_of("0123456789") == 0 ? "7" : "zz";
}

// Sections open as mappings, whichever keys stand in them; rows are sorted by their keys.
std::string as_yaml(const std::vector<Row>& rows) {
  std::string text;
  std::vector<std::string> open;
  for (const Row& row : rows) {
    std::vector<std::string> parts;
    std::string_view rest = row.key;
    while (!rest.empty()) {
      parts.emplace_back(cut(rest, '.'));
    }
    std::size_t same = 0;
    while (same + 1 < parts.size() && same < open.size() && open[same] == parts[same]) {
      ++same;
    }
    open.resize(same);
    for (std::size_t i = same; i + 1 < parts.size(); ++i) {
      text += std::string(2 * i, ' ') + parts[i] + ":\n";
      open.push_back(parts[i]);
    }
    text += fmt::format("{}{}: {}\n", std::string(2 * (parts.size() - 1), ' '), parts.back(),
                        value_for(row));
  }
  return text;
}

std::string with_keys(const TableProgram& program, std::vector<Row> rows) {
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.key < b.key; });
  // A key that is also a section cannot be both.
  std::vector<Row> plain;
  for (const Row& row : rows) {
    const bool section = std::any_of(rows.begin(), rows.end(), [&row](const Row& other) {
      return other.key.starts_with(row.key + ".");
    });
    if (!section) {
      plain.push_back(row);
    }
  }
  if (program.yaml) {
    return program.text + as_yaml(plain);
  }
  std::string text = program.text;
  for (const Row& row : plain) {
    const std::string value = value_for(row);
    const std::string quoted = value == "zz" ? "\"zz\"" : value;
    const std::size_t dot = row.key.rfind('.');
    if (program.file == "run.sh") {
      text += " --" + row.key + (value == "true" ? "" : " " + value);
    } else if (program.file.ends_with(".json")) {
      text += fmt::format(", \"{}\": {}", row.key, quoted);
    } else if (dot != std::string::npos) {
      text.insert(0, fmt::format("{} = {}\n", row.key, quoted));  // dotted, before any table
    }
  }
  return text + (program.file.ends_with(".json") ? "}\n" : "\n");
}

bool names(const Imported& imported, const std::string& key) {
  const auto same = [&key](const std::string& shown) {
    return normalised_key(shown) == key || shown == key;
  };
  for (const LeftOutKey& left : imported.result.left_out) {
    if (same(left.key) && left.effect != Effect::none) {
      return true;
    }
  }
  for (const Diagnostic& problem : imported.diagnostics.all()) {
    if (same(problem.key)) {
      return true;
    }
  }
  return imported.notes(key);
}

// Settings without the lines where they stand.
std::string settings_of(const Imported& imported) {
  std::string text;
  for (const ImportedSetting& setting : imported.result.settings) {
    text += setting.path + "=" + setting.value + "\n";
  }
  return text;
}

class KeyTablesOf : public ::testing::TestWithParam<TableProgram> {
 protected:
  // The rows of one fate that the file of the program does not state itself.
  [[nodiscard]] static std::vector<Row> rows(std::string_view fate) {
    std::vector<Row> found;
    for (const Row& row : rows_of(shipped_text(GetParam().table + ".keys"))) {
      const std::string section = row.key.substr(0, row.key.find('.'));
      const bool table = GetParam().file != "job.toml" || section != row.key;  // of TOML
      if (row.fate == fate && row.key.find('*') == std::string::npos && table &&
          GetParam().text.find(section) == std::string::npos) {
        found.push_back(row);
      }
    }
    return found;
  }

  [[nodiscard]] static Imported import_with(const std::vector<Row>& rows) {
    return import_texts({{GetParam().file, with_keys(GetParam(), rows)}});
  }
};

TEST_P(KeyTablesOf, WithoutEffectChangeNothing) {
  std::vector<Row> none = rows("none");
  // Any key of this section switches FSDP on.
  std::erase_if(none, [](const Row& row) { return row.key.starts_with("fsdp_config."); });
  const Imported imported = import_with(none);
  const std::string bare = settings_of(import_with({}));
  EXPECT_NE(bare, "");
  EXPECT_EQ(settings_of(imported), bare);
  for (const Row& row : none) {
    EXPECT_FALSE(names(imported, row.key)) << row.key << "\n" << imported.problems();
  }
  EXPECT_GT(none.size(), 15U);
}

TEST_P(KeyTablesOf, BelowTheBandAreNamed) {
  const std::vector<Row> small = rows("small");
  const Imported imported = import_with(small);
  for (const Row& row : small) {
    // A reader may take one, and say it in a note.
    EXPECT_NE(imported.effect(row.key), "none") << row.key;
    EXPECT_NE(imported.effect("--" + row.key), "none") << row.key;
  }
}

// Each by itself where a reader refuses it and reads no further.
TEST_P(KeyTablesOf, AboveTheBandEndTheImport) {
  for (const char* fate : {"large", "refused"}) {
    const std::vector<Row> found = rows(fate);
    const Imported all = import_with(found);
    for (const Row& row : found) {
      if (!names(all, row.key)) {
        const Imported alone = import_with({row});
        EXPECT_TRUE(names(alone, row.key)) << row.key;
        EXPECT_EQ(alone.result.scenario, "") << row.key;
      }
    }
    EXPECT_EQ(all.result.scenario == "", !found.empty());
  }
}

// Of those that take a switch and need nothing else.
TEST_P(KeyTablesOf, ThatAreTakenSetTheScenario) {
  for (Row row : rows("takes")) {
    std::string_view rest = row.why;
    const std::string path(cut(rest, ' '));
    constexpr std::string_view kOn = "true=";
    if (row.why.find(" if ") == std::string::npos && rest.starts_with(kOn)) {
      std::string_view ours = cut(rest, ';').substr(kOn.size());
      row.neutral = "";
      EXPECT_EQ(import_with({row}).value(path), std::string(ours)) << row.key;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, KeyTablesOf, ::testing::ValuesIn(table_programs()),
                         [](const auto& info) {
                           std::string name = info.param.table;
                           std::erase(name, '-');
                           return name;
                         });

// Every line begins with a fate, no key stands twice, and `takes` sets what a scenario has.
TEST(KeyTables, HaveOneFateForEachKey) {
  int tables = 0;
  for (const NamedTable& table : key_tables()) {
    if (!table.name.ends_with(".keys")) {
      continue;
    }
    ++tables;
    std::map<std::string, std::string> seen;
    for (const Row& row : rows_of(table.text)) {
      const bool known = row.fate == "takes" || row.fate == "sets" || row.fate == "none" ||
                         row.fate == "small" || row.fate == "large" || row.fate == "beside" ||
                         row.fate == "refused";
      if (row.fate == "renamed") {
        continue;
      }
      if (row.fate == "absent") {
        EXPECT_NE(row.neutral, "") << table.name << ": " << row.key;
        continue;
      }
      EXPECT_TRUE(known) << table.name << ": " << row.fate;
      EXPECT_NE(row.why, "") << table.name << ": " << row.key;
      EXPECT_TRUE(seen.emplace(row.key, row.fate).second) << table.name << ": " << row.key;
      if (row.fate == "takes") {
        const std::string path = row.why.substr(0, row.why.find(' '));
        EXPECT_TRUE(path.starts_with("@") || scenario::known_key(path).has_value())
            << table.name << ": " << path;
      }
    }
  }
  EXPECT_GT(tables, 15);
}

TEST(KeyTables, CompareValuesAsProgramsPrintThem) {
  const auto scalar = [](const std::string& text) {
    yaml::Value value;
    value.kind = yaml::Value::Kind::scalar;
    value.text = text;
    return value;
  };
  EXPECT_TRUE(is_neutral(scalar("AttnBackend.auto"), "auto|fused"));
  EXPECT_TRUE(is_neutral(scalar("<AttnBackend.fused: 2>"), "auto|fused"));
  EXPECT_FALSE(is_neutral(scalar("AttnBackend.unfused"), "auto|fused"));
  EXPECT_TRUE(is_neutral(scalar("1e-05"), "0.00001"));
  EXPECT_TRUE(is_neutral(scalar("False"), ""));
  EXPECT_TRUE(is_neutral(scalar("0.0"), ""));
  EXPECT_FALSE(is_neutral(scalar("true"), ""));
  EXPECT_TRUE(is_neutral(scalar("True"), "true"));
  EXPECT_FALSE(is_neutral(scalar("false"), "true"));
}

}  // namespace
}  // namespace orrery::import_config::testing
