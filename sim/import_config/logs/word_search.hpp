#pragma once

// Which of many words a line has, and where, in one pass over it, however many words there are: the
// automaton of Aho and Corasick. Internal to import_config/.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace orrery::import_config {

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
