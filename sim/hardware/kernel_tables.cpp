#include "sim/hardware/kernel_tables.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "sim/base/check.hpp"
#include "sim/base/diagnostics.hpp"

namespace orrery::hardware {

namespace {

using Axes = std::span<const std::string_view>;

constexpr std::array<std::string_view, 3> kProduct = {"m", "n", "k"};
constexpr std::array<std::string_view, 5> kGrouped = {"groups", "m", "n", "k", "largest"};
constexpr std::array<std::string_view, 8> kAttention = {
    "sequences", "heads", "groups", "queries", "keys", "dim_qk", "dim_v", "causal"};
constexpr std::array<std::string_view, 2> kMatrix = {"rows", "columns"};
constexpr std::array<std::string_view, 3> kRotary = {"tokens", "heads", "dim"};
constexpr std::array<std::string_view, 3> kEmbedding = {"rows", "columns", "vocabulary"};
constexpr std::array<std::string_view, 3> kPermuted = {"rows", "columns", "copies"};
constexpr std::array<std::string_view, 1> kElements = {"elements"};
constexpr std::array<std::string_view, 1> kBytes = {"bytes"};
constexpr std::array<std::string_view, 4> kGroup = {"ranks", "nodes", "bytes", "in_place"};

struct Words {
  std::string_view name;
  Axes axes;
};

// In the order of KernelOperation.
constexpr std::array<Words, 24> kOperations = {{
    {"gemm", kProduct},         {"grouped_gemm", kGrouped}, {"attention", kAttention},
    {"rms_norm", kMatrix},      {"layer_norm", kMatrix},    {"residual_add", kMatrix},
    {"rotary", kRotary},        {"swiglu", kMatrix},        {"cross_entropy", kMatrix},
    {"embedding", kEmbedding},  {"quantize", kMatrix},      {"quantize_transpose", kMatrix},
    {"permute", kPermuted},     {"unpermute", kPermuted},   {"gradient_norm", kElements},
    {"adamw", kElements},       {"copy", kBytes},           {"host_to_device", kBytes},
    {"device_to_host", kBytes}, {"all_reduce", kGroup},     {"all_gather", kGroup},
    {"reduce_scatter", kGroup}, {"all_to_all", kGroup},     {"send_receive", kGroup},
}};

constexpr std::array<std::string_view, 7> kRoles = {
    "", "forward", "backward", "fprop", "dgrad", "wgrad", "wgrad_accumulate"};
constexpr std::array<std::string_view, 9> kPrecisions = {
    "fp32", "tf32", "bf16", "fp16", "fp8_tensor", "fp8_row", "fp8_block", "mxfp8", "nvfp4"};

template <std::size_t N>
std::optional<std::size_t> index_of(const std::array<std::string_view, N>& names,
                                    std::string_view word) {
  const auto found = std::find(names.begin(), names.end(), word);
  return found == names.end()
             ? std::nullopt
             : std::optional<std::size_t>(static_cast<std::size_t>(found - names.begin()));
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) {
      words.push_back(text.substr(0, end));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

// Copies move bytes of any type, so that their text names none.
bool has_precision(KernelOperation operation) {
  return operation != KernelOperation::copy && operation != KernelOperation::host_to_device &&
         operation != KernelOperation::device_to_host;
}

ReadCall refuse(std::string problem) {
  return {.call = std::nullopt, .problem = std::move(problem)};
}

std::optional<std::size_t> operation_index(std::string_view word) {
  for (std::size_t i = 0; i < kOperations.size(); ++i) {
    if (kOperations[i].name == word) {
      return i;
    }
  }
  return std::nullopt;
}

// One `axis=extent` of the text.
std::string set_extent(std::string_view word, KernelCall& call, std::array<bool, 8>& seen) {
  const Axes axes = axes_of(call.operation);
  const std::size_t sign = word.find('=');
  const auto axis = std::find(axes.begin(), axes.end(), word.substr(0, sign));
  if (sign == std::string_view::npos || axis == axes.end()) {
    return fmt::format("`{}` is no axis of {} ({})",
                       word,
                       to_string(call.operation),
                       fmt::join(axes.begin(), axes.end(), ", "));
  }
  const auto index = static_cast<std::size_t>(axis - axes.begin());
  if (seen[index]) {
    return fmt::format("`{}` stands twice", *axis);
  }
  seen[index] = true;
  const std::string_view number = word.substr(sign + 1);
  const char* end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, call.extents[index]);
  if (error != std::errc() || stop != end || call.extents[index] < 0) {
    return fmt::format("`{}` is no extent", word);
  }
  return {};
}

}  // namespace

std::string_view to_string(KernelOperation operation) {
  return kOperations[static_cast<std::size_t>(operation)].name;
}

std::string_view to_string(KernelRole role) {
  return kRoles[static_cast<std::size_t>(role)];
}

std::string_view to_string(KernelPrecision precision) {
  return kPrecisions[static_cast<std::size_t>(precision)];
}

std::span<const std::string_view> axes_of(KernelOperation operation) {
  return kOperations[static_cast<std::size_t>(operation)].axes;
}

bool is_collective(KernelOperation operation) {
  return operation >= KernelOperation::all_reduce;
}

bool is_memory_bound(KernelOperation operation) {
  return operation > KernelOperation::attention && !is_collective(operation);
}

std::string to_text(const KernelCall& call) {
  std::string text(to_string(call.operation));
  if (call.role != KernelRole::none) {
    text += fmt::format(" {}", to_string(call.role));
  }
  if (has_precision(call.operation)) {
    text += fmt::format(" {}", to_string(call.precision));
  }
  const Axes axes = axes_of(call.operation);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    text += fmt::format(" {}={}", axes[i], call.extents[i]);
  }
  return text;
}

