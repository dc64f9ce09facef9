#pragma once

// Profile files as they were read before, for whoever asks for the same ones again and again: a
// sweep, a scenario in Python, the program with a window.
//
// What was kept is given only while the file holds the bytes that it was read from. A file whose
// stamp is unchanged is not opened (2 us); one that was written to lately, or touched, is read and
// compared (10 us), but its YAML is not parsed (1-4 ms). Only files without errors are kept; their
// warnings are told each time.
//
// Entries do not change once they are made, and threads may share a cache: two that ask for the
// same file at once may both read it, with the same result.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/step/hardware/collective_tables.hpp"

namespace orrery::hardware {

class ProfileCache {
 public:
  // Files beyond that many push out those that were not asked for the longest.
  explicit ProfileCache(std::size_t most = 256) : most_(most) {}

  // What `make` makes of the tree of a file and its name in messages (shown_name); nullptr after an
  // error. Throws Error(ErrorKind::io) when the file cannot be read.
  template <typename T>
  [[nodiscard]] std::shared_ptr<const T> read(
      const std::filesystem::path& path, Diagnostics& diagnostics,
      const std::function<std::optional<T>(const yaml::Value&, const std::string& shown,
                                           Diagnostics&)>& make) {
    return std::static_pointer_cast<const T>(read_as(
        {typeid(T), path.string()}, path, diagnostics,
        [&make](const yaml::Value& tree, const std::string& shown, Diagnostics& problems) -> Made {
          auto made = make(tree, shown, problems);
          return made ? std::make_shared<const T>(*std::move(made)) : nullptr;
        }));
  }

  // The tables of all parts; the same object as before as long as the parts are.
  [[nodiscard]] SharedCollectiveTables join(std::vector<SharedCollectiveTables> parts);

 private:
  // Of a file as the system sees it. Writing changes one of these, unless within the resolution of
  // the system's clock.
  struct Stamp {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t bytes = -1;
    std::int64_t modified_ns = 0;
    std::int64_t changed_ns = 0;
    bool settled = false;  // not written to for seconds: the same stamp later means the same bytes

    friend bool operator==(const Stamp&, const Stamp&) = default;
  };

  // What was made of a file, for readers that make the same type.
  struct Key {
    std::type_index type;
    std::string path;

    friend auto operator<=>(const Key&, const Key&) = default;
  };

  using Made = std::shared_ptr<const void>;
  using Make = std::function<Made(const yaml::Value&, const std::string& shown, Diagnostics&)>;

  struct Entry {
    Stamp stamp;  // before the file was read
    std::string text;
    Diagnostics warnings;
    Made made;
  };

  struct Slot {
    std::shared_ptr<const Entry> entry;
    std::uint64_t asked = 0;  // when, in calls
  };

  [[nodiscard]] static Stamp stamp_of(const std::filesystem::path& path);

  [[nodiscard]] Made read_as(const Key& key, const std::filesystem::path& path,
                             Diagnostics& diagnostics, const Make& make);
  [[nodiscard]] std::shared_ptr<const Entry> find(const Key& key);
  void keep(const Key& key, Entry entry);

  const std::size_t most_;
  std::mutex mutex_;
  std::uint64_t calls_ = 0;
  std::map<Key, Slot> slots_;
  std::vector<SharedCollectiveTables> parts_;  // of joined_
  SharedCollectiveTables joined_;
};

}  // namespace orrery::hardware
