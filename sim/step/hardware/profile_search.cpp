#include "sim/step/hardware/profile_search.hpp"

#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <system_error>

namespace orrery::hardware {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtension = ".yaml";

bool directory_exists(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

// A directory with one of these is one of profiles.
constexpr std::array<std::string_view, 2> kProfileFolders = {"gpu", "software"};

bool holds_profiles(const fs::path& directory) {
  const auto is_there = [&](std::string_view folder) {
    return directory_exists(directory / folder);
  };
  return std::any_of(kProfileFolders.begin(), kProfileFolders.end(), is_there) ||
         std::any_of(kPresetFolders.begin(), kPresetFolders.end(), is_there);
}

void add_directory(ProfileSearch& search, const fs::path& directory) {
  const fs::path normal = directory.lexically_normal();
  const auto& known = search.directories;
  if (holds_profiles(normal) && std::find(known.begin(), known.end(), normal) == known.end()) {
    search.directories.push_back(normal);
  }
}

std::vector<std::string> environment() {
  const char* value = std::getenv("ORRERY_PROFILES");
  std::string_view rest = value == nullptr ? std::string_view() : std::string_view(value);
  std::vector<std::string> entries;
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    if (colon > 0) {
      entries.emplace_back(rest.substr(0, colon));
    }
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return entries;
}

// scenarios/profiles and profiles in the folder of the scenario and in every folder above it.
void add_ancestors(ProfileSearch& search, const fs::path& scenario_file) {
  std::error_code error;
  fs::path folder = scenario_file.empty() ? fs::current_path(error)
                                          : fs::absolute(scenario_file, error).parent_path();
  folder = folder.lexically_normal();
  while (!folder.empty()) {
    add_directory(search, folder / "profiles");
    add_directory(search, folder / "scenarios" / "profiles");
    if (folder == folder.root_path()) {
      break;
    }
    folder = folder.parent_path();
  }
}

// The file that holds this code: the program, or the extension of the Python package.
fs::path this_program() {
  Dl_info info{};
  void* map = nullptr;
  const bool known = ::dladdr1(&kExtension, &info, &map, RTLD_DL_LINKMAP) != 0 && map != nullptr;
  const fs::path library = known ? static_cast<link_map*>(map)->l_name : "";
  std::error_code error;  // a program has no name there
  return library.empty() ? fs::read_symlink("/proc/self/exe", error) : library;
}

// The source tree above build/<preset>/bin, then the share folder of an installation.
void add_program(ProfileSearch& search) {
  const fs::path bin = this_program().parent_path();
  if (bin.empty()) {
    return;
  }
  add_directory(search, bin / ".." / ".." / ".." / "scenarios" / "profiles");
  add_directory(search, bin / ".." / "share" / "orrery" / "scenarios" / "profiles");
}

}  // namespace

bool file_exists(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  return fs::exists(status) && !fs::is_directory(status);
}

std::string shown_name(const fs::path& path) {
  std::error_code error;
  const fs::path here = fs::current_path(error);
  const fs::path relative = error ? fs::path() : path.lexically_relative(here);
  return relative.empty() || *relative.begin() == ".." ? path.string() : relative.string();
}

ProfileSearch default_search(const fs::path& scenario_file) {
  ProfileSearch search;
  for (const std::string& entry : environment()) {
    add_directory(search, entry);
  }
  add_ancestors(search, scenario_file);
  add_program(search);
  return search;
}

bool is_profile_in(const std::vector<fs::path>& directories, const fs::path& file) {
  std::error_code error;
  const fs::path real = fs::canonical(file, error);
  if (error || real.extension() != kExtension) {
    return false;
  }
  return std::any_of(directories.begin(), directories.end(), [&](const fs::path& directory) {
    return fs::equivalent(directory, real.parent_path().parent_path(), error);
  });
}

std::vector<fs::path> shipped_directories() {
  ProfileSearch search;
  add_program(search);
  return search.directories;
}

std::vector<std::string> missing_in_environment() {
  std::vector<std::string> missing = environment();
  std::erase_if(missing, [](const std::string& entry) { return directory_exists(entry); });
  return missing;
}

std::vector<std::string> names_in(const ProfileSearch& search, std::string_view folder) {
  std::set<std::string> names;
  for (const fs::path& directory : search.directories) {
    std::error_code error;
    for (fs::directory_iterator entry(directory / folder, error), end; !error && entry != end;
         entry.increment(error)) {
      if (entry->path().extension() == kExtension && file_exists(entry->path())) {
        names.insert(entry->path().stem().string());
      }
    }
  }
  return {names.begin(), names.end()};
}

std::optional<fs::path> file_named(const ProfileSearch& search, std::string_view folder,
                                   std::string_view name) {
  const bool plain = !name.empty() && name.find('/') == std::string_view::npos;
  for (const fs::path& directory : search.directories) {
    const fs::path candidate = directory / folder / (std::string(name) + std::string(kExtension));
    if (plain && file_exists(candidate)) {
      return candidate;
    }
  }
  return std::nullopt;
}

}  // namespace orrery::hardware
