#pragma once

// Which points are finished already, whatever happened to the program? A file of one line per
// point.
//
//   line 1   {"schema": "orrery-sweep-journal/1", what decides the figures of a point}
//   line n   {"point": [values], "status": ..., "reason": ..., "cells": [...]}
//
// A line is written in one piece as soon as its point is finished, so that a killed program loses
// only points in progress; a thread syncs the file behind the writers, so that a machine that loses
// its power loses little more. Opening it again tolerates a last line that was cut and removes it.
// A journal of something else (other scenario, profiles, program, metrics, trials, seed) is
// refused, and so is one that another program writes at the moment. Points are known by their
// values: with more of them, those that are there still count.
//
// All functions throw Error(io).

#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "sim/sweep/point_result.hpp"
#include "sim/sweep/sweep.hpp"

namespace orrery::sweep {

// One line with what decides the figures of a point, without its newline. `version`: of the
// program. Reads the profiles.
[[nodiscard]] std::string journal_header(const Sweep& sweep, const std::string& version);

// A result and the values of its point as a line, with its newline; and back: nothing when it is no
// such line. Doubles come back bit for bit.
[[nodiscard]] std::string journal_line(const Point& point, const PointResult& result);

struct JournalEntry {
  Point point;
  PointResult result;
};

[[nodiscard]] std::optional<JournalEntry> read_journal_line(std::string_view line);

class Journal {
 public:
  // Opens or creates it. An existing one is read when `resume`, and refused otherwise.
  Journal(std::filesystem::path path, const std::string& header, bool resume);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  [[nodiscard]] const std::map<Point, PointResult>& finished() const {
    return finished_;
  }

  // One thread at a time.
  void append(const Point& point, const PointResult& result);

  // Waits until all lines are on the disk.
  void close();

  [[nodiscard]] const std::filesystem::path& path() const {
    return path_;
  }

 private:
  void read(const std::string& header);
  void write(std::string_view text);
  void sync_in_background();
  void stop_syncing();
  [[noreturn]] void fail(std::string_view what) const;

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::map<Point, PointResult> finished_;
  bool broken_ = false;  // a write failed
  std::mutex mutex_;
  std::condition_variable changed_;
  bool dirty_ = false;
  bool closing_ = false;
  int sync_error_ = 0;
  std::thread syncer_;
};

}  // namespace orrery::sweep
