#include "sim/step/hardware/profile_reader.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <system_error>

#include "sim/base/error.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/step/hardware/profile_cache.hpp"
#include "sim/step/hardware/profile_document.hpp"

namespace orrery::hardware {

namespace {

namespace fs = std::filesystem;

// One kind of profile: its folder below a profile directory, its word in messages.
struct ProfileKind {
  std::string_view folder;
  std::string_view word;
};

constexpr ProfileKind kGpu = {"gpu", "GPU"};
constexpr ProfileKind kSoftware = {"software", "software"};
constexpr std::string_view kCollectives = "collectives";
constexpr std::string_view kNoTables = "none";
constexpr std::size_t kMaxSuggestions = 3;

std::string join(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += text.empty() ? "" : ", ";
    text += name;
  }
  return text;
}

// Mistyped names by edit distance, shortened ones (h100) by their beginning.
std::string suggestion(std::string_view word, const std::vector<std::string>& names) {
  const std::string_view near =
      nearest_name(word, std::vector<std::string_view>(names.begin(), names.end()));
  if (!near.empty()) {
    return fmt::format(", did you mean `{}`?", near);
  }
  std::string text;
  std::size_t count = 0;
  for (const std::string& name : names) {
    if (!word.empty() && name.compare(0, word.size(), word) == 0 && count < kMaxSuggestions) {
      text += fmt::format("{}`{}`", count == 0 ? ", did you mean " : " or ", name);
      ++count;
    }
  }
  return count == 0 ? text : text + "?";
}

void report_unknown(std::string_view name, const ProfileKind& kind, const ProfileSearch& search,
                    const SourceLocation& where, std::string_view key, Diagnostics& diagnostics) {
  const std::vector<std::string> names = names_in(search, kind.folder);
  if (names.empty()) {
    diagnostics.error(where, key, fmt::format("no {} profiles were found", kind.word),
                      "set ORRERY_PROFILES to a folder that holds gpu/ and software/");
    return;
  }
  diagnostics.error(where, key,
                    fmt::format("{} is not a known {} profile{}", yaml::display(name), kind.word,
                                suggestion(name, names)),
                    "known: " + join(names) + ", or the path of a file");
}

struct Found {
  fs::path path;
  bool by_name = false;
};

// A path is taken beside the scenario first, then from the working directory.
std::optional<Found> find_path(const fs::path& path, const SourceLocation& where) {
  const fs::path beside = fs::path(where.file).parent_path() / path;
  for (const fs::path& candidate : {beside, path}) {
    if (file_exists(candidate)) {
      return Found{candidate.lexically_normal(), false};
    }
  }
  return std::nullopt;
}

bool is_path(const fs::path& path) {
  return path.has_parent_path() || path.extension() == ".yaml" || path.extension() == ".yml";
}

std::optional<Found> find_profile(std::string_view name, const ProfileKind& kind,
                                  const ProfileSearch& search, const SourceLocation& where,
                                  std::string_view key, Diagnostics& diagnostics) {
  const fs::path path(name);
  if (is_path(path)) {
    std::optional<Found> found = find_path(path, where);
    if (!found) {
      diagnostics.error(where, key, fmt::format("there is no file {}", yaml::display(name)),
                        fmt::format("the name of a {} profile or the path of a file", kind.word));
    }
    return found;
  }
  if (const auto named = file_named(search, kind.folder, name)) {
    return Found{*named, true};
  }
  report_unknown(name, kind, search, where, key, diagnostics);
  return std::nullopt;
}

// What a file says.
struct GpuFile {
  SourceLocation name_where;
  std::optional<GpuProfile> profile = std::nullopt;       // one of these two
  std::optional<yaml::Value> calibration = std::nullopt;  // what it means depends on its base
};

struct SoftwareFile {
  SourceLocation name_where;
  SoftwareProfile profile;
};

SourceLocation name_where(const yaml::Value& root) {
  const auto name =
      std::ranges::find_if(root.entries, [](const auto& entry) { return entry.key == "name"; });
  return name == root.entries.end() ? root.where : name->value.where;
}

std::shared_ptr<const GpuFile> read_gpu_file(const fs::path& path, const ProfileSearch& search,
                                             Diagnostics& diagnostics) {
  return search.cache->read<GpuFile>(
      path, diagnostics,
      [](const yaml::Value& root, const std::string& shown,
         Diagnostics& problems) -> std::optional<GpuFile> {
        if (is_calibration(root)) {
          return GpuFile{.name_where = name_where(root), .calibration = root};
        }
        auto profile = read_gpu_document(root, shown, problems);
        return profile ? std::optional(GpuFile{name_where(root), std::move(profile)})
                       : std::nullopt;
      });
}

std::shared_ptr<const SoftwareFile> read_software_file(const fs::path& path,
                                                       const ProfileSearch& search,
                                                       Diagnostics& diagnostics) {
  return search.cache->read<SoftwareFile>(
      path, diagnostics,
      [](const yaml::Value& root, const std::string& shown,
         Diagnostics& problems) -> std::optional<SoftwareFile> {
        auto profile = read_software_document(root, shown, problems);
        return profile ? std::optional(SoftwareFile{name_where(root), *std::move(profile)})
                       : std::nullopt;
      });
}

SharedCollectiveTables read_tables(const fs::path& path, const ProfileSearch& search,
                                   Diagnostics& diagnostics) {
  return search.cache->read<CollectiveTables>(
      path, diagnostics, [](const yaml::Value& root, const std::string&, Diagnostics& problems) {
        return read_collective_document(root, problems);
      });
}

// A profile found by name must carry that name: reports print it, and a copy that kept the old one
// would be mistaken for its original.
bool has_its_name(const Found& found, std::string_view wanted, const std::string& actual,
                  const SourceLocation& where, Diagnostics& diagnostics) {
  if (!found.by_name || actual == wanted) {
    return true;
  }
  diagnostics.error(
      where, "name",
      fmt::format("is {} in the file of {}", yaml::display(actual), yaml::display(wanted)),
      fmt::format("name: {}", wanted));
  return false;
}

// The architecture that the name of a file of tables begins with: cdna of cdna3-xgmi.yaml.
std::optional<GpuArch> arch_in_name(const fs::path& file) {
  const std::string stem = file.stem().string();
  const std::string_view word =
      std::string_view(stem).substr(0, stem.find_first_not_of("abcdefghijklmnopqrstuvwxyz"));
  const auto named =
      std::ranges::find(kGpuArchNames, word, [](const auto& entry) { return entry.name; });
  return named == kGpuArchNames.end() ? std::nullopt : std::optional(named->arch);
}

// Files are passed over by the architecture in their name, so it must be that of their tables.
bool has_its_arch(const fs::path& file, const CollectiveTables& read, Diagnostics& diagnostics) {
  const std::optional<GpuArch> arch = arch_in_name(file);
  if (!arch || std::ranges::all_of(read.tables, [arch](const CollectiveTable& table) {
        return table.arch == *arch;
      })) {
    return true;
  }
  diagnostics.error({shown_name(file), 1, 1}, "arch",
                    "is another architecture than the one that the name of the file begins with",
                    fmt::format("arch: {}", to_string(*arch)));
  return false;
}

// The shipped profile that a calibration profile builds on; never another calibration.
std::optional<GpuProfile> load_base(std::string_view name, const ProfileSearch& search,
                                    Diagnostics& diagnostics) {
  for (const fs::path& directory : search.directories) {
    const fs::path candidate = directory / kGpu.folder / (std::string(name) + ".yaml");
    if (name.empty() || !file_exists(candidate)) {
      continue;
    }
    const auto file = read_gpu_file(candidate, search, diagnostics);
    if (file == nullptr || file->profile) {
      return file == nullptr ? std::nullopt : file->profile;
    }
  }
  return std::nullopt;
}

std::optional<GpuProfile> read_calibrated(const yaml::Value& root, const std::string& file,
                                          const ProfileSearch& search, Diagnostics& diagnostics) {
  auto profile = read_calibration_document(root, file, diagnostics);
  if (!profile) {
    return std::nullopt;
  }
  Diagnostics problems;
  auto base = load_base(profile->base, search, problems);
  if (!base && !problems.has_errors()) {
    report_unknown(profile->base, kGpu, search, profile->base_where, "base", problems);
  }
  diagnostics.add(problems);
  if (!base) {
    return std::nullopt;
  }
  if (const auto reason = foreign_reason(*profile, *base, search);
      reason && !search.allow_foreign) {
    throw Error(ErrorKind::device,
                fmt::format("{}: is the profile of another GPU: {} (--allow-foreign-profile uses "
                            "it all the same)",
                            file, *reason));
  }
  return calibrated(*std::move(base), *std::move(profile), diagnostics);
}

// A calibration under the name of a shipped profile must be one of that GPU.
void refuse_other_name(std::string_view name, const GpuProfile& profile,
                       const ProfileSearch& search) {
  Diagnostics unused;
  if (profile.name == name || search.allow_foreign || !load_base(name, search, unused)) {
    return;
  }
  throw Error(ErrorKind::device,
              fmt::format("{}: stands for {}, but was measured on {}, whose profile is {} "
                          "(--allow-foreign-profile uses it all the same)",
                          profile.file, name, profile.calibration->device, profile.name));
}

// Whether a table of the file may be near a collective of one of the GPUs.
bool concerns(const fs::path& file, std::span<const GpuProfile* const> gpus) {
  const std::optional<GpuArch> arch = arch_in_name(file);
  return !arch || gpus.empty() ||
         std::ranges::any_of(gpus, [arch](const GpuProfile* gpu) { return gpu->arch == *arch; });
}

// The files of the first directory that has any, by name.
std::vector<fs::path> shipped_tables(const ProfileSearch& search) {
  std::vector<fs::path> files;
  for (const fs::path& directory : search.directories) {
    std::error_code error;
    for (fs::directory_iterator entry(directory / kCollectives, error), end; !error && entry != end;
         entry.increment(error)) {
      if (entry->path().extension() == ".yaml" && !entry->is_directory(error)) {
        files.push_back(entry->path());
      }
    }
    if (!files.empty()) {
      break;
    }
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

std::vector<std::string> list_gpu_profiles(const ProfileSearch& search) {
  return names_in(search, kGpu.folder);
}

std::vector<std::string> list_software_profiles(const ProfileSearch& search) {
  return names_in(search, kSoftware.folder);
}

std::vector<GpuName> gpu_names(const ProfileSearch& search) {
  std::vector<GpuName> names;
  for (const std::string& profile : list_gpu_profiles(search)) {
    Diagnostics unused;
    if (auto gpu = load_base(profile, search, unused)) {
      for (std::string& name : gpu->names) {
        names.push_back({std::move(name), profile});
      }
    }
  }
  return names;
}

std::string stack_named(std::string_view word, const ProfileSearch& search) {
  if (is_path(fs::path(word)) || file_named(search, kSoftware.folder, word)) {
    return {};
  }
  std::vector<GpuName> names;
  for (const std::string& profile : list_software_profiles(search)) {
    Diagnostics unused;
    const auto file =
        read_software_file(file_named(search, kSoftware.folder, profile).value(), search, unused);
    names.push_back({profile, profile});
    for (const std::string& alias : file ? file->profile.aliases : std::vector<std::string>()) {
      names.push_back({alias, profile});
    }
  }
  return profile_named(names, word);
}

std::optional<GpuProfile> load_gpu_profile(std::string_view name_or_path,
                                           const ProfileSearch& search, const SourceLocation& where,
                                           std::string_view key, Diagnostics& diagnostics) {
  const bool by_name = !is_path(fs::path(name_or_path));
  if (by_name && !file_named(search, kGpu.folder, name_or_path)) {
    const std::string other = profile_named(gpu_names(search), name_or_path);
    if (!other.empty()) {
      diagnostics.warning(where, key, fmt::format("`{}` is taken as `{}`", name_or_path, other));
      return load_gpu_profile(other, search, where, key, diagnostics);
    }
  }
  const auto found = find_profile(name_or_path, kGpu, search, where, key, diagnostics);
  const auto file = found ? read_gpu_file(found->path, search, diagnostics) : nullptr;
  if (file == nullptr) {
    return std::nullopt;
  }
  if (!file->calibration) {
    const GpuProfile& profile = *file->profile;
    return has_its_name(*found, name_or_path, profile.name, file->name_where, diagnostics)
               ? file->profile
               : std::nullopt;
  }
  auto profile = read_calibrated(*file->calibration, shown_name(found->path), search, diagnostics);
  if (profile && by_name) {
    refuse_other_name(name_or_path, *profile, search);
  }
  return profile;
}

std::optional<SoftwareProfile> load_software_profile(std::string_view name_or_path,
                                                     const ProfileSearch& search,
                                                     const SourceLocation& where,
                                                     std::string_view key,
                                                     Diagnostics& diagnostics) {
  const std::string known = stack_named(name_or_path, search);
  const std::string_view name = known.empty() ? name_or_path : known;
  const auto found = find_profile(name, kSoftware, search, where, key, diagnostics);
  const auto file = found ? read_software_file(found->path, search, diagnostics) : nullptr;
  if (file == nullptr ||
      !has_its_name(*found, name, file->profile.name, file->name_where, diagnostics)) {
    return std::nullopt;
  }
  return file->profile;
}

std::optional<fs::path> file_beside(const fs::path& path, const SourceLocation& where) {
  const std::optional<Found> found = find_path(path, where);
  return found ? std::optional(found->path) : std::nullopt;
}

std::optional<fs::path> named_profile(std::string_view name_or_path, const SourceLocation& where) {
  const fs::path path(name_or_path);
  return is_path(path) ? file_beside(path, where) : std::nullopt;
}

std::optional<fs::path> named_tables(const NetworkSpec& network, const SourceLocation& where) {
  const bool named = !network.collectives.empty() && network.collectives != kNoTables;
  return named ? file_beside(network.collectives, where) : std::nullopt;
}

std::optional<CalibrationProfile> load_calibration(const fs::path& path, Diagnostics& diagnostics) {
  const std::string shown = shown_name(path);
  const auto root = yaml::parse_file(path, yaml::Limits{}, diagnostics, shown);
  return root ? read_calibration_document(*root, shown, diagnostics) : std::nullopt;
}

bool load_collective_tables(NetworkSpec& network, const ProfileSearch& search,
                            const SourceLocation& where, std::string_view key,
                            Diagnostics& diagnostics, std::span<const GpuProfile* const> gpus) {
  network.tables = nullptr;
  if (network.collectives == kNoTables) {
    return true;
  }
  std::vector<SharedCollectiveTables> parts;
  const auto add = [&](const fs::path& file) {
    parts.push_back(read_tables(file, search, diagnostics));
    return parts.back() != nullptr;
  };
  if (!network.collectives.empty()) {
    const std::optional<fs::path> own = named_tables(network, where);
    if (!own) {
      diagnostics.error(where, key,
                        fmt::format("there is no file {}", yaml::display(network.collectives)),
                        "the path of a file of measured collectives, or none");
      return false;
    }
    if (!add(*own)) {
      return false;
    }
  }
  if (!gpus.empty() && gpus.front()->collectives != nullptr) {
    parts.push_back(gpus.front()->collectives);
  }
  const auto measured = std::ranges::find_if(
      parts, [](const SharedCollectiveTables& part) { return !part->tables.empty(); });
  if (measured != parts.end()) {
    network.rig = (*measured)->tables.front().rig;
  }
  for (const fs::path& file : shipped_tables(search)) {
    if (concerns(file, gpus) && !(add(file) && has_its_arch(file, *parts.back(), diagnostics))) {
      return false;
    }
  }
  network.tables = search.cache->join(std::move(parts));
  return true;
}

}  // namespace orrery::hardware
