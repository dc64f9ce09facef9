#include "sim/answer/sweep/shard.hpp"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <utility>

#include "sim/answer/sweep/journal.hpp"
#include "sim/base/text/json_text.hpp"
#include "sim/base/text/untrusted_json.hpp"

namespace orrery::sweep {

namespace {

constexpr std::string_view kPartSchema = "orrery-sweep-part/1";

std::optional<std::size_t> number_in(std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && number > 0 && number <= static_cast<std::size_t>(kMostPoints)
             ? std::optional(number)
             : std::nullopt;
}

// How many of `points` part k of n has.
std::size_t share_of(std::size_t points, const Shard& shard) {
  return (points + shard.of - shard.number) / shard.of;
}

std::string hash_of(const std::vector<Point>& points) {
  return sha256_hex(json_line(Json(points)));
}

// What all parts of one sweep say alike.
Json identity_of(const Sweep& whole, const std::string& text, const std::string& version) {
  Json identity = read_json<Json>(journal_header(whole, version)).value;
  identity.erase("schema");
  identity.erase("metrics");  // the titles say more
  identity["titles"] = json_list(whole.columns, [](const Column& column) { return column.title; });
  identity["all_metrics"] = whole.all_metrics;
  identity["points"] = whole.points.size();
  identity["points_sha256"] = hash_of(whole.points);
  identity["file"] = whole.base.file();
  identity["text"] = text;
  return identity;
}

std::string names_of_differences(const Json& one, const Json& other) {
  std::vector<std::string> names;
  for (const auto& [key, value] : other.items()) {
    if (!one.contains(key) || one[key] != value) {
      names.push_back(key == "points_sha256" ? "values" : key);
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// The parts of one sweep, put together.
class Joining {
 public:
  explicit Joining(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  bool add(const PartFile& file) {
    ReadJson<Json> read = read_json<Json>(file.text);
    if (!read.ok() || text_member(read.value, "schema") != kPartSchema) {
      return fail(file, "is no part of a sweep", std::string(kPartSchema));
    }
    try {
      return begin(file, read.value) && take(file, read.value);
    } catch (const Json::exception&) {  // a member is missing or of another type
      return fail(file, "is no complete part of a sweep", {});
    }
  }

  std::optional<JoinedSweep> finish(const std::string& last) {
    std::vector<std::size_t> missing;
    for (std::size_t number = 1; number <= of_; ++number) {
      if (!names_.contains(number)) {
        missing.push_back(number);
      }
    }
    if (!missing.empty()) {
      diagnostics_.error(
          {last, 0, 0}, {},
          fmt::format("part{} {} of {} {} missing", missing.size() == 1 ? "" : "s",
                      fmt::join(missing, ", "), of_, missing.size() == 1 ? "is" : "are"));
      return std::nullopt;
    }
    if (hash_of(joined_->sweep.points) != identity_["points_sha256"].get<std::string>()) {
      diagnostics_.error({last, 0, 0}, {}, "the points are not those of the sweep");
      return std::nullopt;
    }
    return std::move(joined_);
  }

 private:
  bool fail(const PartFile& file, const std::string& message, const std::string& allowed) {
    diagnostics_.error({file.name, 0, 0}, {}, message, allowed);
    return false;
  }

  // The sweep, from the first part; the others must say the same.
  bool begin(const PartFile& file, const Json& part) {
    const Json& identity = part.at("sweep");
    if (joined_) {
      const std::string differ = names_of_differences(identity, identity_);
      return differ.empty() ||
             fail(file,
                  fmt::format("belongs to another sweep than {} (it differs in: {})",
                              names_.begin()->second, differ),
                  "parts of one sweep");
    }
    identity_ = identity;
    auto base =
        scenario::ScenarioTemplate::from_text(identity.at("text").get<std::string>(),
                                              identity.at("file").get<std::string>(), diagnostics_);
    const auto columns = parse_columns(identity.at("titles").get<std::vector<std::string>>(),
                                       {file.name, 0, 0}, diagnostics_);
    const std::int64_t points = orrery::whole_number(identity.at("points"));
    if (!base || !columns || points < 1 || points > kMostPoints) {
      return fail(file, "is no complete part of a sweep", {});
    }
    joined_ = JoinedSweep{.sweep = {.base = *std::move(base),
                                    .axes = {},
                                    .points = std::vector<Point>(static_cast<std::size_t>(points)),
                                    .columns = *columns,
                                    .all_metrics = identity.at("all_metrics").get<bool>()},
                          .results = std::vector<PointResult>(static_cast<std::size_t>(points))};
    for (const Json& key : identity.at("keys")) {
      const SourceLocation where{"--vary", 0, 0};
      const auto facts = scenario::find_key(key.get<std::string>(), where, diagnostics_);
      if (!facts) {
        return false;
      }
      joined_->sweep.axes.push_back({*facts, {}, std::nullopt, where});
    }
    return true;
  }

  bool take(const PartFile& file, const Json& part) {
    const auto shard = parse_shard(fmt::format("{}/{}", orrery::whole_number(part.at("shard")),
                                               orrery::whole_number(part.at("of"))));
    if (!shard) {
      return fail(file, "is no complete part of a sweep", {});
    }
    of_ = names_.empty() ? shard->of : of_;
    if (shard->of != of_) {
      return fail(file, fmt::format("is part {} of {}", shard->number, shard->of),
                  fmt::format("parts of {}", of_));
    }
    if (const auto [known, fresh] = names_.try_emplace(shard->number, file.name); !fresh) {
      return fail(file,
                  fmt::format("is part {} of {}, and so is {}", shard->number, of_, known->second),
                  "every part once");
    }
    const Json& results = part.at("results");
    if (results.size() != share_of(joined_->results.size(), *shard)) {
      return fail(file, "is no complete part of a sweep", {});
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      JournalEntry entry = read_journal_line(json_line(results[i]), line_shape(joined_->sweep));
      if (!entry.problem.empty()) {
        return fail(file, fmt::format("result {} {}", i + 1, entry.problem), {});
      }
      if (!same_files(file, entry.result)) {
        return false;
      }
      const std::size_t point = shard->number - 1 + i * of_;
      joined_->sweep.points[point] = std::move(entry.point);
      joined_->results[point] = std::move(entry.result);
    }
    return true;
  }

  // Points that read a file before and after it changed must not stand in one table.
  bool same_files(const PartFile& file, const PointResult& result) {
    for (const FileStamp& stamp : result.files) {
      const auto [known, fresh] = stamps_.try_emplace(stamp.path, stamp.sha256);
      if (!fresh && known->second != stamp.sha256) {
        return fail(file, fmt::format("belongs to another sweep ({} was another file)", stamp.path),
                    "parts of one sweep");
      }
    }
    return true;
  }

  Diagnostics& diagnostics_;
  Json identity_;
  std::size_t of_ = 0;
  std::map<std::size_t, std::string> names_;   // of files, by the number of the part
  std::map<std::string, std::string> stamps_;  // of files that points read
  std::optional<JoinedSweep> joined_;
};

}  // namespace

std::optional<Shard> parse_shard(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    return std::nullopt;
  }
  const auto number = number_in(text.substr(0, slash));
  const auto of = number_in(text.substr(slash + 1));
  return number && of && *number <= *of ? std::optional(Shard{*number, *of}) : std::nullopt;
}

Sweep part_of(const Sweep& whole, const Shard& shard) {
  Sweep part = whole;
  part.points.clear();
  for (std::size_t i = shard.number - 1; i < whole.points.size(); i += shard.of) {
    part.points.push_back(whole.points[i]);
  }
  return part;
}

std::string part_text(const Sweep& whole, const std::string& text, const Shard& shard,
                      const std::vector<PointResult>& results, const std::string& version) {
  Json lines = Json::array();
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Point& point = whole.points[shard.number - 1 + i * shard.of];
    lines.push_back(read_json<Json>(journal_line(point, results[i])).value);
  }
  return json_text({{"schema", kPartSchema},
                    {"shard", shard.number},
                    {"of", shard.of},
                    {"sweep", identity_of(whole, text, version)},
                    {"results", std::move(lines)}});
}

std::optional<JoinedSweep> join_parts(std::span<const PartFile> files, Diagnostics& diagnostics) {
  Joining joining(diagnostics);
  for (const PartFile& file : files) {
    if (!joining.add(file)) {
      return std::nullopt;
    }
  }
  return joining.finish(files.back().name);
}

}  // namespace orrery::sweep
