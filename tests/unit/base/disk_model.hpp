#pragma once

// A disk in memory, on which the n-th call fails or the power goes, and its contents afterwards.
//
// As POSIX allows, and no kinder: what was written is there after a power cut only where the file
// was synced; a name leads to its file only where the folder was synced. The rest may be there, in
// part, or as zeros.

#include <fcntl.h>

#include <cerrno>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sim/base/files/file.hpp"

namespace orrery::test {

// What of the bytes that were not synced is there after a power cut.
enum class Unsynced { lost, whole, half, zeros };

class DiskModel : public FileSystem {
 public:
  enum class Trouble { none, error, power_cut };

  DiskModel() = default;

  // The n-th call from now on, counted from 1, fails: once, or it and all that follow.
  void fail_at(int call, Trouble trouble) {
    calls_ = 0;
    fail_at_ = call;
    trouble_ = trouble;
  }

  [[nodiscard]] bool has_failed() const { return trouble_ != Trouble::none && calls_ >= fail_at_; }

  // The power is back: nothing is open.
  void restart(Unsynced content, bool names_kept) {
    trouble_ = Trouble::none;
    handles_.clear();
    if (!names_kept) {
      names_ = synced_names_;
    }
    for (auto& [name, node] : names_) {
      node->now = left_of(*node, content);
      node->synced = node->now;
    }
    synced_names_ = names_;
  }

  void put(const std::string& path, const std::string& content) {
    auto node = std::make_shared<Node>();
    node->now = content;
    node->synced = content;
    names_[path] = node;
    synced_names_[path] = node;
  }

  [[nodiscard]] std::string content(const std::string& path) const {
    const auto found = names_.find(path);
    return found == names_.end() ? "(no file)" : found->second->now;
  }

  [[nodiscard]] std::size_t files() const { return names_.size(); }

  int open(const std::string& path, int flags, mode_t /*mode*/) const override {
    const std::lock_guard lock(mutex_);
    if (fails()) {
      return -1;
    }
    if ((flags & O_DIRECTORY) != 0) {
      return add({nullptr, 0});
    }
    auto& node = names_[path];
    node = node ? node : std::make_shared<Node>();
    return add({node, 0});
  }

  int make_temporary(std::string& name) const override {
    const std::lock_guard lock(mutex_);
    if (fails()) {
      return -1;
    }
    name += std::to_string(next_);
    names_[name] = std::make_shared<Node>();
    return add({names_[name], 0});
  }

  ssize_t read(int file, char* to, std::size_t bytes) const override {
    const std::lock_guard lock(mutex_);
    if (fails()) {
      return -1;
    }
    Handle& handle = handles_.at(file);
    const std::size_t count = handle.node->now.copy(to, bytes, handle.at);
    handle.at += count;
    return static_cast<ssize_t>(count);
  }

  // A write that fails leaves half of it; others write at the end.
  ssize_t write(int file, const char* from, std::size_t bytes) const override {
    const std::lock_guard lock(mutex_);
    const bool failed = fails();
    if (!failed || calls_ == fail_at_) {
      handles_.at(file).node->now.append(from, failed ? bytes / 2 : bytes);
    }
    return failed ? -1 : static_cast<ssize_t>(bytes);
  }

  int sync(int file) const override {
    const std::lock_guard lock(mutex_);
    if (fails()) {
      return -1;
    }
    const Handle& handle = handles_.at(file);
    if (handle.node) {
      handle.node->synced = handle.node->now;
    } else {
      synced_names_ = names_;
    }
    return 0;
  }

  int truncate(int file, std::size_t bytes) const override {
    const std::lock_guard lock(mutex_);
    if (fails()) {
      return -1;
    }
    handles_.at(file).node->now.resize(bytes);
    return 0;
  }

  int change_mode(int /*file*/, mode_t /*mode*/) const override {
    const std::lock_guard lock(mutex_);
    return fails() ? -1 : 0;
  }

  int lock(int /*file*/) const override {
    const std::lock_guard lock(mutex_);
    return fails() ? -1 : 0;
  }

  int regular(int /*file*/) const override {
    const std::lock_guard lock(mutex_);
    return fails() ? -1 : 1;
  }

  int rename(const std::string& from, const std::string& to) const override {
    const std::lock_guard lock(mutex_);
    if (fails()) {
      return -1;
    }
    names_[to] = names_.at(from);
    names_.erase(from);
    return 0;
  }

  int close(int file) const override {
    const std::lock_guard lock(mutex_);
    handles_.erase(file);
    return fails() ? -1 : 0;
  }

  int remove(const std::string& path) const override {
    const std::lock_guard lock(mutex_);
    if (fails()) {
      return -1;
    }
    names_.erase(path);
    return 0;
  }

 private:
  struct Node {
    std::string now;
    std::string synced;
  };

  struct Handle {
    std::shared_ptr<Node> node;  // none: the folder
    std::size_t at = 0;
  };

  static std::string left_of(const Node& node, Unsynced content) {
    const bool grown = node.now.starts_with(node.synced);
    const std::size_t more = grown ? node.now.size() - node.synced.size() : 0;
    switch (content) {
      case Unsynced::lost:
        return node.synced;
      case Unsynced::whole:
        return node.now;
      case Unsynced::half:
        return grown ? node.now.substr(0, node.synced.size() + more / 2) : node.synced;
      case Unsynced::zeros:
        return grown ? node.synced + std::string(more, '\0') : node.synced;
    }
    return {};
  }

  bool fails() const {
    ++calls_;
    const bool now = (trouble_ == Trouble::error && calls_ == fail_at_) ||
                     (trouble_ == Trouble::power_cut && calls_ >= fail_at_);
    errno = now ? EIO : errno;
    return now;
  }

  int add(Handle handle) const {
    handles_[++next_] = std::move(handle);
    return next_;
  }

  mutable std::mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<Node>> names_;
  mutable std::map<std::string, std::shared_ptr<Node>> synced_names_;
  mutable std::map<int, Handle> handles_;
  mutable int next_ = 0;
  mutable int calls_ = 0;
  int fail_at_ = 0;
  Trouble trouble_ = Trouble::none;
};

}  // namespace orrery::test
