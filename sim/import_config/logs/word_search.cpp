#include "sim/import_config/logs/word_search.hpp"

namespace orrery::import_config {

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

}  // namespace orrery::import_config