ReadCall read_call(std::string_view text) {
  const std::vector<std::string_view> words = words_of(text);
  const auto operation = words.empty() ? std::nullopt : operation_index(words[0]);
  if (!operation) {
    return refuse(fmt::format("`{}` is no operation", words.empty() ? text : words[0]));
  }
  KernelCall call;
  call.operation = static_cast<KernelOperation>(*operation);
  std::size_t at = 1;
  if (at < words.size()) {
    if (const auto role = index_of(kRoles, words[at])) {
      call.role = static_cast<KernelRole>(*role);
      ++at;
    }
  }
  if (has_precision(call.operation)) {
    const std::string_view word = at < words.size() ? words[at] : std::string_view();
    const auto precision = index_of(kPrecisions, word);
    if (!precision) {
      return refuse(fmt::format("`{}` is no precision ({})", word, fmt::join(kPrecisions, ", ")));
    }
    call.precision = static_cast<KernelPrecision>(*precision);
    ++at;
  }
  std::array<bool, kMostKernelAxes> seen = {};
  for (; at < words.size(); ++at) {
    if (std::string problem = set_extent(words[at], call, seen); !problem.empty()) {
      return refuse(std::move(problem));
    }
  }
  const Axes axes = axes_of(call.operation);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!seen[i]) {
      return refuse(fmt::format("`{}` is missing", axes[i]));
    }
  }
  return {.call = call, .problem = {}};
}

std::size_t place_axes(KernelOperation operation) {
  return is_memory_bound(operation) ? 1 : axes_of(operation).size();
}

double place_of(double extent) {
  return extent > 0.0 ? std::log(extent) : -1.0;
}

KernelPlace place_of(const KernelCall& call, Bytes moved) {
  KernelPlace place = {};
  if (is_memory_bound(call.operation)) {
    place[0] = place_of(in_bytes(moved));
    return place;
  }
  for (std::size_t i = 0; i < axes_of(call.operation).size(); ++i) {
    place[i] = place_of(static_cast<double>(call.extents[i]));
  }
  return place;
}

void finish_series(KernelSeries& series) {
  ORRERY_CHECK(!series.points.empty(), "a series of measured kernels needs a point");
  series.low = series.points.front().place;
  series.high = series.low;
  for (const KernelPoint& point : series.points) {
    for (std::size_t i = 0; i < kMostKernelAxes; ++i) {
      series.low[i] = std::min(series.low[i], point.place[i]);
      series.high[i] = std::max(series.high[i], point.place[i]);
    }
  }
}

const KernelSeries* KernelTables::find(KernelOperation operation,
                                       KernelRole role,
                                       KernelPrecision precision) const {
  for (const KernelSeries& one : series) {
    if (one.operation == operation && one.role == role && one.precision == precision) {
      return &one;
    }
  }
  return nullptr;
}

}  // namespace orrery::hardware
