#include "sim/step/kernels/kernel_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "sim/base/check.hpp"
#include "sim/base/diagnostics.hpp"

namespace orrery::kernels {

namespace {

constexpr double kMostWork = 0x1.0p62;

bool is_switch(std::string_view axis) { return axis == "causal" || axis == "in_place"; }

std::optional<std::string> problem_of_extents(const KernelCase& kernel, const OperationRow& row) {
  for (std::size_t i = 0; i < row.axes.size(); ++i) {
    const std::int64_t value = kernel.extents[i];
    if (is_switch(row.axes[i]) && value != 0 && value != 1) {
      return fmt::format("{}={}: {} is 0 or 1", row.axes[i], value, row.axes[i]);
    }
    if (!is_switch(row.axes[i]) && value <= 0) {
      return fmt::format("{}={} is no positive whole number", row.axes[i], value);
    }
  }
  for (std::size_t i = row.axes.size(); i < kMaxAxes; ++i) {
    if (kernel.extents[i] != 0) {
      return fmt::format("{} has {} axes, but extent {} is {}", row.name, row.axes.size(), i,
                         kernel.extents[i]);
    }
  }
  return std::nullopt;
}

// Axis of a grouped product along which the tokens of its groups differ.
std::string_view token_axis(const KernelCase& kernel) {
  const bool weight = kernel.role == Role::wgrad || kernel.role == Role::wgrad_accumulate;
  return weight ? "k" : "m";
}

std::optional<std::string> problem_of_groups(const KernelCase& kernel) {
  const std::int64_t mean = extent(kernel, token_axis(kernel));
  const std::int64_t largest = extent(kernel, "largest");
  // All tokens may be those of one group; the product could be beyond 64 bits.
  const auto most = static_cast<double>(mean) * static_cast<double>(extent(kernel, "groups"));
  if (largest < mean) {
    return fmt::format("largest={} is below the mean, {}={}", largest, token_axis(kernel), mean);
  }
  if (static_cast<double>(largest) > most) {
    return fmt::format("largest={} is more than all groups have together, groups={} x {}={}",
                       largest, extent(kernel, "groups"), token_axis(kernel), mean);
  }
  return std::nullopt;
}

std::optional<std::string> problem_of_attention(const KernelCase& kernel) {
  const std::int64_t heads = extent(kernel, "heads");
  const std::int64_t groups = extent(kernel, "groups");
  const std::int64_t queries = extent(kernel, "queries");
  const std::int64_t keys = extent(kernel, "keys");
  if (heads % groups != 0) {
    return fmt::format("heads={} is no multiple of groups={}", heads, groups);
  }
  if (extent(kernel, "causal") == 1 && queries != keys) {
    return fmt::format("causal=1 wants as many keys as queries, not queries={} keys={}", queries,
                       keys);
  }
  return std::nullopt;
}

std::optional<std::string> problem_of_ranks(const KernelCase& kernel) {
  const std::int64_t ranks = extent(kernel, "ranks");
  const std::int64_t nodes = extent(kernel, "nodes");
  if (ranks % nodes != 0) {
    return fmt::format("ranks={} is no multiple of nodes={}", ranks, nodes);
  }
  return std::nullopt;
}

std::optional<std::string> problem_of_axes(const KernelCase& kernel) {
  switch (kernel.operation) {
    case Operation::grouped_gemm:
      return problem_of_groups(kernel);
    case Operation::attention:
      return problem_of_attention(kernel);
    case Operation::all_reduce:
    case Operation::all_gather:
    case Operation::reduce_scatter:
    case Operation::all_to_all:
    case Operation::send_receive:
      return problem_of_ranks(kernel);
    default:
      return std::nullopt;
  }
}

template <typename T>
bool contains(const std::vector<T>& allowed, T value) {
  return std::ranges::find(allowed, value) != allowed.end();
}

template <typename T>
std::string names_of(const std::vector<T>& allowed) {
  std::string text;
  for (const T value : allowed) {
    text += text.empty() ? "" : ", ";
    text += to_string(value);
  }
  return text;
}

std::string problem_of_role(const KernelCase& kernel, const OperationRow& row) {
  if (row.roles.front() == Role::none) {
    return fmt::format("{} has no roles, so not {}", row.name, to_string(kernel.role));
  }
  if (kernel.role == Role::none) {
    return fmt::format("{} wants a role: {}", row.name, names_of(row.roles));
  }
  return fmt::format("{} has no role {}, only {}", row.name, to_string(kernel.role),
                     names_of(row.roles));
}

}  // namespace

const OperationRow& row_of(Operation operation) {
  const std::span<const OperationRow> table = operation_table();
  const auto index = static_cast<std::size_t>(operation);
  ORRERY_CHECK(index < table.size() && table[index].operation == operation,
               "operation {} has no row in the table", index);
  return table[index];
}

std::string_view to_string(Operation operation) { return row_of(operation).name; }

std::string_view to_string(Role role) {
  switch (role) {
    case Role::none:
      return "";
    case Role::forward:
      return "forward";
    case Role::backward:
      return "backward";
    case Role::fprop:
      return "fprop";
    case Role::dgrad:
      return "dgrad";
    case Role::wgrad:
      return "wgrad";
    case Role::wgrad_accumulate:
      return "wgrad_accumulate";
  }
  return "";  // not reached: every enumerator returns above
}

std::string_view to_string(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return "fp32";
    case Precision::tf32:
      return "tf32";
    case Precision::bf16:
      return "bf16";
    case Precision::fp16:
      return "fp16";
    case Precision::fp8_tensor:
      return "fp8_tensor";
    case Precision::fp8_row:
      return "fp8_row";
    case Precision::fp8_block:
      return "fp8_block";
    case Precision::mxfp8:
      return "mxfp8";
    case Precision::nvfp4:
      return "nvfp4";
  }
  return "";  // not reached: every enumerator returns above
}

