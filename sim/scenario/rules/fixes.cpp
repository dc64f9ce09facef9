#include "sim/scenario/rules/fixes.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <system_error>
#include <utility>

#include "sim/scenario/load.hpp"

namespace orrery::scenario {

namespace {

constexpr std::string_view kMeant = "did you mean `";
constexpr std::string_view kUnknownKey = "unknown key";
constexpr std::string_view kOr = " or ";

struct Candidate {
  std::string key;
  std::string value;

  friend bool operator==(const Candidate&, const Candidate&) = default;
};

std::size_t error_count(std::string_view text, std::string_view file) {
  Diagnostics diagnostics;
  static_cast<void>(load_text(text, std::string(file), diagnostics));
  const auto& all = diagnostics.all();
  return static_cast<std::size_t>(std::ranges::count_if(
      all, [](const Diagnostic& d) { return d.severity == Severity::error; }));
}

// X of "did you mean `X`".
std::optional<std::string> meant_by(std::string_view text) {
  const std::size_t at = text.find(kMeant);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  text.remove_prefix(at + kMeant.size());
  return std::string(text.substr(0, text.find('`')));
}

bool is_word(std::string_view word) {
  const auto fits = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.' || c == '/' || c == '+';
  };
  return !word.empty() && std::ranges::all_of(word, fits);
}

// The number that the text begins with.
std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} ? std::optional(number) : std::nullopt;
}

void strip(std::string_view& text, std::string_view begin) {
  if (text.starts_with(begin)) {
    text.remove_prefix(begin.size());
  }
}

// "zero1" or "overlap.reduction: per_micro_batch"; nothing for prose.
std::optional<Candidate> candidate_of(std::string_view part, std::string_view key) {
  while (part.starts_with(' ')) {
    part.remove_prefix(1);
  }
  for (const std::string_view word : {"allowed: ", "known: ", "or ", "at least ", "at most "}) {
    strip(part, word);
  }
  const std::size_t colon = part.find(": ");
  if (colon != std::string_view::npos) {
    const std::string_view other = part.substr(0, colon);
    const std::string_view value = part.substr(colon + 2);
    return is_word(other) && is_word(value)
               ? std::optional(Candidate{std::string(other), std::string(value)})
               : std::nullopt;
  }
  return is_word(part) ? std::optional(Candidate{std::string(key), std::string(part)})
                       : std::nullopt;
}

std::vector<Candidate> candidates_of(const Diagnostic& diagnostic) {
  std::vector<Candidate> found;
  const auto add = [&found](Candidate candidate) {
    if (std::ranges::find(found, candidate) == found.end()) {
      found.push_back(std::move(candidate));
    }
  };
  for (const std::string& text : {diagnostic.message, diagnostic.allowed}) {
    if (auto word = meant_by(text)) {
      add({diagnostic.key, *std::move(word)});
    }
  }
  if (diagnostic.message.starts_with(kUnknownKey)) {
    return found;
  }
  std::string_view rest = diagnostic.allowed;
  while (!rest.empty()) {
    std::size_t end = rest.find_first_of(",;");
    const std::size_t either = rest.find(kOr);
    const std::size_t skip = either < end ? kOr.size() : 1;
    end = std::min(end, either);
    if (auto candidate = candidate_of(rest.substr(0, end), diagnostic.key)) {
      add(*std::move(candidate));
    }
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + skip);
  }
  return found;
}

std::string_view word_at(std::string_view text, std::size_t place) {
  std::size_t end = std::min(place, text.size());
  while (end < text.size() && is_word(text.substr(end, 1))) {
    ++end;
  }
  return text.substr(std::min(place, text.size()), end - std::min(place, text.size()));
}

// Names like the one that is stated, the nearest first. Of a long list the others are no offer.
void put_near_first(std::string_view stated, std::vector<Candidate>& candidates) {
  constexpr std::size_t kLong = 16;
  std::vector<Candidate> sorted;
  while (true) {
    std::vector<std::string_view> names;
    names.reserve(candidates.size());
    for (const Candidate& candidate : candidates) {
      names.push_back(candidate.value);
    }
    const std::string_view near = nearest_name(stated, names);
    if (near.empty()) {
      break;
    }
    const auto at = std::ranges::find(names, near) - names.begin();
    sorted.push_back(candidates[static_cast<std::size_t>(at)]);
    candidates.erase(candidates.begin() + at);
  }
  if (sorted.empty() || candidates.size() <= kLong) {
    sorted.insert(sorted.end(), candidates.begin(), candidates.end());
  }
  candidates = std::move(sorted);
}

// Another name for the last part of the key, where it stands.
std::optional<TextEdit> rename(std::string_view text, const Diagnostic& diagnostic,
                               const std::string& name) {
  const std::size_t dot = diagnostic.key.rfind('.');
  const std::string last = diagnostic.key.substr(dot == std::string::npos ? 0 : dot + 1);
  const std::size_t at = offset_of(text, diagnostic.where.line, diagnostic.where.column);
  if (last.empty() || text.substr(at, last.size()) != last) {
    return std::nullopt;
  }
  return TextEdit{at, last.size(), name};
}

std::string edited(std::string_view text, const TextEdit& edit) {
  return std::string(text).replace(edit.begin, edit.length, edit.text);
}

}  // namespace

std::vector<Fix> fixes_for(std::string_view text, std::string_view file,
                           const Diagnostic& diagnostic, std::size_t most) {
  std::vector<Fix> fixes;
  std::vector<Candidate> candidates = candidates_of(diagnostic);
  if (diagnostic.key.empty() || candidates.empty()) {
    return fixes;
  }
  // Of numbers the nearest to what is stated first.
  const std::size_t place = offset_of(text, diagnostic.where.line, diagnostic.where.column);
  const auto stated = whole_number(text.substr(std::min(place, text.size())));
  if (stated && std::ranges::all_of(candidates, [](const Candidate& candidate) {
        return whole_number(candidate.value).has_value();
      })) {
    std::ranges::stable_sort(candidates, {}, [&stated](const Candidate& candidate) {
      return std::abs(*whole_number(candidate.value) - *stated);
    });
  }
  put_near_first(word_at(text, place), candidates);
  const std::size_t before = error_count(text, file);
  const bool unknown = diagnostic.message.starts_with(kUnknownKey);
  for (const Candidate& candidate : candidates) {
    if (fixes.size() == most) {
      break;
    }
    Diagnostics refused;
    auto edit = unknown ? rename(text, diagnostic, candidate.value)
                        : set_key(text, {candidate.key, candidate.value, {}}, refused);
    if (!edit) {
      continue;
    }
    const std::size_t after = error_count(edited(text, *edit), file);
    if (after < before || (before == 0 && after == 0)) {
      std::string key = unknown ? candidate.value : candidate.key;
      fixes.push_back({std::move(key), unknown ? "" : candidate.value, *std::move(edit)});
    }
  }
  return fixes;
}

}  // namespace orrery::scenario
