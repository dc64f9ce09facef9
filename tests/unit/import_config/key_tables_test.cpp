// Walks the tables of scenarios/imports: what a table says of a key is what an import does with it.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/import_config/trees/key_fates.hpp"
#include "sim/scenario/variant.hpp"
#include "tests/unit/import_config/import_fixture.hpp"
#include "tests/unit/import_config/key_table_programs.hpp"

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

// A value that is not as if the key were absent.
std::string value_for(const Row& row) {
  if (row.neutral == "true") {
    return "false";
  }
  return row.neutral.empty() ? "true" : row.neutral.find_first_of("0123456789") == 0 ? "7" : "zz";
}

bool is_plain(const std::string& value) {
  return value == "true" || value == "false" ||
         value.find_first_not_of("0123456789.") == std::string::npos;
}

nlohmann::ordered_json as_json(const KeyValues& keys) {
  auto tree = nlohmann::ordered_json::object();
  for (const auto& [key, value] : keys) {
    std::string place = "/" + key;
    std::replace(place.begin(), place.end(), '.', '/');
    tree[nlohmann::ordered_json::json_pointer(place)] =
        is_plain(value) ? nlohmann::ordered_json::parse(value) : nlohmann::ordered_json(value);
  }
  return tree;
}

// In blocks: how a format is recognised asks for the begin of a line.
// NOLINTNEXTLINE(misc-no-recursion): as deep as keys have dots
void write_yaml(const nlohmann::ordered_json& tree, const std::string& indent, std::string& text) {
  for (const auto& [key, value] : tree.items()) {
    text += indent + key + ":";
    if (value.is_object()) {
      text += "\n";
      write_yaml(value, indent + "  ", text);
    } else {
      text += " " + value.dump() + "\n";
    }
  }
}

std::string as_script(const TableProgram& program, const KeyValues& keys) {
  std::string before;
  std::string command = program.head;
  for (const auto& [key, value] : keys) {
    if (key.starts_with("sbatch.")) {
      before += "#SBATCH --" + key.substr(7) + "=" + value + "\n";
    } else if (key.starts_with("env.")) {
      before += "export " + key.substr(4) + "=" + value + "\n";
    } else {
      std::string dashed = key;
      std::replace(dashed.begin(), dashed.end(), '_', '-');
      command += " --" + dashed + (value == "true" ? "" : " " + value);
    }
  }
  return "#!/bin/bash\n" + before + command + "\n";
}

std::string as_file(const TableProgram& program, const KeyValues& keys) {
  if (program.file.ends_with(".sh")) {
    return as_script(program, keys);
  }
  std::string text = program.head;
  if (program.file.ends_with(".json")) {
    text += as_json(keys).dump();
  } else if (program.file.ends_with(".toml")) {
    for (const auto& [key, value] : keys) {
      text += key + " = " + (is_plain(value) ? value : "\"" + value + "\"") + "\n";
    }
  } else {
    write_yaml(as_json(keys), "", text);
  }
  return text + program.tail;
}

// What the program states, and these; a key that is also a section cannot be both.
std::string with_keys(const TableProgram& program, const KeyValues& more) {
  KeyValues keys = program.stated;
  for (const auto& [key, value] : more) {
    const bool section =
        std::any_of(
            more.begin(), more.end(),
            [&key = key](const auto& other) { return other.first.starts_with(key + "."); }) ||
        std::any_of(keys.begin(), keys.end(), [&key = key](const auto& other) {
          return other.first.starts_with(key + ".") || key.starts_with(other.first + ".");
        });
    if (!section) {
      keys.emplace_back(key, value);
    }
  }
  return as_file(program, keys);
}

bool is_same(const std::string& shown, const std::string& key) {
  return normalised_key(shown) == key || shown == key;
}

