#include "calibrate/import/formats.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/base/text/text.hpp"
#include "sim/step/cost/nccl_model.hpp"

namespace orrery::calibration_import {

namespace {

using model::CollectiveKind;

struct Operation {
  CollectiveKind kind;
  std::string_view name;     // in tables
  std::string_view program;  // of nccl-tests, without _perf
};

constexpr std::array<Operation, 6> kOperations = {
    {{CollectiveKind::all_reduce, "all_reduce", "all_reduce"},
     {CollectiveKind::all_gather, "all_gather", "all_gather"},
     {CollectiveKind::reduce_scatter, "reduce_scatter", "reduce_scatter"},
     {CollectiveKind::all_to_all, "all_to_all", "alltoall"},
     {CollectiveKind::broadcast, "broadcast", "broadcast"},
     {CollectiveKind::send_receive, "send_receive", "sendrecv"}}};

constexpr std::array<std::pair<std::string_view, std::int64_t>, 14> kTypes = {{{"char", 1},
                                                                               {"int8", 1},
                                                                               {"uint8", 1},
                                                                               {"f8e4m3", 1},
                                                                               {"f8e5m2", 1},
                                                                               {"half", 2},
                                                                               {"bfloat16", 2},
                                                                               {"int", 4},
                                                                               {"int32", 4},
                                                                               {"uint32", 4},
                                                                               {"float", 4},
                                                                               {"int64", 8},
                                                                               {"uint64", 8},
                                                                               {"double", 8}}};

constexpr std::string_view kSuffix = "_perf";

// 2.9 and later have two digits for the minor version.
constexpr std::int64_t kFirstLongCode = 10000;

std::string_view without_suffix(std::string_view program) {
  return program.substr(0, program.find(kSuffix));
}

}  // namespace

std::optional<CollectiveKind> operation_of(std::string_view program) {
  const std::string_view name = without_suffix(base_name(program));
  for (const Operation& operation : kOperations) {
    if (name == operation.program || name == operation.name) {
      return operation.kind;
    }
  }
  return std::nullopt;
}

std::string_view operation_name(CollectiveKind kind) {
  const auto* found = std::ranges::find(kOperations, kind, &Operation::kind);
  return found == kOperations.end() ? std::string_view("other") : found->name;
}

std::string_view program_in(std::string_view word) {
  std::string_view name = base_name(word);
  const std::size_t at = name.find(kSuffix);
  if (at == std::string_view::npos || at == 0) {
    return {};
  }
  name = name.substr(0, at + kSuffix.size());
  const bool plain =
      std::ranges::all_of(name, [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
  return plain ? name : std::string_view();
}

std::optional<std::int64_t> type_size(std::string_view type) {
  for (const auto& [name, size] : kTypes) {
    if (name == type) {
      return size;
    }
  }
  if (type.starts_with("fp8") || type.starts_with("float8")) {
    return 1;
  }
  return std::nullopt;
}

std::string nccl_version_text(std::int64_t code) {
  const std::int64_t major_step = code < kFirstLongCode ? 1000 : kFirstLongCode;
  constexpr std::int64_t kMinorStep = 100;
  return fmt::format("{}.{}.{}", code / major_step, code % major_step / kMinorStep,
                     code % kMinorStep);
}

void apply_setting(std::string_view name, std::string_view value, CollectiveLog& log) {
  if (name == "NCCL_NVLS_ENABLE") {
    log.nvls_off = value == "0";
  } else if (name == "NCCL_COLLNET_ENABLE") {
    log.sharp = value == "1";
  } else if (name == "NCCL_ALGO") {
    const std::string wanted = lower_case(value);
    for (const auto& [key, algorithm] : hardware::kForcedAlgorithms) {
      if (algorithm != hardware::CollectiveAlgorithm::automatic &&
          wanted == lower_case(cost::to_string(algorithm))) {
        log.algorithm = algorithm;
      }
    }
  }
}

namespace {

// More special formats first: the text of nccl-tests is what is left.
constexpr std::array<LogFormat, 5> kFormats = {
    {{"nccl-tests JSON", is_nccl_json, read_nccl_json},
     {"nvbandwidth JSON", is_nvbandwidth_json, read_nvbandwidth_json},
     {"nvbandwidth text", is_nvbandwidth_text, read_nvbandwidth_text},
     {"nccl-tests CSV", is_nccl_csv, read_nccl_csv},
     {"nccl-tests text", is_nccl_text, read_nccl_text}}};

}  // namespace

std::string_view read_log(const LogFile& file, Findings& findings, Diagnostics& diagnostics) {
  for (const LogFormat& format : kFormats) {
    if (format.recognises(file)) {
      format.read(file, findings, diagnostics);
      return format.name;
    }
  }
  // A configuration above this is not taken for one (import_config::kMostBytes).
  constexpr std::size_t kLargestConfiguration = std::size_t{4} << 20U;
  if (file.text.empty()) {
    diagnostics.error({file.name}, "", "is empty");
    return {};
  }
  if (file.text.starts_with("\x1F\x8B")) {
    diagnostics.error({file.name}, "", "is packed with gzip", "the file behind gunzip -k");
    return {};
  }
  diagnostics.error({file.name}, "",
                    file.text.size() > kLargestConfiguration
                        ? "holds no results of a known program, and is too large for a training "
                          "configuration (4 MiB)"
                        : "holds no results of a known program",
                    "text, CSV or JSON of nccl-tests, text or JSON of nvbandwidth, or the "
                    "configuration or log of a training run, see orrery import --help; of a log "
                    "of another program, orrery import --pattern says where the time of a step "
                    "stands");
  return {};
}

namespace {

constexpr std::array<std::pair<std::string_view, Column>, 17> kNames = {
    {{"size", Column::size},
     {"count", Column::count},
     {"type", Column::type},
     {"redop", Column::redop},
     {"root", Column::root},
     {"time", Column::time},
     {"cputime", Column::time},
     {"algbw", Column::algbw},
     {"busbw", Column::busbw},
     {"#wrong", Column::wrong},
     {"wrong", Column::wrong},
     {"operation", Column::operation},
     {"collective", Column::operation},
     {"ranks", Column::ranks},
     {"nranks", Column::ranks},
     {"nodes", Column::nodes},
     {"error", Column::other}}};

constexpr std::size_t kPlace = 4;      // time algbw busbw #wrong
constexpr std::size_t kLongPlace = 8;  // and i_min i_max i_p99 i_cv%
constexpr std::size_t kTimestamp = 2;  // date and time of day

// size(B) and busbw (GB/s) carry their unit behind them in some files.
std::string plain_name(std::string_view name) {
  std::string plain = lower_case(trimmed(name.substr(0, name.find('('))));
  for (const std::string_view unit : {"_us", "_gbps", "_bytes"}) {
    if (std::string_view(plain).ends_with(unit)) {
      plain.resize(plain.size() - unit.size());
    }
  }
  return plain;
}

bool has(const Columns& columns, Column kind) {
  return std::ranges::find(columns.kinds, kind) != columns.kinds.end();
}

// One half of a row under way.
struct Place {
  std::optional<PrintedNumber> time;
  std::optional<PrintedNumber> algbw;
  std::optional<PrintedNumber> busbw;
  std::optional<double> wrong;
};

bool read_number(std::string_view cell, std::optional<PrintedNumber>& target) {
  target = printed_number(cell);
  return target.has_value();
}

bool read_identity(Column kind, std::string_view cell, LogRow& row) {
  const auto whole = whole_integer(cell);
  switch (kind) {
    case Column::size:
      row.size = whole.value_or(0);
      return whole.has_value();
    case Column::count:
      row.count = whole.value_or(0);
      return whole.has_value();
    case Column::type:
      row.type = cell;
      return type_size(cell).has_value();
    case Column::redop:
      row.redop = cell;
      return !cell.empty() && !printed_number(cell);
    case Column::root:
      return whole.has_value() || cell.empty();
    default:
      return true;
  }
}

bool read_result(Column kind, std::string_view cell, Place& place) {
  switch (kind) {
    case Column::time:
      return read_number(cell, place.time);
    case Column::algbw:
      return read_number(cell, place.algbw);
    case Column::busbw:
      return read_number(cell, place.busbw);
    case Column::wrong: {
      const auto count = printed_number(cell);
      if (count) {
        place.wrong = count->value;
      }
      return count.has_value() || cell == "N/A" || cell.empty();
    }
    default:
      return true;
  }
}

std::optional<LogTiming> timing_of(const Place& place) {
  if (!place.time || !place.algbw || !place.busbw) {
    return std::nullopt;
  }
  return LogTiming{*place.time, *place.algbw, *place.busbw, place.wrong};
}

// Where the half that begins with the n-th time column starts, or the number of columns.
std::size_t start_of_place(const Columns& columns, std::size_t n) {
  std::size_t seen = 0;
  for (std::size_t i = 0; i < columns.kinds.size(); ++i) {
    if (columns.kinds[i] == Column::time && seen++ == n) {
      return i;
    }
  }
  return columns.kinds.size();
}

}  // namespace

std::optional<Columns> columns_of(const std::vector<std::string_view>& names) {
  Columns columns;
  for (const std::string_view name : names) {
    const std::string plain = plain_name(name);
    const auto* found =
        std::ranges::find_if(kNames, [&plain](const auto& known) { return known.first == plain; });
    columns.kinds.push_back(found == kNames.end() ? Column::other : found->second);
    columns.cpu_time = columns.cpu_time || plain == "cputime";
  }
  for (const Column needed :
       {Column::size, Column::count, Column::type, Column::time, Column::algbw, Column::busbw}) {
    if (!has(columns, needed)) {
      return std::nullopt;
    }
  }
  return columns;
}

std::optional<Columns> columns_by_count(const std::vector<std::string_view>& cells) {
  Columns columns{{Column::size, Column::count, Column::type}};
  std::size_t at = columns.kinds.size();
  if (at < cells.size() && !printed_number(cells[at])) {
    columns.kinds.push_back(Column::redop);
    ++at;
  }
  std::size_t rest = cells.size() - std::min(at, cells.size());
  if (rest % kPlace == 1 || rest % kPlace == 1 + kTimestamp) {
    columns.kinds.push_back(Column::root);
    --rest;
  }
  const std::size_t places = rest - rest % kPlace;
  if (places == 0 || places > 2 * kLongPlace || places == kPlace + kLongPlace ||
      rest - places > kTimestamp) {
    return std::nullopt;
  }
  const std::size_t width = places == 2 * kLongPlace ? kLongPlace : kPlace;
  for (std::size_t start = 0; start < places; start += width) {
    columns.kinds.insert(columns.kinds.end(),
                         {Column::time, Column::algbw, Column::busbw, Column::wrong});
    columns.kinds.insert(columns.kinds.end(), width - kPlace, Column::other);
  }
  if (rest > places) {
    if (printed_number(cells.back())) {
      return std::nullopt;
    }
    columns.kinds.push_back(Column::other);  // the timestamp
  }
  // A largest error (5e-07) in place of a count of wrong values.
  for (std::size_t i = 0; i < std::min(columns.kinds.size(), cells.size()); ++i) {
    if (columns.kinds[i] == Column::wrong &&
        (cells[i].find("e-") != std::string_view::npos || cells[i] == "0e+00")) {
      columns.kinds[i] = Column::other;
    }
  }
  return columns;
}

std::optional<LogRow> row_of(const Columns& columns, const std::vector<std::string_view>& cells) {
  const std::size_t in_place_at = start_of_place(columns, 1);
  const bool has_in_place = cells.size() > in_place_at;
  const std::size_t used = has_in_place ? columns.kinds.size() : in_place_at;
  const bool timestamp = cells.size() == used + 1 && has_in_place;  // date and time: two words
  if (cells.size() != used && !timestamp) {
    return std::nullopt;
  }
  LogRow row;
  std::array<Place, 2> places;
  std::size_t place = 0;
  for (std::size_t i = 0; i < used; ++i) {
    const Column kind = columns.kinds[i];
    place = i >= in_place_at ? 1 : 0;
    const std::string_view cell = trimmed(cells[i]);
    if (!read_identity(kind, cell, row) || !read_result(kind, cell, places[place])) {
      return std::nullopt;
    }
  }
  row.out_of_place = timing_of(places[0]);
  row.in_place = timing_of(places[1]);
  row.redop = row.redop.empty() ? "none" : row.redop;
  return row.out_of_place ? std::optional(row) : std::nullopt;
}

bool begins_row(const std::vector<std::string_view>& words, std::size_t at) {
  return at + 2 < words.size() && whole_integer(words[at]) && whole_integer(words[at + 1]) &&
         type_size(words[at + 2]);
}

}  // namespace orrery::calibration_import
