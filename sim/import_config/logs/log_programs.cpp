#include "sim/import_config/logs/log_programs.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/base/units.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/import_config/logs/log_lines.hpp"
#include "sim/import_config/trees/key_fates.hpp"

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

  [[nodiscard]] const std::vector<LogProgram>& programs() const { return programs_; }

  [[nodiscard]] const LogProgram& find(ConfigFormat format) const {
    const auto found =
        std::find_if(programs_.begin(), programs_.end(),
                     [format](const LogProgram& program) { return program.format == format; });
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

const LogProgram& log_program(ConfigFormat format) { return table().find(format); }

WordSearch::WordSearch(std::span<const std::string_view> words) {
  for (const std::string_view word : words) {
    for (const char c : word) {
      std::uint8_t& place = classes_[static_cast<unsigned char>(c)];
      place = place == 0 ? static_cast<std::uint8_t>(width_++) : place;
    }
  }
  constexpr std::uint32_t kNone = 0;
  next_.assign(width_, kNone);
  words_.resize(1);
  for (std::uint32_t word = 0; word < words.size(); ++word) {
    std::uint32_t state = 0;
    for (const char c : words[word]) {
      const std::size_t edge = state + classes_[static_cast<unsigned char>(c)];
      if (next_[edge] == kNone) {
        next_[edge] = static_cast<std::uint32_t>(next_.size());
        next_.resize(next_.size() + width_, kNone);
        words_.emplace_back();
      }
      state = next_[edge];
    }
    if (state != 0) {
      words_[state / width_].push_back(word);
    }
  }
  // Breadth first: the longest other beginning of a word that a node ends with.
  std::vector<std::uint32_t> back(words_.size(), 0);
  std::vector<std::uint32_t> queue = {0};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const std::uint32_t state = queue[i];
    const std::uint32_t other = back[state / width_];
    for (std::uint32_t c = 0; c < width_; ++c) {
      std::uint32_t& target = next_[state + c];
      const std::uint32_t fallen = state == 0 ? 0 : next_[other + c];
      if (target == kNone) {
        target = fallen;
        continue;
      }
      back[target / width_] = fallen;
      const auto& more = words_[fallen / width_];
      words_[target / width_].insert(words_[target / width_].end(), more.begin(), more.end());
      queue.push_back(target);
    }
  }
  for (std::uint32_t& target : next_) {
    target |= words_[target / width_].empty() ? 0 : kEnds;
  }
}

void WordSearch::add(std::uint32_t node, std::size_t end, std::vector<Hit>& hits) const {
  for (const std::uint32_t word : words_[node]) {
    hits.push_back({word, end});
  }
}

namespace {

struct Field {
  std::string_view name;
  Says says;
  double unit = 1.0;
};

constexpr std::array<Field, 15> kFields = {{{"", Says::heading},
                                            {"step", Says::number},
                                            {"s", Says::seconds},
                                            {"ms", Says::seconds, kMilli},
                                            {"min", Says::seconds, kSecondsPerMinute},
                                            {"s so far", Says::run_seconds},
                                            {"ms so far", Says::run_seconds, kMilli},
                                            {"steps/s", Says::steps_per_second},
                                            {"sequences/s", Says::sequences_per_second},
                                            {"tokens/s", Says::tokens_per_second},
                                            {"tokens/s/gpu", Says::tokens_per_second_of_rank},
                                            {"sequences", Says::sequences},
                                            {"sequences so far", Says::sequences_so_far},
                                            {"units/s", Says::units_per_second},
                                            {"tflops", Says::tflops}}};

std::string field_names() {
  std::string names;
  for (const Field& field : std::span(kFields).subspan(1)) {
    names += fmt::format("{}{{{}}}", names.empty() ? "" : ", ", field.name);
  }
  return names;
}

std::string_view without_end(std::string_view text) {
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

std::optional<Figure> figure_of(std::string_view before, std::string_view field,
                                std::string_view after, Diagnostics& diagnostics) {
  const auto* known = std::find_if(kFields.begin(), kFields.end(),
                                   [field](const Field& f) { return f.name == field; });
  if (known == kFields.end()) {
    diagnostics.error({"--pattern"}, "", fmt::format("knows no field `{}`", field), field_names());
    return std::nullopt;
  }
  if (trimmed(before).empty()) {
    diagnostics.error(
        {"--pattern"}, "",
        fmt::format("{{{}}} needs words in front of it, by which its place is found", field));
    return std::nullopt;
  }
  return Figure{trimmed(before), known->says, known->unit, without_end(after)};
}

}  // namespace

std::vector<Figure> figures_of(std::string_view text, Diagnostics& diagnostics) {
  std::vector<Figure> figures;
  for (std::size_t open = text.find('{'); open != std::string_view::npos; open = text.find('{')) {
    const std::size_t close = text.find('}', open);
    if (close == std::string_view::npos) {
      break;
    }
    const std::string_view words = text.substr(0, open);
    const std::string_view next = text.substr(close + 1);
    if (const auto figure =
            figure_of(words.substr(words.rfind('*') + 1), text.substr(open + 1, close - open - 1),
                      next.substr(0, next.find_first_of("*{")), diagnostics)) {
      figures.push_back(*figure);
    }
    text = next;
  }
  return figures;
}

LogProgram pattern_program(std::string_view pattern, Diagnostics& diagnostics) {
  LogProgram program;
  program.figures = figures_of(pattern, diagnostics);
  const bool timed =
      std::any_of(program.figures.begin(), program.figures.end(), [](const Figure& figure) {
        return figure.says >= Says::seconds && figure.says <= Says::tokens_per_second_of_rank;
      });
  for (std::size_t i = 0; i < program.figures.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (program.figures[i].before == program.figures[k].before) {
        diagnostics.error(
            {"--pattern"}, "",
            fmt::format("has two fields behind `{}`: their places cannot be told apart",
                        program.figures[i].before),
            "other words before each; a table with a header needs no --pattern");
      }
    }
  }
  if (!pattern.empty() && !timed && !diagnostics.has_errors()) {
    diagnostics.error({"--pattern"}, "", "says no time of a step", field_names());
  }
  return program;
}

}  // namespace orrery::import_config
