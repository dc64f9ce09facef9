#pragma once

// What each program prints in its log, an entry of log-programs.yaml per program: how its log is
// recognised, where a run begins, which numbers of a step stand behind which words, which facts of
// the job. What stands in a form of its own (YAML, JSON, a repr) has a reader of its own in
// addition (log_flavours.hpp). Internal to import_config/.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sim/import_config/imported.hpp"

namespace orrery::import_config {

enum class Says : std::uint8_t {
  heading,      // nothing, but that the lines below tell of another step
  number,       // of the step
  seconds,      // of the step
  run_seconds,  // since the run began
  steps_per_second,
  sequences_per_second,
  tokens_per_second,
  tokens_per_second_of_rank,
  sequences,  // of the step
  sequences_so_far,
  units_per_second,  // sequences or tokens, whichever `number` counts
  tflops,            // of one GPU, as the program counts them
  memory             // of one GPU that is used, and behind the words the percentage
};

// A number behind words, and before others where they are given.
struct Figure {
  std::string_view before;
  Says says;
  double unit = 1.0;
  std::string_view after = {};
};

// The same of the whole job. `key` is one of the scenario, or one of those below.
struct Fact {
  std::string_view before;
  std::string_view key;
  std::string_view then = {};   // further words, between `before` and the number
  std::string_view value = {};  // in place of a number
  std::string_view after = {};  // behind the number
};

// Facts that are no key of a scenario: they settle keys together, or are compared.
namespace fact {
inline constexpr std::string_view kRanks = "ranks";
inline constexpr std::string_view kData = "data-parallel ranks";
inline constexpr std::string_view kLocalBatch = "sequences of a rank";
inline constexpr std::string_view kStepTokens = "tokens of a step";
inline constexpr std::string_view kAccumulation = "micro-batches of a rank";
inline constexpr std::string_view kParameters = "parameters";
inline constexpr std::string_view kRankParameters = "parameters of a rank";
// What Megatron-LM works out of its arguments, without biases, positions and routers; before 2025
// it counted experts as if every layer had them, with the width of a dense layer.
inline constexpr std::string_view kByFormula = "parameters by formula";
inline constexpr std::string_view kOfEmbeddings = "parameters of embeddings";
inline constexpr std::string_view kOfFullestRank = "parameters of the fullest rank";
inline constexpr std::string_view kOlderFormula = "experts counted";
inline constexpr std::string_view kTask = "task";  // other than to continue texts
inline constexpr std::string_view kGpu = "GPU";
inline constexpr std::string_view kMesh = "mesh";  // its product is the ranks
}  // namespace fact

struct LogProgram {
  ConfigFormat format = ConfigFormat::pattern_log;
  std::string_view name;                 // of the program
  std::string_view stack;                // the software profile; empty: none
  std::vector<std::string_view> signs;   // any; `a & b`: on one line, `a ~ b`: both
  std::vector<std::string_view> begins;  // any: what a run prints first
  std::vector<Figure> figures;           // of a step: the first one that says a time does
  std::vector<Fact> facts;               // of the job
};

[[nodiscard]] const LogProgram& log_program(ConfigFormat format);

// The program whose log the text is; nothing when it is none's. The first row decides.
[[nodiscard]] const LogProgram* recognised_log(std::string_view text);

// Figures of a line of a log, as who has it says (orrery import --pattern), or as the steps of
// log-programs.yaml do:
//
//   iter {step}: loss * time {ms} ms
//
// Words and the numbers behind them; a star stands for what lies between. The words behind a number
// must follow it. Fields: step; s, ms or min, of a step; s so far, ms so far; steps/s, sequences/s,
// tokens/s, tokens/s/gpu; sequences, of a step; tflops; memory, before GiB(%. The text must live
// as long.
[[nodiscard]] std::vector<Figure> figures_of(std::string_view text, Diagnostics& diagnostics);

// Of a log whose lines the pattern describes: it says a time. An empty pattern is no error.
[[nodiscard]] LogProgram pattern_program(std::string_view pattern, Diagnostics& diagnostics);

// Which of many words a line has, and where, in one pass over it, however many words there are: the
// automaton of Aho and Corasick.
class WordSearch {
 public:
  // Words that are found by their place in this list; empty ones never are.
  explicit WordSearch(std::span<const std::string_view> words);

  struct Hit {
    std::size_t word = 0;
    std::size_t end = 0;  // behind the word
  };

  // Every place of every word, by its end. The vector is emptied first.
  void find(std::string_view line, std::vector<Hit>& hits) const {
    hits.clear();
    std::uint32_t state = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::uint32_t target = next_[state + classes_[static_cast<unsigned char>(line[i])]];
      state = target & ~kEnds;
      if ((target & kEnds) != 0) {
        add(state / width_, i + 1, hits);
      }
    }
  }

 private:
  static constexpr std::uint32_t kEnds = std::uint32_t{1} << 31U;  // a word ends in the node

  void add(std::uint32_t node, std::size_t end, std::vector<Hit>& hits) const;

  std::array<std::uint8_t, 256> classes_ = {};
  std::uint32_t width_ = 1;
  std::vector<std::uint32_t> next_;  // by node x width + class: node x width, with kEnds
  std::vector<std::vector<std::uint32_t>> words_;  // by node: those that end in it
};

}  // namespace orrery::import_config
