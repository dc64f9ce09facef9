#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "sim/base/diagnostics.hpp"
#include "sim/step/kernels/kernel_case.hpp"

namespace orrery::kernels {

namespace {

constexpr std::size_t kLongestWord = 64;  // beyond, nobody mistyped a name

std::vector<std::string_view> words_of(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  std::vector<std::string_view> words;
  std::size_t start = text.find_first_not_of(kBlanks);
  while (start != std::string_view::npos) {
    const std::size_t end = std::min(text.find_first_of(kBlanks, start), text.size());
    words.push_back(text.substr(start, end - start));
    start = text.find_first_not_of(kBlanks, end);
  }
  return words;
}

std::string quoted(std::string_view word) {
  const bool whole = word.size() <= kLongestWord;
  return fmt::format("\"{}{}\"", word.substr(0, kLongestWord), whole ? "" : "...");
}

std::string with_nearest(std::string sentence, std::string_view word,
                         const std::vector<std::string_view>& names) {
  const std::string_view near =
      word.size() > kLongestWord ? std::string_view() : nearest_name(word, names);
  return near.empty() ? sentence : fmt::format("{}; the nearest is {}", sentence, near);
}

template <typename T, std::size_t N>
std::optional<T> named(const std::array<T, N>& values, std::string_view word) {
  const auto found = std::find_if(values.begin(), values.end(),
                                  [word](T value) { return to_string(value) == word; });
  return found == values.end() ? std::nullopt : std::optional<T>(*found);
}

// Words are taken one by one; the first problem ends it.
class CaseReader {
 public:
  explicit CaseReader(const OperationRow& row) : row_(row) { kernel_.operation = row.operation; }

  void take(std::string_view word) {
    if (word.find('=') != std::string_view::npos) {
      take_axis(word);
    } else if (const auto role = named(kRoles, word)) {
      take_once(role_, *role, "role");
    } else if (const auto precision = named(kPrecisions, word)) {
      take_once(precision_, *precision, "precision");
    } else {
      problem_ = with_nearest(fmt::format("{} is neither a role nor a precision nor an axis of {}",
                                          quoted(word), row_.name),
                              word, words_of_row());
    }
  }

  [[nodiscard]] bool failed() const { return !problem_.empty(); }

  ParsedCase finish() {
    if (problem_.empty()) {
      check_complete();
    }
    if (!problem_.empty()) {
      return {.kernel = std::nullopt, .problem = problem_};
    }
    kernel_.role = role_.value_or(row_.roles.front());
    kernel_.precision = precision_.value_or(row_.precisions.front());
    if (auto problem = problem_of(kernel_)) {
      return {.kernel = std::nullopt, .problem = *std::move(problem)};
    }
    return {.kernel = kernel_, .problem = {}};
  }

 private:
  [[nodiscard]] std::vector<std::string_view> words_of_row() const {
    std::vector<std::string_view> names = row_.axes;
    for (const Role role : row_.roles) {
      names.push_back(to_string(role));
    }
    for (const Precision precision : row_.precisions) {
      names.push_back(to_string(precision));
    }
    std::erase(names, "");
    return names;
  }

  template <typename T>
  void take_once(std::optional<T>& place, T value, std::string_view what) {
    if (place) {
      problem_ = fmt::format("two {}s: {} and {}", what, to_string(*place), to_string(value));
    }
    place = value;
  }

  void take_axis(std::string_view word) {
    const std::string_view name = word.substr(0, word.find('='));
    const std::string_view digits = word.substr(name.size() + 1);
    const auto found = std::find(row_.axes.begin(), row_.axes.end(), name);
    if (found == row_.axes.end()) {
      problem_ =
          with_nearest(fmt::format("{} has no axis {}", row_.name, quoted(name)), name, row_.axes);
      return;
    }
    const auto index = static_cast<std::size_t>(found - row_.axes.begin());
    if (given_[index]) {
      problem_ = fmt::format("{} stands twice", name);
      return;
    }
    given_[index] = true;
    const char* end = digits.data() + digits.size();
    const auto read = std::from_chars(digits.data(), end, kernel_.extents[index]);
    if (read.ec == std::errc::result_out_of_range) {
      problem_ = fmt::format("{}={} is beyond 64 bits", name, digits.substr(0, kLongestWord));
    } else if (read.ec != std::errc() || read.ptr != end) {
      problem_ =
          fmt::format("{}={} is no positive whole number", name, digits.substr(0, kLongestWord));
    }
  }

  void check_complete() {
    for (std::size_t i = 0; i < row_.axes.size(); ++i) {
      if (!given_[i]) {
        problem_ = fmt::format("{} wants {}=", row_.name, row_.axes[i]);
        return;
      }
    }
    if (!role_ && row_.roles.size() > 1) {
      kernel_.role = Role::none;
      problem_ = problem_of(kernel_).value_or("");
    } else if (!precision_ && row_.precisions.size() > 1) {
      problem_ = fmt::format("{} wants a precision: ", row_.name);
      for (const Precision precision : row_.precisions) {
        problem_ += precision == row_.precisions.front() ? "" : ", ";
        problem_ += to_string(precision);
      }
    }
  }

  const OperationRow& row_;
  KernelCase kernel_;
  std::optional<Role> role_;
  std::optional<Precision> precision_;
  std::array<bool, kMaxAxes> given_ = {};
  std::string problem_;
};

}  // namespace

std::string to_text(const KernelCase& kernel) {
  const OperationRow& row = row_of(kernel.operation);
  std::string text(row.name);
  if (kernel.role != Role::none) {
    text += fmt::format(" {}", to_string(kernel.role));
  }
  if (row.precisions.size() > 1) {
    text += fmt::format(" {}", to_string(kernel.precision));
  }
  for (std::size_t i = 0; i < row.axes.size(); ++i) {
    text += fmt::format(" {}={}", row.axes[i], kernel.extents[i]);
  }
  return text;
}

ParsedCase parse_case(std::string_view text) {
  const std::vector<std::string_view> words = words_of(text);
  if (words.empty()) {
    return {.kernel = std::nullopt, .problem = "a case starts with its operation, such as gemm"};
  }
  std::vector<std::string_view> names;
  for (const OperationRow& row : operation_table()) {
    if (row.name == words.front()) {
      CaseReader reader(row);
      for (std::size_t i = 1; i < words.size() && !reader.failed(); ++i) {
        reader.take(words[i]);
      }
      return reader.finish();
    }
    names.push_back(row.name);
  }
  return {.kernel = std::nullopt,
          .problem = with_nearest(fmt::format("no operation is called {}", quoted(words.front())),
                                  words.front(), names)};
}

}  // namespace orrery::kernels
