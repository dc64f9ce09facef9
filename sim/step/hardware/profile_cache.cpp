#include "sim/step/hardware/profile_cache.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>

#include "sim/base/files/file.hpp"
#include "sim/step/hardware/profile_search.hpp"

namespace orrery::hardware {

namespace fs = std::filesystem;

std::shared_ptr<ProfileCache> make_profile_cache() { return std::make_shared<ProfileCache>(); }

ProfileCache::Stamp ProfileCache::stamp_of(const fs::path& path) {
  using std::chrono::nanoseconds;
  using std::chrono::seconds;
  constexpr nanoseconds kSettled = seconds(2);  // the coarsest times that file systems keep

  struct stat found {};

  if (::stat(path.c_str(), &found) != 0) {
    return {};
  }
  const auto since_epoch = [](const timespec& time) {
    return nanoseconds(seconds(time.tv_sec)) + nanoseconds(time.tv_nsec);
  };
  const nanoseconds modified = since_epoch(found.st_mtim);
  const nanoseconds changed = since_epoch(found.st_ctim);
  const nanoseconds now =
      std::chrono::file_clock::to_sys(std::chrono::file_clock::now()).time_since_epoch();
  return {.device = found.st_dev,
          .inode = found.st_ino,
          .bytes = found.st_size,
          .modified_ns = modified.count(),
          .changed_ns = changed.count(),
          .settled = now - std::max(modified, changed) > kSettled};
}

std::shared_ptr<const ProfileCache::Entry> ProfileCache::find(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto known = slots_.find(key);
  if (known == slots_.end()) {
    return nullptr;
  }
  known->second.asked = ++calls_;
  return known->second.entry;
}

void ProfileCache::keep(const Key& key, Entry entry) {
  auto kept = std::make_shared<const Entry>(std::move(entry));
  const std::lock_guard lock(mutex_);
  slots_[key] = {std::move(kept), ++calls_};
  if (slots_.size() > most_) {
    slots_.erase(std::ranges::min_element(
        slots_, [](const auto& a, const auto& b) { return a.second.asked < b.second.asked; }));
  }
}

ProfileCache::Made ProfileCache::read_as(const Key& key, const fs::path& path,
                                         Diagnostics& diagnostics, const Make& make) {
  const yaml::Limits limits;
  const Stamp stamp = stamp_of(path);
  const auto known = find(key);
  if (known && stamp.settled && known->stamp == stamp) {
    diagnostics.add(known->warnings);
    return known->made;
  }
  if (stamp.bytes > static_cast<std::int64_t>(limits.max_bytes)) {
    (void)yaml::parse_file(path, limits, diagnostics, shown_name(path));  // says so
    return nullptr;
  }
  std::string text = read_file(path, limits.max_bytes);
  if (known && known->text == text) {
    diagnostics.add(known->warnings);
    keep(key, {stamp, std::move(text), known->warnings, known->made});
    return known->made;
  }
  Diagnostics problems;
  const std::string shown = shown_name(path);
  const auto tree = yaml::parse(text, shown, limits, problems);
  Made made = tree ? make(*tree, shown, problems) : nullptr;
  diagnostics.add(problems);
  if (made && !problems.has_errors()) {
    keep(key, {stamp, std::move(text), std::move(problems), made});
  }
  return made;
}

SharedCollectiveTables ProfileCache::join(std::vector<SharedCollectiveTables> parts) {
  std::erase_if(parts, [](const SharedCollectiveTables& part) { return part->tables.empty(); });
  if (parts.size() <= 1) {
    return parts.empty() ? nullptr : parts.front();
  }
  {
    const std::lock_guard lock(mutex_);
    if (parts == parts_) {
      return joined_;
    }
  }
  CollectiveTables all;
  for (const SharedCollectiveTables& part : parts) {
    all.tables.insert(all.tables.end(), part->tables.begin(), part->tables.end());
  }
  auto joined = std::make_shared<const CollectiveTables>(std::move(all));
  const std::lock_guard lock(mutex_);
  parts_ = std::move(parts);
  joined_ = joined;
  return joined;
}

}  // namespace orrery::hardware