bool names(const Imported& imported, const std::string& key) {
  const auto same = [&key](const std::string& shown) { return is_same(shown, key); };
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
    const TableProgram& program = GetParam();
    std::vector<Row> found;
    for (const Row& row : rows_of(shipped_text(program.table + ".keys"))) {
      const std::string section = row.key.substr(0, row.key.find('.'));
      const bool stated =
          std::any_of(program.stated.begin(), program.stated.end(), [&row](const auto& key) {
            return key.first == row.key || key.first.starts_with(row.key + ".");
          });
      const bool toml = program.file.ends_with(".toml");  // of sections alone
      if (row.fate == fate && row.key.find('*') == std::string::npos && !stated &&
          section != program.left_out && !(toml && section == row.key)) {
        found.push_back(row);
      }
    }
    return found;
  }

  [[nodiscard]] static Imported import_pairs(const KeyValues& keys, const Given& given = {}) {
    return import_texts({{GetParam().file, with_keys(GetParam(), keys)}}, given);
  }

  [[nodiscard]] static Imported import_with(const std::vector<Row>& rows) {
    KeyValues keys;
    for (const Row& row : rows) {
      keys.emplace_back(row.key, value_for(row));
    }
    return import_pairs(keys);
  }
};

TEST_P(KeyTablesOf, WithoutEffectChangeNothing) {
  std::vector<Row> none = rows("none");
  // Any key of this section switches FSDP on.
  std::erase_if(none, [](const Row& row) { return row.key.starts_with("fsdp_config."); });
  const Imported imported = import_with(none);
  const std::string bare = settings_of(import_with({}));
  EXPECT_NE(bare, "");
  if (settings_of(imported) != bare) {
    for (const Row& row : none) {
      EXPECT_EQ(settings_of(import_with({row})), bare) << row.key << ": " << value_for(row);
    }
  }
  EXPECT_EQ(settings_of(imported), bare);
  for (const Row& row : none) {
    EXPECT_FALSE(names(imported, row.key)) << row.key << "\n" << imported.problems();
  }
  EXPECT_FALSE(none.empty());
}

TEST_P(KeyTablesOf, BelowTheBandAreNamed) {
  const std::vector<Row> small = rows("small");
  const Imported imported = import_with(small);
  for (const Row& row : small) {
    // A reader may take one, and say it in a note; some count with experts or 8 bits alone, or with
    // the switch of their section.
    for (const LeftOutKey& left : imported.result.left_out) {
      const bool off = left.why.starts_with("read with ") || left.key.starts_with("timers.");
      EXPECT_FALSE(is_same(left.key, row.key) && left.effect == Effect::none && !off) << row.key;
    }
  }
}

// In each section that the program has, and outside of them.
TEST_P(KeyTablesOf, UnknownEndTheImport) {
  std::vector<std::string> keys = {"no_such_key"};
  for (const auto& [key, value] : GetParam().stated) {
    if (const std::size_t dot = key.rfind('.'); dot != std::string::npos) {
      keys.push_back(key.substr(0, dot + 1) + "no_such_key");
    }
  }
  for (const std::string& key : keys) {
    const Imported imported = import_pairs({{key, "7"}});
    EXPECT_TRUE(names(imported, key)) << key;
    EXPECT_EQ(imported.result.scenario, "") << key;
  }
}

// Each by itself where a reader refuses it and reads no further.
TEST_P(KeyTablesOf, AboveTheBandEndTheImport) {
  for (const char* fate : {"large", "refused"}) {
    const std::vector<Row> found = rows(fate);
    const Imported all = import_with(found);
    for (const Row& row : found) {
      // Some count with another key alone, or in 8 bits.
      if (!names(all, row.key) && row.why.find(" if ") == std::string::npos &&
          row.key.find("fp8_") == std::string::npos) {
        const Imported alone = import_with({row});
        EXPECT_TRUE(names(alone, row.key)) << row.key;
        EXPECT_EQ(alone.result.scenario, "") << row.key;
      }
    }
    EXPECT_EQ(all.result.scenario == "", !found.empty());
  }
}

