#include "sim/answer/sweep/journal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/base/files/file.hpp"
#include "sim/base/text/json_text.hpp"
#include "sim/base/text/untrusted_json.hpp"

namespace orrery::sweep {

namespace {

constexpr std::string_view kSchema = "orrery-sweep-journal/2";
constexpr std::size_t kMostProfileBytes = std::size_t{64} << 20U;
constexpr std::size_t kMostInputBytes = std::size_t{64} << 20U;

// All profile files that the search can find, by their content.
std::string profiles_hash(const hardware::ProfileSearch& search) {
  std::string all;
  for (const std::filesystem::path& directory : search.directories) {
    std::vector<std::filesystem::path> files;
    std::error_code error;
    for (std::filesystem::recursive_directory_iterator it(directory, error), end;
         !error && it != end; it.increment(error)) {
      if (it->path().extension() == ".yaml" && it->is_regular_file(error)) {
        files.push_back(it->path());
      }
    }
    std::ranges::sort(files);
    for (const std::filesystem::path& file : files) {
      all += sha256_hex(read_file(file, kMostProfileBytes));
      all += std::filesystem::relative(file, directory, error).string() + "\n";
    }
  }
  return sha256_hex(all);
}

std::string sha256_or_empty(const std::string& path) {
  try {
    return sha256_hex(read_file(path, kMostInputBytes));
  } catch (const Error&) {
    return {};
  }
}

// What differs between two headers, for people.
std::string differences(const Json& found, const Json& wanted) {
  std::vector<std::string> names;
  for (const auto& [key, value] : wanted.items()) {
    if (!found.contains(key) || found[key] != value) {
      names.push_back(key);
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// The status of this name; nothing when there is none.
std::optional<Status> status_of(std::string_view name) {
  const auto* found = std::ranges::find(kStatusNames, name);
  return found == kStatusNames.end()
             ? std::nullopt
             : std::optional(static_cast<Status>(found - kStatusNames.begin()));
}

bool are_texts(const Json& list) {
  return list.is_array() && std::ranges::all_of(list, &Json::is_string);
}

bool are_cells(const Json& list) {
  return list.is_array() && std::ranges::all_of(list, [](const Json& one) {
           return one.is_number() || one.is_null();
         });
}

// What is wrong with the line; empty when `entry` holds what it says.
std::string read_entry(const Json& json, const LineShape& shape, JournalEntry& entry) {
  for (const char* name : {"point", "status", "reason", "cells", "files"}) {
    if (!json.is_object() || !json.contains(name)) {
      return fmt::format("has no `{}`", name);
    }
  }
  const Json& cells = json["cells"];
  const Json& files = json["files"];
  const std::optional<Status> status = status_of(text_member(json, "status"));
  if (!are_texts(json["point"]) || json["point"].size() != shape.values) {
    return fmt::format("its point has not the {} values of this sweep", shape.values);
  }
  if (!status || !json["reason"].is_string()) {
    return "its status is none";
  }
  const std::size_t figures = *status == Status::invalid ? 0 : shape.cells;
  if (!are_cells(cells)) {
    return "a figure is no number";
  }
  if (cells.size() != figures) {
    return fmt::format("has {} figures where {} are needed", cells.size(), figures);
  }
  entry.point = json["point"].get<Point>();
  entry.result.status = *status;
  entry.result.reason = json["reason"].get<std::string>();
  for (const Json& cell : cells) {
    entry.result.cells.push_back(cell.is_null() ? std::nullopt : std::optional(cell.get<double>()));
  }
  for (const auto& [path, sha256] : files.items()) {
    if (!files.is_object() || !sha256.is_string()) {
      return "its files are no files";
    }
    entry.result.files.push_back({path, sha256.get<std::string>()});
  }
  return {};
}

}  // namespace

std::string journal_header(const Sweep& sweep, const std::string& version) {
  const auto path = [](const Axis& axis) { return axis.key.path; };
  const auto name = [](const Column& column) { return column.name; };
  return json_line({{"schema", kSchema},
                    {"version", version},
                    {"scenario", sweep.base.sha256()},
                    {"profiles", profiles_hash(sweep.search)},
                    {"allow_foreign_profile", sweep.search.allow_foreign},
                    {"keys", json_list(sweep.axes, path)},
                    {"trials", sweep.trials},
                    {"seed", sweep.seed},
                    {"metrics", json_list(sweep.columns, name)}});
}

std::string journal_line(const Point& point, const PointResult& result) {
  Json files = Json::object();
  for (const FileStamp& file : result.files) {
    files[file.path] = file.sha256;
  }
  return json_line({{"point", point},
                    {"status", to_string(result.status)},
                    {"reason", result.reason},
                    {"cells", result.cells},
                    {"files", std::move(files)}});
}

LineShape line_shape(const Sweep& sweep) {
  return {.values = sweep.listed.empty() ? sweep.axes.size() : 1, .cells = sweep.columns.size()};
}

JournalEntry read_journal_line(std::string_view line, const LineShape& shape) {
  const ReadJson<Json> json = read_json<Json>(line);
  JournalEntry entry;
  entry.problem = json.ok() ? read_entry(json.value, shape, entry) : json.problem.what;
  return entry;
}

JournalFile::Rules Journal::rules(const std::string& header, const LineShape& shape) {
  return {.writer = "sweep",
          .header_problem = [header](std::string_view line) -> std::string {
            const Json found = read_json<Json>(line).value;
            if (text_member(found, "schema") != kSchema) {
              return "is no journal of a sweep by this version: choose another file";
            }
            if (line == header) {
              return {};
            }
            const std::string names = differences(found, read_json<Json>(header).value);
            return names.empty()
                       ? "line 1 is damaged: remove the journal"
                       : fmt::format(
                             "belongs to another sweep (it differs in: {}): remove it, or "
                             "choose another",
                             names);
          },
          .accept =
              [this, shape](std::string_view line) {
                JournalEntry entry = read_journal_line(line, shape);
                if (entry.problem.empty() && entry.result.status != Status::invalid) {
                  finished_.insert_or_assign(std::move(entry.point), std::move(entry.result));
                }
                return entry.problem;
              }};
}

Journal::Journal(std::filesystem::path path, const std::string& header, const LineShape& shape,
                 bool resume, const FileSystem& files)
    : file_(std::move(path), header, rules(header, shape), files) {
  if (!finished_.empty() && !resume) {
    throw Error(ErrorKind::io,
                fmt::format("{}: holds {} points of a sweep that did not end: --resume continues "
                            "it, or remove it",
                            file_.path().string(), finished_.size()));
  }
  check_files();
}

// Points that read another file of the same name would stand in the table beside those to come.
void Journal::check_files() const {
  std::map<std::string, std::string> now;
  for (const auto& [point, result] : finished_) {
    for (const FileStamp& file : result.files) {
      const auto [at, fresh] = now.try_emplace(file.path);
      if (fresh) {
        at->second = sha256_or_empty(file.path);
      }
      if (at->second != file.sha256) {
        throw Error(
            ErrorKind::io,
            fmt::format("{}: belongs to another sweep ({} {}): remove it, or choose another",
                        file_.path().string(), file.path,
                        at->second.empty() ? "cannot be read" : "has changed"));
      }
    }
  }
}

void Journal::append(const Point& point, const PointResult& result) {
  file_.append(journal_line(point, result));
}

void Journal::close() { file_.close(); }

}  // namespace orrery::sweep
