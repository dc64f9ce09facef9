#include <algorithm>
#include <charconv>
#include <string>

#include "sim/import_config/megatron/megatron_keys.hpp"

namespace orrery::import_config {

namespace {

constexpr std::size_t kMostLayers = 20'000;
constexpr int kMostNesting = 32;

std::optional<std::int64_t> layer_count(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end && !text.empty() ? std::optional(value) : std::nullopt;
}

// sum := product ('+' product)*; product := list ('*' number)*; list := '[' 0, 1, ... ']' | '(' sum
// ')'
class Lists {
 public:
  explicit Lists(std::string_view text) : text_(text) {}

  std::optional<std::vector<bool>> value() {
    std::vector<bool> result = sum(0);
    skip();
    return sound_ && at_ == text_.size() ? std::optional(std::move(result)) : std::nullopt;
  }

 private:
  void skip() { at_ = std::min(text_.find_first_not_of(" \t", at_), text_.size()); }

  bool take(char c) {
    skip();
    if (at_ < text_.size() && text_[at_] == c) {
      ++at_;
      return true;
    }
    return false;
  }

  std::int64_t number() {
    skip();
    std::int64_t value = 0;
    const char* begin = text_.data() + at_;
    const auto [stop, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    sound_ = sound_ && error == std::errc{} && value >= 0;
    at_ += static_cast<std::size_t>(stop - begin);
    return sound_ ? value : 0;
  }

  std::vector<bool> sum(int depth) {
    std::vector<bool> left = product(depth);
    while (sound_ && take('+')) {
      const std::vector<bool> right = product(depth);
      left.insert(left.end(), right.begin(), right.end());
      sound_ = sound_ && left.size() <= kMostLayers;
    }
    return left;
  }

  std::vector<bool> product(int depth) {
    std::vector<bool> left = list(depth);
    while (sound_ && take('*')) {
      const auto times = static_cast<std::size_t>(number());
      sound_ = sound_ && times <= kMostLayers && left.size() * times <= kMostLayers;
      std::vector<bool> repeated;
      for (std::size_t i = 0; sound_ && i < times; ++i) {
        repeated.insert(repeated.end(), left.begin(), left.end());
      }
      left = std::move(repeated);
    }
    return left;
  }

  std::vector<bool> list(int depth) {
    std::vector<bool> items;
    if (depth > kMostNesting) {
      sound_ = false;
    } else if (take('(')) {
      items = sum(depth + 1);
      sound_ = sound_ && take(')');
    } else if (take('[')) {
      while (sound_ && !take(']')) {
        const std::int64_t item = number();
        sound_ = sound_ && item <= 1 && items.size() < kMostLayers;
        items.push_back(item == 1);
        static_cast<void>(take(','));
      }
    } else {
      sound_ = false;
    }
    return items;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool sound_ = true;
};

// The number behind a `*` at `at`, and the place behind it; nothing when there is none.
std::optional<std::pair<std::size_t, std::size_t>> times_at(std::string_view text, std::size_t at) {
  if (at >= text.size() || text[at] != '*') {
    return std::nullopt;
  }
  std::size_t end = at + 1;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') {
    ++end;
  }
  const auto value = layer_count(text.substr(at + 1, end - at - 1));
  if (!value || *value > static_cast<std::int64_t>(kMostLayers)) {
    return std::nullopt;
  }
  return std::pair{static_cast<std::size_t>(*value), end};
}

// Groups in parentheses first, single letters then, as Megatron-Core unrolls them.
std::optional<std::string> unroll(std::string_view text, bool groups) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    std::string_view unit = text.substr(i, 1);
    std::size_t end = i + 1;
    if (groups && text[i] == '(') {
      const std::size_t close = text.find(')', i);
      if (close == std::string_view::npos) {
        return std::nullopt;
      }
      unit = text.substr(i + 1, close - i - 1);
      end = close + 1;
      if (!times_at(text, end)) {
        return std::nullopt;
      }
    }
    const auto times = !groups || text[i] == '(' ? times_at(text, end) : std::nullopt;
    const std::size_t count = times ? times->first : 1;
    if (result.size() + unit.size() * count > kMostLayers) {
      return std::nullopt;
    }
    for (std::size_t n = 0; n < count; ++n) {
      result += unit;
    }
    i = times ? times->second : end;
  }
  return result;
}

}  // namespace

std::optional<std::vector<bool>> parse_expert_pattern(std::string_view text, std::int64_t layers) {
  if (const auto every = layer_count(text)) {
    if (*every < 1 || layers < 0 || layers > static_cast<std::int64_t>(kMostLayers)) {
      return std::nullopt;
    }
    std::vector<bool> pattern;
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      pattern.push_back(layer % *every == 0);
    }
    return pattern;
  }
  return Lists(text).value();
}

std::optional<StageLayout> parse_stage_layout(std::string_view text) {
  std::string plain(text);
  std::erase_if(plain, [](char c) { return c == ',' || c == ' '; });
  const auto groups = unroll(plain, true);
  const auto letters = groups ? unroll(*groups, false) : std::nullopt;
  if (!letters) {
    return std::nullopt;
  }
  StageLayout layout;
  layout.layers.push_back(0);
  bool prediction_here = false;
  for (const char c : *letters) {
    if (c == '|') {
      layout.layers.push_back(0);
      prediction_here = false;
    } else if (c == 't') {
      ++layout.layers.back();
    } else if (c == 'm') {
      ++layout.prediction;
      prediction_here = true;
    } else if (c == 'L') {
      layout.prediction_apart = layout.prediction > 0 && !prediction_here;
    } else if (c != 'E') {
      return std::nullopt;
    }
  }
  return layout;
}

}  // namespace orrery::import_config
