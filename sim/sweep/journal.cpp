#include "sim/sweep/journal.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/base/file.hpp"

namespace orrery::sweep {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSchema = "orrery-sweep-journal/1";
constexpr std::size_t kMostProfileBytes = std::size_t{64} << 20U;

std::string one_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// All profile files that the search can find, by their content.
std::string profiles_hash(const hardware::ProfileSearch& search) {
  std::string all;
  for (const std::filesystem::path& directory : search.directories) {
    std::vector<std::filesystem::path> files;
    std::error_code error;
    for (std::filesystem::recursive_directory_iterator it(directory, error), end;
         !error && it != end;
         it.increment(error)) {
      if (it->path().extension() == ".yaml" && it->is_regular_file(error)) {
        files.push_back(it->path());
      }
    }
    std::sort(files.begin(), files.end());
    for (const std::filesystem::path& file : files) {
      all += sha256_hex(read_file(file, kMostProfileBytes));
      all += std::filesystem::relative(file, directory, error).string() + "\n";
    }
  }
  return sha256_hex(all);
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

Json parse(std::string_view line) {
  return Json::parse(line.begin(), line.end(), nullptr, false);
}

}  // namespace

std::string journal_header(const Sweep& sweep, const std::string& version) {
  Json keys = Json::array();
  for (const Axis& axis : sweep.axes) {
    keys.push_back(axis.key.path);
  }
  Json metrics = Json::array();
  for (const Column& column : sweep.columns) {
    metrics.push_back(column.name);
  }
  const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
  return one_line({{"schema", kSchema},
                   {"version", version},
                   {"scenario", sweep.base.sha256()},
                   {"profiles", profiles_hash(sweep.search)},
                   {"keys", std::move(keys)},
                   {"trials", or_null(sweep.trials)},
                   {"seed", or_null(sweep.seed)},
                   {"metrics", std::move(metrics)}});
}

std::string journal_line(const Point& point, const PointResult& result) {
  Json cells = Json::array();
  for (const std::optional<double>& cell : result.cells) {
    cells.push_back(cell ? Json(*cell) : Json(nullptr));
  }
  return one_line({{"point", point},
                   {"status", to_string(result.status)},
                   {"reason", result.reason},
                   {"cells", std::move(cells)}});
}

std::optional<JournalEntry> read_journal_line(std::string_view line) {
  try {
    const Json json = parse(line);
    JournalEntry entry;
    entry.point = json.at("point").get<Point>();
    const auto status = json.at("status").get<std::string>();
    const auto* name = std::find(kStatusNames.begin(), kStatusNames.end(), status);
    if (name == kStatusNames.end()) {
      return std::nullopt;
    }
    entry.result.status = static_cast<Status>(name - kStatusNames.begin());
    entry.result.reason = json.at("reason").get<std::string>();
    for (const Json& cell : json.at("cells")) {
      entry.result.cells.push_back(cell.is_null() ? std::nullopt
                                                  : std::optional(cell.get<double>()));
    }
    return entry;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

JournalFile::Rules Journal::rules(const std::string& header) {
  return {.writer = "sweep",
          .header_problem = [header](std::string_view line) -> std::string {
            const Json found = parse(line);
            if (!found.is_object() || found.value("schema", std::string()) != kSchema) {
              return "is no journal of a sweep: choose another file";
            }
            if (line != header) {
              return fmt::format(
                  "belongs to another sweep (it differs in: {}): remove it, or choose another",
                  differences(found, parse(header)));
            }
            return {};
          },
          .accept =
              [this](std::string_view line) {
                auto entry = read_journal_line(line);
                if (entry) {
                  finished_.insert_or_assign(std::move(entry->point), std::move(entry->result));
                }
                return entry.has_value();
              }};
}

Journal::Journal(std::filesystem::path path, const std::string& header, bool resume)
    : file_(std::move(path), header, rules(header)) {
  if (!finished_.empty() && !resume) {
    throw Error(ErrorKind::io,
                fmt::format("{}: holds {} points of a sweep that did not end: --resume continues "
                            "it, or remove it",
                            file_.path().string(),
                            finished_.size()));
  }
}

void Journal::append(const Point& point, const PointResult& result) {
  file_.append(journal_line(point, result));
}

void Journal::close() {
  file_.close();
}

}  // namespace orrery::sweep