bool is_collective(Operation operation) { return operation >= Operation::all_reduce; }

bool is_memory_bound(Operation operation) {
  return operation > Operation::attention && !is_collective(operation);
}

Bytes element_bytes(Precision precision) {
  switch (precision) {
    case Precision::fp32:
    case Precision::tf32:
      return bytes(4.0);
    case Precision::bf16:
    case Precision::fp16:
      return bytes(2.0);
    case Precision::fp8_tensor:
    case Precision::fp8_row:
    case Precision::fp8_block:
    case Precision::mxfp8:
      return bytes(1.0);
    case Precision::nvfp4:
      return bytes(0.5);
  }
  return bytes(0.0);  // not reached: every enumerator returns above
}

std::int64_t extent(const KernelCase& kernel, std::string_view axis) {
  const auto& axes = row_of(kernel.operation).axes;
  const auto found = std::ranges::find(axes, axis);
  ORRERY_CHECK(found != axes.end(), "{} has no axis {}", to_string(kernel.operation), axis);
  return kernel.extents[static_cast<std::size_t>(found - axes.begin())];
}

Work work_of(const KernelCase& kernel) { return row_of(kernel.operation).work(kernel); }

std::vector<std::int64_t> group_rows(const KernelCase& kernel) {
  const std::int64_t groups = extent(kernel, "groups");
  const std::int64_t largest = extent(kernel, "largest");
  std::int64_t left = groups * extent(kernel, token_axis(kernel)) - largest;
  std::vector<std::int64_t> rows = {largest};
  for (std::int64_t others = groups - 1; others > 0; --others) {
    const std::int64_t share = (left + others - 1) / others;
    rows.push_back(share);
    left -= share;
  }
  return rows;
}

std::optional<std::string> problem_of(const KernelCase& kernel) {
  const OperationRow& row = row_of(kernel.operation);
  if (!contains(row.roles, kernel.role)) {
    return problem_of_role(kernel, row);
  }
  if (!contains(row.precisions, kernel.precision)) {
    return fmt::format("{} has no precision {}, only {}", row.name, to_string(kernel.precision),
                       names_of(row.precisions));
  }
  if (auto problem = problem_of_extents(kernel, row)) {
    return problem;
  }
  if (auto problem = problem_of_axes(kernel)) {
    return problem;
  }
  const Work work = work_of(kernel);
  if (in_flop(work.flop) > kMostWork || in_bytes(work.moved()) > kMostWork) {
    return fmt::format("{} is more work than 2^62 bytes or FLOP", row.name);
  }
  return std::nullopt;
}

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
  const auto found =
      std::ranges::find_if(values, [word](T value) { return to_string(value) == word; });
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
    const auto found = std::ranges::find(row_.axes, name);
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
