#include "sim/step/hardware/profile_search.hpp"

#include <link.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>
#include <system_error>
#include <utility>

#include "sim/base/text/text.hpp"

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
  return std::ranges::any_of(kProfileFolders, is_there) ||
         std::ranges::any_of(kPresetFolders, is_there);
}

void add_directory(ProfileSearch& search, const fs::path& directory) {
  const fs::path normal = directory.lexically_normal();
  const auto& known = search.directories;
  if (holds_profiles(normal) && std::ranges::find(known, normal) == known.end()) {
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
  static const std::shared_ptr<ProfileCache> of_process = make_profile_cache();
  ProfileSearch search;
  search.cache = of_process;
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
  return std::ranges::any_of(directories, [&](const fs::path& directory) {
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

namespace {

bool is_separator(char c) { return c == ' ' || c == '-' || c == '_'; }

// Length of `word` at the front of `text`, separators optional on both sides; 0 when it is not it.
std::size_t length_of(std::string_view word, std::string_view text) {
  std::size_t at = 0;
  for (const char c : word) {
    if (is_separator(c)) {
      continue;
    }
    while (at > 0 && at < text.size() && is_separator(text[at])) {
      ++at;
    }
    if (at >= text.size() || lower_case(text[at]) != lower_case(c)) {
      return 0;
    }
    ++at;
  }
  return at;
}

// A name begins where no letter or digit is before it, a number of GPUs apart: `8xH100`.
bool begins_at(std::string_view text, std::size_t at) {
  if (at == 0 || std::isalnum(static_cast<unsigned char>(text[at - 1])) == 0) {
    return true;
  }
  return at >= 2 && lower_case(text[at - 1]) == 'x' && is_digit(text[at - 2]);
}

bool occurs(std::string_view word, std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t length = begins_at(text, at) ? length_of(word, text.substr(at)) : 0;
    const std::size_t end = at + length;
    if (length > 0 && (end >= text.size() || !is_digit(text[end]))) {
      return true;
    }
  }
  return false;
}

// Words of `name`, separated by commas; 0 unless all of them occur.
std::size_t words_in(std::string_view name, std::string_view text) {
  std::size_t words = 0;
  while (!name.empty()) {
    const std::size_t comma = std::min(name.find(','), name.size());
    if (!occurs(trimmed(name.substr(0, comma)), text)) {
      return 0;
    }
    ++words;
    name.remove_prefix(std::min(comma + 1, name.size()));
  }
  return words;
}

}  // namespace

std::vector<std::string> profiles_of_device(const std::vector<GpuName>& names,
                                            std::string_view device) {
  std::vector<std::string> found;
  for (const GpuName& gpu : names) {
    if (gpu.name == device) {
      found.push_back(gpu.profile);
    }
  }
  return found;
}

std::optional<std::string> profile_in_text(const std::vector<GpuName>& names,
                                           std::string_view text) {
  const GpuName* best = nullptr;
  std::pair<std::size_t, std::size_t> most;
  for (const GpuName& gpu : names) {
    const std::pair found{words_in(gpu.name, text), gpu.name.size()};
    if (found.first > 0 && found > most) {
      best = &gpu;
      most = found;
    }
  }
  return best == nullptr ? std::nullopt : std::optional(best->profile);
}

std::string profile_named(const std::vector<GpuName>& names, std::string_view word) {
  std::string found;
  for (const GpuName& known : names) {
    if (lower_case(known.name) == lower_case(word)) {
      if (!found.empty() && found != known.profile) {
        return {};
      }
      found = known.profile;
    }
  }
  return found;
}

}  // namespace orrery::hardware