// By their lines alone: each value that a line names is that of the scenario. Of those that need no
// other key.
TEST_P(KeyTablesOf, ThatAreTakenSetTheScenario) {
  for (const Row& row : rows("takes")) {
    std::string_view rest = row.why;
    const std::string path(cut(rest, ' '));
    if (row.why.find(" if ") != std::string::npos || path.starts_with("@")) {
      continue;
    }
    while (!rest.empty()) {
      std::string_view ours = cut(rest, ';');
      ours.remove_prefix(std::min(ours.find_first_not_of(' '), ours.size()));
      const std::string theirs(cut(ours, '='));
      const bool any = theirs == "*" && ours == "{}";
      const bool named = theirs.find('*') == std::string::npos &&
                         ours.find("{}") == std::string_view::npos && !ours.empty();
      if (any || named) {
        const Imported imported = import_pairs({{row.key, any ? "7" : theirs}});
        EXPECT_EQ(imported.value(path), any ? "7" : std::string(ours))
            << row.key << ": " << theirs << "\n"
            << imported.problems();
      }
    }
  }
}

// What an import says: settings, questions, remarks and refusals.
std::string said_by(const Imported& imported) {
  std::string text = settings_of(imported) + imported.problems();
  for (const std::string& note : imported.result.notes) {
    text += note + "\n";
  }
  for (const AskedKey& asked : imported.result.asked) {
    text += asked.path + ": " + asked.why + "\n";
  }
  return text;
}

// By a reader: a value that is not as if the key were absent is never without effect. It changes
// the scenario, is asked for, refused or told.
TEST_P(KeyTablesOf, ThatAreSetAreNeverWithoutEffect) {
  const Given machines = {{"cluster.gpu", "h100-sxm-80gb", "--gpu"},
                          {"cluster.nodes", "16", "--nodes"}};
  std::map<std::string, std::string> said;  // without the key, by the file
  for (const Row& row : rows("sets")) {
    if (GetParam().read_with.find(" " + row.key + " ") != std::string_view::npos) {
      continue;
    }
    KeyValues without = GetParam().others;
    KeyValues with = without;
    const auto is_it = [&row](const auto& key) { return key.first == row.key; };
    const bool other = std::erase_if(with, is_it) > 0;
    std::erase_if(without, is_it);
    with.emplace_back(row.key, other ? "3" : value_for(row));
    const auto told = [&](const Given& given) {
      const Imported imported = import_pairs(with, given);
      if (names(imported, row.key)) {
        return true;
      }
      std::string& bare = said[with_keys(GetParam(), without) + (given.empty() ? "" : "machines")];
      if (bare.empty()) {
        bare = said_by(import_pairs(without, given));
      }
      return said_by(imported) != bare;
    };
    EXPECT_TRUE(told({}) || told(machines)) << row.key << ": " << value_for(row);
  }
}

// What a program takes where its files are silent is what it takes where they say just that.
TEST_P(KeyTablesOf, AbsentAreAsIfTheyWereStated) {
  const std::string bare = settings_of(import_with({}));
  for (const Row& row : rows("absent")) {
    EXPECT_EQ(settings_of(import_pairs({{row.key, row.neutral}})), bare)
        << row.key << ": " << row.neutral;
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

// Of Slurm the keys are patterns, of NCCL attributes of XML (topology_test.cpp), of Primus what the
// framework is started with (trainer_yaml_test.cpp).
TEST(KeyTables, AreAllWalked) {
  for (const NamedTable& table : key_tables()) {
    const std::string name(table.name.substr(0, table.name.rfind('.')));
    const std::vector<TableProgram> walked = table_programs();
    const bool is_walked =
        std::any_of(walked.begin(), walked.end(),
                    [&name](const TableProgram& program) { return program.table == name; });
    EXPECT_TRUE(is_walked || !table.name.ends_with(".keys") || name == "slurm-topology" ||
                name == "nccl-topology" || name == "primus-trainer")
        << name;
  }
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
