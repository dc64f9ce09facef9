#include "sim/step/hardware/gpu_names.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include "sim/base/text/text.hpp"

namespace orrery::hardware {

namespace {

bool is_separator(char c) { return c == ' ' || c == '-' || c == '_'; }

// Length of `word` at the front of `text`, separators optional on both sides; 0 when it is not it.
std::size_t length_of(std::string_view word, std::string_view text) {
  std::size_t at = 0;
  for (const char c : word) {
    if (is_separator(c)) {
      continue;
    }
    while (at > 0 && at < text.size() && is_separator(text[at])) {
      ++at;
    }
    if (at >= text.size() || lower_case(text[at]) != lower_case(c)) {
      return 0;
    }
    ++at;
  }
  return at;
}

// A name begins where no letter or digit is before it, a number of GPUs apart: `8xH100`.
bool begins_at(std::string_view text, std::size_t at) {
  if (at == 0 || std::isalnum(static_cast<unsigned char>(text[at - 1])) == 0) {
    return true;
  }
  return at >= 2 && lower_case(text[at - 1]) == 'x' && is_digit(text[at - 2]);
}

bool occurs(std::string_view word, std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t length = begins_at(text, at) ? length_of(word, text.substr(at)) : 0;
    const std::size_t end = at + length;
    if (length > 0 && (end >= text.size() || !is_digit(text[end]))) {
      return true;
    }
  }
  return false;
}

// Words of `name`, separated by commas; 0 unless all of them occur.
std::size_t words_in(std::string_view name, std::string_view text) {
  std::size_t words = 0;
  while (!name.empty()) {
    const std::size_t comma = std::min(name.find(','), name.size());
    if (!occurs(trimmed(name.substr(0, comma)), text)) {
      return 0;
    }
    ++words;
    name.remove_prefix(std::min(comma + 1, name.size()));
  }
  return words;
}

}  // namespace

std::vector<std::string> profiles_of_device(const std::vector<GpuName>& names,
                                            std::string_view device) {
  std::vector<std::string> found;
  for (const GpuName& gpu : names) {
    if (gpu.name == device) {
      found.push_back(gpu.profile);
    }
  }
  return found;
}

std::optional<std::string> profile_in_text(const std::vector<GpuName>& names,
                                           std::string_view text) {
  const GpuName* best = nullptr;
  std::pair<std::size_t, std::size_t> most;
  for (const GpuName& gpu : names) {
    const std::pair found{words_in(gpu.name, text), gpu.name.size()};
    if (found.first > 0 && found > most) {
      best = &gpu;
      most = found;
    }
  }
  return best == nullptr ? std::nullopt : std::optional(best->profile);
}

std::string profile_named(const std::vector<GpuName>& names, std::string_view word) {
  std::string found;
  for (const GpuName& known : names) {
    if (lower_case(known.name) == lower_case(word)) {
      if (!found.empty() && found != known.profile) {
        return {};
      }
      found = known.profile;
    }
  }
  return found;
}

}  // namespace orrery::hardware
