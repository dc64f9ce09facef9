#include "sim/import_config/logs/log_programs.hpp"

#include <algorithm>
#include <bitset>
#include <map>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/import_config/logs/log_lines.hpp"
#include "sim/import_config/logs/word_search.hpp"
#include "sim/import_config/trees/key_fates.hpp"
#include "sim/yaml/document.hpp"

namespace orrery::import_config {

namespace {

// `words {key}`, `words * then {key} after`, `words => key: value`
Fact fact_of(std::string_view text) {
  constexpr std::string_view kSays = " => ";
  const std::size_t says = text.find(kSays);
  if (says != std::string_view::npos) {
    const std::string_view rest = text.substr(says + kSays.size());
    const std::size_t colon = rest.find(':');
    return {
        trimmed(text.substr(0, says)), rest.substr(0, colon), {}, trimmed(rest.substr(colon + 1))};
  }
  const std::size_t open = text.find('{');
  const std::size_t close = text.find('}');
  ORRERY_CHECK(open < close && close != std::string_view::npos, "a fact of a log names no key");
  Fact fact = {.before = {}, .key = text.substr(open + 1, close - open - 1)};
  const std::string_view words = text.substr(0, open);
  const std::size_t star = words.find(" * ");
  fact.before = trimmed(words.substr(0, star));
  fact.after = trimmed(text.substr(close + 1));
  if (star != std::string_view::npos) {
    constexpr std::string_view kBlank = " ";  // ends the word, where none follows the star
    const std::string_view then = trimmed(words.substr(star + 2));
    fact.then = then.empty() ? kBlank : then;
  }
  return fact;
}

constexpr std::string_view kTable = "log-programs.yaml";

// Its entries. The text lives as long as they do.
class Table {
 public:
  Table() {
    Diagnostics problems;
    tree_ = yaml::parse(shipped_text(kTable), std::string(kTable), {}, problems);
    ORRERY_CHECK(tree_ && !tree_->entries.empty(), "{}", to_string(problems));
    for (const yaml::Value& entry : tree_->entries.front().value.items) {
      read(entry);
    }
    for (const auto& [program, other] : as_) {
      programs_[program].figures = find(other).figures;
      programs_[program].facts = find(other).facts;
    }
  }

  [[nodiscard]] const std::vector<LogProgram>& programs() const {
    return programs_;
  }

  [[nodiscard]] const LogProgram& find(ConfigFormat format) const {
    const auto found =
        std::find_if(programs_.begin(), programs_.end(), [format](const LogProgram& program) {
          return program.format == format;
        });
    ORRERY_CHECK(found != programs_.end(), "a log that has no entry");
    return *found;
  }

 private:
  void read(const yaml::Value& entry) {
    LogProgram program;
    for (const yaml::Entry& key : entry.entries) {
      if (key.key == "format") {
        program.format = find_format(key.value.text).value();
      } else if (key.key == "program") {
        program.name = key.value.text;
      } else if (key.key == "stack") {
        program.stack = key.value.text;
      } else if (key.key == "as") {
        as_[programs_.size()] = find_format(key.value.text).value();
      }
      for (const yaml::Value& item : key.value.items) {
        if (key.key == "signs" || key.key == "begins") {
          (key.key == "signs" ? program.signs : program.begins).push_back(item.text);
        } else if (key.key == "steps") {
          Diagnostics problems;
          for (const Figure& figure : figures_of(item.text, problems)) {
            program.figures.push_back(figure);
          }
          ORRERY_CHECK(!problems.has_errors(), "{}", to_string(problems));
        } else {
          program.facts.push_back(fact_of(item.text));
        }
      }
    }
    programs_.push_back(std::move(program));
  }

  std::optional<yaml::Value> tree_;
  std::vector<LogProgram> programs_;
  std::map<std::size_t, ConfigFormat> as_;  // by the place of an entry: whose lines it has
};

const Table& table() {
  static const Table entries;
  return entries;
}

constexpr std::size_t kMostSigns = 64;  // pieces of all signs

// The pieces of a sign: all on one line, or all somewhere.
struct Sign {
  const LogProgram* program = nullptr;
  std::bitset<kMostSigns> pieces;
  bool one_line = true;
};

}  // namespace

const LogProgram* recognised_log(std::string_view text) {
  std::vector<std::string_view> words;
  std::vector<Sign> signs;
  for (const LogProgram& program : table().programs()) {
    for (std::string_view sign : program.signs) {
      Sign& read = signs.emplace_back(Sign{&program, {}, sign.find('~') == std::string_view::npos});
      while (!sign.empty()) {
        const std::size_t end = std::min(sign.find_first_of("&~"), sign.size());
        read.pieces.set(words.size());
        words.push_back(trimmed(sign.substr(0, end)));
        sign.remove_prefix(std::min(end + 1, sign.size()));
      }
    }
  }
  ORRERY_CHECK(words.size() <= kMostSigns, "too many signs of logs");
  const WordSearch search(words);
  std::vector<WordSearch::Hit> hits;
  std::bitset<kMostSigns> all;
  const Sign* found = signs.data() + signs.size();
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    search.find(text.substr(0, end), hits);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (hits.empty()) {
      continue;
    }
    std::bitset<kMostSigns> line;
    for (const WordSearch::Hit& hit : hits) {
      line.set(hit.word);
    }
    all |= line;
    for (const Sign* sign = signs.data(); sign < found; ++sign) {
      const auto& has = sign->one_line ? line : all;
      if ((sign->pieces & ~has).none()) {
        found = sign;
      }
    }
  }
  return found == signs.data() + signs.size() ? nullptr : found->program;
}

const LogProgram& log_program(ConfigFormat format) {
  return table().find(format);
}

}  // namespace orrery::import_config
